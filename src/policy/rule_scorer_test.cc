#include "policy/rule_scorer.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "policy/registry.h"
#include "policy/test_world.h"

namespace tessera {
namespace {

using testing::demand_of;
using testing::gpu_request;
using testing::node_spec;
using testing::TestWorld;

std::int64_t free_cores(const RuleInput& in) { return in.node.free_cpu_milli; }
std::int64_t used_gpu(const RuleInput& in) {
    return static_cast<std::int64_t>(in.largest.gpu_milli) - in.node.idle_value;
}
std::int64_t least(const RuleInput&) { return std::numeric_limits<std::int32_t>::min() * 8LL; }
std::int64_t most(const RuleInput&) { return std::numeric_limits<std::int32_t>::max() * 8LL; }

std::shared_ptr<const Scorer> scorer_of(RuleSet rules, const Catalog& catalog) {
    return RulePolicy(std::move(rules)).scorer(catalog);
}

class RuleScorerTest : public ::testing::Test {
  protected:
    RuleScorerTest() : node(world.add(node_spec(4, 8'000))) {
        world.add(node_spec(8, 96'000));
        share = world.intern(demand_of(1'000, {gpu_request(1, 300)}));
    }

    TestWorld world;
    NodeState& node;
    ClassIndex share;
};

TEST_F(RuleScorerTest, WeightedSumKeepsOrderAndSign) {
    const auto scorer =
        scorer_of({.name = "two", .rules = {{"cores", free_cores, 2}, {"gpu", used_gpu, -3}}},
                  world.catalog());
    // 2 x 8,000 - 3 x (8,000 - 4,000).
    const std::vector<TermValue> terms = scorer->explain(node, share);
    ASSERT_EQ(terms.size(), 2U);
    EXPECT_EQ(terms[0].name, "cores");
    EXPECT_EQ(terms[0].value, 16'000);
    EXPECT_EQ(terms[1].value, -12'000);
    const Key before = TestWorld::key(*scorer, node, share);
    EXPECT_EQ(before, (1U << 31) + 4'000U);
    node.free_cpu_milli -= 3'000;
    EXPECT_EQ(TestWorld::key(*scorer, node, share), before - 6'000);
}

// gpushare's rule: the least free memory that suffices, whatever share of the card it is.
TEST(GpusharePolicy, TakesTheLeastFreeMemoryThatSuffices) {
    struct Card {
        std::int64_t total;
        std::int64_t free;
    };
    const auto taken = [](const std::vector<Card>& cards, std::int64_t demand) {
        TestWorld world;
        NodeSpec spec = node_spec(static_cast<int>(cards.size()), 8'000);
        for (std::size_t gpu = 0; gpu < cards.size(); ++gpu) {
            spec.gpus[gpu].memory = MemoryMib(cards[gpu].total);
        }
        NodeState& node = world.add(spec);
        for (std::size_t gpu = 0; gpu < cards.size(); ++gpu) {
            if (cards[gpu].free < cards[gpu].total) {
                world.take(node, static_cast<int>(gpu), 0, cards[gpu].total - cards[gpu].free);
            }
        }
        const ClassIndex wanted = world.intern(demand_of(0, {gpu_request(1, 0, demand)}));
        const auto policy = make_policy("gpushare", {});
        return TestWorld::chosen(*(*policy)->scorer(world.catalog()), node, wanted);
    };
    const std::vector<Card> golden{{16276, 12207}, {16276, 8138}, {16276, 4069}, {16276, 16276}};
    EXPECT_EQ(taken(golden, 8138), DeviceList{GpuIndex(1)});
    EXPECT_EQ(taken(golden, 4069), DeviceList{GpuIndex(2)});
    EXPECT_EQ(taken(golden, 16277), DeviceList{}) << "a node's total is no device";
    EXPECT_EQ(taken({{40960, 10000}, {8192, 4096}}, 2048), DeviceList{GpuIndex(1)});
    EXPECT_EQ(taken({{8192, 500}, {8192, 300}, {8192, 300}}, 200), DeviceList{GpuIndex(1)});
}

TEST_F(RuleScorerTest, NoScoreIsZeroWhichMeansNoFit) {
    const auto low = scorer_of({.name = "low", .rules = {{"low", least, 1}}}, world.catalog());
    const auto high = scorer_of({.name = "high", .rules = {{"high", most, 1}}}, world.catalog());
    EXPECT_EQ(TestWorld::key(*low, node, share), 1U);
    EXPECT_EQ(TestWorld::key(*high, node, share), std::numeric_limits<Key>::max());
}

TEST_F(RuleScorerTest, LargestNodeOfThoseThatAreThere) {
    TestWorld other;
    NodeState& small = other.add(node_spec(2, 8'000));
    const ClassIndex c = other.intern(demand_of(0, {gpu_request(1, 300)}));
    const auto scorer =
        scorer_of({.name = "gpu", .rules = {{"gpu", used_gpu, 1}}}, other.catalog());
    EXPECT_EQ(scorer->explain(small, c)[0].value, 0);  // 2,000 - 2,000
    Catalog gone = world.catalog();
    const std::vector<std::size_t> counts{1, 0};  // the node of eight devices has left
    gone.nodes_of_shape = counts;
    const auto after = scorer_of({.name = "gpu", .rules = {{"gpu", used_gpu, 1}}}, gone);
    EXPECT_EQ(after->explain(node, share)[0].value, 0);
}

TEST_F(RuleScorerTest, DevicesByRule) {
    world.take(node, 1, 600);
    world.take(node, 2, 200);
    const auto chosen = [&](DeviceRule rule) {
        return TestWorld::chosen(
            *scorer_of({.name = "x", .rules = {}, .devices = rule}, world.catalog()), node, share);
    };
    EXPECT_EQ(chosen(DeviceRule::tightest), DeviceList{GpuIndex(1)});
    EXPECT_EQ(chosen(DeviceRule::emptiest), DeviceList{GpuIndex(0)});
    const auto lot =
        scorer_of({.name = "x", .rules = {}, .devices = DeviceRule::by_lot}, world.catalog());
    std::set<GpuIndex> seen;
    for (std::uint64_t draw = 0; draw < 100; ++draw) {
        DeviceList devices;
        lot->choose(node, share, LinkMatrix(), draw, devices);
        ASSERT_EQ(devices.size(), 1U);
        seen.insert(devices.front());
        DeviceList again;
        lot->choose(node, share, LinkMatrix(), draw, again);
        EXPECT_EQ(devices, again);
    }
    EXPECT_EQ(seen.size(), 4U);
}

TEST_F(RuleScorerTest, WhatDoesNotFitGetsNoDevice) {
    const ClassIndex large = world.intern(demand_of(0, {gpu_request(1, 300, 99'999)}));
    for (DeviceRule rule : {DeviceRule::tightest, DeviceRule::emptiest, DeviceRule::by_lot}) {
        EXPECT_TRUE(TestWorld::chosen(
                        *scorer_of({.name = "x", .rules = {}, .devices = rule}, world.catalog()),
                        node, large)
                        .empty());
    }
}

TEST_F(RuleScorerTest, WholeDevicesOnly) {
    const RulePolicy exclusive({.name = "exclusive", .rules = {}, .whole_devices = true});
    const DemandClass one = exclusive.adapt(world[share]);
    EXPECT_EQ(one.footprint, Footprint::whole);
    EXPECT_EQ(one.milli, kWholeGpu);
    EXPECT_EQ(one.gpu_milli_total, 1'000);
    const DemandClass spread =
        exclusive.adapt(demand_class(demand_of(0, {gpu_request(3, 200, 1'024)})));
    EXPECT_EQ(spread.footprint, Footprint::whole);
    EXPECT_EQ(spread.gpu_milli_total, 3'000);
    EXPECT_EQ(spread.gpu_memory, MemoryMib(1'024));  // still no smaller device
    const DemandClass two =
        exclusive.adapt(demand_class(demand_of(0, {gpu_request(1, 200), gpu_request(2, 300)})));
    EXPECT_EQ(two.footprint, Footprint::compound);
    EXPECT_EQ(two.requests[0].milli, kWholeGpu);
    EXPECT_EQ(two.requests[1].milli, kWholeGpu);
    EXPECT_EQ(two.gpu_milli_total, 3'000);
    const DemandClass none = demand_class(demand_of(1'000));
    EXPECT_EQ(exclusive.adapt(none), none);
    const RulePolicy shares({.name = "binpack", .rules = {}});
    EXPECT_EQ(shares.adapt(world[share]), world[share]);
}

}  // namespace
}  // namespace tessera
