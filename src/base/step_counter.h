// How many of a fixed list of thresholds a value reaches: the hot path's upper_bound.
//
//   StepCounter cores({500, 1000, 4000});
//   cores.count(1000) == 2
//
// A table of equal cells says where to look, so that the answer mostly costs one comparison and no
// branch that a processor would guess wrong; many thresholds in one cell cost a search among them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera {

class StepCounter {
  public:
    StepCounter() = default;
    explicit StepCounter(std::vector<std::int64_t> thresholds);  // in any order; equal ones are one

    std::size_t count(std::int64_t value) const {
        if (thresholds_.empty() || value < thresholds_.front()) {
            return 0;
        }
        const std::uint64_t above = static_cast<std::uint64_t>(value) - first_;
        const std::uint64_t cell = above >> shift_;
        std::size_t at = first_in_[cell < kCells ? cell : kCells];
        std::size_t length = first_in_[cell < kCells ? cell + 1 : kCells] - at;
        while (length > 0) {
            const std::size_t half = (length + 1) / 2;
            at += thresholds_[at + half - 1] <= value ? half : 0;
            length -= half;
        }
        return at;
    }

    // Ascending and distinct.
    const std::vector<std::int64_t>& thresholds() const { return thresholds_; }
    std::size_t size() const { return thresholds_.size(); }

  private:
    static constexpr std::size_t kCells = 512;

    std::vector<std::int64_t> thresholds_;
    std::uint64_t first_ = 0;  // the smallest threshold; unsigned, for differences wrap then
    int shift_ = 0;
    // Thresholds below each cell; the last entry holds them all.
    std::array<std::uint32_t, kCells + 1> first_in_{};
};

}  // namespace tessera
