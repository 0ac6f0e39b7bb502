// An engine's state as a value, and an engine from such a value.
//
// A restored engine has the same nodes, pods and ages. Its policy has seen the same arrivals and
// departures; what it derives from the state of the cluster, it derives from the state now.
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
// The caller adds the policy's name, the seed and the history.
ClusterState capture_state(const Engine& engine, std::vector<Demand> demands,
                           std::span<const PodEntry> pods);

// Pod i of the state is PodIndex(i). Errors name the node or the pod.
Expected<std::unique_ptr<Engine>> restore_engine(const ClusterState& state,
                                                 std::unique_ptr<Policy> policy,
                                                 Engine::Options options = {});

// The demand that gives this class: without names of requests.
Demand demand_of(const DemandClass& demand_class);

}  // namespace tessera
