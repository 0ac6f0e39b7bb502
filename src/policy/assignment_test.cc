#include "policy/assignment.h"

#include <gtest/gtest.h>

#include "policy/test_world.h"

namespace tessera {
namespace {

using testing::demand_of;
using testing::gpu_request;
using testing::node_spec;
using testing::TestWorld;

DeviceList devices(std::initializer_list<int> numbers) {
    DeviceList list;
    for (int number : numbers) {
        list.push_back(GpuIndex(static_cast<std::uint8_t>(number)));
    }
    return list;
}

class AssignmentTest : public ::testing::Test {
  protected:
    // What a class gets on the node; empty when it does not fit.
    DeviceList assigned(const NodeState& node, const Demand& demand,
                        const LinkMatrix& links = LinkMatrix()) {
        DeviceList list;
        const DemandClass wanted = demand_class(demand);
        const bool good = assign_devices(node, wanted, world.catalog(), links, list);
        EXPECT_EQ(good, fits(node, wanted, world.catalog()));
        EXPECT_EQ(good, !list.empty() || !wanted.wants_gpu());
        return list;
    }

    TestWorld world;
};

GpuRequest with_rule(GpuRequest request, GroupRule rule, AttributeIndex attribute) {
    request.rule = rule;
    request.rule_attribute = attribute;
    return request;
}

TEST_F(AssignmentTest, SharesGoToTheTightestDevices) {
    NodeState& node = world.add(node_spec(4, 8'000));
    world.take(node, 1, 400);
    world.take(node, 3, 600);
    EXPECT_EQ(assigned(node, demand_of(0, {gpu_request(1, 300)})), devices({3}));
    EXPECT_EQ(assigned(node, demand_of(0, {gpu_request(1, 500)})), devices({1}));
    EXPECT_EQ(assigned(node, demand_of(0, {gpu_request(3, 300)})), devices({0, 1, 3}));
    EXPECT_EQ(assigned(node, demand_of(0, {gpu_request(4, 500)})), devices({}));
}

TEST_F(AssignmentTest, WholeDevicesByIndexWhereNoLinksAreKnown) {
    NodeState& node = world.add(node_spec(4, 8'000));
    world.take(node, 1, 1);
    EXPECT_EQ(assigned(node, demand_of(0, {gpu_request(2, 1000)})), devices({0, 2}));
    EXPECT_EQ(assigned(node, demand_of(0, {gpu_request(4, 1000)})), devices({}));
}

TEST_F(AssignmentTest, WholeDevicesByLinks) {
    NodeState& node = world.add(node_spec(4, 8'000));
    LinkMatrix links(4);
    for (int a = 0; a < 4; ++a) {
        for (int b = a + 1; b < 4; ++b) {
            links.set(a, b, {LinkLevel::system, 0});
        }
    }
    links.set(1, 3, {LinkLevel::nvlink, 4});
    EXPECT_EQ(assigned(node, demand_of(0, {gpu_request(2, 1000)}), links), devices({1, 3}));
    EXPECT_EQ(assigned(node, demand_of(0, {gpu_request(1, 1000)}), links), devices({0}));
}

TEST_F(AssignmentTest, GroupRules) {
    NodeSpec spec = node_spec(4, 8'000);
    spec.gpus[2].numa = 1;
    spec.gpus[3].numa = 1;
    NodeState& node = world.add(spec);
    const auto two = [](GroupRule rule, AttributeIndex attribute = kAttributeNuma) {
        return demand_of(0, {with_rule(gpu_request(2, 1000), rule, attribute)});
    };
    world.take(node, 0, 500);
    EXPECT_EQ(assigned(node, two(GroupRule::same)), devices({2, 3}));
    EXPECT_EQ(assigned(node, two(GroupRule::distinct)), devices({1, 2}));
    // Every device is a link domain of its own here.
    EXPECT_EQ(assigned(node, two(GroupRule::same, kAttributeLink)), devices({}));
    EXPECT_EQ(assigned(node, two(GroupRule::distinct, kAttributeLink)), devices({1, 2}));
    // Of an attribute that nobody told us nothing is known, so nothing is shared or distinct.
    EXPECT_EQ(assigned(node, two(GroupRule::same, AttributeIndex(9))), devices({}));
    world.take(node, 2, 500);
    EXPECT_EQ(assigned(node, two(GroupRule::same)), devices({}));
    // Shares obey the same rules.
    EXPECT_EQ(assigned(node, demand_of(0, {with_rule(gpu_request(2, 300), GroupRule::distinct,
                                                     kAttributeNuma)}))
                  .size(),
              2U);
}

TEST_F(AssignmentTest, PartitionsOfOneDeviceOrOfSeveral) {
    NodeSpec spec = node_spec(5, 8'000);
    spec.gpus[1].parent = spec.gpus[4].parent = "GPU-x";
    spec.gpus[2].parent = spec.gpus[3].parent = "GPU-y";
    NodeState& node = world.add(spec);
    const auto asking = [](int gpus, GroupRule rule) {
        return demand_of(0, {with_rule(gpu_request(gpus, 1000), rule, kAttributeParent)});
    };
    EXPECT_EQ(assigned(node, asking(2, GroupRule::same)), devices({1, 4}));
    EXPECT_EQ(assigned(node, asking(2, GroupRule::distinct)), devices({1, 2}));
    EXPECT_EQ(assigned(node, asking(3, GroupRule::distinct)), devices({}))
        << "GPU 0 is no partition";
    world.take(node, 4, 500);
    EXPECT_EQ(assigned(node, asking(2, GroupRule::same)), devices({2, 3}));
}

TEST_F(AssignmentTest, SeveralContainersTogether) {
    NodeState& node = world.add(node_spec(2, 8'000));
    world.take(node, 0, 500);
    // The larger must have the empty device, whichever comes first.
    EXPECT_EQ(assigned(node, demand_of(0, {gpu_request(1, 400), gpu_request(1, 700)})),
              devices({0, 1}));
    EXPECT_EQ(assigned(node, demand_of(0, {gpu_request(1, 700), gpu_request(1, 400)})),
              devices({1, 0}));
    EXPECT_EQ(assigned(node, demand_of(0, {gpu_request(1, 700), gpu_request(1, 600)})),
              devices({}));
    EXPECT_EQ(assigned(node, demand_of(0, {gpu_request(1, 1000), gpu_request(1, 300)})),
              devices({1, 0}));
    EXPECT_EQ(assigned(node, demand_of(0, {gpu_request(1, 1000), gpu_request(1, 1000)})),
              devices({}));
}

TEST_F(AssignmentTest, ContainersCountAgainstSlots) {
    NodeSpec spec = node_spec(2, 8'000);
    spec.gpus[0].slots = 2;
    spec.gpus[1].slots = 1;
    NodeState& node = world.add(spec);
    const GpuRequest part = gpu_request(1, 100);
    EXPECT_EQ(assigned(node, demand_of(0, {part, part, part})).size(), 3U);
    EXPECT_EQ(assigned(node, demand_of(0, {part, part, part, part})), devices({}));
}

// A whole device among unlike ones need not be the largest.
TEST_F(AssignmentTest, WholeContainerOnASmallerDevice) {
    NodeSpec spec = node_spec(2, 8'000);
    spec.gpus[1].memory = MemoryMib(81'920);
    NodeState& node = world.add(spec);
    EXPECT_EQ(assigned(node, demand_of(0, {gpu_request(1, 1000), gpu_request(1, 300)})),
              devices({0, 1}));
}

TEST_F(AssignmentTest, NothingAskedNeedsNoDevice) {
    NodeState& node = world.add(node_spec(0, 8'000));
    EXPECT_TRUE(fits(node, demand_class(demand_of(1'000)), world.catalog()));
    // A container that asks for no device is none.
    EXPECT_TRUE(
        fits(node, demand_class(demand_of(1'000, {gpu_request(0, 1000)})), world.catalog()));
    EXPECT_FALSE(fits(node, demand_class(demand_of(9'000)), world.catalog()));
}

// So many devices that their number wraps in 16 bits are many, not few.
TEST_F(AssignmentTest, MoreDevicesThanCanBeCounted) {
    NodeState& node = world.add(node_spec(2, 8'000));
    const GpuRequest half = gpu_request(32'768, 1000);
    const DemandClass wanted = demand_class(demand_of(0, {half, half}));
    EXPECT_TRUE(wanted.wants_gpu());
    EXPECT_FALSE(fits(node, wanted, world.catalog()));
    const GpuRequest most = gpu_request(65'535, 100);
    EXPECT_FALSE(fits(node, demand_class(demand_of(0, {most})), world.catalog()));
    EXPECT_FALSE(
        fits(node, demand_class(demand_of(0, {most, gpu_request(2, 1000)})), world.catalog()));
}

TEST_F(AssignmentTest, MemoryHeld) {
    EXPECT_EQ(memory_held(gpu_request(1, 1000, 100), MemoryMib(16'384)), MemoryMib(16'384));
    EXPECT_EQ(memory_held(gpu_request(1, 500, 100), MemoryMib(16'384)), MemoryMib(100));
    GpuRequest third = gpu_request(1, 0);
    third.memory_ppm = 333'333;
    EXPECT_EQ(memory_held(third, MemoryMib(16'384)), MemoryMib(5'461));
}

TEST_F(AssignmentTest, ApplyingAClassLeavesTheRest) {
    NodeSpec spec = node_spec(3, 8'000, 4'096);
    spec.gpus[2].health = Health::no_new;
    NodeState& node = world.add(spec);
    Demand demand = demand_of(1'000, {gpu_request(1, 400, 8'192)});
    demand.memory = MemoryMib(96);
    demand.tolerates = Health::no_new;
    NodeState after = node;
    apply_devices(after, demand_class(demand), world.catalog(), devices({1}));
    EXPECT_EQ(after.free_cpu_milli, 7'000);
    EXPECT_EQ(after.free_memory_mib, 4'000);
    EXPECT_EQ(after.free_pods, node.free_pods - 1);
    EXPECT_EQ(after.gpus[1].idle_milli, 600);
    EXPECT_EQ(after.gpus[1].free_memory_mib, 8'192);
    EXPECT_EQ(after.gpus[1].value, 500);
    EXPECT_EQ(after.idle_value, 1'500);
    EXPECT_EQ(after.empty_gpus, 1);
    EXPECT_EQ(after.gpu_pods, 1);
    // An unhealthy device is in no sum of the node's.
    after = node;
    apply_devices(after, demand_class(demand), world.catalog(), devices({2}));
    EXPECT_EQ(after.gpus[2].idle_milli, 600);
    EXPECT_EQ(after.idle_value, 2'000);
    EXPECT_EQ(after.empty_gpus, 2);
    // Use without a share occupies nothing.
    demand.admin_access = true;
    after = node;
    apply_devices(after, demand_class(demand), world.catalog(), devices({1}));
    EXPECT_EQ(after.idle_value, 2'000);
    EXPECT_EQ(after.gpu_pods, 0);
}

}  // namespace
}  // namespace tessera
