// One device's capacity and use, packed: what a grant touches is half a cache line.
//
// The specification (GpuSpec) with its names lies elsewhere; this is what is compared and counted.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "engine/slab.h"
#include "model/gpu.h"
#include "model/placement.h"

namespace tessera {

// Sums over grants: what a device holds, or what is asked of it.
struct GpuUse {
    std::int64_t memory_mib = 0;
    std::int32_t milli = 0;
    std::int32_t shares = 0;
    std::int32_t exclusive = 0;  // shares that are the whole device
    SpareAmounts spare{};

    void add(const DeviceGrant& grant, int sign) {
        memory_mib += sign * grant.memory.value();
        milli += sign * grant.milli.value();
        shares += sign;
        exclusive += grant.milli >= kWholeGpu ? sign : 0;
        for (std::size_t d = 0; d < kSpareDimensions; ++d) {
            spare[d] += sign * grant.spare[d];
        }
    }
    friend bool operator==(const GpuUse&, const GpuUse&) = default;
};

inline bool any(const SpareAmounts& amounts) { return (amounts[0] | amounts[1] | amounts[2]) != 0; }
static_assert(kSpareDimensions == 3);

// Capacities in a driver's own units are rare: devices that have or hold some keep them apart.
struct SpareUse {
    SpareAmounts used{};
    SpareAmounts capacity{};
};

// More holders than any node can run: beyond it the sums would overflow, so the ledger refuses.
inline constexpr std::int32_t kMaxSharesPerGpu = 1'000'000;

struct Device {
    static constexpr std::int32_t kAbsent = -1;

    std::int64_t memory_mib = 0;  // use, as in GpuUse
    std::int32_t milli = 0;
    std::int32_t shares = 0;
    std::int32_t exclusive = 0;
    std::int32_t memory_size_mib = kAbsent;  // kAbsent: held, but the node has no such device
    std::uint32_t spare = kNoSlot;
    std::uint16_t slots = 0;
    Health health = Health::ok;
    AllocatorMode mode = AllocatorMode::annotation;

    bool absent() const { return memory_size_mib == kAbsent; }
    void add(const DeviceGrant& grant, int sign) {
        memory_mib += sign * grant.memory.value();
        milli += sign * grant.milli.value();
        shares += sign;
        exclusive += grant.milli >= kWholeGpu ? sign : 0;
    }
    // Held beyond what there is (spare dimensions apart).
    bool exceeded(std::int32_t milli_per_gpu) const {
        return absent() ? shares > 0
                        : milli > milli_per_gpu || memory_mib > memory_size_mib ||
                              (slots > 0 && shares > slots) || (exclusive > 0 && shares > 1);
    }
    // What is not asked for cannot be short: a foreigner who took too much of one resource does
    // not keep us from the others. This is "asked <= free" with free clamped at zero.
    bool has_room(const GpuUse& asked, std::int32_t milli_per_gpu) const {
        return !absent() && (asked.milli == 0 || milli + asked.milli <= milli_per_gpu) &&
               (asked.memory_mib == 0 || memory_mib + asked.memory_mib <= memory_size_mib) &&
               (slots == 0 || shares + asked.shares <= slots) &&
               (exclusive + asked.exclusive == 0 || shares + asked.shares == 1);
    }
};
static_assert(sizeof(Device) == 32);

}  // namespace tessera
