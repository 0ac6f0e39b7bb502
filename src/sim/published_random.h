// The random numbers of the published experiments, so that a seed draws the very order the authors
// had.
//
// Their simulator uses math/rand of Go: an additive lagged Fibonacci generator,
// x[n] = x[n-607] + x[n-273] modulo 2^64, whose start is a small generator's output mixed with the
// state of the same recurrence after 7.8e12 steps. We compute that state (a power of x modulo the
// recurrence's polynomial) instead of carrying a table of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tessera {

class PublishedRandom {
  public:
    // Seeds that are equal modulo 2^31 - 1 draw alike; the generator takes no more of them.
    explicit PublishedRandom(std::uint64_t seed);

    std::uint64_t next();  // 63 bits

    // Uniform in [0, bound), 0 < bound < 2^31. The library has two ways, which differ in what they
    // draw: by remainder for single numbers and permutations, by multiplication for shuffles.
    std::uint32_t below(std::uint32_t bound);
    std::uint32_t below_for_shuffle(std::uint32_t bound);

  private:
    static constexpr std::size_t kLong = 607;
    static constexpr std::size_t kShort = 273;
    using State = std::array<std::uint64_t, kLong>;

    static State far_state();

    State state_{};
    std::size_t tap_ = 0;
    std::size_t feed_ = kLong - kShort;
};

}  // namespace tessera
