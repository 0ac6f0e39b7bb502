#include "sim/world.h"

#include <utility>

#include "base/assert.h"
#include "engine/state.h"

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

Engine::Options options(const World::Setup& setup) {
    Engine::Options options;
    options.seed = setup.seed;
    options.record_census = setup.state.into != nullptr;
    return options;
}

}  // namespace

World::World(const Setup& setup, std::unique_ptr<Policy> policy)
    : engine_(in_order(setup), std::move(policy), options(setup)),
      workload_(setup.workload),
      state_(setup.state),
      seed_(setup.seed) {
    classes_.reserve(setup.workload->mix.size());
    for (const ClassCount& entry : setup.workload->mix) {
        classes_.push_back(engine_.intern(entry.demand_class));
    }
}

void World::take_state() const {
    std::vector<Demand> demands;
    for (const ClassCount& entry : workload_->mix) {
        demands.push_back(demand_of(entry.demand_class));
    }
    std::vector<PodEntry> pods;
    for (const auto& [pod, class_number] : pods_) {
        pods.push_back({PodIndex(pod), fmt::format("pod-{}", pod), class_number});
    }
    ClusterState state = capture_state(engine_, std::move(demands), pods);
    state.policy = engine_.placer().policy().name();
    state.seed = seed_;
    state.history = history_;
    for (const ClassCount& entry : workload_->mix) {
        state.mix.push_back(entry.count);
    }
    *state_.into = std::move(state);
}

void World::note_departure(std::uint32_t pod) {
    if (!recording()) {
        return;
    }
    const auto known = pods_.find(pod);
    TESSERA_ASSERT(known != pods_.end(), "only a pod that came leaves");
    history_.push_back(-1 - static_cast<std::int32_t>(known->second));
    pods_.erase(known);
}

}  // namespace tessera
