#include "policy/elastic_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "policy/test_world.h"

namespace tessera {
namespace {

using testing::demand_of;
using ::testing::ElementsAre;
using testing::gpu_request;
using testing::gpu_spec;
using testing::node_spec;
using ::testing::SizeIs;
using testing::TestWorld;

NodeSpec cards(int count) {
    NodeSpec spec = node_spec(0, 10'000);
    spec.gpus.assign(static_cast<std::size_t>(count), gpu_spec(ModelIndex(0), 1'000));
    return spec;
}

class ElasticPolicyTest : public ::testing::Test {
  protected:
    std::shared_ptr<const Scorer> scorer(ElasticRater rater) {
        return ElasticPolicy("elastic", rater).scorer(world.catalog());
    }

    TestWorld world;
};

TEST_F(ElasticPolicyTest, BinpackRatesAsTheFormula) {
    NodeState& empty = world.add(cards(2));
    NodeState& begun = world.add(cards(2));
    world.take(begun, 0, 200, 200);
    const ClassIndex wanted = world.intern(demand_of(1'000, {gpu_request(1, 200, 200)}));
    const auto judge = scorer(ElasticRater::binpack);
    EXPECT_EQ(judge->explain(empty, wanted).front().value, 5'500);
    EXPECT_EQ(judge->explain(begun, wanted).front().value, 11'000);
    EXPECT_THAT(TestWorld::chosen(*judge, empty, wanted), ElementsAre(GpuIndex(1)));
    EXPECT_THAT(TestWorld::chosen(*judge, begun, wanted), ElementsAre(GpuIndex(0)));
}

TEST_F(ElasticPolicyTest, ContainersOfOnePodMayUseSeveralCards) {
    NodeState& node = world.add(cards(2));
    world.take(node, 0, 500, 500);
    const ClassIndex wanted =
        world.intern(demand_of(1'000, {gpu_request(1, 800, 800), gpu_request(1, 500, 500)}));
    for (const auto rater : {ElasticRater::binpack, ElasticRater::spread, ElasticRater::random}) {
        EXPECT_THAT(TestWorld::chosen(*scorer(rater), node, wanted),
                    ElementsAre(GpuIndex(1), GpuIndex(0)));
    }
}

TEST_F(ElasticPolicyTest, SpreadRatesEvennessAndTakesTheEmptiestCard) {
    NodeState& node = world.add(cards(3));
    world.take(node, 2, 300, 300);
    const ClassIndex wanted = world.intern(demand_of(1'000, {gpu_request(1, 200, 200)}));
    const auto judge = scorer(ElasticRater::spread);
    EXPECT_THAT(TestWorld::chosen(*judge, node, wanted), ElementsAre(GpuIndex(1)));
    NodeState& idle = world.add(cards(3));
    const auto again = scorer(ElasticRater::spread);
    EXPECT_GT(TestWorld::key(*again, idle, wanted), TestWorld::key(*again, node, wanted));
}

TEST_F(ElasticPolicyTest, RandomDrawsNodesAndCards) {
    NodeState& node = world.add(cards(4));
    const ClassIndex wanted = world.intern(demand_of(1'000, {gpu_request(1, 200, 200)}));
    const auto judge = scorer(ElasticRater::random);
    EXPECT_EQ(judge->selection(), Selection::uniform);
    std::set<int> seen;
    for (std::uint64_t draw = 0; draw < 100; ++draw) {
        DeviceList devices;
        judge->choose(node, wanted, {}, draw, devices);
        ASSERT_THAT(devices, SizeIs(1));
        seen.insert(devices[0].value());
    }
    EXPECT_THAT(seen, SizeIs(4));
}

}  // namespace
}  // namespace tessera
