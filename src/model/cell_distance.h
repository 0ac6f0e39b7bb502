// How far apart two GPUs are, by the ids of their cells in KubeShare's topology ("2/lemon/1").
//
// Segments are paired from the leaf end. A pair of numbers adds their difference, a pair of names
// 0 or 100; a segment without a partner adds its number, or 100 for a name:
//   cell_distance("2/lemon/1", "2/orange/3") == 102
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/node.h"

namespace tessera {

std::int64_t cell_distance(std::string_view a, std::string_view b);

// The cell of a node's GPU; one that no file names is as if the node were a tree of its own.
std::string cell_of(const NodeSpec& node, GpuIndex gpu);

// Distances to many cells at once. Asking costs hardly more for a thousand cells than for one:
// every level of the ids is a sum of its own.
class DistanceToCells {
  public:
    explicit DistanceToCells(std::span<const std::string> ids);

    // The mean of cell_distance() to the cells, in thousandths, rounded down; 0 without any.
    std::int64_t mean_milli(std::string_view id) const;

  private:
    // The cells' segments at one distance from the leaf end.
    struct Level {
        std::vector<std::int64_t> numbers;                        // ascending
        std::vector<std::int64_t> sums;                           // of the first i numbers
        std::vector<std::pair<std::string, std::int64_t>> names;  // ascending, with their counts
        std::int64_t named = 0;
    };

    std::int64_t sum_at(const Level& level, std::string_view segment) const;

    std::vector<Level> levels_;
    std::int64_t cells_ = 0;
};

}  // namespace tessera
