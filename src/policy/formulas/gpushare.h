// gpushare's device choice: the card with the least free memory that still suffices.
//
// Memory free on a card is what it has less what pods hold, never below nothing: an over-full
// card (pods placed by others) offers 0, not a huge unsigned number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace tessera {

constexpr std::int64_t gpushare_free(std::int64_t total, std::int64_t used) {
    return std::max<std::int64_t>(0, total - used);
}

// Index of the best fit, lowest on ties; -1 when none suffices. A pod that asks for nothing gets
// no device.
constexpr int gpushare_device(std::span<const std::int64_t> free, std::int64_t demand) {
    int best = -1;
    for (std::size_t i = 0; demand > 0 && i < free.size(); ++i) {
        const bool fits = free[i] >= demand;
        if (fits && (best < 0 || free[i] < free[static_cast<std::size_t>(best)])) {
            best = static_cast<int>(i);
        }
    }
    return best;
}

}  // namespace tessera
