#include "policy/assignment.h"

#include <bit>

namespace tessera {
namespace {

void take_tightest(const NodeState& node, DeviceMask mask, int count, DeviceList& devices) {
    for (; count > 0; --count) {
        const int gpu = tightest_device(node, mask);
        devices.push_back(GpuIndex(static_cast<std::uint8_t>(gpu)));
        mask &= ~(DeviceMask{1} << gpu);
    }
}

void take_lowest(DeviceMask mask, int count, DeviceList& devices) {
    for (; count > 0; --count, mask &= mask - 1) {
        devices.push_back(GpuIndex(static_cast<std::uint8_t>(std::countr_zero(mask))));
    }
}

}  // namespace

bool assign_devices(const NodeState& node, const DemandClass& demand_class, const Catalog& catalog,
                    DeviceList& devices) {
    devices.clear();
    const DeviceMask mask = fitting_devices(node, demand_class, catalog);
    if (std::popcount(mask) < demand_class.gpus) {
        return false;
    }
    if (demand_class.footprint == Footprint::whole) {
        take_lowest(mask, demand_class.gpus, devices);
    } else {
        take_tightest(node, mask, demand_class.gpus, devices);
    }
    return true;
}

void place_devices(const NodeState& node, const DemandClass& demand_class, const Catalog& catalog,
                   const LinkMatrix& links, DeviceList& devices) {
    assign_devices(node, demand_class, catalog, devices);
    if (links.empty() || demand_class.footprint != Footprint::whole || demand_class.gpus < 2) {
        return;
    }
}

void apply_class(NodeState& node, const DemandClass& demand_class, const Catalog& catalog) {
    DeviceList devices;
    if (demand_class.wants_gpu()) {
        assign_devices(node, demand_class, catalog, devices);
    }
    apply_devices(node, demand_class, catalog, devices);
}

void apply_devices(NodeState& node, const DemandClass& demand_class, const Catalog& catalog,
                   const DeviceList& devices) {
    node.free_cpu_milli -= demand_class.cpu.value();
    node.free_memory_mib -= demand_class.memory.value();
    --node.free_pods;
    if (!demand_class.wants_gpu() || demand_class.admin_access) {
        return;
    }
    std::size_t next = 0;
    for (const GpuRequest& request : demand_class.requests) {
        for (int i = 0; i < request.gpus && next < devices.size(); ++i, ++next) {
            GpuState& device = node.gpus[devices[next].slot()];
            const std::int64_t total = catalog.kinds[device.kind.slot()].memory.value();
            const std::int64_t part = request.memory_ppm == 0
                                          ? request.memory.value()
                                          : total * request.memory_ppm / kWholeMemoryPpm;
            const std::int16_t before = device.value;
            node.empty_gpus = static_cast<std::uint8_t>(node.empty_gpus - (device.empty() ? 1 : 0));
            ++device.shares;
            device.idle_milli =
                static_cast<std::int16_t>(device.idle_milli - request.milli.value());
            device.free_memory_mib =
                request.whole() ? 0 : static_cast<std::int32_t>(device.free_memory_mib - part);
            device.value = device_value(device.idle_milli, device.free_memory_mib, total);
            node.idle_value += device.value - before;
        }
    }
    ++node.gpu_pods;
}

bool fits(const NodeState& node, const DemandClass& demand_class, const Catalog& catalog) {
    if (!node.schedulable || node.free_pods <= 0 ||
        node.free_cpu_milli < demand_class.cpu.value() ||
        node.free_memory_mib < demand_class.memory.value()) {
        return false;
    }
    DeviceList devices;
    return !demand_class.wants_gpu() || assign_devices(node, demand_class, catalog, devices);
}

}  // namespace tessera
