#include "engine/engine.h"

#include <utility>

#include "base/assert.h"

namespace tessera {
namespace {

OwnerId owner(PodIndex pod) { return OwnerId::pod(pod.value()); }

Ledger ledger_of(std::vector<NodeSpec> nodes, ClusterOptions options) {
    Ledger ledger{Cluster(std::move(options))};
    for (NodeSpec& node : nodes) {
        const bool added = ledger.add_node(std::move(node)).has_value();
        TESSERA_ASSERT(added, "the edge checks nodes before it hands them over");
    }
    return ledger;
}

}  // namespace

Engine::Engine(std::vector<NodeSpec> nodes, std::unique_ptr<Policy> policy, Options options,
               ClusterOptions cluster)
    : ledger_(ledger_of(std::move(nodes), std::move(cluster))),
      placer_(std::make_unique<Placer>(ledger_.cluster(), std::move(policy), options)) {
    ledger_.observe(this);
}

std::optional<Placement> Engine::place(PodIndex pod, const Demand& demand) {
    placer_->arrived(intern(demand));
    return place_again(pod, demand);
}

std::optional<Placement> Engine::place_again(PodIndex pod, const Demand& demand) {
    std::optional<Placement> chosen = placer_->choose(demand);
    if (chosen) {
        take(pod, intern(demand), *chosen);
    }
    return chosen;
}

bool Engine::arrive(PodIndex pod, ClassIndex demand_class) {
    placer_->arrived(demand_class);
    return try_place(pod, demand_class);
}

bool Engine::try_place(PodIndex pod, ClassIndex demand_class) {
    const std::optional<Placement> chosen = placer_->choose(demand_class);
    if (!chosen) {
        return false;
    }
    take(pod, demand_class, *chosen);
    return true;
}

void Engine::take(PodIndex pod, ClassIndex demand_class, const Placement& placement) {
    const DemandClass& wanted = placer_->classes()[demand_class];
    const Terms terms{.tolerates = wanted.tolerates_no_new ? Health::no_new : Health::ok};
    const bool granted = ledger_.assume(owner(pod), placement, terms).has_value();
    TESSERA_ASSERT(granted, "the index offers only what the ledger grants");
    remember(pod, demand_class);
}

Expected<void> Engine::adopt(PodIndex pod, ClassIndex demand_class, const Placement& placement) {
    TESSERA_TRY(const Confirmation known, ledger_.confirm(owner(pod), placement));
    static_cast<void>(known);
    remember(pod, demand_class);
    return {};
}

void Engine::remember(PodIndex pod, ClassIndex demand_class) {
    if (pod.slot() >= class_of_.size()) {
        class_of_.resize(pod.slot() + 1);
    }
    class_of_[pod.slot()] = demand_class;
}

void Engine::depart(PodIndex pod) {
    TESSERA_ASSERT(pod.slot() < class_of_.size() && class_of_[pod.slot()].valid(),
                   "only a placed pod departs");
    const bool released = ledger_.release(owner(pod)).has_value();
    TESSERA_ASSERT(released, "a placed pod is in the ledger");
    placer_->departed(std::exchange(class_of_[pod.slot()], ClassIndex()));
}

std::optional<Placement> Engine::placement(PodIndex pod) const {
    return ledger_.placement(owner(pod));
}

std::size_t Engine::memory_bytes() const {
    return ledger_.memory_bytes() + cluster().memory_bytes() + placer_->memory_bytes() +
           class_of_.capacity() * sizeof(ClassIndex);
}

}  // namespace tessera
