#include "engine/preemption.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/assert.h"
#include "engine/fixes.h"
#include "engine/statement.h"
#include "model/alternatives.h"
#include "policy/assignment.h"

namespace tessera {
namespace {

class Planner {
  public:
    Planner(Engine& engine, PolicySlot policy, const Demand& demand, const Tenants& tenants,
            const PreemptionOptions& options)
        : engine_(engine),
          placer_(engine.placer(policy)),
          demand_(demand),
          tenants_(tenants),
          options_(options),
          importance_(importance_of(demand.service, demand.priority)) {
        const std::size_t end =
            std::clamp<std::size_t>(demand.alternatives.size(), 1, kMaxAlternatives);
        for (std::size_t i = 0; i < end; ++i) {
            classes_.push_back(placer_.intern(demand, i));
        }
        Rng draws = placer_.draws();
        draw_ = draws.next();
    }

    PreemptionPlan plan() {
        look_at_all();
        std::sort(bounded_.begin(), bounded_.end(), [](const Bounded& a, const Bounded& b) {
            const bool less = cheaper(a.bound, b.bound, VictimOrder::least_important);
            return less ||
                   (!cheaper(b.bound, a.bound, VictimOrder::least_important) && a.node < b.node);
        });
        std::size_t looked = 0;
        for (; looked < bounded_.size() && worth_it(bounded_[looked].bound); ++looked) {
            search(bounded_[looked].node);
        }
        count(PreemptionFate::dearer, std::ssize(bounded_) - static_cast<std::ptrdiff_t>(looked));
        return std::move(plan_);
    }

  private:
    struct Bounded {
        VictimCost bound;
        NodeIndex node;
    };
    struct Candidates {
        std::vector<OwnerId> gone;  // terminating
        std::deque<VictimUnit> single;
        std::vector<const VictimUnit*> units;
    };

    const Ledger& ledger() const { return engine_.ledger(); }
    const Cluster& cluster() const { return engine_.cluster(); }

    void count(PreemptionFate fate, std::int64_t nodes = 1) {
        plan_.tally.nodes[static_cast<std::size_t>(fate)] += nodes;
    }
    void count(Stay why) { ++plan_.tally.owners[static_cast<std::size_t>(why)]; }

    void look_at_all() {
        if (!options_.among.empty()) {
            std::vector<NodeIndex> among(options_.among.begin(), options_.among.end());
            std::sort(among.begin(), among.end());
            among.erase(std::unique(among.begin(), among.end()), among.end());
            std::for_each(among.begin(), among.end(), [&](NodeIndex node) { look_at(node); });
            return;
        }
        for (std::uint32_t n = 0; n < cluster().size(); ++n) {
            look_at(NodeIndex(n));
        }
    }

    void look_at(NodeIndex node) {
        if (!could_ever(node)) {
            return count(PreemptionFate::never);
        }
        const Candidates candidates = candidates_on(node, true);
        if (const auto bound = VictimSearch(question(node, candidates)).bound()) {
            bounded_.push_back({*bound, node});
        } else {
            count(PreemptionFate::held_by_others);
        }
    }

    // With nobody on it.
    bool could_ever(NodeIndex node) const {
        if (!node.valid() || node.slot() >= cluster().size() || !cluster().use(node).present) {
            return false;
        }
        const Catalog catalog = cluster().catalog(placer_.classes());
        const NodeState empty = emptied(cluster(), node);
        return std::any_of(classes_.begin(), classes_.end(), [&](ClassIndex one) {
            const DemandClass& wanted = placer_.classes()[one];
            return cluster().admits(node, wanted.filter) && fits(empty, wanted, catalog);
        });
    }

    VictimQuestion question(NodeIndex node, const Candidates& candidates) const {
        return {.ledger = ledger(),
                .classes = placer_.classes(),
                .wanted = classes_,
                .node = node,
                .gone = candidates.gone,
                .units = candidates.units,
                .tenants = &tenants_,
                .violate_budgets = options_.violate_budgets};
    }

