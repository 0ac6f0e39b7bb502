#include "policy/kubeshare_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/test_world.h"

namespace tessera {
namespace {

using testing::demand_of;
using ::testing::ElementsAre;
using testing::gpu_request;
using testing::gpu_spec;
using testing::node_spec;
using testing::TestWorld;

constexpr ModelIndex kPlain{0};
constexpr ModelIndex kGood{1};

Demand share(ServiceClass service, int milli = 200) {
    Demand demand = demand_of(1'000, {gpu_request(1, milli)});
    demand.service = service;
    return demand;
}

class KubesharePolicyTest : public ::testing::Test {
  protected:
    std::shared_ptr<const Scorer> scorer() { return policy.scorer(world.catalog()); }
    double points(const NodeState& node, const Demand& demand) {
        return scorer()->explain(node, world.intern(demand)).front().value;
    }
    DeviceList taken(const NodeState& node, const Demand& demand, const LinkMatrix& links = {}) {
        DeviceList devices;
        scorer()->choose(node, world.intern(demand), links, 0, devices);
        return devices;
    }

    TestWorld world;
    KubesharePolicy policy{{10, 60}};
};

TEST_F(KubesharePolicyTest, NodeScoresAreTheFormulas) {
    NodeState& node = world.add(node_spec(2, 10'000));
    world.take(node, 1, 600, 100);
    EXPECT_EQ(points(node, share(ServiceClass::opportunistic)), 15'000);
    EXPECT_EQ(points(node, share(ServiceClass::guaranteed)), -20'000);
}

TEST_F(KubesharePolicyTest, UseIsComputeAsTheFormulaHasIt) {
    NodeState& node = world.add(node_spec(1, 10'000));
    world.take(node, 0, 200, 16'000);  // little compute, nearly all memory
    EXPECT_EQ(points(node, share(ServiceClass::guaranteed, 100)), 10'000 - 20'000);
}

TEST_F(KubesharePolicyTest, OpportunisticPodsPackGuaranteedOnesTakeIdleLeaves) {
    NodeState& node = world.add(node_spec(2, 10'000));
    world.take(node, 1, 300, 100);
    EXPECT_THAT(taken(node, share(ServiceClass::opportunistic)), ElementsAre(GpuIndex(1)));
    EXPECT_THAT(taken(node, share(ServiceClass::guaranteed)), ElementsAre(GpuIndex(0)));
}

TEST_F(KubesharePolicyTest, GoodModelsComeFirst) {
    NodeSpec mixed = node_spec(0, 10'000);
    mixed.gpus = {gpu_spec(kPlain), gpu_spec(kGood), gpu_spec(kPlain), gpu_spec(kGood)};
    NodeState& node = world.add(mixed);
    EXPECT_THAT(taken(node, share(ServiceClass::guaranteed)), ElementsAre(GpuIndex(1)));
    EXPECT_THAT(taken(node, demand_of(1'000, {gpu_request(3, 1000)})),
                ElementsAre(GpuIndex(1), GpuIndex(3), GpuIndex(0)));
}

TEST_F(KubesharePolicyTest, SeveralEqualLeavesAreTakenByTheirLinks) {
    NodeState& node = world.add(node_spec(4, 10'000));
    LinkMatrix links(4);
    links.set(1, 3, {LinkLevel::pcie_switch, 0});
    EXPECT_THAT(taken(node, demand_of(1'000, {gpu_request(2, 1000)}), links),
                ElementsAre(GpuIndex(1), GpuIndex(3)));
}

TEST_F(KubesharePolicyTest, TwoHalfUsedLeavesAreNoWholeOne) {
    NodeState& node = world.add(node_spec(2, 10'000));
    world.take(node, 0, 500, 100);
    world.take(node, 1, 500, 100);
    EXPECT_TRUE(taken(node, demand_of(1'000, {gpu_request(1, 1000)})).empty());
}

TEST_F(KubesharePolicyTest, PodsWithoutGpuLeaveGpuNodesAlone) {
    const NodeState& plain = world.add(node_spec(0, 10'000));
    const NodeState& gpus = world.add(node_spec(2, 10'000));
    EXPECT_GT(points(plain, demand_of(1'000)), points(gpus, demand_of(1'000)));
}

}  // namespace
}  // namespace tessera
