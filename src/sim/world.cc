#include "sim/world.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace tessera {

World::World(const Setup& setup, std::unique_ptr<Policy> policy) {
    for (const std::uint32_t node : setup.node_order) {
        cluster_.add_node((*setup.nodes)[node]);
    }
    Placer::Options options;
    options.seed = setup.seed;
    placer_ = std::make_unique<Placer>(cluster_, std::move(policy), options);
}

void World::intern(std::span<const DemandClass> classes) {
    classes_.clear();
    for (const DemandClass& demand_class : classes) {
        classes_.push_back(placer_->intern(demand_class));
    }
}

void World::arrive(std::uint32_t class_number) { placer_->arrived(classes_[class_number]); }

bool World::place(std::uint32_t pod, std::uint32_t class_number) {
    auto placement = placer_->choose(classes_[class_number]);
    if (!placement) {
        return false;
    }
    if (pod >= placed_.size()) {
        placed_.resize(std::max<std::size_t>(pod + 1, placed_.size() * 2));
    }
    Placed& entry = placed_[pod];
    TESSERA_ASSERT(!entry.placement.node.valid(), "a pod is placed once");
    entry = {std::move(*placement), ++starts_, classes_[class_number]};
    cluster_.take(entry.placement, entry.start);
    placer_->node_changed(entry.placement.node);
    return true;
}

bool World::fits(std::uint32_t class_number) {
    return placer_->fitting_nodes(classes_[class_number]) > 0;
}

void World::depart(std::uint32_t pod) {
    Placed& entry = placed_[pod];
    TESSERA_ASSERT(entry.placement.node.valid(), "only a placed pod departs");
    cluster_.give(entry.placement, entry.start);
    placer_->node_changed(entry.placement.node);
    placer_->departed(entry.demand_class);
    entry = {};
}

}  // namespace tessera
