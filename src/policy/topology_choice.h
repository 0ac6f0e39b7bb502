// Which GPUs of a node work best together.
//
// A job on several GPUs runs at the pace of its slowest link. So of all sets of the size asked,
// the one with the best worst link wins; then the one with the most connectivity inside (sum of
// link levels, then of lanes); then, where wanted, the one that leaves the best connected rest;
// then the lowest indices. The answer is exact. Sets that cannot win are never looked at: link
// levels are tried from the best down, GPUs that are linked alike count as one choice, and
// branches end at a bound.
//
//   DeviceMask set = best_connected(links, {.candidates = 0b11110110, .count = 4});
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "model/demand.h"
#include "model/gpu.h"
#include "model/topology.h"
#include "policy/devices.h"

namespace tessera {

// A GPU's value of some attribute (NUMA node, link domain, a claim's matchAttribute), interned.
using GroupId = std::uint16_t;
inline constexpr GroupId kNoGroup = std::numeric_limits<GroupId>::max();
using GpuGroups = std::array<GroupId, kMaxGpusPerNode>;

enum class SubsetTie : std::uint8_t {
    lowest_index,
    least_harm,  // first keep the remaining candidates well connected, then the lowest index
};

struct SubsetQuery {
    DeviceMask candidates = 0;
    int count = 1;
    SubsetTie tie = SubsetTie::lowest_index;
    // All of the set share one group, or no two do. A GPU without a group satisfies neither.
    GroupRule rule = GroupRule::none;
    const GpuGroups* groups = nullptr;  // needed with a rule
};

// The best set, or 0 when there is none: too few candidates, or the rule cannot be met.
DeviceMask best_connected(const LinkMatrix& links, const SubsetQuery& query);

// What decides, for explanations and tests: the worst link of a set and its inner connectivity
// (levels before lanes). A single GPU is perfectly connected with itself.
struct SetQuality {
    LinkLevel worst = LinkLevel::nvlink;
    std::int64_t inner = 0;

    friend auto operator<=>(const SetQuality&, const SetQuality&) = default;
};
SetQuality set_quality(const LinkMatrix& links, DeviceMask set);

}  // namespace tessera
