// The engine as a simulated run drives it: pods come, are placed or not, and leave.
//
// The same cluster, placer and policies as behind every other door; only the pods' names are
// dense numbers chosen by the run.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/cluster.h"
#include "engine/placer.h"
#include "model/placement.h"
#include "policy/policy.h"

namespace tessera {

class World {
  public:
    struct Setup {
        const std::vector<NodeSpec>* nodes = nullptr;
        std::span<const std::uint32_t> node_order;  // ties go to the earlier one
        std::uint64_t seed = 42;
    };
    World(const Setup& setup, std::unique_ptr<Policy> policy);

    // Classes by their place in a workload's mix.
    void intern(std::span<const DemandClass> classes);

    // The policy learns that a pod of this class came.
    void arrive(std::uint32_t class_number);
    // Places the pod if it fits now; a pod that waits may be tried again.
    bool place(std::uint32_t pod, std::uint32_t class_number);
    // Whether place() would succeed.
    bool fits(std::uint32_t class_number);
    void depart(std::uint32_t pod);

    NodeIndex node_of(std::uint32_t pod) const { return placed_[pod].placement.node; }
    const Cluster& cluster() const { return cluster_; }

  private:
    struct Placed {
        Placement placement;
        std::uint64_t start = 0;
        ClassIndex demand_class;
    };

    Cluster cluster_;
    std::unique_ptr<Placer> placer_;
    std::vector<ClassIndex> classes_;
    std::vector<Placed> placed_;  // by pod
    std::uint64_t starts_ = 0;
};

}  // namespace tessera
