// The cluster's questions about itself: what a placement lacks, whether the books are right, and
// how much memory they take.
#include <array>
#include <string>

#include "engine/cluster.h"

namespace tessera {

std::string Cluster::misfit(const Placement& placement) const {
    const NodeIndex node = placement.node;
    const NodeSpec& spec = specs_[node.slot()];
    const NodeState& left = states_[node.slot()];
    if (placement.cpu.value() > left.free_cpu_milli ||
        placement.memory.value() > left.free_memory_mib || placement.pods > left.free_pods) {
        return fmt::format(
            "node \"{}\" has {} milli-cores, {} MiB and {} pods free, asked are {}, {} and {}",
            spec.name, left.free_cpu_milli, left.free_memory_mib, left.free_pods,
            placement.cpu.value(), placement.memory.value(), placement.pods);
    }
    std::array<GpuUse, kMaxGpusPerNode> asked{};
    for (const DeviceGrant& grant : placement.grants) {
        if (grant.gpu.slot() >= spec.gpus.size()) {
            return fmt::format("node \"{}\" has {} GPUs, asked is GPU {}", spec.name,
                               spec.gpus.size(), grant.gpu.value());
        }
        if (!placement.admin_access) {
            asked[grant.gpu.slot()].add(grant, 1);
        }
    }
    for (std::size_t gpu = 0; gpu < spec.gpus.size(); ++gpu) {
        if (std::string reason = gpu_shortage(asked[gpu], node, gpu); !reason.empty()) {
            return reason;
        }
    }
    return {};
}

std::string Cluster::gpu_shortage(const GpuUse& asked, NodeIndex node, std::size_t gpu) const {
    const GpuSpec& device = specs_[node.slot()].gpus[gpu];
    const GpuUse used = use(node, GpuIndex(static_cast<std::uint8_t>(gpu)));
    if (asked.shares == 0 || has_room(devices_[node_use_[node.slot()].first_gpu + gpu], asked)) {
        return {};
    }
    const std::string& name = specs_[node.slot()].name;
    if (used.exclusive + asked.exclusive > 0 && used.shares + asked.shares > 1) {
        return fmt::format(
            "GPU {} of node \"{}\" would be whole for one owner and shared: {} "
            "shares there, {} asked",
            gpu, name, used.shares, asked.shares);
    }
    if (device.slots > 0 && used.shares + asked.shares > device.slots) {
        return fmt::format("GPU {} of node \"{}\" has {} of {} slots in use, {} asked", gpu, name,
                           used.shares, device.slots, asked.shares);
    }
    return fmt::format(
        "GPU {} of node \"{}\" has {} of {} milli and {} of {} MiB in use, asked are {} and {} "
        "(other capacities in use: {}, {}, {}; asked: {}, {}, {})",
        gpu, name, used.milli, options_.milli_per_gpu.value(), used.memory_mib,
        device.memory.value(), asked.milli, asked.memory_mib, used.spare[0], used.spare[1],
        used.spare[2], asked.spare[0], asked.spare[1], asked.spare[2]);
}

bool Cluster::states_agree(NodeIndex node) const {
    const NodeState fresh = state_of(node);
    const NodeState& kept = states_[node.slot()];
    bool same = fresh.free_cpu_milli == kept.free_cpu_milli &&
                fresh.free_memory_mib == kept.free_memory_mib &&
                fresh.free_pods == kept.free_pods && fresh.idle_value == kept.idle_value &&
                fresh.gpu_pods == kept.gpu_pods && fresh.oldest_start == kept.oldest_start &&
                fresh.empty_gpus == kept.empty_gpus && fresh.sizes == kept.sizes &&
                fresh.gpu_count == kept.gpu_count && fresh.schedulable == kept.schedulable;
    for (std::size_t gpu = 0; same && gpu < kept.gpu_count; ++gpu) {
        const GpuState& a = fresh.gpus[gpu];
        const GpuState& b = kept.gpus[gpu];
        same = a.idle_milli == b.idle_milli && a.free_memory_mib == b.free_memory_mib &&
               a.value == b.value && a.shares == b.shares && a.kind == b.kind &&
               a.free_slots == b.free_slots;
    }
    return same;
}

bool Cluster::consistent() const {
    std::int64_t over_gpus = 0;
    std::int64_t over_nodes = 0;
    std::int64_t milli = 0;
    std::size_t repelling = 0;
    for (std::uint32_t n = 0; n < states_.size(); ++n) {
        const NodeIndex node(n);
        const NodeUse& used = node_use_[n];
        if (!states_agree(node)) {
            return false;
        }
        for (std::size_t gpu = 0; gpu < used.gpu_slots; ++gpu) {
            const Device& device = devices_[used.first_gpu + gpu];
            milli += device.milli;
            const bool over = used.present && exceeded(device);
            over_gpus += over ? 1 : 0;
            if (over != ((used.over_gpus >> gpu & 1U) != 0)) {
                return false;
            }
        }
        over_nodes += used.present && exceeded(used) ? 1 : 0;
        repelling += traits(node).repels() ? 1 : 0;
    }
    return over_gpus == over_gpus_ && over_nodes == over_nodes_ && milli == gpu_milli_used_ &&
           repelling == repelling_nodes_;
}

std::size_t Cluster::memory_bytes() const {
    std::size_t bytes =
        states_.capacity() * sizeof(NodeState) + node_use_.capacity() * sizeof(NodeUse) +
        devices_.capacity() * sizeof(Device) + spares_.capacity() * sizeof(SpareUse) +
        specs_.capacity() * sizeof(NodeSpec) + trait_stamps_.capacity() * sizeof(std::uint64_t) +
        2 * kinds_.capacity() * sizeof(DeviceKind);
    for (const NodeUse& use : node_use_) {
        bytes += use.gpu_pod_starts.capacity() * sizeof(std::uint64_t);
    }
    for (const NodeSpec& spec : specs_) {
        bytes += spec.gpus.capacity() * sizeof(GpuSpec) + spec.name.capacity();
        bytes += spec.traits.labels.capacity() * sizeof(NodeLabel) +
                 spec.traits.numbers.capacity() * sizeof(LabelNumber) +
                 spec.traits.taints.capacity() * sizeof(NodeTaint);
        bytes += static_cast<std::size_t>(spec.links.gpus() * spec.links.gpus()) * sizeof(Link);
        for (const GpuSpec& gpu : spec.gpus) {
            bytes += gpu.uuid.capacity() + gpu.cell.capacity() + gpu.parent.capacity();
        }
    }
    for (const LinkMatrix& links : numa_links_) {
        bytes += sizeof(LinkMatrix) +
                 static_cast<std::size_t>(links.gpus() * links.gpus()) * sizeof(Link);
    }
    for (const NodeShape& shape : shapes_) {  // held twice: by index and by content
        bytes += 2 * (sizeof(NodeShape) + shape.kinds.capacity() * sizeof(KindIndex));
    }
    return bytes;
}

}  // namespace tessera
