// Indices and amounts that cannot be mixed up.
//
// StrongId names a thing: it compares and hashes, and does no arithmetic. Amount measures
// something: it adds, subtracts and scales. Two of different tags do not compile together.
//   using NodeIndex = StrongId<struct NodeTag>;
//   using MilliGpu = Amount<struct MilliGpuTag, std::int32_t>;
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace tessera {

template <class Tag, class Rep = std::uint32_t>
class StrongId {
  public:
    using rep = Rep;

    constexpr StrongId() = default;  // none()
    constexpr explicit StrongId(Rep value) : value_(value) {}

    static constexpr StrongId none() { return StrongId(); }
    constexpr bool valid() const { return value_ != kNone; }
    constexpr Rep value() const { return value_; }
    // For subscripts into dense vectors.
    constexpr std::size_t slot() const { return static_cast<std::size_t>(value_); }

    friend constexpr auto operator<=>(StrongId, StrongId) = default;

  private:
    static constexpr Rep kNone = std::numeric_limits<Rep>::max();
    Rep value_ = kNone;
};

template <class Tag, class Rep>
class Amount {
  public:
    using rep = Rep;

    constexpr Amount() = default;
    constexpr explicit Amount(Rep value) : value_(value) {}

    constexpr Rep value() const { return value_; }

    friend constexpr auto operator<=>(Amount, Amount) = default;
    friend constexpr Amount operator+(Amount a, Amount b) { return make(a.value_ + b.value_); }
    friend constexpr Amount operator-(Amount a, Amount b) { return make(a.value_ - b.value_); }
    friend constexpr Amount operator*(Amount a, Rep n) { return make(a.value_ * n); }
    friend constexpr Amount operator*(Rep n, Amount a) { return make(a.value_ * n); }
    constexpr Amount operator-() const { return make(-value_); }
    constexpr Amount& operator+=(Amount other) { return *this = *this + other; }
    constexpr Amount& operator-=(Amount other) { return *this = *this - other; }

  private:
    // Narrow representations promote to int in arithmetic.
    template <class Wide>
    static constexpr Amount make(Wide value) {
        return Amount(static_cast<Rep>(value));
    }
    Rep value_ = 0;
};

}  // namespace tessera

template <class Tag, class Rep>
struct std::hash<tessera::StrongId<Tag, Rep>> {
    std::size_t operator()(tessera::StrongId<Tag, Rep> id) const noexcept {
        return std::hash<Rep>{}(id.value());
    }
};
