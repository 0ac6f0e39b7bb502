// An engine's state as a value, and an engine from such a value.
//
// A restored engine has the same nodes, pods and ages, and the same draws to come. Its policy has
// seen the same arrivals and departures, and is told of the cluster what it was told before: the
// next decision is the one that the engine would have made.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"
#include "model/cluster_state.h"
#include "policy/policy.h"

namespace tessera {

struct PodEntry {
    PodIndex pod;
    std::string name;
    std::uint32_t demand = 0;  // into the demands
};

// Nodes, and of the pods named where they are; placed ones in order of their start, then the rest.
// The caller adds the policy's name, the seed, the history and the mix.
ClusterState capture_state(const Engine& engine, std::vector<Demand> demands,
                           std::span<const PodEntry> pods);

// Pod i of the state is PodIndex(i). Errors name the node or the pod. Another policy than the one
// that was in force counts hosts as they are now; the same one is told what it was told then.
Expected<std::unique_ptr<Engine>> restore_engine(const ClusterState& state,
                                                 std::unique_ptr<Policy> policy,
                                                 Engine::Options options = {},
                                                 bool another_policy = false);

// The demand that gives this class: without names of requests.
Demand demand_of(const DemandClass& demand_class);

}  // namespace tessera
