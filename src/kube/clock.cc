#include "kube/clock.h"

#include <ctime>

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

}  // namespace tessera
