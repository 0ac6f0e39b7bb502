#include "policy/assignment.h"

#include <bit>

#include "policy/card_assignment.h"
#include "policy/cards.h"
#include "policy/topology_choice.h"

namespace tessera {
namespace {

void list(DeviceMask set, DeviceList& devices) {
    for (; set != 0; set &= set - 1) {
        devices.push_back(GpuIndex(static_cast<std::uint8_t>(std::countr_zero(set))));
    }
}

DeviceMask lowest(DeviceMask mask, int count) {
    DeviceMask set = 0;
    for (; count > 0; --count, mask &= mask - 1) {
        set |= mask & (~mask + 1);
    }
    return set;
}

DeviceMask tightest(const NodeState& node, DeviceMask mask, int count) {
    DeviceMask set = 0;
    for (; count > 0; --count) {
        const DeviceMask next = DeviceMask{1} << tightest_device(node, mask);
        set |= next;
        mask &= ~next;
    }
    return set;
}

GpuGroups groups_of(const NodeState& node, AttributeIndex attribute, const Catalog& catalog) {
    GpuGroups groups;
    groups.fill(kNoGroup);
    for (std::size_t gpu = 0; gpu < node.gpu_count; ++gpu) {
        // Nothing is known of other attributes, and what is not known is not shared.
        if (attribute == kAttributeNuma) {
            groups[gpu] = node.gpus[gpu].numa;
        } else if (attribute == kAttributeLink) {
            groups[gpu] = node.gpus[gpu].link_domain;
        } else if (attribute == kAttributeParent) {
            const auto& parents = catalog.shapes[node.shape.slot()].parents;
            const bool part = gpu < parents.size() && parents[gpu] != kNoParent;
            groups[gpu] = part ? parents[gpu] : kNoGroup;
        }
    }
    return groups;
}

// `count` devices of `mask`, which has at least so many; 0 when the request's rule forbids it.
DeviceMask pick(const NodeState& node, const GpuRequest& request, DeviceMask mask,
                const Catalog& catalog, const LinkMatrix& links) {
    if (request.rule != GroupRule::none) {
        const GpuGroups groups = groups_of(node, request.rule_attribute, catalog);
        return best_connected(
            links,
            {.candidates = mask, .count = request.gpus, .rule = request.rule, .groups = &groups});
    }
    if (!request.whole()) {
        return tightest(node, mask, request.gpus);
    }
    if (links.empty() || request.gpus < 2) {
        return lowest(mask, request.gpus);
    }
    return best_connected(links, {.candidates = mask, .count = request.gpus});
}

}  // namespace

MemoryMib memory_held(const GpuRequest& request, MemoryMib device) {
    return request.whole() ? device : request.memory_on(device);
}

bool assign_devices(const NodeState& node, const DemandClass& demand_class, const Catalog& catalog,
                    const LinkMatrix& links, DeviceList& devices) {
    devices.clear();
    if (demand_class.footprint == Footprint::compound) {
        const NodeCards cards = cards_of(node, demand_class, catalog);
        const auto assigned = assign_cards(needs_of(demand_class, cards.largest), cards.view());
        if (assigned) {
            list_cards(*assigned, devices);
        }
        return assigned.has_value();
    }
    if (demand_class.requests.empty()) {
        return true;  // asks for no device
    }
    const DeviceMask mask = fitting_devices(node, demand_class, catalog);
    if (std::popcount(mask) < demand_class.gpus) {
        return false;
    }
    list(pick(node, demand_class.requests.front(), mask, catalog, links), devices);
    return !devices.empty();
}

void apply_class(NodeState& node, const DemandClass& demand_class, const Catalog& catalog) {
    DeviceList devices;
    if (demand_class.wants_gpu()) {
        assign_devices(node, demand_class, catalog, LinkMatrix(), devices);
    }
    apply_devices(node, demand_class, catalog, devices);
}

void apply_devices(NodeState& node, const DemandClass& demand_class, const Catalog& catalog,
                   const DeviceList& devices) {
    node.free_cpu_milli -= demand_class.cpu.value();
    node.free_memory_mib -= demand_class.memory.value();
    --node.free_pods;
    if (devices.empty() || demand_class.admin_access) {
        return;
    }
    std::size_t next = 0;
    for (const GpuRequest& request : demand_class.requests) {
        for (int i = 0; i < request.gpus && next < devices.size(); ++i, ++next) {
            GpuState& device = node.gpus[devices[next].slot()];
            const DeviceKind& kind = catalog.kinds[device.kind.slot()];
            const std::int16_t before = device.value;
            const bool opened = device.empty();
            ++device.shares;
            if (device.free_slots != kSlotsUnlimited && device.free_slots > 0) {
                --device.free_slots;
            }
            device.idle_milli =
                static_cast<std::int16_t>(device.idle_milli - request.milli.value());
            device.free_memory_mib = static_cast<std::int32_t>(
                device.free_memory_mib - memory_held(request, kind.memory).value());
            if (request.whole() || device.free_slots == 0) {
                device.free_slots = 0;  // alone, or the last slot: nothing is left for others
                device.idle_milli = 0;
                device.free_memory_mib = 0;
            }
            device.value =
                device_value(device.idle_milli, device.free_memory_mib, kind.memory.value());
            // The node's sums count healthy devices only.
            if (kind.health == Health::ok) {
                node.idle_value += device.value - before;
                node.empty_gpus = static_cast<std::uint8_t>(node.empty_gpus - (opened ? 1 : 0));
            }
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
    return !demand_class.wants_gpu() ||
           assign_devices(node, demand_class, catalog, LinkMatrix(), devices);
}

}  // namespace tessera
