#include "sim/published_random.h"

#include <bit>
#include <vector>

namespace tessera {

namespace {

constexpr std::uint64_t kMersenne = (std::uint64_t{1} << 31) - 1;
constexpr std::uint64_t kInsteadOfZero = 89482311;
constexpr int kDiscarded = 20;  // first numbers of the small generator
constexpr std::uint64_t kFarSteps = 7'800'000'000'000;

// The small generator: multiplication modulo a Mersenne prime.
class Seeder {
  public:
    explicit Seeder(std::uint64_t seed) : state_(seed % kMersenne) {
        state_ = state_ == 0 ? kInsteadOfZero : state_;
        for (int i = 0; i < kDiscarded; ++i) {
            next();
        }
    }
    // Three numbers, the first shifted by 2 x `shift` bits, the second by `shift`.
    std::uint64_t word(int shift) {
        std::uint64_t word = next() << (2 * shift);
        word ^= next() << shift;
        return word ^ next();
    }

  private:
    std::uint64_t next() { return state_ = state_ * 48271 % kMersenne; }
    std::uint64_t state_;
};

// Polynomials of degree below `lag` with coefficients modulo 2^64; x^lag = 1 + x^middle.
struct Recurrence {
    std::size_t lag;
    std::size_t middle;

    using Polynomial = std::vector<std::uint64_t>;

    Polynomial squared(const Polynomial& p) const {
        Polynomial product(2 * lag - 1, 0);
        for (std::size_t i = 0; i < lag; ++i) {
            for (std::size_t j = 0; j < lag; ++j) {
                product[i + j] += p[i] * p[j];
            }
        }
        for (std::size_t i = product.size(); i-- > lag;) {
            product[i - lag] += product[i];
            product[i - lag + middle] += product[i];
        }
        product.resize(lag);
        return product;
    }

    void times_x(Polynomial& p) const {
        const std::uint64_t top = p.back();
        p.insert(p.begin(), top);
        p.pop_back();
        p[middle] += top;
    }

    Polynomial power_of_x(std::uint64_t exponent) const {
        Polynomial power(lag, 0);
        power[0] = 1;
        for (int bit = std::bit_width(exponent) - 1; bit >= 0; --bit) {
            power = squared(power);
            if ((exponent >> bit & 1) != 0) {
                times_x(power);
            }
        }
        return power;
    }
};

}  // namespace

// The slots are walked downwards: the number of step n goes to slot (feed - 1 - n) modulo 607, and
// what is there before the first step counts as steps -607 to -1.
PublishedRandom::State PublishedRandom::far_state() {
    const auto slot = [](std::uint64_t step) {
        return (kLong - kShort - 1 + kLong - step % kLong) % kLong;
    };
    Seeder seeder(1);
    State start;
    for (std::uint64_t& word : start) {
        word = seeder.word(10);
    }
    const Recurrence recurrence{kLong, kLong - kShort};
    auto power = recurrence.power_of_x(kFarSteps);
    State state;
    for (std::uint64_t j = 0; j < kLong; ++j) {
        std::uint64_t number = 0;
        for (std::size_t k = 0; k < kLong; ++k) {
            number += power[k] * start[slot(k)];
        }
        state[slot(kFarSteps + j)] = number;
        recurrence.times_x(power);
    }
    return state;
}

PublishedRandom::PublishedRandom(std::uint64_t seed) {
    static const State far = far_state();
    Seeder seeder(seed);
    for (std::size_t i = 0; i < kLong; ++i) {
        state_[i] = seeder.word(20) ^ far[i];
    }
}

std::uint64_t PublishedRandom::next() {
    tap_ = (tap_ + kLong - 1) % kLong;
    feed_ = (feed_ + kLong - 1) % kLong;
    state_[feed_] += state_[tap_];
    return state_[feed_] & ~(std::uint64_t{1} << 63);
}

std::uint32_t PublishedRandom::below(std::uint32_t bound) {
    constexpr std::uint32_t kRange = std::uint32_t{1} << 31;
    const std::uint32_t accepted = kRange - kRange % bound;  // a multiple of bound
    auto number = static_cast<std::uint32_t>(next() >> 32);
    while (number >= accepted) {
        number = static_cast<std::uint32_t>(next() >> 32);
    }
    return number % bound;
}

std::uint32_t PublishedRandom::below_for_shuffle(std::uint32_t bound) {
    const std::uint32_t threshold = (0 - bound) % bound;
    std::uint64_t product = 0;
    do {
        product = (next() >> 31) * bound;
    } while (static_cast<std::uint32_t>(product) < threshold);
    return static_cast<std::uint32_t>(product >> 32);
}

}  // namespace tessera
