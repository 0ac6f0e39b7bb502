// A copy of one node and of what is on it, to be changed and asked: nobody is told of it.
//
//   NodeCopy copy(cluster, node);
//   copy.take(held, start);  ...  copy.give(held, start);
//   if (copy.fits(wanted)) { ... }
//
// The books are kept by the same code as the cluster's (cluster.h).
#pragma once

#include <cstdint>

#include "engine/cluster.h"
#include "model/demand_class.h"
#include "model/placement.h"

namespace tessera {

class NodeCopy {
  public:
    // With nothing on it yet.
    NodeCopy(const Cluster& cluster, NodeIndex node);

    void take(Placement placement, std::uint64_t start);
    void give(Placement placement, std::uint64_t start);

    // Whether the class finds room here, by the plain rule; which nodes admit it is not asked.
    bool fits(const DemandClass& wanted) const;

    const NodeState& state() const { return copy_.node(kHere); }
    const Cluster::NodeUse& use() const { return copy_.use(kHere); }
    const Device& device(std::size_t gpu) const {
        return *copy_.device(kHere, GpuIndex(static_cast<std::uint8_t>(gpu)));
    }
    const DeviceKind& kind(std::size_t gpu) const { return copy_.kind(state().gpus[gpu].kind); }
    std::int32_t milli_per_gpu() const { return copy_.options().milli_per_gpu.value(); }

  private:
    static constexpr NodeIndex kHere{0};

    Cluster copy_;
    ClassTable no_classes_;  // what a catalog names, and fitting does not ask
};

}  // namespace tessera
