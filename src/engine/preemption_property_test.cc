// plan_preemption against all sets of victims, on small clusters with everything that can be there:
// foreigners, claims, terminating pods, gangs that go whole, budgets, the door's own rules.
// TESSERA_PROPERTY_SCALE=n tries n times as many clusters.
#include "engine/preemption.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/rng.h"
#include "engine/admission.h"
#include "engine/fixes.h"
#include "engine/statement.h"
#include "engine/test_tenants.h"
#include "policy/registry.h"
#include "policy/test_random.h"

namespace tessera {
namespace {

using testing::any_of;
using testing::one_in;
using testing_cluster::TestTenants;

constexpr auto kOrder = VictimOrder::least_important;

struct Tally {
    int planned = 0;
    int with_victims = 0;
    int several = 0;
    int violating = 0;
    int waiting = 0;
    int gangs = 0;
    int ruled = 0;
    int nowhere = 0;
};

class Plans {
  public:
    explicit Plans(std::uint64_t seed) : rng_(seed), dense_(seed % 2 == 0) {
        std::vector<NodeSpec> nodes;
        for (std::uint64_t n = 1 + rng_.below(dense_ ? 3 : 4); n > 0; --n) {
            nodes.push_back(dense_ ? full_node() : node());
        }
        const char* policy =
            any_of<const char*>(rng_, {"tessera", "binpack", "spread", "random", "kubeshare"});
        Placer::Options options;
        options.seed = seed;
        options.full_scan = true;
        const MilliGpu most(any_of(rng_, {1000, 1000, 1000, 1500}));
        engine_ =
            std::make_unique<Engine>(nodes, *make_policy(policy, {}), options,
                                     ClusterOptions{.milli_per_gpu = most, .filters = filters_});
        engine_->add_policy(*make_policy("binpack", {}));
        for (std::uint64_t pods = rng_.below(40 * nodes.size()); pods > 0; --pods) {
            add_owner();
        }
        settle();
    }

    void run(Tally& tally) {
        Demand demand = dense_ ? large() : wanted();
        for (int again = 0; again < 20 && !held_by_others(demand); ++again) {
            demand = dense_ ? large() : wanted();
        }
        demand.priority = any_of(rng_, {0, 5, 9, 9});
        demand.service = one_in(rng_, 6) ? ServiceClass::opportunistic : ServiceClass::guaranteed;
        if (one_in(rng_, 3)) {
            demand.alternatives.resize(std::max<std::size_t>(1, demand.alternatives.size()));
            demand.alternatives.push_back({{testing::gpu_request(1, 300)}});
            if (demand.alternatives.front().requests.empty()) {
                demand.alternatives.erase(demand.alternatives.begin());
            }
        }
        if (one_in(rng_, 3)) {
            demand.gang = Gang{GroupIndex(0), 4, 2};
        }
        const PolicySlot slot(any_of<std::uint8_t>(rng_, {0, 1}));
        PreemptionOptions options;
        options.refusals_per_node = 5'000;
        options.ways = 1 + rng_.below(4);
        options.violate_budgets = !one_in(rng_, 4);
        const std::string before = testing_cluster::dump(engine_->ledger());
        const std::uint64_t draw = engine_->placer(slot).draws().next();
        const PreemptionPlan plan = plan_preemption(*engine_, slot, demand, tenants_, options);
        ASSERT_EQ(testing_cluster::dump(engine_->ledger()), before);
        ASSERT_TRUE(engine_->ledger().verify().empty());
        ASSERT_EQ(engine_->placer(slot).draws().next(), draw);
        compare(slot, demand, options, plan);
        compare_fewest(slot, demand);
        count(plan, tally);
    }

  private:
    NodeSpec node() {
        NodeSpec spec = testing::random_node(rng_);
        while (one_in(rng_, 2) && spec.gpus.empty()) {
            spec = testing::random_node(rng_);
        }
        spec.gpus.resize(std::min<std::size_t>(spec.gpus.size(), 4));
        spec.links = LinkMatrix();
        if (one_in(rng_, 4)) {
            spec.traits = testing::random_traits(rng_);
        }
        // Most nodes are short of devices, some of other things.
        spec.pods = any_of(rng_, {4, 11, 11, 11});
        spec.schedulable = !one_in(rng_, 15);
        if (!one_in(rng_, 4)) {
            spec.cpu = MilliCpu(any_of(rng_, {8'000, 32'000}));
            spec.memory = MemoryMib(any_of(rng_, {16'384, 262'144}));
        }
        return spec;
    }

