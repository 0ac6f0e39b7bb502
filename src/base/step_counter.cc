#include "base/step_counter.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace tessera {

StepCounter::StepCounter(std::vector<std::int64_t> thresholds)
    : thresholds_(std::move(thresholds)) {
    std::sort(thresholds_.begin(), thresholds_.end());
    thresholds_.erase(std::unique(thresholds_.begin(), thresholds_.end()), thresholds_.end());
    if (thresholds_.empty()) {
        return;
    }
    first_ = static_cast<std::uint64_t>(thresholds_.front());
    const std::uint64_t extent = static_cast<std::uint64_t>(thresholds_.back()) - first_;
    shift_ = std::max(
        0, static_cast<int>(std::bit_width(extent)) - static_cast<int>(std::bit_width(kCells - 1)));
    std::size_t below = 0;
    for (std::size_t cell = 0; cell <= kCells; ++cell) {
        while (below < thresholds_.size() &&
               (static_cast<std::uint64_t>(thresholds_[below]) - first_) >> shift_ < cell) {
            ++below;
        }
        first_in_[cell] = static_cast<std::uint32_t>(below);
    }
}

}  // namespace tessera
