#include "kube/clock.h"

#include <fmt/chrono.h>

#include <ctime>

#include "base/floor_divide.h"

namespace tessera {
namespace {

Nanoseconds read(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return Nanoseconds(now.tv_sec * 1'000'000'000 + now.tv_nsec);
}

}  // namespace

Nanoseconds boot_time_now() { return read(CLOCK_BOOTTIME); }
Nanoseconds wall_time_now() { return read(CLOCK_REALTIME); }

std::string micro_time(Nanoseconds since_1970) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    const std::int64_t second = floor_divide(since_1970.value(), kSecond);
    const std::int64_t micro = (since_1970.value() - second * kSecond) / 1000;
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(static_cast<std::time_t>(second)),
                       micro);
}

}  // namespace tessera
