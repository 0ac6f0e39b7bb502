#include "engine/engine.h"

#include <utility>

#include "base/assert.h"

namespace tessera {
namespace {

constexpr std::size_t kMaxPolicies = 64;

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
    : ledger_(ledger_of(std::move(nodes), std::move(cluster))), options_(options) {
    add_policy(std::move(policy));
    ledger_.observe(this);
}

PolicySlot Engine::add_policy(std::unique_ptr<Policy> policy) {
    TESSERA_ASSERT(placers_.size() < kMaxPolicies, "a door has a few policies");
    placers_.push_back(
        std::make_unique<Placer>(ledger_.cluster(), std::move(policy), options_, &groups_));
    return PolicySlot(static_cast<PolicySlot::rep>(placers_.size() - 1));
}

std::vector<ClassIndex> Engine::keep_only(PolicySlot policy, std::vector<bool> kept,
                                          std::unique_ptr<Policy> anew) {
    kept.resize(placer(policy).classes().size());
    const auto learnt_here = [&](const Learnt& learnt) {
        return learnt.policy == policy && learnt.demand_class.valid();
    };
    for (const Learnt& learnt : learnt_) {
        if (learnt_here(learnt)) {
            kept[learnt.demand_class.slot()] = true;
        }
    }
    std::vector<ClassIndex> now = placer(policy).keep_only(kept, std::move(anew));
    for (Learnt& learnt : learnt_) {
        if (learnt_here(learnt)) {
            learnt.demand_class = now[learnt.demand_class.slot()];
        }
    }
    return now;
}

std::optional<Placement> Engine::place(PodIndex pod, const Demand& demand) {
    first().arrived(intern(demand));
    return place_again(pod, demand);
}

std::optional<Placement> Engine::place_again(PodIndex pod, const Demand& demand) {
    std::optional<Placement> chosen = first().choose(demand);
    if (chosen) {
        take(pod, intern(demand), *chosen, demand.gang ? demand.gang->group : GroupIndex());
    }
    return chosen;
}

bool Engine::arrive(PodIndex pod, ClassIndex demand_class, GroupIndex group) {
    first().arrived(demand_class);
    return try_place(pod, demand_class, group);
}

bool Engine::try_place(PodIndex pod, ClassIndex demand_class, GroupIndex group) {
    const std::optional<Placement> chosen = first().choose(demand_class, group);
    if (!chosen) {
        return false;
    }
    take(pod, demand_class, *chosen, group);
    return true;
}

void Engine::take(PodIndex pod, ClassIndex demand_class, const Placement& placement,
                  GroupIndex group) {
    const Terms terms{.tolerates = first().classes()[demand_class].tolerates};
    const bool granted = ledger_.assume(owner(pod), placement, terms).has_value();
    TESSERA_ASSERT(granted, "the index offers only what the ledger grants");
    remember(pod, {demand_class, group});
}

Expected<void> Engine::adopt(PodIndex pod, ClassIndex demand_class, const Placement& placement,
                             GroupIndex group) {
    TESSERA_TRY(const Confirmation known,
                confirm(pod, {kFirstPolicy, demand_class, placement, group}));
    static_cast<void>(known);
    return {};
}

void Engine::remember(PodIndex pod, Learnt learnt) {
    if (pod.slot() >= learnt_.size()) {
        learnt_.resize(pod.slot() + 1);
    }
    const Learnt before = std::exchange(learnt_[pod.slot()], learnt);
    if (before.group != learnt.group) {
        if (before.group.valid()) {
            groups_.leave(before.group, owner(pod));
        }
        if (learnt.group.valid()) {
            groups_.join(learnt.group, owner(pod));
        }
    }
}

Engine::Learnt Engine::forget(PodIndex pod) {
    if (pod.slot() >= learnt_.size()) {
        return {};
    }
    const Learnt learnt = learnt_[pod.slot()];
    remember(pod, {});
    return learnt;
}

void Engine::depart(PodIndex pod) {
    const bool released = ledger_.release(owner(pod)).has_value();
    TESSERA_ASSERT(released, "only a placed pod departs");
    const Learnt learnt = forget(pod);
    if (learnt.demand_class.valid()) {
        placer(learnt.policy).departed(learnt.demand_class);
    }
}

Expected<void> Engine::hold(PodIndex pod, const Choice& choice, Nanoseconds deadline) {
    const Terms terms{.deadline = deadline, .tolerates = tolerated(pod, choice)};
    TESSERA_CHECK(ledger_.assume(owner(pod), choice.placement, terms));
    remember(pod, {choice.demand_class, choice.group, choice.policy});
    return {};
}

// What its class tolerates; of a pod without a class, what it did until now.
Health Engine::tolerated(PodIndex pod, const Choice& choice) const {
    if (choice.demand_class.valid()) {
        return placers_[choice.policy.slot()]->classes()[choice.demand_class].tolerates;
    }
    const auto known = ledger_.find(owner(pod));
    return known ? known->tolerates : Health::ok;
}

Expected<void> Engine::set_deadline(PodIndex pod, Nanoseconds deadline) {
    return ledger_.set_deadline(owner(pod), deadline);
}

void Engine::drop(PodIndex pod) {
    const bool released = ledger_.release(owner(pod)).has_value();
    TESSERA_ASSERT(released, "only a pod that holds something is dropped");
    forget(pod);
}

std::vector<PodIndex> Engine::expire(Nanoseconds now) {
    std::vector<PodIndex> ended;
    for (OwnerId gone : ledger_.expire(now)) {
        if (gone.kind() == OwnerKind::pod) {
            ended.emplace_back(gone.index());
            forget(ended.back());
        }
    }
    return ended;
}

Expected<Confirmation> Engine::confirm(PodIndex pod, const Choice& choice) {
    const Terms terms{.tolerates = tolerated(pod, choice)};
    TESSERA_TRY(const Confirmation confirmation,
                ledger_.confirm(owner(pod), choice.placement, terms));
    remember(pod, {choice.demand_class, choice.group, choice.policy});
    return confirmation;
}

Expected<void> Engine::terminate(PodIndex pod) { return ledger_.terminate(owner(pod)); }

std::optional<Placement> Engine::placement(PodIndex pod) const {
    return ledger_.placement(owner(pod));
}

std::size_t Engine::memory_bytes() const {
    std::size_t bytes = ledger_.memory_bytes() + cluster().memory_bytes() +
                        learnt_.capacity() * sizeof(Learnt) + groups_.memory_bytes();
    for (const auto& placer : placers_) {
        bytes += placer->memory_bytes();
    }
    return bytes;
}

}  // namespace tessera
