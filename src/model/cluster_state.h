// A cluster at one moment, as a file can hold it: nodes, pods, and what the policy has seen.
//
// codec/state_json.h reads and writes it; engine/state.h takes it from an engine and makes an
// engine of it. Equal demands are listed once and named by number.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/demand.h"
#include "model/node.h"
#include "model/node_filter.h"
#include "model/placement.h"

namespace tessera {

struct PodState {
    std::string name;
    std::uint32_t demand = 0;            // into ClusterState::demands
    std::optional<Placement> placement;  // nothing: it waits; nodes by their place in `nodes`

    friend bool operator==(const PodState&, const PodState&) = default;
};

struct ClusterState {
    std::string policy;  // in force when it was taken; empty: not told
    std::uint64_t seed = 42;
    std::vector<NodeSpec> nodes;  // in tie-break order
    std::vector<Demand> demands;
    // Of the demands; a restored engine reads it, and may be asked about pods added to it later.
    std::shared_ptr<FilterTable> filters = std::make_shared<FilterTable>();
    std::vector<PodState> pods;  // those placed in order of their start
    // Arrivals and departures in order: demand d came is d, demand d left is -1 - d. A policy that
    // learns is told again.
    std::vector<std::int32_t> history;
    // How many nodes could host a class, each time that the policy asked: it is told the same
    // again.
    std::vector<std::int64_t> census;
    // Where the generator of draws stood; nothing: at the seed's beginning.
    std::optional<std::array<std::uint64_t, 4>> draws;
    // The whole mix, by demand, for policies that knew it beforehand; empty: they did not.
    std::vector<std::int64_t> mix;
};

}  // namespace tessera
