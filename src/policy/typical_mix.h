// The mix of demand that fragmentation is measured against: its most frequent classes.
//
// After FGD (Weng et al., ATC 2023): classes by cores, GPU milli, number of GPUs and models, node
// memory left out; the most frequent ones until 95 % of the pods are covered. Classes without a
// GPU are part of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/demand_class.h"
#include "model/gpu.h"

namespace tessera {

struct ClassCount {
    DemandClass demand_class;
    std::int64_t count = 0;
};

struct TypicalClass {
    std::int64_t cpu_milli = 0;
    std::int64_t milli = 0;  // per device
    std::int64_t gpus = 0;
    std::vector<ModelIndex> models;
    std::int64_t count = 0;
    double frequency = 0;  // of the covered pods; sums to 1

    bool allows(ModelIndex model) const;
};

// In order of falling count.
std::vector<TypicalClass> typical_mix(std::span<const ClassCount> counts);

}  // namespace tessera
