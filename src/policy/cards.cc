#include "policy/cards.h"

#include <algorithm>
#include <bit>

#include "policy/assignment.h"

namespace tessera {

NodeCards cards_of(const NodeState& node, const DemandClass& demand_class, const Catalog& catalog) {
    NodeCards result;
    result.count = node.gpu_count;
    for (std::size_t gpu = 0; gpu < node.gpu_count; ++gpu) {
        const GpuState& device = node.gpus[gpu];
        const DeviceKind& kind = catalog.kinds[device.kind.slot()];
        CardView& card = result.cards[gpu];
        card.milli_free = device.idle_milli;
        card.memory_free_mib = device.free_memory_mib;
        card.empty = device.empty();
        card.usable = may_use(demand_class, kind);
        card.memory_total_mib = kind.memory.value();
        card.slots_free = device.free_slots;
        result.largest = std::max(result.largest, kind.memory);
    }
    return result;
}

std::vector<ContainerNeed> needs_of(const DemandClass& demand_class, MemoryMib largest) {
    std::vector<ContainerNeed> needs;
    for (const GpuRequest& request : demand_class.requests) {
        needs.push_back({.cards = request.gpus,
                         .whole = request.whole(),
                         .milli = request.milli.value(),
                         .memory_mib = request.whole() ? request.memory.value()
                                                       : memory_held(request, largest).value()});
    }
    return needs;
}

void list_cards(const CardAssignment& assignment, DeviceList& devices) {
    devices.clear();
    for (DeviceMask set : assignment) {
        for (; set != 0; set &= set - 1) {
            devices.push_back(GpuIndex(static_cast<std::uint8_t>(std::countr_zero(set))));
        }
    }
}

}  // namespace tessera
