#include "policy/devices.h"

#include <bit>

namespace tessera {

bool may_use(const DemandClass& demand_class, const DeviceKind& kind) {
    return kind.health <= demand_class.tolerates && kind.mode == AllocatorMode::annotation &&
           demand_class.allows(kind.model) && demand_class.memory_on(kind.memory) <= kind.memory;
}

DeviceMask fitting_devices(const NodeState& node, const DemandClass& demand_class,
                           const Catalog& catalog) {
    DeviceMask mask = 0;
    const bool alone = demand_class.footprint == Footprint::whole;
    for (int gpu = 0; gpu < node.gpu_count; ++gpu) {
        const GpuState& device = node.gpus[static_cast<std::size_t>(gpu)];
        const DeviceKind& kind = catalog.kinds[device.kind.slot()];
        const bool room =
            alone ? device.empty()
                  : device.free_slots > 0 && device.idle_milli >= demand_class.milli.value() &&
                        device.free_memory_mib >= demand_class.memory_on(kind.memory).value();
        if (room && may_use(demand_class, kind)) {
            mask |= DeviceMask{1} << gpu;
        }
    }
    return mask;
}

int tightest_device(const NodeState& node, DeviceMask mask) {
    return best_device(node, mask, [](const GpuState& device) { return -device.value; });
}

int emptiest_device(const NodeState& node, DeviceMask mask) {
    return best_device(node, mask, [](const GpuState& device) { return device.value; });
}

void take_only(int gpu, DeviceList& devices) {
    devices.clear();
    if (gpu >= 0) {
        devices.push_back(GpuIndex(static_cast<std::uint8_t>(gpu)));
    }
}

int nth_device(DeviceMask mask, int i) {
    for (; i > 0; --i) {
        mask &= mask - 1;
    }
    return std::countr_zero(mask);
}

}  // namespace tessera
