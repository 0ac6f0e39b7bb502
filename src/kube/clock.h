// The clocks of this layer, handed in so that tests have their own.
#pragma once

#include <functional>
#include <string>

#include "base/units.h"

namespace tessera {

// Time that only goes forward, for deadlines; where it begins means nothing.
using Clock = std::function<Nanoseconds()>;

// Goes on while the machine is suspended: a leader that slept must know it.
Nanoseconds boot_time_now();
// Since 1970, for what others read.
Nanoseconds wall_time_now();

// "2026-11-18T12:00:00.123456Z" of a time since 1970, as the API writes it.
std::string micro_time(Nanoseconds since_1970);

}  // namespace tessera
