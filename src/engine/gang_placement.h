// Gangs: n pods placed near each other, at least m of them or none.
//
//   GangPlan plan = plan_gang(engine, policy, {.group = g, .members = waiting, .minimum = m,
//                                              .topology = {.required = &zones, .preferred =
//                                              {&racks}}});
//   if (plan.placed()) { hold_gang(engine, policy, plan, deadline); } else { plan.tally ... }
//
// The tightest domain that holds the minimum is taken: one node, then one domain of each preferred
// level, then all nodes (or all of one required domain). Of domains of one level: the one with most
// members that run already; then the fullest that has room for all members; then the one that
// has room for most. Members beyond the minimum join where they fit, as near as they can. Within
// a domain the same rule holds one level further down, to the node and, for shares, the device.
//
// All or nothing: a try is made on the real books in a Statement and rolled back; a plan holds
// until the next change of the cluster. A gang that does not fit leaves nothing behind, so that two
// gangs never wait for each other's halves.
//
// Cost: per class of member and domain one look at the nodes' keys in the index and a sort, not a
// search per member.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/node_domains.h"
#include "model/demand.h"
#include "model/placement.h"

namespace tessera {

struct GangMember {
    PodIndex pod;
    const Demand* demand = nullptr;
};

struct GangTopology {
    const NodeDomains* required = nullptr;           // all members within one of its domains
    std::vector<const NodeDomains*> preferred = {};  // the tightest first
};

struct GangAsk {
    GroupIndex group;
    std::span<const GangMember> members;    // that hold nothing yet
    std::size_t minimum = 1;                // of the gang, those that run included
    std::span<const OwnerId> running = {};  // hold shares already
    GangTopology topology = {};
};

enum class GangOutcome : std::uint8_t {
    placed,
    too_few_members,  // fewer are known than the minimum
    no_room,          // in no allowed domain is there room for the minimum
};
inline constexpr std::array<std::string_view, 3> kGangOutcomeNames{"Placed", "TooFewMembers",
                                                                   "NoRoom"};

struct GangSeat {
    PodIndex pod;
    ClassIndex demand_class;  // of its first alternative: what the policy learns of
    Placement placement;      // its grants have the demand's names
};

// What was tried on a level of the topology. Level 0 are the nodes, the last one is everything.
struct GangLevel {
    std::int64_t domains = 0;
    std::int64_t too_small = 0;  // cannot hold the minimum, whatever is tried
    std::int64_t away = 0;       // hold none of the members that run already
    std::int64_t failed = 0;     // were tried, and did not
    std::int64_t most = 0;       // members that the best of them holds, at most
};

struct GangPlan {
    GangOutcome outcome = GangOutcome::no_room;
    GroupIndex group;
    std::vector<GangSeat> seats;  // in the order of placing
    std::size_t level = 0;        // where the minimum was placed
    std::size_t needed = 0;       // of the members that wait, so that the minimum runs
    std::vector<GangLevel> tally;

    bool placed() const { return outcome == GangOutcome::placed; }
};

// Takes nothing. Not const: classes are interned, and moves are tried and rolled back.
GangPlan plan_gang(Engine& engine, PolicySlot policy, const GangAsk& ask);

// Assumes all seats until the deadline, or none of them.
Expected<void> hold_gang(Engine& engine, PolicySlot policy, const GangPlan& plan,
                         Nanoseconds deadline);

}  // namespace tessera
