// Hand cases. The largest node is that of the published experiments: 128 cores, 8 GPUs.
#include "policy/rules.h"

#include <gtest/gtest.h>

#include "policy/test_world.h"

namespace tessera {
namespace {

using testing::demand_of;
using testing::gpu_request;
using testing::node_spec;
using testing::TestWorld;

class RulesTest : public ::testing::Test {
  protected:
    RulesTest() : node(world.add(node_spec(8, 128'000, 1'000'000))) {}

    std::int64_t score(RuleScore rule, const Demand& demand) {
        const DemandClass wanted = demand_class(demand);
        const Catalog catalog = world.catalog();
        const Extent largest{.cpu_milli = 128'000, .memory_mib = 1'000'000, .gpu_milli = 8'000};
        return rule({node, wanted, catalog, largest});
    }

    TestWorld world;
    NodeState& node;
};

TEST_F(RulesTest, DotProduct) {
    node.free_cpu_milli = 64'000;
    for (int gpu = 0; gpu < 4; ++gpu) {
        world.take(node, gpu, 1000);
    }
    // Half of everything is free, a quarter asked: 1 - (1/8 + 1/8) / 2.
    EXPECT_EQ(score(rules::dot_product, demand_of(32'000, {gpu_request(2, 1000)})), 87);
    EXPECT_EQ(score(rules::dot_product, demand_of(0)), 100);
    EXPECT_EQ(score(rules::dot_product, demand_of(64'000)), 87);
}

TEST_F(RulesTest, ClusteringByWhatLivesThere) {
    const Demand share = demand_of(0, {gpu_request(1, 500)});
    const Demand two = demand_of(0, {gpu_request(2, 1000)});
    EXPECT_EQ(score(rules::clustering, share), 25);  // nobody yet
    EXPECT_EQ(score(rules::clustering, demand_of(1'000)), 0);
    for (int gpu = 0; gpu < 4; ++gpu) {
        world.take(node, gpu, 1000);
    }
    node.sizes = 1U << 2;  // pods of two devices only; half the node is used
    EXPECT_EQ(score(rules::clustering, two), 75 + 12);
    EXPECT_EQ(score(rules::clustering, share), 0 + 12);
    node.sizes |= 1;
    EXPECT_EQ(score(rules::clustering, two), 50 + 12);
    EXPECT_EQ(score(rules::clustering, share), 50 + 12);
    EXPECT_EQ(score(rules::clustering, demand_of(0, {gpu_request(1, 1000)})), 0 + 12);
}

TEST_F(RulesTest, PackingPrefersDevicesInUse) {
    const Demand share = demand_of(0, {gpu_request(1, 300)});
    const Demand two = demand_of(0, {gpu_request(2, 1000)});
    EXPECT_EQ(score(rules::packing, share), 25);  // empty: max(33 - 8, 8)
    EXPECT_EQ(score(rules::packing, demand_of(1'000)), 0);
    world.take(node, 0, 400);
    EXPECT_EQ(score(rules::packing, two), 48);    // opens two devices: max(50 - 2, 33)
    EXPECT_EQ(score(rules::packing, share), 94);  // 60 % idle there: 100 - 60 / 10
    EXPECT_EQ(score(rules::packing, demand_of(0, {gpu_request(1, 700)})), 49);  // opens one
    world.take(node, 1, 650);
    EXPECT_EQ(score(rules::packing, share), 97);  // the tighter one, 35 % idle
    EXPECT_EQ(score(rules::packing, demand_of(0, {gpu_request(2, 300)})), 91);  // both: 95 % in all
}

TEST_F(RulesTest, PackingOnALargeEmptyNode) {
    NodeState& large = world.add(node_spec(16, 128'000));
    const DemandClass share = demand_class(demand_of(0, {gpu_request(1, 300)}));
    const Extent largest{.cpu_milli = 128'000, .memory_mib = 1, .gpu_milli = 16'000};
    EXPECT_EQ(rules::packing({large, share, world.catalog(), largest}), 17);  // max(33 - 16, 16)
}

TEST_F(RulesTest, BestFit) {
    node.free_cpu_milli = 64'000;
    for (int gpu = 0; gpu < 4; ++gpu) {
        world.take(node, gpu, 1000);
    }
    // Left after: a quarter of both.
    EXPECT_EQ(score(rules::best_fit, demand_of(32'000, {gpu_request(2, 1000)})), 75);
    EXPECT_EQ(score(rules::best_fit, demand_of(64'000, {gpu_request(4, 1000)})), 100);
    EXPECT_EQ(score(rules::best_fit, demand_of(0)), 50);
}

TEST_F(RulesTest, BestFitWithMemory) {
    node.free_memory_mib = 250'000;
    node.free_cpu_milli = 64'000;
    EXPECT_EQ(score(rules::best_fit_memory, demand_of(0)), -1'750'000);
    // What is asked is the same everywhere: it does not change the order.
    EXPECT_EQ(score(rules::best_fit_memory, demand_of(8'000)), -1'750'000);
    node.free_memory_mib = 0;
    EXPECT_EQ(score(rules::best_fit_memory, demand_of(0)), -1'500'000);
}

TEST_F(RulesTest, BinpackAndSpreadAreOpposites) {
    const Demand share = demand_of(0, {gpu_request(1, 300)});
    world.take(node, 0, 400);
    EXPECT_EQ(score(rules::binpack, share), -7'600);
    EXPECT_EQ(score(rules::spread, share), 7'600);
    node.free_cpu_milli = 1'000;
    EXPECT_EQ(score(rules::binpack, demand_of(500)), -1'000);
    EXPECT_EQ(score(rules::spread, demand_of(500)), 1'000);
}

TEST_F(RulesTest, LeastAllocated) {
    node.free_cpu_milli = 96'000;
    node.free_memory_mib = 500'000;
    // (64 of 128 cores + 40 of 100 memory) / 2 left after.
    Demand demand = demand_of(32'000);
    demand.memory = MemoryMib(100'000);
    EXPECT_EQ(score(rules::least_allocated, demand), 45);
}

TEST_F(RulesTest, BalancedAllocation) {
    node.free_cpu_milli = 64'000;      // half of the cores are in use,
    node.free_memory_mib = 1'000'000;  // and no memory: 100 - 50 / 2 = 75
    Demand memory = demand_of(0);
    memory.memory = MemoryMib(500'000);  // as even as can be: 100, so 50 + (50 + 25) / 2
    EXPECT_EQ(score(rules::balanced_allocation, memory), 87);
    EXPECT_EQ(score(rules::balanced_allocation, demand_of(64'000)), 62);  // 50: less even by 25
    memory.cpu = MilliCpu(64'000);
    EXPECT_EQ(score(rules::balanced_allocation, memory), 75);  // no change
    EXPECT_EQ(score(rules::balanced_allocation, demand_of(0)), 0) << "it asks for nothing";
    EXPECT_EQ(score(rules::balanced_allocation, demand_of(1)), 74) << "75 - 1 / 256, rounded down";
}

TEST_F(RulesTest, NodesOfNothingAndOfTooMuch) {
    NodeState& none = world.add(node_spec(0, 0, 0));
    const std::int64_t huge = std::int64_t{1} << 40;
    NodeState& much = world.add(node_spec(16, huge, huge));
    const DemandClass nothing = demand_class(demand_of(0));
    const DemandClass all = demand_class(demand_of(1'000'000'000'000, {gpu_request(16, 1000)}));
    const Extent largest{.cpu_milli = static_cast<double>(huge),
                         .memory_mib = static_cast<double>(huge),
                         .gpu_milli = 16'000};
    const Catalog catalog = world.catalog();
    for (RuleScore rule : {rules::dot_product, rules::clustering, rules::packing, rules::best_fit,
                           rules::best_fit_memory, rules::binpack, rules::spread,
                           rules::least_allocated, rules::balanced_allocation}) {
        EXPECT_LE(std::abs(rule({none, nothing, catalog, largest})), huge);
        EXPECT_LE(std::abs(rule({much, all, catalog, largest})), huge);
        EXPECT_LE(std::abs(rule({much, nothing, catalog, largest})), huge);
    }
}

}  // namespace
}  // namespace tessera
