// What a pod (or a device claim) asks for, in no vocabulary but our own.
//
// A Demand is a list of alternatives in order of preference, nearly always one. Each alternative
// has one GpuRequest per asking container. Dialects build demands; the engine interns equal ones
// into a class (demand_class.h) and forgets the rest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "model/gpu.h"
#include "model/ids.h"

namespace tessera {

// What a set of devices must share, or must not share (dra: matchAttribute, distinctAttribute).
enum class GroupRule : std::uint8_t { none, same, distinct };
inline constexpr AttributeIndex kAttributeNuma{0};
inline constexpr AttributeIndex kAttributeLink{1};    // NVLink domain
inline constexpr AttributeIndex kAttributeParent{2};  // the device that a partition is a part of

struct GpuRequest {
    RequestIndex name;       // the container's, or the claim request's
    std::uint16_t gpus = 1;  // devices asked
    MilliGpu milli;          // per device; 1000 = the whole device
    MilliGpu limit{1000};    // per device, may burst up to this
    MemoryMib memory;        // per device, rounded up
    Bytes memory_bytes;      // as asked, before rounding; 0: exactly `memory`
    // Of the device, in millionths, when asked relative to its size; else 0 (1% = 10'000).
    std::int32_t memory_ppm = 0;
    SpareAmounts spare{};
    GroupRule rule = GroupRule::none;
    AttributeIndex rule_attribute;

    bool whole() const { return milli >= kWholeGpu; }
    // Memory on a device of this size. The relative part is rounded down: it is what the requester
    // gets, and n shares of 1/n must fit on one device. An init container may have raised one of
    // the two on a request that had the other, so the larger counts.
    MemoryMib memory_on(MemoryMib device) const {
        return std::max(memory, MemoryMib(device.value() * memory_ppm / kWholeMemoryPpm));
    }
    // Memory on a device whose driver hands it out in steps: bytes are rounded up to the step
    // first, to MiB then. No kind of device has a step before device claims have their door.
    MemoryMib memory_in_steps(Bytes step) const {
        const std::int64_t asked =
            memory_bytes.value() > 0 ? memory_bytes.value() : memory.value() * kBytesPerMib;
        const std::int64_t steps = (asked + step.value() - 1) / step.value();
        return MemoryMib((steps * step.value() + kBytesPerMib - 1) / kBytesPerMib);
    }
    friend bool operator==(const GpuRequest&, const GpuRequest&) = default;
};

struct Alternative {
    std::vector<GpuRequest> requests;

    friend bool operator==(const Alternative&, const Alternative&) = default;
};

enum class ServiceClass : std::uint8_t { guaranteed, opportunistic, latency };
enum class Isolation : std::uint8_t { none, hook, mps, mig, exclusive };

struct Gang {
    GroupIndex group;
    std::int32_t size = 1;
    std::int32_t minimum = 1;

    friend bool operator==(const Gang&, const Gang&) = default;
};

inline constexpr std::size_t kMaxAlternatives = 256;  // a placement counts them in a byte

struct Demand {
    std::vector<Alternative> alternatives;  // best first; empty = no GPU
    MilliCpu cpu;
    MemoryMib memory;
    std::vector<ModelIndex> models;  // allowed, best first; empty = any
    ServiceClass service = ServiceClass::guaranteed;
    Isolation isolation = Isolation::none;
    std::int32_t priority = 0;
    std::optional<Gang> gang;
    AppIndex app;
    FilterIndex filter;             // node selector, affinity, tolerations: interned by the edge
    Health tolerates = Health::ok;  // the worst health of a device that it may use and stay on
    bool admin_access = false;      // uses devices without holding a share

    bool wants_gpu() const { return !alternatives.empty(); }
    friend bool operator==(const Demand&, const Demand&) = default;
};

}  // namespace tessera
