// Random operations on a ledger, as small numbers: for ledger_property_test.cc.
//
// Amounts are few and capacities small, so that conflicts, exact fits and over-commitment are all
// common.
#pragma once

#include <array>
#include <cstdint>
#include <ostream>

#include "base/rng.h"
#include "engine/ledger.h"
#include "engine/owner.h"
#include "model/node.h"
#include "model/placement.h"

namespace tessera::reference {

enum class Kind : std::uint8_t {
    assume,
    confirm,
    confirm_as_held,
    terminate,
    release,
    expire,
    set_deadline,
    add_user,
    drop_user,
    update_node,
    set_health,
    remove_node,
    begin,
    checkpoint,
    roll_back,
    end,
    rebuild,
};
inline constexpr int kKinds = 17;
// How often each is drawn in the walk.
inline constexpr std::array<int, kKinds> kWeights{30, 12, 8, 4, 14, 4, 2, 4, 2,
                                                  2,  3,  1, 4, 4,  4, 4, 1};

// All an operation needs, as small numbers: rapidcheck shrinks them towards zero.
struct Op {
    Kind kind = Kind::assume;
    std::uint32_t owner = 0;
    std::uint32_t node = 0;
    std::uint32_t detail = 0;  // the rest, drawn from it as from a seed
};

inline std::ostream& operator<<(std::ostream& out, const Op& op) {
    return out << "{Kind(" << static_cast<int>(op.kind) << "), " << op.owner << ", " << op.node
               << ", " << op.detail << "}";
}

inline constexpr std::uint32_t kNodes = 3;
inline constexpr std::uint32_t kOwners = 12;  // of each kind a third

inline OwnerId owner_of(std::uint32_t n) {
    switch (n % 6) {
        case 0:
            return OwnerId::claim(n / 6);
        case 1:
            return OwnerId::foreign(n / 6);
        default:
            return OwnerId::pod(n);
    }
}

template <std::size_t N>
std::int64_t pick(Rng& rng, const std::array<std::int64_t, N>& values) {
    return values.at(rng.below(N));
}

inline NodeSpec draw_node(Rng& rng, std::uint32_t node) {
    NodeSpec spec;
    spec.name = "n";
    spec.cpu = MilliCpu(static_cast<std::int64_t>(8 + rng.below(8)));
    spec.memory = MemoryMib(static_cast<std::int64_t>(8 + rng.below(8)));
    spec.pods = static_cast<std::int32_t>(4 + rng.below(4));
    spec.schedulable = rng.below(4) > 0;
    spec.gpus.resize(rng.below(4));
    for (GpuSpec& gpu : spec.gpus) {
        gpu.model = ModelIndex(static_cast<std::uint16_t>(rng.below(2)));
        gpu.memory = MemoryMib(pick<2>(rng, {100, 150}));
        gpu.slots = static_cast<std::uint16_t>(pick<4>(rng, {0, 0, 2, 3}));
        gpu.mode = node == 2 ? AllocatorMode::claim : AllocatorMode::annotation;
        gpu.spare = {pick<2>(rng, {0, 7}), 2, 0};
    }
    return spec;
}

inline Placement draw_placement(Rng& rng, OwnerId owner, std::uint32_t node) {
    Placement placement;
    placement.node = NodeIndex(node);
    if (owner.kind() == OwnerKind::claim) {
        placement.pods = 0;
    } else {
        placement.cpu = MilliCpu(static_cast<std::int64_t>(rng.below(5)));
        placement.memory = MemoryMib(static_cast<std::int64_t>(rng.below(5)));
        placement.pods = owner.kind() == OwnerKind::foreign && rng.below(3) == 0 ? 0 : 1;
    }
    placement.admin_access = rng.below(12) == 0;
    placement.alternative = static_cast<std::uint8_t>(rng.below(2));
    const std::uint64_t grants = rng.below(4);
    for (std::uint64_t g = 0; g < grants; ++g) {
        DeviceGrant grant;
        grant.request = RequestIndex(static_cast<std::uint32_t>(rng.below(2)));
        grant.gpu = GpuIndex(
            static_cast<std::uint8_t>(rng.below(owner.kind() == OwnerKind::foreign ? 5 : 3)));
        grant.milli =
            MilliGpu(static_cast<std::int32_t>(pick<7>(rng, {0, 1, 250, 333, 500, 999, 1000})));
        grant.memory = MemoryMib(pick<6>(rng, {0, 0, 10, 33, 50, 101}));
        grant.spare = {pick<4>(rng, {0, 0, 0, 1}), pick<4>(rng, {0, 0, 0, 1}), 0};
        placement.grants.push_back(grant);
    }
    return placement;
}

// A deadline now and then; tolerance now and then.
inline Terms draw_terms(Rng& rng, std::int64_t now) {
    Terms terms;
    if (rng.below(2) == 0) {
        terms.deadline = Nanoseconds(now + static_cast<std::int64_t>(rng.below(20)));
    }
    terms.tolerates = static_cast<Health>(rng.below(6) / 2);
    return terms;
}

}  // namespace tessera::reference
