// A GPU: what it is (GpuSpec), and what is left of it (GpuState).
//
// Specs come from the node's annotation, a dialect's rule or a trace. Devices that differ in
// nothing a demand could ask about share a kind, so that "may this class use this device at all"
// is one bit per (class, kind).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "model/ids.h"

namespace tessera {

inline constexpr int kMaxGpusPerNode = 16;
inline constexpr int kSpareDimensions = 3;
inline constexpr std::uint16_t kSlotsUnlimited = 65'535;

// What may land on a device. Health is not a yes or no: a device may keep what it has.
enum class Health : std::uint8_t {
    ok,
    no_new,  // takes no new share (a NoSchedule taint, a drain, an XID cool-down)
    evict,   // and what it holds must go (NoExecute)
};

// Who hands out shares of a device. One at a time: two allocators would give it twice.
enum class AllocatorMode : std::uint8_t { annotation, claim };

// Capacities in a driver's own units (MIG slices, encoders). Checked as they are, never folded
// into milli: 7 slices of ceil(1000/7) milli would be more than one GPU.
using SpareAmounts = std::array<std::int64_t, kSpareDimensions>;

struct GpuSpec {
    ModelIndex model;
    MemoryMib memory;  // real size less the driver's reserve
    std::uint8_t numa = 0;
    Health health = Health::ok;
    AllocatorMode mode = AllocatorMode::annotation;
    std::uint16_t slots = 0;  // clients at once (MPS); 0 = no limit
    SpareAmounts spare{};
    std::string uuid;
    std::string cell;    // its path in KubeShare's topology, "2/lemon/1"; empty = not told
    std::string parent;  // of a partition: the UUID of the device that it is a part of

    friend bool operator==(const GpuSpec&, const GpuSpec&) = default;
};

// What a device must have in common for a class to treat it alike.
struct DeviceKind {
    ModelIndex model;
    MemoryMib memory;
    Health health = Health::ok;
    AllocatorMode mode = AllocatorMode::annotation;

    friend bool operator==(const DeviceKind&, const DeviceKind&) = default;
};

// What is left of a device, packed: scoring reads thousands of these per decision.
struct GpuState {
    std::int32_t free_memory_mib = 0;
    std::int16_t idle_milli = 0;
    // The smaller of idle milli and free memory in thousandths of the device: what scores read,
    // so that a device whose memory is gone counts as full even with compute left.
    std::int16_t value = 0;
    std::uint16_t shares = 0;  // live shares, foreigners' too
    KindIndex kind;
    std::uint8_t numa = 0;         // groups that a set may have to share or to avoid
    std::uint8_t link_domain = 0;  // devices reachable over NVLink have the same
    // Further shares that it may hold; 0 also when it is one owner's alone. A share may ask for so
    // little (a millionth of the memory) that only this says no.
    std::uint16_t free_slots = kSlotsUnlimited;

    bool empty() const { return shares == 0; }
};
static_assert(sizeof(GpuState) == 16);

// "1000 x free / total", rounded down; a device without known memory is judged by compute alone.
constexpr std::int16_t device_value(std::int32_t idle_milli, std::int64_t free_mib,
                                    std::int64_t total_mib) {
    if (total_mib <= 0 || free_mib >= total_mib) {
        return static_cast<std::int16_t>(idle_milli);
    }
    // Mostly compute binds, and comparing is several times faster than dividing.
    if (free_mib * 1000 >= idle_milli * total_mib) {
        return static_cast<std::int16_t>(idle_milli);
    }
    return static_cast<std::int16_t>(free_mib * 1000 / total_mib);
}

}  // namespace tessera
