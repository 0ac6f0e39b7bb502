// The cluster as the engine sees it: capacities, and what is left of each node and device.
//
// Only the ledger takes and gives (ledger.h); everyone else reads. Use is kept exactly, also when
// foreigners took more than a device has, or a node lost devices that are still held; what is free
// is clamped at zero, so that no reader ever meets a negative.
#pragma once

#include <tsl/robin_map.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/device.h"
#include "model/gpu.h"
#include "model/ids.h"
#include "model/node.h"
#include "model/node_filter.h"
#include "model/placement.h"
#include "policy/catalog.h"

namespace tessera {

// Amounts beyond these come from no machine; within them no sum overflows.
inline constexpr std::int64_t kMaxAmount = std::int64_t{1} << 40;
inline constexpr std::int64_t kMaxGpuMemoryMib = std::int64_t{1} << 30;
// Fractional shares of a device may sum to this many devices at most (ClusterOptions).
inline constexpr MilliGpu kMaxMilliPerGpu{16'000};

struct ClusterOptions {
    // What the shares of one device may sum to. More than kWholeGpu over-commits compute on
    // purpose; memory is never over-committed, and a whole device stays one owner's alone.
    MilliGpu milli_per_gpu = kWholeGpu;
    // The constraints behind the filters of demands. The edge adds to it while the cluster lives;
    // null when no demand has a filter.
    std::shared_ptr<const FilterTable> filters = nullptr;
};

class Cluster {
  public:
    explicit Cluster(ClusterOptions options = {});

    // Whether a node of this description can be taken in: what came from outside is checked here.
    Expected<void> check(const NodeSpec& spec) const;
    // Node indices are dense, in order of adding; equal scores go to the smallest.
    NodeIndex add_node(NodeSpec spec);
    // New capacity, health or devices for a node that keeps its pods. What is held on devices
    // that are gone stays on record, and counts as over-committed, until it is given back.
    void update_node(NodeIndex node, NodeSpec spec);
    // The node is gone: no capacity, not schedulable, no alarm. update_node() brings it back.
    void remove_node(NodeIndex node);

    std::size_t size() const { return states_.size(); }
    const NodeState& node(NodeIndex node) const { return states_[node.slot()]; }
    std::span<const NodeState> nodes() const { return states_; }
    const NodeSpec& spec(NodeIndex node) const { return specs_[node.slot()]; }
    // The node's links as far as anything tells of them, NUMA nodes included.
    const LinkMatrix& links(NodeIndex node) const {
        const LinkMatrix& derived = numa_links_[node.slot()];
        return derived.empty() ? specs_[node.slot()].links : derived;
    }
    const DeviceKind& kind(KindIndex kind) const { return kinds_[kind.slot()]; }
    const NodeShape& shape(ShapeIndex shape) const { return shapes_[shape.slot()]; }
    std::size_t kind_count() const { return kinds_.size(); }
    std::size_t shape_count() const { return shapes_.size(); }
    std::size_t nodes_of(ShapeIndex shape) const { return shape_nodes_[shape.slot()]; }
    const ClusterOptions& options() const { return options_; }

    std::int64_t gpu_count() const { return gpu_count_; }
    std::int64_t gpu_milli_used() const { return gpu_milli_used_; }
    MilliCpu cpu_capacity() const { return cpu_capacity_; }
    MemoryMib memory_capacity() const { return memory_capacity_; }

    // What the nodes are. Policies do not see it: whom a node admits is judged before they score.
    const NodeTraits& traits(NodeIndex node) const { return specs_[node.slot()].traits; }
    const NodeFilter& filter(FilterIndex filter) const;
    bool admits(NodeIndex node, FilterIndex filter) const {
        return tessera::admits(this->filter(filter), traits(node));
    }
    std::size_t repelling_nodes() const { return repelling_nodes_; }  // NodeTraits::repels()
    // Changes of traits so far, and how many there were when the node's changed last.
    std::uint64_t trait_changes() const { return trait_changes_; }
    std::uint64_t traits_changed_at(NodeIndex node) const { return trait_stamps_[node.slot()]; }

    // What policies may know of it. Valid until a kind or shape is new.
    Catalog catalog(const ClassTable& classes) const;

    struct NodeUse {
        std::int64_t cpu_milli = 0;
        std::int64_t memory_mib = 0;
        std::int64_t cpu_capacity_milli = 0;  // the specification's, here for speed
        std::int64_t memory_capacity_mib = 0;
        std::int32_t pods_capacity = 0;
        std::int32_t pods = 0;
        std::uint32_t first_gpu = 0;  // into the cluster's devices
        std::uint16_t gpu_slots = 0;  // devices on record; more than the node has after a loss
        std::uint16_t over_gpus = 0;  // bit per device
        bool over_node = false;
        bool present = true;
        std::array<std::int32_t, kMaxGpusPerNode + 1> pods_of_size{};  // see NodeState::sizes
        std::vector<std::uint64_t> gpu_pod_starts;                     // ascending

        friend bool operator==(const NodeUse&, const NodeUse&) = default;
    };
    // Exact use of a device, which may exceed it when foreigners are there.
    GpuUse use(NodeIndex node, GpuIndex gpu) const;
    // nullptr when the node has no such device, and never had.
    const Device* device(NodeIndex node, GpuIndex gpu) const {
        const NodeUse& used = node_use_[node.slot()];
        return gpu.slot() < used.gpu_slots ? &devices_[used.first_gpu + gpu.slot()] : nullptr;
    }
    const NodeUse& use(NodeIndex node) const { return node_use_[node.slot()]; }

    // Held beyond what there is: by foreigners, by what the API told us, or by a loss of devices.
    bool over_committed(NodeIndex node, GpuIndex gpu) const {
        return (node_use_[node.slot()].over_gpus >> gpu.slot() & 1U) != 0;
    }
    bool over_committed(NodeIndex node) const { return node_use_[node.slot()].over_node; }
    std::int64_t over_committed_gpus() const { return over_gpus_; }
    std::int64_t over_committed_nodes() const { return over_nodes_; }  // cores, memory or pods

    // Whether the placement's devices, cores and memory are free now. Its amounts are positive or 0
    // and its devices below kMaxGpusPerNode: the ledger checks.
    bool fits(const Placement& placement) const;
    // Why it does not fit, in a sentence: the first resource that is short.
    std::string misfit(const Placement& placement) const;

    // `start` orders pods by age on their node; give() needs the same value as take().
    void take(const Placement& placement, std::uint64_t start) { apply(placement, start, 1); }
    void give(const Placement& placement, std::uint64_t start) { apply(placement, start, -1); }

    // Recomputes every state from the recorded use and compares: for tests and `audit`.
    bool consistent() const;

    std::size_t memory_bytes() const;

  private:
    struct KindHash {
        std::size_t operator()(const DeviceKind& kind) const;
    };
    struct ShapeHash {
        std::size_t operator()(const NodeShape& shape) const;
    };

    KindIndex intern_kind(const DeviceKind& kind);
    ShapeIndex intern_shape(NodeShape shape);
    void reserve_gpus(NodeIndex node, std::size_t count);
    void apply(const Placement& placement, std::uint64_t start, int sign);
    void apply_grants(const Placement& placement, int sign);
    void apply_start(const Placement& placement, std::uint64_t start, int sign);
    void refresh(NodeIndex node);
    void refresh_gpu(const Device& device, NodeState& node, GpuState& state) const;
    void mark_gpu(const Device& device, NodeUse& used, std::size_t gpu);
    void mark_node(NodeUse& used);
    void summarise(NodeState& state) const;
    NodeState state_of(NodeIndex node) const;
    bool exceeded(const Device& device) const;
    static bool exceeded(const NodeUse& used) {
        return used.cpu_milli > used.cpu_capacity_milli ||
               used.memory_mib > used.memory_capacity_mib || used.pods > used.pods_capacity;
    }
    bool has_room(const Device& device, const GpuUse& asked) const;
    SpareUse& spare_of(Device& device);
    void show_left(const Device& device, GpuState& state) const;
    void adopt_devices(NodeIndex node, const std::vector<GpuSpec>& gpus);
    std::string gpu_shortage(const GpuUse& asked, NodeIndex node, std::size_t gpu) const;
    void adopt(NodeIndex node, NodeSpec spec);
    void forget_capacity(NodeIndex node);
    void note_traits(NodeIndex node, const NodeTraits& traits);
    bool states_agree(NodeIndex node) const;

    ClusterOptions options_;
    std::vector<NodeState> states_;
    std::vector<NodeSpec> specs_;
    std::vector<LinkMatrix> numa_links_;  // empty where they are the specification's
    std::vector<std::uint64_t> trait_stamps_;
    std::vector<NodeUse> node_use_;
    std::vector<Device> devices_;
    std::vector<SpareUse> spares_;
    std::vector<DeviceKind> kinds_;
    std::vector<NodeShape> shapes_;
    std::vector<std::size_t> shape_nodes_;
    tsl::robin_map<DeviceKind, KindIndex, KindHash> kind_of_;
    tsl::robin_map<NodeShape, ShapeIndex, ShapeHash> shape_of_;
    std::int64_t gpu_count_ = 0;
    std::int64_t gpu_milli_used_ = 0;
    std::int64_t over_gpus_ = 0;
    std::int64_t over_nodes_ = 0;
    std::uint64_t trait_changes_ = 0;
    std::size_t repelling_nodes_ = 0;
    MilliCpu cpu_capacity_;
    MemoryMib memory_capacity_;
};

}  // namespace tessera
