// Preemption: where a demand that fits nowhere would fit if the right pods went.
//
//   const PreemptionPlan plan = plan_preemption(engine, policy, demand, tenants);
//   if (!plan.ways.empty()) { show(plan.ways.front().victims); ... evict, and wait there }
//   else { plan.tally ... }  // why not
//
// The order of preference: fewest violations of disruption budgets, then the least important
// highest victim, then the fewest victims, the smallest sum of importance, the latest start
// (victim_search.h), and the node that the policy likes best once they are gone. What terminating
// pods hold counts as free: a node where waiting is enough comes before all others.
//
// Nothing is taken or released: whoever is asked sees the same ledger before and after. Inside a
// caller's open statement it sees that statement's moves, so that the members of a gang can be
// planned one after the other.
//
// Cost: a look at each node, then exact searches, the nodes with the lowest bounds first, until no
// bound is as low as what was found.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "engine/tenants.h"
#include "engine/victim_search.h"
#include "model/demand.h"
#include "model/placement.h"

namespace tessera {

struct PreemptionOptions {
    std::size_t ways = 4;  // the best, and alternatives to it for people
    // Nodes that may be used; empty: all of them.
    std::span<const NodeIndex> among = {};
    bool violate_budgets = true;  // false: rather no room than an eviction beyond a budget
    // Sets of victims tried, on one node and in all. Beyond, a node gets a greedy search.
    std::size_t steps_per_node = 20'000;
    std::size_t steps = 400'000;
    // Sets that the door's rules may refuse, on one node, before it is given up.
    std::size_t refusals_per_node = 256;
};

// One way to make room.
struct PreemptionWay {
    NodeIndex node;
    Placement placement;           // what the pod would get; its grants have the demand's names
    std::vector<OwnerId> victims;  // in the order in which they should go; empty: only wait
    std::vector<OwnerId> awaited;  // are terminating there already
    VictimCost cost;
    Key key = 0;  // of the node by the policy, without all these
    Tie tie = 0;
    bool exact = true;  // no cheaper set of victims on this node
};

// What became of a node.
enum class PreemptionFate : std::uint8_t {
    found,           // room can be made
    never,           // gone, closed, not admitting the pod, or too small even when empty
    held_by_others,  // by those who stay (Stay)
    budgets,         // only by violating a disruption budget
    other_rules,     // the door's rules forbid it
    dearer,          // not worth it: others cost less
};
inline constexpr std::size_t kPreemptionFates = 6;
inline constexpr std::array<std::string_view, kPreemptionFates> kPreemptionFateNames{
    "Found", "Never", "HeldByOthers", "Budgets", "OtherRules", "Dearer"};

// What was tried, and why not more.
struct PreemptionTally {
    std::array<std::int64_t, kPreemptionFates> nodes{};
    std::array<std::int64_t, kStays> owners{};  // on nodes that are not `never`, by why they stay
    std::int64_t terminating = 0;               // owners there that go anyway
    std::size_t steps = 0;
    bool exact = true;  // no node was left with a greedy search

    std::int64_t of(PreemptionFate fate) const { return nodes[static_cast<std::size_t>(fate)]; }
    std::int64_t of(Stay stay) const { return owners[static_cast<std::size_t>(stay)]; }
};

struct PreemptionPlan {
    std::vector<PreemptionWay> ways;  // best first
    PreemptionTally tally;
};

// The demand's priority, service class and gang are those of the pod that asks. Not const: classes
// are interned, and moves are tried and rolled back.
PreemptionPlan plan_preemption(Engine& engine, PolicySlot policy, const Demand& demand,
                               const Tenants& tenants, const PreemptionOptions& options = {});

}  // namespace tessera
