#include "engine/class_placement.h"

#include "policy/assignment.h"

namespace tessera {

Placement placement_of(const DemandClass& wanted, const Cluster& cluster, NodeIndex node,
                       const DeviceList& devices) {
    Placement placement;
    placement.node = node;
    placement.cpu = wanted.cpu;
    placement.memory = wanted.memory;
    placement.admin_access = wanted.admin_access;
    std::size_t next = 0;
    for (const GpuRequest& request : wanted.requests) {
        for (int i = 0; i < request.gpus; ++i, ++next) {
            const GpuState& device = cluster.node(node).gpus[devices[next].slot()];
            const MemoryMib total = cluster.kind(device.kind).memory;
            placement.grants.push_back({.request = request.name,
                                        .gpu = devices[next],
                                        .milli = request.milli,
                                        .memory = memory_held(request, total),
                                        .spare = request.spare});
        }
    }
    return placement;
}

}  // namespace tessera
