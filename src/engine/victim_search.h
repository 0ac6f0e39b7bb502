// Who must go so that a pod fits on one node: the cheapest set of victims there.
//
//   VictimSearch search({.ledger = ledger, .classes = placer.classes(), .wanted = alternatives,
//                        .node = node, .gone = gone_already, .units = candidates});
//   const VictimAnswer answer = search.find();
//   if (answer.outcome == RoomOutcome::found) { for (i : answer.set.units) { candidates[i] ... } }
//
// The node is copied (victim_room.h), so that a trial costs a fraction of a microsecond and nobody
// hears of it. Branch and bound: a set is given up as soon as it cannot become cheaper than the
// best so far, and a unit that frees no more than one that stays, and costs no less, stays too.
// Within the number of steps the answer is exact; beyond, it is what a greedy search found or
// better, and says so. The rules that a door judges (Tenants::serves) need not be monotone; whoever
// they forbid with all candidates gone is taken as forbidden, as kube-scheduler does.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/ledger.h"
#include "engine/tenants.h"
#include "engine/victim_room.h"
#include "model/demand_class.h"

namespace tessera {

// Who goes whole or not at all: a pod, or the members of a gang, those on other nodes too.
struct VictimUnit {
    std::vector<OwnerId> owners;
    std::int64_t highest = -1;  // importance of its most important owner
    std::int64_t importance_sum = 0;
    std::uint64_t start = kNeverStarted;  // of those as important as that, the oldest's
    std::vector<BudgetIndex> budgets;     // once for each owner that one covers

    void add(OwnerId owner, const Tenant& tenant, std::uint64_t started);
};

// What a set of victims costs. No part of it, in the order of comparison, shrinks with more.
struct VictimCost {
    std::int64_t violations = 0;  // evictions beyond what budgets allow, summed over the budgets
    std::int64_t highest = -1;    // importance of the most important victim; -1: there is none
    std::int64_t victims = 0;
    std::int64_t importance_sum = 0;
    std::uint64_t start = kNeverStarted;  // of those as important as the highest, the oldest's

    void add(const VictimUnit& unit);  // violations apart
    friend bool operator==(const VictimCost&, const VictimCost&) = default;
};

// What is compared first; then the rest in the order of VictimCost, of equal ones the younger.
enum class VictimOrder : std::uint8_t { least_important, fewest };
bool cheaper(const VictimCost& a, const VictimCost& b, VictimOrder order);

enum class RoomOutcome : std::uint8_t {
    found,
    held_by_others,  // there is no room even when all that may go have gone
    budgets,         // there is, but no set was found that violates no budget
    other_rules,     // or none that the door's rules allow
    too_dear,        // or none that is worth it
};

struct VictimQuestion {
    const Ledger& ledger;
    const ClassTable& classes;
    std::span<const ClassIndex> wanted;  // alternatives: any of them will do
    NodeIndex node;
    std::span<const OwnerId> gone;             // leave in any case, at no cost
    std::span<const VictimUnit* const> units;  // may go
    const Tenants* tenants = nullptr;          // null: there are no budgets and no other rules
    VictimOrder order = VictimOrder::least_important;
    bool violate_budgets = true;
};

struct VictimSet {
    std::vector<std::size_t> units;  // into the question's, ascending
    VictimCost cost;
};

struct VictimAnswer {
    RoomOutcome outcome = RoomOutcome::held_by_others;
    VictimSet set;
    bool exact = true;  // no set is cheaper
    std::size_t steps = 0;
};

class VictimSearch {
  public:
    explicit VictimSearch(const VictimQuestion& question);

    // No set of victims here costs less; nothing when there is no room even without all of them.
    // Of budgets and of the door's rules it knows nothing.
    std::optional<VictimCost> bound();

    struct Limits {
        std::size_t steps = 20'000;
        std::size_t refusals = 256;         // by the door's rules, which cost more than ours
        std::optional<VictimCost> worth{};  // sets that cost more are of no use
    };
    VictimAnswer find() { return find(Limits()); }
    VictimAnswer find(const Limits& limits);

  private:
    using Fate = VictimRoom::Fate;
    struct Budget {
        BudgetIndex index;
        std::int32_t allowed = 0;
        std::int32_t used = 0;
    };

    void read_budgets();
    VictimAnswer search(bool ask_rules, const Limits& limits);
    std::vector<OwnerId> leaving(std::span<const std::size_t> units) const;
    bool allowed_by_rules(std::span<const std::size_t> units);

    void greedy();
    void spare_in(std::span<const std::size_t> order);
    std::vector<std::size_t> least_wanted_first() const;
    std::vector<bool> violating() const;

    void set_branch_order();
    void explore(std::size_t at);
    void explore_with(std::size_t unit, std::size_t at);
    void explore_without(std::size_t unit, std::size_t at);
    VictimCost at_least(const VictimRoom::Missing& more, std::size_t at) const;
    bool hopeless(const VictimCost& cost) const;
    std::int64_t charge(std::size_t unit, std::int32_t sign);
    bool offer(std::vector<std::size_t> units, const VictimCost& cost);
    bool replaces(std::size_t unit, std::size_t other) const;
    std::vector<std::size_t> with_fate(Fate wanted) const;
    std::vector<std::size_t> not_staying() const;
    VictimCost cost_of(std::span<const std::size_t> units);

    const VictimUnit& unit(std::size_t index) const { return *question_.units[index]; }

    VictimQuestion question_;
    VictimRoom room_;
    std::vector<Budget> budgets_;
    std::vector<std::vector<std::uint32_t>> covered_by_;  // by unit, into budgets_

    // Of the search under way.
    Limits limits_;
    bool ask_rules_ = false;
    std::vector<std::size_t> order_;             // in which units are branched on
    std::vector<std::int64_t> least_important_;  // of order_, from there on
    std::int64_t least_highest_ = -1;            // no set has a less important highest victim
    VictimCost cost_;
    std::optional<VictimSet> best_;
    std::size_t refused_ = 0;  // sets that the door's rules forbid
    bool over_budget_ = false;
    bool complete_ = true;
    std::size_t steps_ = 0;
};

}  // namespace tessera
