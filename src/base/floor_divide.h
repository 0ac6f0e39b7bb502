// Division that rounds down whatever the sign: steps of a score are equally wide on both sides of
// 0.
#pragma once

#include <cstdint>

namespace tessera {

constexpr std::int64_t floor_divide(std::int64_t value, std::int64_t step) {
    return value >= 0 ? value / step : -((-value + step - 1) / step);
}
static_assert(floor_divide(-1, 40) == -1 && floor_divide(-40, 40) == -1 &&
              floor_divide(39, 40) == 0);

}  // namespace tessera
