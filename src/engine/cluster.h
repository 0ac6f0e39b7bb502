// The cluster as the engine sees it: capacities, and what is left of each node and device.
//
// Only the ledger takes and gives (ledger.h); everyone else reads. Use is kept exactly, also when
// foreigners took more than a device has; what is free is clamped at zero, so that no reader ever
// meets a negative.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "model/gpu.h"
#include "model/ids.h"
#include "model/node.h"
#include "model/placement.h"

namespace tessera {

class Cluster {
  public:
    // Node indices are dense, in order of adding; equal scores go to the smallest.
    NodeIndex add_node(NodeSpec spec);
    // New capacity, health or devices for a node that keeps its pods.
    void update_node(NodeIndex node, NodeSpec spec);

    std::size_t size() const { return states_.size(); }
    const NodeState& node(NodeIndex node) const { return states_[node.slot()]; }
    std::span<const NodeState> nodes() const { return states_; }
    const NodeSpec& spec(NodeIndex node) const { return specs_[node.slot()]; }
    const DeviceKind& kind(KindIndex kind) const { return kinds_[kind.slot()]; }
    const NodeShape& shape(ShapeIndex shape) const { return shapes_[shape.slot()]; }
    std::size_t kind_count() const { return kinds_.size(); }
    std::size_t shape_count() const { return shapes_.size(); }
    std::size_t nodes_of(ShapeIndex shape) const { return shape_nodes_[shape.slot()]; }

    std::int64_t gpu_count() const { return gpu_count_; }
    std::int64_t gpu_milli_used() const { return gpu_milli_used_; }
    MilliCpu cpu_capacity() const { return cpu_capacity_; }
    MemoryMib memory_capacity() const { return memory_capacity_; }

    // Exact use of a device, which may exceed it when foreigners are there.
    struct GpuUse {
        std::int64_t memory_mib = 0;
        std::int32_t milli = 0;
        std::int32_t shares = 0;
        SpareAmounts spare{};
    };
    const GpuUse& use(NodeIndex node, GpuIndex gpu) const;
    bool over_committed(NodeIndex node, GpuIndex gpu) const;

    // Whether the placement's devices, cores and memory are free now.
    bool fits(const Placement& placement) const;

    // `start` orders pods by age on their node; give() needs the same value as take().
    void take(const Placement& placement, std::uint64_t start);
    void give(const Placement& placement, std::uint64_t start);

    // Recomputes every state from the recorded use and compares: for tests and `audit`.
    bool consistent() const;

    std::size_t memory_bytes() const;

  private:
    struct NodeUse {
        std::int64_t cpu_milli = 0;
        std::int64_t memory_mib = 0;
        std::int32_t pods = 0;
        std::array<std::uint16_t, kMaxGpusPerNode + 1> pods_of_size{};  // see NodeState::sizes
        std::vector<std::uint64_t> gpu_pod_starts;                      // ascending
    };

    KindIndex intern_kind(const DeviceKind& kind);
    ShapeIndex intern_shape(const NodeShape& shape);
    void apply(const Placement& placement, std::uint64_t start, int sign);
    void refresh(NodeIndex node);
    void refresh_gpu(NodeIndex node, std::size_t gpu);
    void summarise(NodeState& state) const;
    NodeState state_of(NodeIndex node) const;
    std::size_t gpu_slot(NodeIndex node, GpuIndex gpu) const {
        return first_gpu_[node.slot()] + gpu.slot();
    }
    void adopt(NodeIndex node, NodeSpec spec);
    void forget_capacity(NodeIndex node);

    std::vector<NodeState> states_;
    std::vector<NodeSpec> specs_;
    std::vector<NodeUse> node_use_;
    std::vector<std::uint32_t> first_gpu_;  // into gpu_use_, kMaxGpusPerNode apart when updated
    std::vector<GpuUse> gpu_use_;
    std::vector<DeviceKind> kinds_;
    std::vector<NodeShape> shapes_;
    std::vector<std::size_t> shape_nodes_;
    std::int64_t gpu_count_ = 0;
    std::int64_t gpu_milli_used_ = 0;
    MilliCpu cpu_capacity_;
    MemoryMib memory_capacity_;
};

}  // namespace tessera
