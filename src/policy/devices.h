// Which devices of a node a class may use, and the common ways to choose among them.
#pragma once

#include <bit>
#include <cstdint>

#include "model/demand_class.h"
#include "model/node.h"
#include "policy/catalog.h"
#include "policy/scorer.h"

namespace tessera {

using DeviceMask = std::uint32_t;  // bit i = device i

// Whether the class may use devices of this kind at all: model, health, allocator.
bool may_use(const DemandClass& demand_class, const DeviceKind& kind);

// Whether one part of the class finds room on the device (model and health apart).
inline bool room_for_part(const GpuState& device, const ClassBrief& brief, std::int64_t total_mib) {
    return device.free_slots > 0 && device.idle_milli >= brief.milli &&
           device.free_memory_mib >= brief.memory_on(total_mib);
}

// The device's value when one more part is there. The last slot takes what is left with it.
inline int value_with_part(const GpuState& device, const ClassBrief& brief,
                           std::int64_t total_mib) {
    return device.free_slots == 1
               ? 0
               : device_value(device.idle_milli - brief.milli,
                              device.free_memory_mib - brief.memory_on(total_mib), total_mib);
}

// Devices on which one part of a (non-compound) class fits now.
DeviceMask fitting_devices(const NodeState& node, const DemandClass& demand_class,
                           const Catalog& catalog);

// Device of `mask` with the least value left, lowest index on ties; -1 for an empty mask.
int tightest_device(const NodeState& node, DeviceMask mask);
// Device of `mask` with the most value left, lowest index on ties.
int emptiest_device(const NodeState& node, DeviceMask mask);
// The device of `mask` for which score(GpuState) is largest, lowest index on ties; -1 for none.
template <class Score>
int best_device(const NodeState& node, DeviceMask mask, Score score) {
    int best = -1;
    std::int64_t best_score = 0;
    for (; mask != 0; mask &= mask - 1) {
        const int gpu = std::countr_zero(mask);
        const std::int64_t here = score(node.gpus[static_cast<std::size_t>(gpu)]);
        if (best < 0 || here > best_score) {
            best = gpu;
            best_score = here;
        }
    }
    return best;
}
// Makes the list of one device, or of none for -1.
void take_only(int gpu, DeviceList& devices);
// The i-th set bit, counted from 0.
int nth_device(DeviceMask mask, int i);

}  // namespace tessera