    Candidates candidates_on(NodeIndex node, bool tally) {
        Candidates found;
        for (OwnerId owner : ledger().owners_on(node)) {
            const auto known = ledger().find(owner);
            if (known->state == OwnerState::terminating) {
                found.gone.push_back(owner);
                plan_.tally.terminating += tally ? 1 : 0;
                continue;
            }
            const Stay stay = consider(owner, known->start, found);
            if (tally) {
                count(stay);
            }
        }
        return found;
    }

    // Puts the owner among those that may go, with its gang where it takes that with it.
    Stay consider(OwnerId owner, std::uint64_t start, Candidates& found) {
        if (owner.kind() != OwnerKind::pod) {
            return owner.kind() == OwnerKind::claim ? Stay::claim : Stay::foreign;
        }
        const Tenant tenant = tenants_.tenant(owner);
        if (const Stay stay = stay_of(tenant); stay != Stay::no) {
            return stay;
        }
        if (!tenant.gang.valid()) {
            found.single.emplace_back().add(owner, tenant, start);
            found.units.push_back(&found.single.back());
            return Stay::no;
        }
        const VictimUnit& gang = gang_unit(tenant.gang, owner);
        if (gang.owners.empty()) {
            return Stay::gang;
        }
        if (std::find(found.units.begin(), found.units.end(), &gang) == found.units.end()) {
            found.units.push_back(&gang);
        }
        return Stay::no;
    }

    Stay stay_of(const Tenant& tenant) const {
        if (tenant.stay != Stay::no) {
            return tenant.stay;
        }
        if (tenant.importance() >= importance_) {
            return Stay::important;
        }
        const bool own = demand_.gang && tenant.gang.valid() && demand_.gang->group == tenant.gang;
        return own ? Stay::own_gang : Stay::no;
    }

    // The gang as one; without owners when one of them must stay. Made once.
    const VictimUnit& gang_unit(GroupIndex gang, OwnerId asked) {
        const auto [at, added] = gangs_.try_emplace(gang);
        VictimUnit& unit = at->second;
        if (!added) {
            return unit;
        }
        std::vector<OwnerId> owners{asked};
        const std::span<const OwnerId> members = tenants_.members(gang);
        owners.insert(owners.end(), members.begin(), members.end());
        std::sort(owners.begin(), owners.end());
        owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
        for (OwnerId owner : owners) {
            const auto known = ledger().find(owner);
            if (!known || known->state == OwnerState::terminating) {
                continue;
            }
            const Tenant tenant = tenants_.tenant(owner);
            if (owner.kind() != OwnerKind::pod || stay_of(tenant) != Stay::no) {
                unit = VictimUnit();
                break;
            }
            unit.add(owner, tenant, known->start);
        }
        return unit;
    }

    bool full() const { return plan_.ways.size() >= std::max<std::size_t>(1, options_.ways); }
    bool worth_it(const VictimCost& bound) const {
        return !full() || !cheaper(plan_.ways.back().cost, bound, VictimOrder::least_important);
    }

    void search(NodeIndex node) {
        const Candidates candidates = candidates_on(node, false);
        VictimSearch::Limits limits;
        limits.steps = std::min(options_.steps_per_node,
                                options_.steps - std::min(options_.steps, plan_.tally.steps));
        limits.refusals = options_.refusals_per_node;
        if (full()) {
            limits.worth = plan_.ways.back().cost;
        }
        const VictimAnswer answer = VictimSearch(question(node, candidates)).find(limits);
        plan_.tally.steps += answer.steps;
        plan_.tally.exact = plan_.tally.exact && answer.exact;
        switch (answer.outcome) {
            case RoomOutcome::found:
                return offer(node, candidates, answer);
            case RoomOutcome::held_by_others:
                return count(PreemptionFate::held_by_others);
            case RoomOutcome::budgets:
                return count(PreemptionFate::budgets);
            case RoomOutcome::other_rules:
                return count(PreemptionFate::other_rules);
            case RoomOutcome::too_dear:
                return count(PreemptionFate::dearer);
        }
    }

