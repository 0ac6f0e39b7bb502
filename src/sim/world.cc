#include "sim/world.h"

#include <utility>

namespace tessera {

namespace {

std::vector<NodeSpec> in_order(const World::Setup& setup) {
    std::vector<NodeSpec> nodes;
    nodes.reserve(setup.node_order.size());
    for (const std::uint32_t node : setup.node_order) {
        nodes.push_back((*setup.nodes)[node]);
    }
    return nodes;
}

Engine::Options options(std::uint64_t seed) {
    Engine::Options options;
    options.seed = seed;
    return options;
}

}  // namespace

World::World(const Setup& setup, std::unique_ptr<Policy> policy)
    : engine_(in_order(setup), std::move(policy), options(setup.seed)) {
    classes_.reserve(setup.workload->mix.size());
    for (const ClassCount& entry : setup.workload->mix) {
        classes_.push_back(engine_.intern(entry.demand_class));
    }
}

}  // namespace tessera
