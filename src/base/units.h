// The core's units (docs/architecture.md, "Units").
//
// Compute is milli-GPU, 1000 = one whole GPU. Memory is MiB inside the core; where a demand meets
// a rounding rule it stays in bytes. CPU is milli-core. Time is nanoseconds of an injected clock.
#pragma once

#include <cstdint>

#include "base/strong_id.h"

namespace tessera {

using MilliGpu = Amount<struct MilliGpuTag, std::int32_t>;
using MilliCpu = Amount<struct MilliCpuTag, std::int64_t>;
using MemoryMib = Amount<struct MemoryMibTag, std::int64_t>;
using Bytes = Amount<struct BytesTag, std::int64_t>;
using Nanoseconds = Amount<struct NanosecondsTag, std::int64_t>;

inline constexpr MilliGpu kWholeGpu{1000};
inline constexpr std::int32_t kWholeMemoryPpm = 1'000'000;  // memory asked relative to a device
inline constexpr std::int64_t kBytesPerMib = std::int64_t{1} << 20;

// Memory asked for is rounded up, memory offered is rounded down: never in the requester's favour.
constexpr MemoryMib asked_mib(Bytes bytes) {
    return MemoryMib(bytes.value() / kBytesPerMib + (bytes.value() % kBytesPerMib > 0 ? 1 : 0));
}
constexpr MemoryMib offered_mib(Bytes bytes) { return MemoryMib(bytes.value() / kBytesPerMib); }

}  // namespace tessera
