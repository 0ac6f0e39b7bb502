// Kubernetes quantities, exact.
//
// "1500m", "4Gi", "2e3", "0.5", "1E", "-1": a decimal number with an SI suffix (n u m k M G T P E),
// a binary one (Ki Mi Gi Ti Pi Ei) or a decimal exponent. As in Kubernetes a quantity counts
// billionths, a finer one is rounded away from zero, and its magnitude is at most 2^63 - 1; unlike
// Kubernetes a larger one is refused, not capped: nobody gets an amount he did not write.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tessera {

__extension__ using Int128 = __int128;

class Quantity {
  public:
    constexpr Quantity() = default;

    static Expected<Quantity> parse(std::string_view text);
    static constexpr Quantity from_nano(Int128 nano) { return Quantity(nano); }
    static constexpr Quantity of(std::int64_t value) { return Quantity(Int128{value} * kNano); }

    constexpr Int128 nano() const { return nano_; }
    constexpr bool integral() const { return nano_ % kNano == 0; }
    constexpr bool negative() const { return nano_ < 0; }
    constexpr bool zero() const { return nano_ == 0; }

    // Rounded away from zero: what is asked for is never made smaller. Errors when the result
    // is beyond 64 bits (a parsed quantity in thousandths may be, a sum as well).
    Expected<std::int64_t> value_up() const;
    Expected<std::int64_t> milli_up() const;
    // Towards zero: what is offered is never made larger.
    Expected<std::int64_t> value_down() const;
    Expected<std::int64_t> milli_down() const;

    // Kubernetes' canonical decimal form: "1500m", "4k", "0".
    std::string to_string() const;

    // Sums cannot overflow: more than 10^10 of the largest quantities fit.
    friend constexpr Quantity operator+(Quantity a, Quantity b) {
        return Quantity(a.nano_ + b.nano_);
    }
    constexpr Quantity& operator+=(Quantity other) { return *this = *this + other; }
    friend constexpr auto operator<=>(Quantity, Quantity) = default;

  private:
    static constexpr Int128 kNano = 1'000'000'000;
    constexpr explicit Quantity(Int128 nano) : nano_(nano) {}

    Int128 nano_ = 0;
};

}  // namespace tessera
