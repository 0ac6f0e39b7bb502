// The engine of a run, going on from the state that the run wrote.
//
//   TESSERA_TRY(const PolicySource source, policy_of_state(state, "fgd"));
//   TESSERA_TRY(auto engine, resume(state, source));
//   Decision next = explain_arrival(*engine, demand);
//
// By the policy that was in force, this is the decision that the run would have made next.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/explain.h"
#include "model/cluster_state.h"
#include "sim/policy_source.h"

namespace tessera {

// The state's own policy where none is named; `tessera` where the state names none either.
Expected<PolicySource> policy_of_state(const ClusterState& state, const std::string& named);

Expected<std::unique_ptr<Engine>> resume(const ClusterState& state, const PolicySource& policy);

// A pod comes: the policy learns of it, as it does of every pod, and is asked where it would go.
// What it learnt stays: each pod that comes to the same state wants an engine of its own.
Decision explain_arrival(Engine& engine, const Demand& demand, const ExplainOptions& options = {});

}  // namespace tessera
