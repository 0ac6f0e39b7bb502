// What a gap on a device is worth: which gaps can ever be filled well.
//
// Cutting stock: sizes s with demand n_s are cut from devices of 1000 milli. The linear program's
// dual prices y_s say what a size is worth when devices are cut as well as possible; a gap of x
// milli is then worth f(x), the best packing of x by those prices, and f(1000) = 1. Solved by
// column generation (Gilmore and Gomory, 1961) on a grid of 1 milli: rounding sizes up would
// price good gaps as dead.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace tessera {

struct SizeDemand {
    int milli = 0;  // 1..999
    double demand = 0;
};

// f(x) for x = 0..1000, in devices. No sizes: all zero but f(1000) = 1.
using GapValues = std::array<double, 1001>;

GapValues gap_values(std::span<const SizeDemand> sizes);

}  // namespace tessera
