#include "engine/gang_room.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "policy/assignment.h"

namespace tessera {
namespace {

std::int64_t times(std::int64_t there, std::int64_t each, std::int64_t most) {
    return each <= 0 ? most : std::min(most, there / each);
}

// What is shown as idle is never more than a whole device, which over-commitment may exceed.
std::int64_t idle_milli(const Cluster& cluster, NodeIndex node, std::size_t gpu) {
    const Device* device = cluster.device(node, GpuIndex(static_cast<std::uint8_t>(gpu)));
    return std::max(0, cluster.options().milli_per_gpu.value() - device->milli);
}

// How often one part of the class goes on the device.
std::int64_t parts_on(const Cluster& cluster, NodeIndex node, std::size_t gpu,
                      const DemandClass& wanted, const GpuRequest& part, std::int64_t most) {
    const GpuState& device = cluster.node(node).gpus[gpu];
    const DeviceKind& kind = cluster.kind(device.kind);
    const bool usable = kind.health <= wanted.tolerates && kind.mode == AllocatorMode::annotation &&
                        wanted.allows(kind.model) && part.memory_on(kind.memory) <= kind.memory;
    if (!usable || device.free_slots == 0) {
        return 0;
    }
    if (part.whole()) {
        return device.empty() ? 1 : 0;
    }
    const std::int64_t slots = device.free_slots == kSlotsUnlimited ? most : device.free_slots;
    // What is shown as idle is never more than a whole device, which over-commitment may exceed.
    const std::int64_t idle = cluster.options().milli_per_gpu.value() -
                              cluster.device(node, GpuIndex(static_cast<std::uint8_t>(gpu)))->milli;
    return std::min({times(idle, part.milli.value(), most),
                     times(device.free_memory_mib, part.memory_on(kind.memory).value(), most),
                     slots, most});
}

// Of several requests of one pod each is looked at alone: the scarcest counts.
std::int64_t room_on_devices(const Cluster& cluster, NodeIndex node, const DemandClass& wanted,
                             std::int64_t most) {
    for (const GpuRequest& part : wanted.requests) {
        std::int64_t parts = 0;
        for (std::size_t gpu = 0; gpu < cluster.node(node).gpu_count; ++gpu) {
            // At most one for each pod.
            parts += parts_on(cluster, node, gpu, wanted, part, most);
        }
        most = std::min(most, parts / part.gpus);
    }
    return most;
}

}  // namespace

std::int64_t room_for(const Cluster& cluster, NodeIndex node, const DemandClass& wanted,
                      std::int64_t most) {
    const NodeState& state = cluster.node(node);
    if (!state.schedulable) {
        return 0;
    }
    most = std::min<std::int64_t>(most, state.free_pods);
    most = times(state.free_cpu_milli, wanted.cpu.value(), most);
    most = times(state.free_memory_mib, wanted.memory.value(), most);
    if (most <= 0 || !wanted.wants_gpu() || wanted.admin_access) {
        return std::max<std::int64_t>(0, most);
    }
    return room_on_devices(cluster, node, wanted, most);
}

std::int64_t room_for(const Cluster& cluster, NodeIndex node, const LeastAsked& least,
                      std::int64_t most) {
    const NodeState& state = cluster.node(node);
    std::int64_t idle = 0;
    for (std::size_t gpu = 0; gpu < state.gpu_count; ++gpu) {
        idle += idle_milli(cluster, node, gpu);
    }
    most = std::min<std::int64_t>(most, state.free_pods);
    most = times(state.free_cpu_milli, least.cpu_milli, most);
    most = times(state.free_memory_mib, least.memory_mib, most);
    return times(idle, least.gpu_milli, most);
}

bool room_is_exact(const DemandClass& wanted) {
    if (wanted.wants_spare() || wanted.admin_access) {
        return false;
    }
    return !wanted.wants_gpu() || wanted.footprint == Footprint::share ||
           (wanted.footprint == Footprint::whole &&
            wanted.requests.front().rule == GroupRule::none);
}

std::optional<GpuIndex> device_for_shares(const Cluster& cluster, NodeIndex node,
                                          const DemandClass& wanted, const Catalog& catalog,
                                          std::int64_t count, DeviceMask held_by_gang) {
    if (wanted.footprint != Footprint::share || wanted.admin_access) {
        return std::nullopt;
    }
    const NodeState& state = cluster.node(node);
    std::optional<GpuIndex> best;
    std::tuple<bool, bool, std::int64_t, int> best_rank{};
    for (DeviceMask mask = fitting_devices(state, wanted, catalog); mask != 0; mask &= mask - 1) {
        const int gpu = std::countr_zero(mask);
        const GpuState& device = state.gpus[static_cast<std::size_t>(gpu)];
        const std::int64_t parts = parts_on(cluster, node, static_cast<std::size_t>(gpu), wanted,
                                            wanted.requests.front(), count);
        const bool all = parts >= count;
        const std::tuple rank{(held_by_gang >> gpu & 1U) != 0, all,
                              all ? -std::int64_t{device.value} : parts, -gpu};
        if (!best || rank > best_rank) {
            best = GpuIndex(static_cast<std::uint8_t>(gpu));
            best_rank = rank;
        }
    }
    return best;
}

}  // namespace tessera
