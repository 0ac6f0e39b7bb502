// The engine: ledger, policy and index as one. Every door drives this object.
//
//   Engine engine(std::move(nodes), std::move(policy), {.seed = 42});
//   if (auto placement = engine.place(pod, demand)) { ... }
//   engine.depart(pod);
//
// A simulator, whose pods have one alternative and no containers, interns each class once:
//   ClassIndex c = engine.intern(demand);
//   if (engine.arrive(pod, c)) { ... engine.placement(pod) ... }
//
// Single-threaded and deterministic: the same calls give the same placements on every machine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "engine/ledger.h"
#include "engine/placer.h"
#include "model/demand.h"
#include "model/node.h"
#include "model/placement.h"
#include "policy/policy.h"

namespace tessera {

using PodIndex = StrongId<struct PodTag>;                         // dense, chosen by the caller
using PolicySlot = StrongId<struct PolicySlotTag, std::uint8_t>;  // of the policies on one ledger
inline constexpr PolicySlot kFirstPolicy{0};

// A placement that a door decided on, of a class of that policy's placer.
struct Choice {
    PolicySlot policy = kFirstPolicy;
    ClassIndex demand_class{};  // none(): no policy learns of the pod's end
    Placement placement{};
    GroupIndex group{};  // the pod's, for policies that keep a group together
};

class Engine final : private NodeObserver {
  public:
    using Options = Placer::Options;

    // Nodes in tie-break order: of equal ones the first wins. Each must pass Cluster::check().
    // Demands with a filter need its table, in the options of the cluster.
    Engine(std::vector<NodeSpec> nodes, std::unique_ptr<Policy> policy, Options options = {},
           ClusterOptions cluster = {});
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    ClassIndex intern(const Demand& demand) { return first().intern(demand); }
    ClassIndex intern(const DemandClass& demand_class) { return first().intern(demand_class); }

    // A pod arrives: the policy learns of it, by its first alternative, and it is placed by the
    // first that fits; nothing when none does. The grants have the names of the demand's requests.
    std::optional<Placement> place(PodIndex pod, const Demand& demand);
    // Another try for a pod that arrived before.
    std::optional<Placement> place_again(PodIndex pod, const Demand& demand);

    // The same for a class alone: without alternatives, and without names.
    bool arrive(PodIndex pod, ClassIndex demand_class, GroupIndex group = {});
    // A pod arrives that must wait behind others: the policy learns of it, nothing is placed.
    void observe(ClassIndex demand_class) { first().arrived(demand_class); }
    // A pod that another record says has left: only the policy learns of it.
    void observe_departure(ClassIndex demand_class) { first().departed(demand_class); }
    bool try_place(PodIndex pod, ClassIndex demand_class, GroupIndex group = {});
    void depart(PodIndex pod);
    // A pod that is placed already, wherever that is: taken over, never refused for want of room.
    // Its class is that of its demand's first alternative, whichever was served.
    Expected<void> adopt(PodIndex pod, ClassIndex demand_class, const Placement& placement,
                         GroupIndex group = {});

    // Nodes come, change and go; pods on them stay where they are. The last node added loses ties.
    Expected<NodeIndex> add_node(NodeSpec spec) { return ledger_.add_node(std::move(spec)); }
    Expected<void> update_node(NodeIndex node, NodeSpec spec) {
        return ledger_.update_node(node, std::move(spec));
    }
    Expected<void> remove_node(NodeIndex node) { return ledger_.remove_node(node); }
    Expected<void> set_health(NodeIndex node, GpuIndex gpu, Health health) {
        return ledger_.set_health(node, gpu, health);
    }

    // Another policy, while pods run: see Placer::set_policy().
    void set_policy(std::unique_ptr<Policy> policy) { first().set_policy(std::move(policy)); }

    // More policies on the same ledger, for doors that serve several vocabularies at once. Each has
    // a placer with classes and an index of its own, up to date with every change; the first is the
    // constructor's.
    PolicySlot add_policy(std::unique_ptr<Policy> policy);
    Placer& placer(PolicySlot policy) { return *placers_[policy.slot()]; }

    // Placer::keep_only() of one of them: what is placed is kept in any case.
    std::vector<ClassIndex> keep_only(PolicySlot policy, std::vector<bool> kept,
                                      std::unique_ptr<Policy> anew);

    // For doors whose decisions are made real elsewhere (the life of a share is in ledger.h).
    // hold() assumes until the deadline; drop() takes that back, as if nothing had been decided;
    // depart(pod) is the end of a pod that was confirmed.
    Expected<void> hold(PodIndex pod, const Choice& choice, Nanoseconds deadline);
    Expected<void> set_deadline(PodIndex pod, Nanoseconds deadline);
    void drop(PodIndex pod);
    // The pods among what expired. What claims held has ended too; their door hears of it from the
    // ledger.
    std::vector<PodIndex> expire(Nanoseconds now);
    // The API's word, of a pod of ours.
    Expected<Confirmation> confirm(PodIndex pod, const Choice& choice);
    Expected<void> terminate(PodIndex pod);
    // The same of what others placed. Foreigners have indices of their own.
    Expected<Confirmation> confirm_foreign(PodIndex foreigner, const Placement& placement) {
        return ledger_.confirm(OwnerId::foreign(foreigner.value()), placement);
    }
    Expected<void> terminate_foreign(PodIndex foreigner) {
        return ledger_.terminate(OwnerId::foreign(foreigner.value()));
    }
    Expected<void> release_foreign(PodIndex foreigner) {
        return ledger_.release(OwnerId::foreign(foreigner.value()));
    }
    // Tentative moves, which are rolled back or committed before anything else happens.
    Ledger& ledger_for_statement() { return ledger_; }

    std::optional<Placement> placement(PodIndex pod) const;
    // On how many nodes the class fits now.
    std::int64_t fitting_nodes(ClassIndex demand_class) {
        return first().fitting_nodes(demand_class);
    }

    const Cluster& cluster() const { return ledger_.cluster(); }
    const Ledger& ledger() const { return ledger_; }
    const Placer& placer() const { return *placers_.front(); }
    // Explanations intern the class that they are asked about (explain.h).
    Placer& placer_to_explain() { return first(); }
    // For benchmarks and tests that look behind the engine.
    Placer& placer_for_tests() { return first(); }
    std::size_t memory_bytes() const;

  private:
    void take(PodIndex pod, ClassIndex demand_class, const Placement& placement, GroupIndex group);
    // As a policy learnt of a pod.
    struct Learnt {
        ClassIndex demand_class;
        GroupIndex group{};
        PolicySlot policy = kFirstPolicy;
    };
    Health tolerated(PodIndex pod, const Choice& choice) const;
    void remember(PodIndex pod, Learnt learnt);
    Learnt forget(PodIndex pod);
    Placer& first() { return *placers_.front(); }
    void node_changed(NodeIndex node) override {
        for (const auto& placer : placers_) {
            placer->node_changed(node);
        }
    }

    Ledger ledger_;
    GroupMembers groups_{ledger_};
    Options options_;
    std::vector<std::unique_ptr<Placer>> placers_;  // by policy, never empty
    std::vector<Learnt> learnt_;                    // by pod, of those placed
};

}  // namespace tessera
