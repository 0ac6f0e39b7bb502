// Fragmentation and its score as the paper's table has them, by plain loops: for tests only.
//
//   class            | cores and devices suffice            | else, or model not allowed
//   with devices     | idle milli of devices too small      | all idle milli
//   without          | all idle milli                       | all idle milli
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "policy/assignment.h"
#include "policy/typical_mix.h"

namespace tessera::reference {

// Of the mix's total count: exact.
inline std::int64_t fragments(const NodeState& node, const Catalog& catalog,
                              const std::vector<TypicalClass>& mix) {
    std::int64_t sum = 0;
    for (const TypicalClass& c : mix) {
        std::int64_t all = 0;
        std::int64_t too_small = 0;
        std::int64_t enough = 0;
        bool allowed = false;
        for (std::size_t gpu = 0; gpu < node.gpu_count; ++gpu) {
            const GpuState& device = node.gpus[gpu];
            allowed = c.allows(catalog.kinds[device.kind.slot()].model);
            all += device.value;
            too_small += device.value < c.milli ? device.value : 0;
            enough += device.value >= c.milli ? 1 : 0;
        }
        const bool satisfied =
            c.gpus > 0 && allowed && enough >= c.gpus && node.free_cpu_milli >= c.cpu_milli;
        sum += c.count * (satisfied ? too_small : all);
    }
    return sum;
}

struct Best {
    double exact = 0;  // 100 sigmoid, before the floor
    int score = -1;
    int device = -1;  // of a share: the first with that score
};

// The best score of a class that fits on a node whose devices are alike.
inline Best best_fragment_score(const NodeState& node, const DemandClass& demand_class,
                                const Catalog& catalog, const std::vector<TypicalClass>& mix) {
    std::int64_t total = 0;
    for (const TypicalClass& c : mix) {
        total += c.count;
    }
    Best best;
    const auto consider = [&](const DeviceList& devices) {
        NodeState after = node;
        apply_devices(after, demand_class, catalog, devices);
        const auto gain =
            static_cast<double>(fragments(node, catalog, mix) - fragments(after, catalog, mix)) /
            static_cast<double>(std::max<std::int64_t>(total, 1));
        const double exact = 100 / (1 + std::exp(-gain / 1000));
        if (static_cast<int>(exact) > best.score) {
            best = {exact, static_cast<int>(exact),
                    devices.empty() ? -1 : static_cast<int>(devices.front().value())};
        }
    };
    DeviceList devices;
    if (demand_class.footprint != Footprint::share) {
        assign_devices(node, demand_class, catalog, LinkMatrix(), devices);
        consider(devices);
        return best;
    }
    const DeviceMask mask = fitting_devices(node, demand_class, catalog);
    for (std::uint8_t gpu = 0; gpu < node.gpu_count; ++gpu) {
        if ((mask >> gpu & 1U) != 0) {
            consider({GpuIndex(gpu)});
        }
    }
    return best;
}

}  // namespace tessera::reference
