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

using PodIndex = StrongId<struct PodTag>;  // dense, chosen by the caller

class Engine final : private NodeObserver {
  public:
    using Options = Placer::Options;

    // Nodes in tie-break order: of equal ones the first wins. Each must pass Cluster::check().
    // Demands with a filter need its table, in the options of the cluster.
    Engine(std::vector<NodeSpec> nodes, std::unique_ptr<Policy> policy, Options options = {},
           ClusterOptions cluster = {});
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    ClassIndex intern(const Demand& demand) { return placer_->intern(demand); }
    ClassIndex intern(const DemandClass& demand_class) { return placer_->intern(demand_class); }

    // A pod arrives: the policy learns of it, by its first alternative, and it is placed by the
    // first that fits; nothing when none does. The grants have the names of the demand's requests.
    std::optional<Placement> place(PodIndex pod, const Demand& demand);
    // Another try for a pod that arrived before.
    std::optional<Placement> place_again(PodIndex pod, const Demand& demand);

    // The same for a class alone: without alternatives, and without names.
    bool arrive(PodIndex pod, ClassIndex demand_class);
    // A pod arrives that must wait behind others: the policy learns of it, nothing is placed.
    void observe(ClassIndex demand_class) { placer_->arrived(demand_class); }
    // A pod that another record says has left: only the policy learns of it.
    void observe_departure(ClassIndex demand_class) { placer_->departed(demand_class); }
    bool try_place(PodIndex pod, ClassIndex demand_class);
    void depart(PodIndex pod);
    // A pod that is placed already, wherever that is: taken over, never refused for want of room.
    // Its class is that of its demand's first alternative, whichever was served.
    Expected<void> adopt(PodIndex pod, ClassIndex demand_class, const Placement& placement);

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
    void set_policy(std::unique_ptr<Policy> policy) { placer_->set_policy(std::move(policy)); }

    std::optional<Placement> placement(PodIndex pod) const;
    // On how many nodes the class fits now.
    std::int64_t fitting_nodes(ClassIndex demand_class) {
        return placer_->fitting_nodes(demand_class);
    }

    const Cluster& cluster() const { return ledger_.cluster(); }
    const Ledger& ledger() const { return ledger_; }
    const Placer& placer() const { return *placer_; }
    // Explanations intern the class that they are asked about (explain.h).
    Placer& placer_to_explain() { return *placer_; }
    // For benchmarks and tests that look behind the engine.
    Placer& placer_for_tests() { return *placer_; }
    std::size_t memory_bytes() const;

  private:
    void take(PodIndex pod, ClassIndex demand_class, const Placement& placement);
    void remember(PodIndex pod, ClassIndex demand_class);
    void node_changed(NodeIndex node) override { placer_->node_changed(node); }

    Ledger ledger_;
    std::unique_ptr<Placer> placer_;
    std::vector<ClassIndex> class_of_;  // by pod, of those placed: as the policy learnt of them
};

}  // namespace tessera
