// Seeded random numbers that are equal on every machine.
//
// xoshiro256** by Blackman and Vigna, seeded through splitmix64. The standard library's
// distributions differ between implementations, so the few that we need are here.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace tessera {

__extension__ using Uint128 = unsigned __int128;

class Rng {
  public:
    explicit Rng(std::uint64_t seed) {
        for (auto& word : state_) {
            word = splitmix(seed);
        }
    }

    std::uint64_t next() {
        const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
        const std::uint64_t t = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= t;
        state_[3] = rotate(state_[3], 45);
        return result;
    }

    // Where the generator stands, to go on from there; not all words may be 0.
    using State = std::array<std::uint64_t, 4>;
    const State& state() const { return state_; }
    static Rng at(const State& state) {
        Rng rng(0);
        rng.state_ = state;
        return rng;
    }

    // Uniform in [0, bound), without bias (Lemire's method). bound > 0.
    std::uint64_t below(std::uint64_t bound) {
        Uint128 product = static_cast<Uint128>(next()) * bound;
        auto low = static_cast<std::uint64_t>(product);
        if (low < bound) {
            const std::uint64_t threshold = (0 - bound) % bound;
            while (low < threshold) {
                product = static_cast<Uint128>(next()) * bound;
                low = static_cast<std::uint64_t>(product);
            }
        }
        return static_cast<std::uint64_t>(product >> 64);
    }

    // Uniform in [0, 1) with 53 bits.
    double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

    // Exponential with mean 1.
    double exponential() { return -std::log1p(-uniform()); }

    // Standard normal (Box and Muller; one of the pair, so that calls stay independent of state).
    double normal() {
        const double radius = std::sqrt(2.0 * exponential());
        return radius * std::cos(6.283185307179586 * uniform());
    }

    // An independent stream, for a part that must not disturb the draws of another.
    Rng fork() { return Rng(next()); }

  private:
    static std::uint64_t rotate(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
    static std::uint64_t splitmix(std::uint64_t& seed) {
        std::uint64_t z = (seed += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }

    State state_{};
};

}  // namespace tessera