    // Nodes that many small pods share, and what does not fit between them.
    NodeSpec full_node() {
        NodeSpec spec = testing::node_spec(2 + static_cast<int>(rng_.below(3)), 16'000);
        spec.pods = 10;
        for (GpuSpec& gpu : spec.gpus) {
            gpu.slots = any_of<std::uint16_t>(rng_, {0, 0, 0, 3});
            gpu.numa = static_cast<std::uint8_t>(rng_.below(2));
        }
        return spec;
    }

    Demand small() {
        const int milli = any_of(rng_, {100, 200, 300, 300, 500, 700, 1000});
        const int gpus = one_in(rng_, 5) ? 2 : 1;
        const std::int64_t memory = any_of<std::int64_t>(rng_, {0, 2'000, 6'000});
        return testing::demand_of(any_of(rng_, {500, 2'000}),
                                  {testing::gpu_request(gpus, milli, memory)});
    }

    Demand large() {
        std::vector<GpuRequest> requests{
            testing::gpu_request(any_of(rng_, {1, 2, 2, 3}), any_of(rng_, {400, 700, 1000, 1000}),
                                 any_of<std::int64_t>(rng_, {0, 0, 9'000}))};
        if (one_in(rng_, 4)) {
            requests.push_back(testing::gpu_request(1, any_of(rng_, {500, 1000})));
        } else if (one_in(rng_, 5)) {
            testing::add_rule(rng_, requests.front());
        }
        return testing::demand_of(any_of(rng_, {500, 6'000}), requests);
    }

    Demand wanted() {
        Demand demand = testing::random_demand(rng_);
        for (Alternative& one : demand.alternatives) {
            for (GpuRequest& request : one.requests) {
                request.spare = {};
                request.gpus = std::min<std::uint16_t>(request.gpus, 4);
            }
        }
        demand.cpu = std::min(demand.cpu, MilliCpu(8'000));
        demand.memory = std::min(demand.memory, MemoryMib(8'192));
        demand.gang.reset();
        if (!one_in(rng_, 3)) {
            demand.models.clear();
        }
        if (one_in(rng_, 8)) {
            demand.filter = filters_->intern(testing::random_filter(rng_));
        }
        return demand;
    }

    // It fits nowhere, and would somewhere if all others left.
    bool held_by_others(const Demand& demand) {
        const ClassIndex one = engine_->intern(demand);
        const Catalog catalog = engine_->cluster().catalog(engine_->placer().classes());
        return engine_->fitting_nodes(one) == 0 &&
               fits_ever(engine_->cluster(), catalog, engine_->placer().classes()[one]);
    }

    void add_owner() {
        const std::uint32_t index = next_++;
        const ClassIndex wanted = engine_->intern(dense_ ? small() : this->wanted());
        const std::uint64_t lot = rng_.below(12);
        const auto size = static_cast<std::uint32_t>(engine_->cluster().size());
        const NodeIndex node(static_cast<std::uint32_t>(rng_.below(size)));
        if (lot == 0) {
            // Whatever it takes: foreigners may take more than there is.
            Placement placement;
            placement.node = node;
            placement.cpu = MilliCpu(any_of(rng_, {0, 2'000, 50'000}));
            const std::size_t gpus = engine_->cluster().spec(node).gpus.size();
            if (gpus > 0) {
                placement.grants.push_back(
                    {.request = {},
                     .gpu = GpuIndex(static_cast<std::uint8_t>(rng_.below(gpus))),
                     .milli = MilliGpu(any_of(rng_, {0, 300, 700})),
                     .memory = MemoryMib(any_of(rng_, {0, 4'000, 30'000}))});
            }
            ASSERT_TRUE(engine_->confirm_foreign(PodIndex(index), placement));
            if (one_in(rng_, 4)) {
                ASSERT_TRUE(engine_->terminate_foreign(PodIndex(index)));
            }
            return;
        }
        const Catalog catalog = engine_->cluster().catalog(engine_->placer().classes());
        if (!admits_and_fits(engine_->cluster(), node, engine_->placer().classes()[wanted],
                             catalog)) {
            return;
        }
        const auto placement = engine_->placer(kFirstPolicy).choose_on(node, wanted);
        if (!placement) {
            return;
        }
        const PodIndex pod(index);
        ASSERT_TRUE(engine_->confirm(pod, {kFirstPolicy, wanted, *placement}));
        add_facts(OwnerId::pod(index));
        if (lot == 1) {
            ASSERT_TRUE(engine_->terminate(pod));
        }
    }

    void add_facts(OwnerId pod) {
        TestTenants::Entry& entry = tenants_.pods[pod];
        entry.tenant.priority = any_of(rng_, {-3, 0, 0, 4, 4, 4, 7});
        entry.tenant.service = any_of(rng_, {ServiceClass::guaranteed, ServiceClass::guaranteed,
                                             ServiceClass::opportunistic, ServiceClass::latency});
        entry.tenant.stay =
            one_in(rng_, 8)
                ? any_of(rng_, {Stay::never, Stay::too_young, Stay::binding, Stay::node_own})
                : Stay::no;
        for (std::uint32_t budget = 0; budget < 3; ++budget) {
            if (one_in(rng_, 5)) {
                entry.budgets.emplace_back(budget);
            }
        }
        if (one_in(rng_, 5)) {
            entry.tenant.gang = GroupIndex(static_cast<std::uint32_t>(rng_.below(3)));
            tenants_.gangs[entry.tenant.gang].push_back(pod);
        }
    }

    // Budgets, some devices that get ill, and rules of the door's own.
    void settle() {
        for (std::uint32_t budget = 0; budget < 3; ++budget) {
            tenants_.allowed[BudgetIndex(budget)] = any_of(rng_, {-1, 0, 1, 2});
        }
        // A member that holds nothing.
        tenants_.gangs[GroupIndex(1)].push_back(OwnerId::pod(next_++));
        for (std::uint32_t n = 0; n < engine_->cluster().size(); ++n) {
            const auto owners = engine_->ledger().owners_on(NodeIndex(n));
            if (!owners.empty() && one_in(rng_, 4)) {
                tenants_.in_the_way.emplace(NodeIndex(n), owners[rng_.below(owners.size())]);
            }
            if (!owners.empty() && one_in(rng_, 10)) {
                tenants_.needed.emplace(NodeIndex(n), owners[rng_.below(owners.size())]);
            }
        }
    }

    bool may_go(OwnerId owner, const Demand& demand) const {
        if (owner.kind() != OwnerKind::pod) {
            return false;
        }
        const Tenant tenant = tenants_.tenant(owner);
        const bool own = demand.gang && tenant.gang == demand.gang->group;
        return tenant.stay == Stay::no && !own &&
               tenant.importance() < importance_of(demand.service, demand.priority);
    }

    bool terminating(OwnerId owner) const {
        const auto known = engine_->ledger().find(owner);
        return known && known->state == OwnerState::terminating;
    }

    // The owner with all that go with it; nothing when it stays.
    std::optional<std::set<OwnerId>> with_gang(OwnerId owner, const Demand& demand) const {
        if (!may_go(owner, demand)) {
            return std::nullopt;
        }
        std::set<OwnerId> going{owner};
        const Tenant tenant = tenants_.tenant(owner);
        if (tenant.gang.valid()) {
            for (OwnerId member : tenants_.members(tenant.gang)) {
                if (engine_->ledger().knows(member) && !terminating(member)) {
                    if (!may_go(member, demand)) {
                        return std::nullopt;
                    }
                    going.insert(member);
                }
            }
        }
        return going;
    }

    VictimCost cost_of(const std::set<OwnerId>& victims) const {
        VictimCost cost;
        std::map<BudgetIndex, int> used;
        for (OwnerId victim : victims) {
            const Tenant tenant = tenants_.tenant(victim);
            const std::uint64_t start = engine_->ledger().find(victim)->start;
            ++cost.victims;
            cost.importance_sum += tenant.importance();
            if (tenant.importance() > cost.highest) {
                cost.highest = tenant.importance();
                cost.start = start;
            } else if (tenant.importance() == cost.highest) {
                cost.start = std::min(cost.start, start);
            }
            for (BudgetIndex budget : tenant.budgets) {
                ++used[budget];
            }
        }
        for (const auto& [budget, times] : used) {
            cost.violations +=
                std::max(0, times - std::max(0, tenants_.disruptions_allowed(budget)));
        }
        return cost;
    }

    bool room(PolicySlot slot, const Demand& demand, NodeIndex node,
              const std::set<OwnerId>& gone) const {
        Statement without(engine_->ledger_for_statement());
        for (OwnerId owner : gone) {
            EXPECT_TRUE(without.release(owner));
        }
        Placer& placer = engine_->placer(slot);
        const std::size_t end = std::max<std::size_t>(1, demand.alternatives.size());
        for (std::size_t i = 0; i < end; ++i) {
            const ClassIndex one = placer.intern(demand, i);
            if (admits_and_fits(engine_->cluster(), node, placer.classes()[one],
                                engine_->cluster().catalog(placer.classes()))) {
                return true;
            }
        }
        return false;
    }

    // The cheapest set on a node, by trying all of them.
    std::optional<VictimCost> cheapest_on(PolicySlot slot, const Demand& demand, NodeIndex node,
                                          bool violate, VictimOrder order = kOrder) const {
        std::set<OwnerId> gone;
        std::vector<std::set<OwnerId>> units;
        for (OwnerId owner : engine_->ledger().owners_on(node)) {
            if (terminating(owner)) {
                gone.insert(owner);
            } else if (auto unit = with_gang(owner, demand)) {
                units.push_back(std::move(*unit));
            }
        }
        const auto serves = [&](const std::set<OwnerId>& leaving) {
            return tenants_.serves(node, std::vector(leaving.begin(), leaving.end()));
        };
        std::optional<VictimCost> best;
        for (std::uint32_t set = 1U << units.size(); set-- > 0;) {
            std::set<OwnerId> victims;
            for (std::size_t i = 0; i < units.size(); ++i) {
                if ((set >> i & 1U) != 0) {
                    victims.insert(units[i].begin(), units[i].end());
                }
            }
            std::set<OwnerId> leaving = victims;
            leaving.insert(gone.begin(), gone.end());
            if (set + 1 == 1U << units.size() && !serves(leaving)) {
                return std::nullopt;
            }
            const VictimCost cost = cost_of(victims);
            if ((best && !cheaper(cost, *best, order)) || (!violate && cost.violations > 0) ||
                !serves(leaving) || !room(slot, demand, node, leaving)) {
                continue;
            }
            best = cost;
        }
        return best;
    }

    static std::string shown(const VictimCost& cost) {
        return fmt::format("{} violations, highest {}, {} victims of {}, from {}\n",
                           cost.violations, cost.highest, cost.victims, cost.importance_sum,
                           cost.start);
    }

    // One node by itself, the fewest first: what a door asks whose caller has named victims
    // already.
    void compare_fewest(PolicySlot slot, const Demand& demand) {
        const NodeIndex node(static_cast<std::uint32_t>(rng_.below(engine_->cluster().size())));
        std::vector<OwnerId> gone;
        std::vector<VictimUnit> units;
        for (OwnerId owner : engine_->ledger().owners_on(node)) {
            if (terminating(owner)) {
                gone.push_back(owner);
            } else if (const auto going = with_gang(owner, demand)) {
                VictimUnit& unit = units.emplace_back();
                for (OwnerId one : *going) {
                    unit.add(one, tenants_.tenant(one), engine_->ledger().find(one)->start);
                }
            }
        }
        std::vector<const VictimUnit*> listed;
        for (const VictimUnit& unit : units) {
            const auto same = [&](const auto* one) { return one->owners == unit.owners; };
            if (std::none_of(listed.begin(), listed.end(), same)) {
                listed.push_back(&unit);
            }
        }
        Placer& placer = engine_->placer(slot);
        std::vector<ClassIndex> classes;
        for (std::size_t i = 0; i < std::max<std::size_t>(1, demand.alternatives.size()); ++i) {
            classes.push_back(placer.intern(demand, i));
        }
        VictimSearch search({.ledger = engine_->ledger(),
                             .classes = placer.classes(),
                             .wanted = classes,
                             .node = node,
                             .gone = gone,
                             .units = listed,
                             .tenants = &tenants_,
                             .order = VictimOrder::fewest});
        const auto bound = search.bound();
        const VictimAnswer answer = search.find({.refusals = 5'000});
        const auto least = cheapest_on(slot, demand, node, true, VictimOrder::fewest);
        ASSERT_EQ(answer.outcome == RoomOutcome::found, least.has_value());
        if (least) {
            ASSERT_TRUE(answer.exact);
            ASSERT_EQ(answer.set.cost, *least) << shown(answer.set.cost) << shown(*least);
            ASSERT_TRUE(bound && !cheaper(*least, *bound, VictimOrder::fewest));
        }
    }

    void compare(PolicySlot slot, const Demand& demand, const PreemptionOptions& options,
                 const PreemptionPlan& plan) {
        std::map<NodeIndex, VictimCost> expected;
        for (std::uint32_t n = 0; n < engine_->cluster().size(); ++n) {
            const auto here = cheapest_on(slot, demand, NodeIndex(n), options.violate_budgets);
            if (here) {
                expected.emplace(NodeIndex(n), *here);
            }
        }
        ASSERT_EQ(plan.ways.size(), std::min(options.ways, expected.size()));
        ASSERT_TRUE(plan.tally.exact);
        for (std::size_t i = 0; i < plan.ways.size(); ++i) {
            const PreemptionWay& way = plan.ways[i];
            ASSERT_TRUE(expected.contains(way.node)) << "node " << way.node.value();
            const VictimCost& least = expected.at(way.node);
            ASSERT_FALSE(cheaper(least, way.cost, kOrder))
                << shown(least) << shown(way.cost) << testing_cluster::dump(engine_->ledger());
            ASSERT_EQ(way.cost, least);
            ASSERT_EQ(cost_of(std::set(way.victims.begin(), way.victims.end())), way.cost);
            ASSERT_TRUE(i == 0 || !cheaper(way.cost, plan.ways[i - 1].cost, kOrder));
            const auto dearer = [&](const auto& e) { return cheaper(e.second, way.cost, kOrder); };
            ASSERT_LE(std::count_if(expected.begin(), expected.end(), dearer),
                      std::ssize(plan.ways));
            check_way(slot, demand, way);
        }
        std::int64_t nodes = 0;
        for (const std::int64_t count : plan.tally.nodes) {
            nodes += count;
        }
        ASSERT_EQ(nodes, std::ssize(engine_->cluster().nodes()));
    }

    // The pod can be placed as the plan says, once the victims have gone.
    void check_way(PolicySlot slot, const Demand& demand, const PreemptionWay& way) {
        Statement without(engine_->ledger_for_statement());
        for (const auto* leaving : {&way.awaited, &way.victims}) {
            for (OwnerId owner : *leaving) {
                ASSERT_TRUE(without.release(owner));
            }
        }
        Placer& placer = engine_->placer(slot);
        const ClassIndex one = placer.intern(demand, way.placement.alternative);
        const auto done = without.assume(OwnerId::pod(next_), way.placement,
                                         {.tolerates = placer.classes()[one].tolerates});
        ASSERT_TRUE(done) << done.error().message;
        ASSERT_EQ(way.placement.node, way.node);
    }

    void count(const PreemptionPlan& plan, Tally& tally) const {
        ++tally.planned;
        tally.nowhere += plan.ways.empty() ? 1 : 0;
        tally.ruled += plan.tally.of(PreemptionFate::other_rules) > 0 ? 1 : 0;
        if (!plan.ways.empty()) {
            const PreemptionWay& best = plan.ways.front();
            tally.with_victims += best.victims.empty() ? 0 : 1;
            tally.several += best.victims.size() > 2 ? 1 : 0;
            tally.violating += best.cost.violations > 0 ? 1 : 0;
            tally.waiting += best.victims.empty() && !best.awaited.empty() ? 1 : 0;
            tally.gangs +=
                std::any_of(best.victims.begin(), best.victims.end(),
                            [&](OwnerId owner) { return tenants_.tenant(owner).gang.valid(); })
                    ? 1
                    : 0;
        }
    }

    Rng rng_;
    bool dense_;
    std::shared_ptr<FilterTable> filters_ = std::make_shared<FilterTable>();
    std::unique_ptr<Engine> engine_;
    TestTenants tenants_;
    std::uint32_t next_ = 0;
};

TEST(PreemptionProperty, VictimsAreThoseOfAnExhaustiveSearch) {
    const char* scale = std::getenv("TESSERA_PROPERTY_SCALE");
    const std::uint64_t seeds =
        400 * static_cast<std::uint64_t>(std::max(1, scale == nullptr ? 1 : std::atoi(scale)));
    Tally tally;
    for (std::uint64_t seed = 1; seed <= seeds && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Plans plans(seed);
        for (int ask = 0; ask < 4 && !HasFailure(); ++ask) {
            plans.run(tally);
        }
    }
    EXPECT_GT(tally.with_victims, 60);
    EXPECT_GT(tally.several, 10);
    EXPECT_GT(tally.violating, 5);
    EXPECT_GT(tally.waiting, 10);
    EXPECT_GT(tally.gangs, 10);
    EXPECT_GT(tally.ruled, 10);
    EXPECT_GT(tally.nowhere, 100);
}

}  // namespace
}  // namespace tessera
