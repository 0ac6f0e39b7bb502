#include "engine/preemption.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/statement.h"
#include "engine/test_cluster.h"
#include "engine/test_tenants.h"
#include "policy/registry.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using testing_cluster::Ask;
using testing_cluster::dump;
using testing_cluster::make_demand;
using testing_cluster::make_node;
using testing_cluster::TestTenants;

OwnerId pod(std::uint32_t index) { return OwnerId::pod(index); }

// Nodes of four GPUs, and pods that are put where the test says.
class PreemptionTest : public ::testing::Test {
  protected:
    void build(int nodes, int gpus = 4) {
        std::vector<NodeSpec> specs;
        for (int n = 0; n < nodes; ++n) {
            specs.push_back(make_node("n" + std::to_string(n), {.gpus = gpus}));
        }
        engine_ = std::make_unique<Engine>(std::move(specs), *make_policy("binpack", {}));
    }

    struct Share {
        std::uint32_t node = 0;
        std::vector<int> gpus{0};
        int milli = 1000;
    };
    static Placement at(const Share& share) {
        Grants grants;
        for (int gpu : share.gpus) {
            grants.push_back({.request = {},
                              .gpu = GpuIndex(static_cast<std::uint8_t>(gpu)),
                              .milli = MilliGpu(share.milli),
                              .memory = MemoryMib(share.milli >= 1000 ? 16'384 : 0)});
        }
        return testing_cluster::pod_on(NodeIndex(share.node), grants);
    }

    // Pods count from 0.
    OwnerId run(const Share& share, const Tenant& tenant = {}) {
        const OwnerId owner = pod(next_++);
        EXPECT_TRUE(engine_->confirm(PodIndex(owner.index()), {kFirstPolicy, {}, at(share)}));
        tenants_.pods[owner].tenant = tenant;
        if (tenant.gang.valid()) {
            tenants_.gangs[tenant.gang].push_back(owner);
        }
        return owner;
    }

    static Demand wanted(int gpus, std::int32_t priority = 10, int milli = 1000) {
        Demand demand = make_demand({.gpus = gpus, .milli = milli});
        demand.priority = priority;
        return demand;
    }

    PreemptionPlan plan(const Demand& demand, const PreemptionOptions& options = {}) {
        const std::string before = dump(engine_->ledger());
        PreemptionPlan plan = plan_preemption(*engine_, kFirstPolicy, demand, tenants_, options);
        EXPECT_EQ(dump(engine_->ledger()), before);
        EXPECT_TRUE(engine_->placer().consistent());
        return plan;
    }

    std::unique_ptr<Engine> engine_;
    TestTenants tenants_;
    std::uint32_t next_ = 0;
};

TEST_F(PreemptionTest, TakesTheFewestOfTheRightDevices) {
    build(1);
    run({.gpus = {0}, .milli = 500});
    run({.gpus = {0}, .milli = 500});
    run({.gpus = {1}, .milli = 500});
    run({.gpus = {1}, .milli = 300});
    const OwnerId two = run({.gpus = {2, 3}});
    // Half of the node is free in sum, after one leaves GPU 0 and one GPU 1: that is not enough.
    const PreemptionPlan found = plan(wanted(2));
    ASSERT_EQ(found.ways.size(), 1U);
    EXPECT_THAT(found.ways[0].victims, ElementsAre(two));
    EXPECT_EQ(found.ways[0].placement.grants.size(), 2U);
    EXPECT_EQ(found.ways[0].placement.grants[0].gpu, GpuIndex(2));
    EXPECT_TRUE(found.ways[0].exact);
    EXPECT_EQ(found.tally.of(PreemptionFate::found), 1);
}

TEST_F(PreemptionTest, PrefersLowerPriorityThenFewerThenYounger) {
    build(3, 1);
    run({.node = 0}, {.priority = 5});
    run({.node = 1, .milli = 400}, {.priority = 1});
    run({.node = 1, .milli = 400}, {.priority = 1});
    const OwnerId lone = run({.node = 2}, {.priority = 1});
    const PreemptionPlan found = plan(wanted(1));
    ASSERT_EQ(found.ways.size(), 3U);
    EXPECT_THAT(found.ways[0].victims, ElementsAre(lone));
    // Of equal ones the youngest goes first.
    EXPECT_THAT(found.ways[1].victims, ElementsAre(pod(2), pod(1)));
    EXPECT_THAT(found.ways[2].victims, ElementsAre(pod(0)));
    build(2, 1);
    next_ = 0;
    run({.node = 0});
    run({.node = 1});
    EXPECT_THAT(plan(wanted(1)).ways[0].victims, ElementsAre(pod(1)));
}

TEST_F(PreemptionTest, NodesOfEqualVictimsGoByThePolicy) {
    build(2, 2);
    // Waiting is enough on both; binpack likes the node that is fuller.
    const OwnerId first = run({.node = 0, .gpus = {0, 1}});
    const OwnerId second = run({.node = 1, .gpus = {0}});
    run({.node = 1, .gpus = {1}, .milli = 500}, {.stay = Stay::never});
    ASSERT_TRUE(engine_->terminate(PodIndex(first.index())));
    ASSERT_TRUE(engine_->terminate(PodIndex(second.index())));
    const PreemptionPlan found = plan(wanted(1));
    ASSERT_EQ(found.ways.size(), 2U);
    EXPECT_EQ(found.ways[0].node, NodeIndex(1));
    EXPECT_GT(found.ways[0].key, found.ways[1].key);
}

TEST_F(PreemptionTest, WaitsForTerminatingPodsRatherThanEvict) {
    build(2, 1);
    run({.node = 0});
    const OwnerId leaving = run({.node = 1}, {.priority = 100});
    ASSERT_TRUE(engine_->terminate(PodIndex(leaving.index())));
    const PreemptionPlan found = plan(wanted(1));
    EXPECT_EQ(found.ways[0].node, NodeIndex(1));
    EXPECT_THAT(found.ways[0].victims, IsEmpty());
    EXPECT_THAT(found.ways[0].awaited, ElementsAre(leaving));
    EXPECT_EQ(found.tally.terminating, 1);
}

TEST_F(PreemptionTest, OpportunisticPodsGiveWayToAnyOther) {
    build(2, 1);
    run({.node = 0}, {.priority = 0});
    const OwnerId best_effort =
        run({.node = 1}, {.priority = 50, .service = ServiceClass::opportunistic});
    EXPECT_THAT(plan(wanted(1)).ways[0].victims, ElementsAre(best_effort));
    // And they drive away only each other, whatever their priority.
    Demand demand = wanted(1, 60);
    demand.service = ServiceClass::opportunistic;
    const PreemptionPlan found = plan(demand);
    ASSERT_EQ(found.ways.size(), 1U);
    EXPECT_THAT(found.ways[0].victims, ElementsAre(best_effort));
    EXPECT_EQ(found.tally.of(Stay::important), 1);
}

TEST_F(PreemptionTest, SaysWhoStaysAndWhy) {
    build(7, 1);
    run({.node = 0}, {.stay = Stay::never});
    run({.node = 1}, {.stay = Stay::too_young});
    run({.node = 2}, {.stay = Stay::binding});
    run({.node = 3}, {.stay = Stay::node_own});
    run({.node = 4}, {.priority = 10});
    ASSERT_TRUE(engine_->confirm_foreign(PodIndex(0), at({.node = 5})));
    Placement claimed = at({.node = 6});
    claimed.pods = 0;
    claimed.cpu = MilliCpu(0);
    claimed.memory = MemoryMib(0);
    ASSERT_TRUE(engine_->ledger_for_statement().confirm(OwnerId::claim(0), claimed));
    const PreemptionPlan none = plan(wanted(1));
    EXPECT_THAT(none.ways, IsEmpty());
    EXPECT_EQ(none.tally.of(PreemptionFate::held_by_others), 7);
    for (const Stay why : {Stay::never, Stay::too_young, Stay::binding, Stay::node_own,
                           Stay::important, Stay::foreign, Stay::claim}) {
        EXPECT_EQ(none.tally.of(why), 1) << kStayNames[static_cast<std::size_t>(why)];
    }
    EXPECT_EQ(plan(wanted(2)).tally.of(PreemptionFate::never), 7);
}

TEST_F(PreemptionTest, AGangGoesWholeWithItsMembersElsewhere) {
    build(3, 1);
    const GroupIndex gang(7);
    const OwnerId here = run({.node = 0}, {.gang = gang});
    const OwnerId there = run({.node = 1}, {.gang = gang});
    const OwnerId lone = run({.node = 2}, {.priority = 1});
    const PreemptionPlan found = plan(wanted(1));
    // Less important, so preferred to one alone; the gang counts as two.
    EXPECT_THAT(found.ways[0].victims, UnorderedElementsAre(here, there));
    EXPECT_EQ(found.ways[0].cost.victims, 2);
    EXPECT_THAT(found.ways[2].victims, ElementsAre(lone));
    // One member that stays keeps all of them.
    tenants_.pods[there].tenant.stay = Stay::never;
    const PreemptionPlan kept = plan(wanted(1));
    ASSERT_EQ(kept.ways.size(), 1U);
    EXPECT_THAT(kept.ways[0].victims, ElementsAre(lone));
    EXPECT_EQ(kept.tally.of(Stay::gang), 1);
    // The gang of the pod that asks is no victim either.
    tenants_.pods[there].tenant.stay = Stay::no;
    Demand own = wanted(1);
    own.gang = Gang{gang, 3, 3};
    EXPECT_EQ(plan(own).tally.of(Stay::own_gang), 2);
}

TEST_F(PreemptionTest, BudgetsAreViolatedLast) {
    build(2, 1);
    const OwnerId covered = run({.node = 0});
    const OwnerId important = run({.node = 1}, {.priority = 9});
    tenants_.pods[covered].budgets = {BudgetIndex(0)};
    const PreemptionPlan found = plan(wanted(1));
    ASSERT_EQ(found.ways.size(), 2U);
    EXPECT_THAT(found.ways[0].victims, ElementsAre(important));
    EXPECT_EQ(found.ways[1].cost.violations, 1);
    const PreemptionPlan strict = plan(wanted(1), {.violate_budgets = false});
    ASSERT_EQ(strict.ways.size(), 1U);
    EXPECT_EQ(strict.tally.of(PreemptionFate::budgets), 1);
    tenants_.allowed[BudgetIndex(0)] = 1;
    EXPECT_THAT(plan(wanted(1)).ways[0].victims, ElementsAre(covered));
}

TEST_F(PreemptionTest, TheDoorsRulesAreAsked) {
    build(2, 2);
    run({.node = 0, .gpus = {0}});
    const OwnerId port_holder = run({.node = 0, .gpus = {1}}, {.priority = 3});
    run({.node = 1, .gpus = {0, 1}}, {.priority = 5});
    tenants_.in_the_way.emplace(NodeIndex(0), port_holder);
    PreemptionPlan found = plan(wanted(1));
    EXPECT_THAT(found.ways[0].victims, ElementsAre(port_holder));
    // A node that needs somebody who could go is passed over, as kube-scheduler does.
    tenants_.needed.emplace(NodeIndex(0), pod(0));
    found = plan(wanted(1));
    ASSERT_EQ(found.ways.size(), 1U);
    EXPECT_EQ(found.ways[0].node, NodeIndex(1));
    EXPECT_EQ(found.tally.of(PreemptionFate::other_rules), 1);
}

TEST_F(PreemptionTest, RulesAloneMayAskForVictimsWhereThereIsRoom) {
    build(1);
    const OwnerId holder = run({.gpus = {0}, .milli = 100});
    tenants_.in_the_way.emplace(NodeIndex(0), holder);
    EXPECT_THAT(plan(wanted(1)).ways[0].victims, ElementsAre(holder));
}

TEST_F(PreemptionTest, AnyAlternativeWillDo) {
    build(1, 2);
    const OwnerId small = run({.gpus = {0}});
    run({.gpus = {1}}, {.stay = Stay::never});
    Demand demand = wanted(2);
    demand.alternatives.push_back(wanted(1).alternatives.front());
    const PreemptionPlan found = plan(demand);
    EXPECT_THAT(found.ways[0].victims, ElementsAre(small));
    EXPECT_EQ(found.ways[0].placement.alternative, 1);
}

TEST_F(PreemptionTest, CoresAndPodCountsAreFreedToo) {
    build(1);
    NodeSpec spec = engine_->cluster().spec(NodeIndex(0));
    spec.pods = 2;
    ASSERT_TRUE(engine_->update_node(NodeIndex(0), spec));
    run({.gpus = {}}, {.priority = 4});
    const OwnerId lesser = run({.gpus = {}}, {.priority = 3});
    EXPECT_THAT(plan(wanted(1)).ways[0].victims, ElementsAre(lesser));
}

TEST_F(PreemptionTest, OnlyNamedNodesAreLookedAt) {
    build(3, 1);
    for (std::uint32_t n = 0; n < 3; ++n) {
        run({.node = n});
    }
    const std::vector<NodeIndex> among{NodeIndex(1), NodeIndex(1)};
    const PreemptionPlan found = plan(wanted(1), {.among = among});
    ASSERT_EQ(found.ways.size(), 1U);
    EXPECT_EQ(found.ways[0].node, NodeIndex(1));
}

TEST_F(PreemptionTest, WithoutStepsAGreedyAnswerSaysThatItIsOne) {
    build(1, 8);
    for (int gpu = 0; gpu < 8; ++gpu) {
        for (int share = 0; share <= gpu % 4; ++share) {
            run({.gpus = {gpu}, .milli = 200}, {.priority = (gpu + share) % 3});
        }
    }
    const PreemptionPlan found = plan(wanted(4), {.steps = 0});
    ASSERT_EQ(found.ways.size(), 1U);
    EXPECT_FALSE(found.ways[0].exact);
    EXPECT_FALSE(found.tally.exact);
    const PreemptionPlan exact = plan(wanted(4));
    EXPECT_TRUE(exact.tally.exact);
    EXPECT_FALSE(cheaper(found.ways[0].cost, exact.ways[0].cost, VictimOrder::least_important));
}

TEST_F(PreemptionTest, MembersOfAGangCanBePlannedOneAfterTheOther) {
    build(2, 1);
    const OwnerId first = run({.node = 0});
    const OwnerId second = run({.node = 1});
    Statement outer(engine_->ledger_for_statement());
    const PreemptionPlan one = plan(wanted(1));
    EXPECT_THAT(one.ways[0].victims, ElementsAre(second));
    ASSERT_TRUE(outer.release(second));
    ASSERT_TRUE(outer.assume(pod(50), one.ways[0].placement));
    tenants_.pods[pod(50)].tenant.stay = Stay::binding;
    EXPECT_THAT(plan(wanted(1)).ways[0].victims, ElementsAre(first));
}

}  // namespace
}  // namespace tessera
