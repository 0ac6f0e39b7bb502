#include "engine/gang_placement.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "engine/gang_fill.h"

namespace tessera {
namespace {

class GangPlanner {
  public:
    GangPlanner(Engine& engine, PolicySlot policy, const GangAsk& ask)
        : cluster_(engine.cluster()),
          ask_(ask),
          fill_(engine, policy, ask),
          needed_(ask.minimum - std::min(ask.minimum, fill_.running())) {}

    GangPlan plan() {
        plan_.group = ask_.group;
        plan_.needed = needed_;
        plan_.tally.resize(levels());
        if (ask_.members.size() < needed_) {
            plan_.outcome = GangOutcome::too_few_members;
            return std::move(plan_);
        }
        rooms_ = fill_.rooms();
        for (std::size_t level = 0; level < levels() && !plan_.placed(); ++level) {
            try_level(level);
        }
        if (needed_ == 0) {
            plan_.outcome = GangOutcome::placed;  // no room for more is no failure
        }
        plan_.seats = fill_.seats();
        return std::move(plan_);
    }

  private:
    struct Domain {
        std::vector<NodeIndex> nodes{};
        DomainIndex required{};
        std::int64_t room = 0;    // for members
        std::int64_t beyond = 0;  // if there were any number of them
        std::int64_t near = 0;
    };

    // Nodes, the preferred levels, everything.
    std::size_t levels() const { return ask_.topology.preferred.size() + 2; }
    bool top(std::size_t level) const { return level + 1 == levels(); }

    DomainIndex required(NodeIndex node) const {
        return ask_.topology.required == nullptr ? DomainIndex(0)
                                                 : ask_.topology.required->of_node[node.slot()];
    }

    // Domains of a level, each within one required domain, in the order of their first nodes.
    std::vector<Domain> domains(std::size_t level) const {
        const DomainIndex theirs = domain_of_running();
        std::map<std::pair<DomainIndex, DomainIndex>, std::size_t> known;
        std::vector<Domain> found;
        for (std::uint32_t n = 0; n < cluster_.size(); ++n) {
            const NodeIndex node(n);
            const std::pair in{required(node), fill_.domain(level, node)};
            if (!in.first.valid() || !in.second.valid() || (theirs.valid() && in.first != theirs)) {
                continue;
            }
            const auto [at, added] = known.try_emplace(in, found.size());
            if (added) {
                found.push_back({.required = in.first});
            }
            Domain& domain = found[at->second];
            domain.nodes.push_back(node);
            domain.room += rooms_[n].members;
            domain.beyond += rooms_[n].any_number;
            domain.near += fill_.near(node);
        }
        return found;
    }

    // Where members run already, the required domain is theirs; that of most of them.
    DomainIndex domain_of_running() const {
        std::map<DomainIndex, std::int64_t> members;
        for (std::uint32_t n = 0; fill_.running() > 0 && n < cluster_.size(); ++n) {
            const DomainIndex domain = required(NodeIndex(n));
            if (domain.valid() && fill_.near(NodeIndex(n)) > 0) {
                members[domain] += fill_.near(NodeIndex(n));
            }
        }
        const auto most =
            std::max_element(members.begin(), members.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; });
        return most == members.end() ? DomainIndex() : most->first;
    }

    void try_level(std::size_t level) {
        const auto all = std::ssize(ask_.members);
        const auto least = std::max<std::int64_t>(1, static_cast<std::int64_t>(needed_));
        GangLevel& tally = plan_.tally[level];
        std::vector<Domain> found = domains(level);
        tally.domains = std::ssize(found);
        // Where members run already, the others come to them, level by level.
        const bool come = fill_.running() > 0 && !top(level);
        for (const Domain& domain : found) {
            tally.most = std::max(tally.most, std::min(all, domain.room));
            tally.too_small += domain.room < least ? 1 : 0;
            tally.away += domain.room >= least && come && domain.near == 0 ? 1 : 0;
        }
        std::erase_if(found, [&](const Domain& domain) {
            return domain.room < least || (come && domain.near == 0);
        });
        // Of those with room for all the fullest, then those with room for most.
        std::stable_sort(found.begin(), found.end(), [&](const Domain& a, const Domain& b) {
            const auto rank = [&](const Domain& domain) {
                return std::tuple(-domain.near, -std::min(all, domain.room), domain.beyond);
            };
            return rank(a) < rank(b);
        });
        for (const Domain& domain : found) {
            if (try_domain(level, domain)) {
                plan_.outcome = GangOutcome::placed;
                plan_.level = level;
                return;
            }
            ++tally.failed;
        }
    }

    bool try_domain(std::size_t level, const Domain& domain) {
        const std::size_t least = std::max<std::size_t>(1, needed_);
        fill_.place_near(domain.nodes, level);
        // Members of unlike sizes may stand in each other's way when they are close.
        for (const auto order : {GangFill::Order::largest_first, GangFill::Order::smallest_first}) {
            if (fill_.seats().size() < least && !fill_.exact()) {
                fill_.roll_back();
                fill_.place_plainly(domain.nodes, order);
            }
        }
        if (fill_.seats().size() < least) {
            fill_.roll_back();
            return false;
        }
        if (fill_.seats().size() < ask_.members.size() && !top(level)) {
            std::vector<NodeIndex> around;
            for (std::uint32_t n = 0; n < cluster_.size(); ++n) {
                if (required(NodeIndex(n)) == domain.required) {
                    around.emplace_back(n);
                }
            }
            fill_.place_near(around, levels() - 1);
        }
        return true;
    }

    const Cluster& cluster_;
    const GangAsk& ask_;
    GangFill fill_;
    std::size_t needed_;
    std::vector<GangFill::Room> rooms_;  // by node
    GangPlan plan_;
};

}  // namespace

GangPlan plan_gang(Engine& engine, PolicySlot policy, const GangAsk& ask) {
    // A plan uses up no draws: what it decides is decided once more when it is made real.
    const Rng draws = engine.placer(policy).draws();
    GangPlan plan = GangPlanner(engine, policy, ask).plan();
    engine.placer(policy).set_draws(draws);
    return plan;
}

Expected<void> hold_gang(Engine& engine, PolicySlot policy, const GangPlan& plan,
                         Nanoseconds deadline) {
    for (std::size_t i = 0; i < plan.seats.size(); ++i) {
        const GangSeat& seat = plan.seats[i];
        auto held = engine.hold(seat.pod, {policy, seat.demand_class, seat.placement, plan.group},
                                deadline);
        if (!held) {
            while (i-- > 0) {
                engine.drop(plan.seats[i].pod);
            }
            return held;
        }
    }
    Rng draws = engine.placer(policy).draws();
    draws.next();
    engine.placer(policy).set_draws(draws);
    return {};
}

}  // namespace tessera
