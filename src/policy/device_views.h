// The devices of one node, made ready for the scoring of many classes.
//
// Devices of equal state serve alike, so one of each is kept; what a class would leave of each
// is all that a scorer needs to know. Used by the scorers that price fragments (fgd, tessera).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "model/demand_class.h"
#include "model/node.h"
#include "policy/catalog.h"
#include "policy/devices.h"

namespace tessera {

struct DeviceView {
    const GpuState* device;
    const DeviceKind* kind;
    std::int64_t memory_mib;  // the kind's
    bool counts;              // healthy: a node's idle GPU and empty devices are of these

    bool empty() const { return device->empty(); }
    bool has_room(const ClassBrief& brief) const {
        return room_for_part(*device, brief, memory_mib);
    }
    int value_with(const ClassBrief& brief) const {
        return value_with_part(*device, brief, memory_mib);
    }
};

class DeviceViews {
  public:
    DeviceViews(const NodeState& node, const Catalog& catalog) : catalog_(catalog) {
        for (std::size_t gpu = 0; gpu < node.gpu_count; ++gpu) {
            const GpuState& device = node.gpus[gpu];
            one_kind_ = one_kind_ && device.kind == node.gpus[0].kind;
            const std::uint64_t state = state_of(device);
            if (device.free_slots == 0 || seen(state)) {
                continue;
            }
            states_[count_] = state;
            const DeviceKind& kind = catalog.kinds[device.kind.slot()];
            views_[count_++] = {&device, &kind, kind.memory.value(), kind.health == Health::ok};
        }
    }

    // Whether classes of one ask find the same devices here: they may differ in the models that
    // they accept, but on a node of one kind a class that fits accepts them all.
    bool alike(AskIndex a, AskIndex b) const { return one_kind_ && a == b; }

    // Calls visit(DeviceView) for each device that one part of the class could take. On a node of
    // one kind that is a question of room alone: the class would not fit there otherwise.
    template <class Visit>
    void each_usable(ClassIndex demand_class, Visit visit) const {
        const ClassBrief& brief = catalog_.classes->brief(demand_class);
        for (std::size_t i = 0; i < count_; ++i) {
            if (views_[i].has_room(brief) &&
                (one_kind_ || may_use((*catalog_.classes)[demand_class], *views_[i].kind))) {
                visit(views_[i]);
            }
        }
    }

  private:
    // All that placing looks at, in one number.
    static std::uint64_t state_of(const GpuState& device) {
        return std::uint64_t{static_cast<std::uint32_t>(device.free_memory_mib)} << 32 |
               std::uint64_t{device.kind.value()} << 16 |
               static_cast<std::uint64_t>(device.idle_milli) << 2 |
               static_cast<std::uint64_t>(device.empty()) << 1 |
               static_cast<std::uint64_t>(device.free_slots == 1);
    }

    bool seen(std::uint64_t state) const {
        for (std::size_t i = 0; i < count_; ++i) {
            if (states_[i] == state) {
                return true;
            }
        }
        return false;
    }

    const Catalog& catalog_;
    bool one_kind_ = true;
    std::size_t count_ = 0;
    std::array<std::uint64_t, kMaxGpusPerNode> states_;
    std::array<DeviceView, kMaxGpusPerNode> views_;
};

}  // namespace tessera