    void offer(NodeIndex node, const Candidates& candidates, const VictimAnswer& answer) {
        PreemptionWay way;
        way.node = node;
        way.awaited = candidates.gone;
        way.cost = answer.set.cost;
        way.exact = answer.exact;
        way.victims = in_order(candidates, answer.set.units);
        if (!try_out(way)) {
            // The devices that the policy picks lack a capacity that only the ledger knows.
            return count(PreemptionFate::held_by_others);
        }
        const auto before = [](const PreemptionWay& a, const PreemptionWay& b) {
            const bool less = cheaper(a.cost, b.cost, VictimOrder::least_important);
            if (less || cheaper(b.cost, a.cost, VictimOrder::least_important)) {
                return less;
            }
            return std::tuple(b.key, b.tie, a.node) < std::tuple(a.key, a.tie, b.node);
        };
        const auto at = std::upper_bound(plan_.ways.begin(), plan_.ways.end(), way, before);
        count(PreemptionFate::found);
        plan_.ways.insert(at, std::move(way));
        if (plan_.ways.size() > std::max<std::size_t>(1, options_.ways)) {
            plan_.ways.pop_back();
        }
    }

    // The least important first, the youngest of equal ones; a gang's members together.
    std::vector<OwnerId> in_order(const Candidates& candidates,
                                  std::span<const std::size_t> units) const {
        std::vector<const VictimUnit*> going;
        for (std::size_t i : units) {
            going.push_back(candidates.units[i]);
        }
        std::sort(going.begin(), going.end(), [](const VictimUnit* a, const VictimUnit* b) {
            return std::tuple(a->highest, b->start) < std::tuple(b->highest, a->start);
        });
        std::vector<OwnerId> victims;
        for (const VictimUnit* unit : going) {
            victims.insert(victims.end(), unit->owners.begin(), unit->owners.end());
        }
        return victims;
    }

    // On the real books, with the policy's own choice of devices; rolled back.
    bool try_out(PreemptionWay& way) {
        Statement without(engine_.ledger_for_statement());
        for (const auto* leaving : {&way.awaited, &way.victims}) {
            for (OwnerId owner : *leaving) {
                const bool released = without.release(owner).has_value();
                TESSERA_ASSERT(released, "who holds something can be taken off");
            }
        }
        const Catalog catalog = cluster().catalog(placer_.classes());
        const auto placement =
            first_that_fits(demand_, [&](std::size_t alternative) -> std::optional<Placement> {
                const ClassIndex one = classes_[alternative];
                const DemandClass& wanted = placer_.classes()[one];
                if (!cluster().admits(way.node, wanted.filter) ||
                    !fits(cluster().node(way.node), wanted, catalog)) {
                    return std::nullopt;
                }
                const DecisionScores scores = placer_.scores(cluster(), one, group());
                auto chosen = placer_.choose_on(scores, way.node, draw_);
                if (!chosen || !cluster().fits(*chosen)) {
                    return std::nullopt;
                }
                way.key = scores.key(way.node);
                way.tie = scores.tie(way.node);
                return chosen;
            });
        if (placement) {
            way.placement = *placement;
        }
        return placement.has_value();
    }

    GroupOf group() const { return {demand_.gang ? demand_.gang->group : GroupIndex()}; }

    Engine& engine_;
    Placer& placer_;
    const Demand& demand_;
    const Tenants& tenants_;
    const PreemptionOptions& options_;
    std::int64_t importance_;
    std::vector<ClassIndex> classes_;
    std::uint64_t draw_ = 0;
    std::map<GroupIndex, VictimUnit> gangs_;
    std::vector<Bounded> bounded_;
    PreemptionPlan plan_;
};

}  // namespace

PreemptionPlan plan_preemption(Engine& engine, PolicySlot policy, const Demand& demand,
                               const Tenants& tenants, const PreemptionOptions& options) {
    return Planner(engine, policy, demand, tenants, options).plan();
}

}  // namespace tessera
