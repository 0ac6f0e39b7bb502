// How long to wait before the next attempt: twice as long each time, with jitter, so that many
// clients of a server that comes back do not come back at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/rng.h"
#include "base/units.h"

namespace tessera {

struct BackoffRange {
    Nanoseconds first{100'000'000};
    Nanoseconds most{10'000'000'000};
};

// Between half of `delay` and all of it.
inline Nanoseconds jittered(Nanoseconds delay, Rng& rng) {
    const auto half = static_cast<std::uint64_t>(std::max<std::int64_t>(0, delay.value())) / 2;
    return Nanoseconds(static_cast<std::int64_t>(half + rng.below(half + 1)));
}

class Backoff {
  public:
    explicit Backoff(BackoffRange range) : range_(range), next_(range.first) {}

    // What a server asks for (Retry-After) is waited at least, unless it asks for ages.
    Nanoseconds next(Rng& rng, std::optional<Nanoseconds> asked = std::nullopt) {
        const Nanoseconds wait = jittered(next_, rng);
        next_ = std::min(next_ * 2, range_.most);
        return asked ? std::min(*asked, kAskedMost) + wait : wait;
    }
    void reset() { next_ = range_.first; }

  private:
    static constexpr Nanoseconds kAskedMost{300'000'000'000};

    BackoffRange range_;
    Nanoseconds next_;
};

}  // namespace tessera
