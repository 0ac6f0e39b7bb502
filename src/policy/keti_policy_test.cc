#include "policy/keti_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/registry.h"
#include "policy/test_world.h"

namespace tessera {
namespace {

using testing::demand_of;
using ::testing::ElementsAre;
using testing::gpu_request;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node_spec;
using testing::TestWorld;

// Two nodes that differ in one thing, and a policy that sees it.
class KetiPolicyTest : public ::testing::Test {
  protected:
    std::shared_ptr<const Scorer> scorer() {
        return KetiStaticPolicy(policy).scorer(world.catalog());
    }
    bool first_wins(const NodeState& a, const NodeState& b, const Demand& demand) {
        const ClassIndex wanted = world.intern(demand);
        const auto judge = scorer();
        return TestWorld::key(*judge, a, wanted) > TestWorld::key(*judge, b, wanted);
    }

    TestWorld world;
    KetiPolicy policy;
    const Demand one_gpu = demand_of(1'000, {gpu_request(1, 100)});
    const Demand two_gpus = demand_of(1'000, {gpu_request(2, 100)});
};

TEST_F(KetiPolicyTest, WeightsDecideBetweenNodeAndGpus) {
    NodeState& busy_host = world.add(node_spec(1, 10'000));
    busy_host.free_cpu_milli = 0;
    NodeState& busy_gpu = world.add(node_spec(1, 10'000));
    world.take(busy_gpu, 0, 500, 8'192);
    policy.node_weight_milli = 1000;
    policy.gpu_weight_milli = 0;
    EXPECT_TRUE(first_wins(busy_gpu, busy_host, one_gpu));
    policy.node_weight_milli = 0;
    policy.gpu_weight_milli = 1000;
    EXPECT_TRUE(first_wins(busy_host, busy_gpu, one_gpu));
}

// The newer version's GPU score: the older one's free memory is no part of it.
TEST_F(KetiPolicyTest, GpusAreScoredByPodsAndWhatTheyWereGranted) {
    NodeState& node = world.add(node_spec(2, 10'000));
    world.take(node, 0, 300, 100);
    world.take(node, 1, 200, 9'000);
    const ClassIndex wanted = world.intern(one_gpu);
    EXPECT_THAT(TestWorld::chosen(*scorer(), node, wanted), ElementsAre(GpuIndex(1)));
}

TEST_F(KetiPolicyTest, AllocatePreferSpreadsOrPacksGpus) {
    NodeState& node = world.add(node_spec(2, 10'000));
    world.take(node, 0, 100, 1'000);
    const ClassIndex wanted = world.intern(one_gpu);
    EXPECT_THAT(TestWorld::chosen(*scorer(), node, wanted), ElementsAre(GpuIndex(1)));
    policy.allocate = KetiAllocate::binpack;
    EXPECT_THAT(TestWorld::chosen(*scorer(), node, wanted), ElementsAre(GpuIndex(0)));
}

// The original counts a node's GPUs and leaves their memory unchecked.
TEST_F(KetiPolicyTest, AGpuWithoutTheMemoryIsNotTaken) {
    NodeState& node = world.add(node_spec(2, 10'000));
    world.take(node, 0, 100, 10'000);
    policy.allocate = KetiAllocate::binpack;
    const ClassIndex wanted = world.intern(demand_of(1'000, {gpu_request(1, 100, 8'000)}));
    EXPECT_THAT(TestWorld::chosen(*scorer(), node, wanted), ElementsAre(GpuIndex(1)));
}

TEST_F(KetiPolicyTest, LinksArePreferredBySeveralAndLeftAloneByOne) {
    NodeState& node = world.add(node_spec(3, 10'000));
    world.take(node, 1, 100, 2'000);
    LinkMatrix links(3);
    links.set(1, 2, {LinkLevel::nvlink, 4});
    const auto taken = [&](const Demand& demand) {
        const ClassIndex wanted = world.intern(demand);
        DeviceList devices;
        scorer()->choose(node, wanted, links, 0, devices);
        return devices;
    };
    policy.nvlink_percent = 0;
    EXPECT_THAT(taken(two_gpus), ElementsAre(GpuIndex(0), GpuIndex(2)));
    policy.nvlink_percent = 50;
    EXPECT_THAT(taken(two_gpus), ElementsAre(GpuIndex(1), GpuIndex(2)));
    world.take(node, 0, 100, 2'000);
    EXPECT_THAT(taken(one_gpu), ElementsAre(GpuIndex(2)));
    policy.avoid_nvlink_one_gpu = true;
    EXPECT_THAT(taken(one_gpu), ElementsAre(GpuIndex(0)));
}

TEST_F(KetiPolicyTest, PreferencesForKindsOfNodes) {
    NodeState& plain = world.add(node_spec(0, 10'000));
    plain.free_cpu_milli = 5'000;
    NodeState& single = world.add(node_spec(1, 10'000));
    NodeState& several = world.add(node_spec(2, 10'000));
    several.free_cpu_milli = 5'000;
    const Demand no_gpu = demand_of(1'000);
    EXPECT_TRUE(first_wins(plain, single, no_gpu)) << "fuller, but no GPU stands idle behind it";
    policy.prefer_non_gpu_node = false;
    EXPECT_TRUE(first_wins(single, plain, no_gpu));
    EXPECT_TRUE(first_wins(single, several, one_gpu));
    several.free_cpu_milli = 9'000;
    EXPECT_TRUE(first_wins(several, single, one_gpu)) << "fuller, but with more GPUs";
    policy.prefer_multi_gpu_node = false;
    EXPECT_TRUE(first_wins(single, several, one_gpu));
}

TEST_F(KetiPolicyTest, LeastScoreTurnsTheOrderRound) {
    NodeState& idle = world.add(node_spec(1, 10'000));
    NodeState& busy = world.add(node_spec(1, 10'000));
    busy.free_cpu_milli = 2'000;
    EXPECT_TRUE(first_wins(idle, busy, one_gpu));
    policy.prefer_least_score = true;
    EXPECT_TRUE(first_wins(busy, idle, one_gpu));
}

TEST_F(KetiPolicyTest, AvoidHighScoreTakesTheSecondBest) {
    EXPECT_EQ(scorer()->selection(), Selection::best);
    policy.avoid_high_score = true;
    EXPECT_EQ(scorer()->selection(), Selection::second_best);
    policy.prefer_least_score = true;
    EXPECT_EQ(scorer()->selection(), Selection::best) << "the lowest total is no high score";
}

TEST_F(KetiPolicyTest, KeysThatAreNotServedAreRefusedNotIgnored) {
    const auto refusal = [](const KetiPolicy& settings) {
        const auto made = make_policy("keti", {.keti = settings});
        return made ? std::string("accepted") : made.error().message;
    };
    EXPECT_EQ(refusal({}), "accepted");
    EXPECT_EQ(refusal({.reschedule = false}), "accepted") << "trying again is the queue's matter";
    EXPECT_THAT(keti_notes({}), IsEmpty());
    EXPECT_THAT(keti_notes({.reschedule = false}),
                ElementsAre(HasSubstr("changes no choice of a node")));
    EXPECT_EQ(refusal({.avoid_high_score = true}), "accepted");
    EXPECT_THAT(refusal({.node_reservation = true}),
                HasSubstr("node-reservation-permit: true is not accepted: "));
    EXPECT_THAT(refusal({.multi_node_allocation = true}),
                HasSubstr("multi-node-allocation-permit: true is not accepted: "));
}

}  // namespace
}  // namespace tessera
