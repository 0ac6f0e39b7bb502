#include "policy/devices.h"

#include <gtest/gtest.h>

#include "policy/test_world.h"

namespace tessera {
namespace {

using testing::demand_of;
using testing::gpu_request;
using testing::node_spec;
using testing::TestWorld;

DemandClass share(int milli, std::int64_t memory_mib = 0) {
    return demand_class(demand_of(0, {gpu_request(1, milli, memory_mib)}));
}

TEST(MayUse, HealthAllocatorModelAndSize) {
    const DeviceKind kind{ModelIndex(1), MemoryMib(16'384), Health::ok, AllocatorMode::annotation};
    DemandClass c = share(500, 16'384);
    EXPECT_TRUE(may_use(c, kind));
    DeviceKind other = kind;
    other.mode = AllocatorMode::claim;
    EXPECT_FALSE(may_use(c, other));
    other = kind;
    other.memory = MemoryMib(16'383);
    EXPECT_FALSE(may_use(c, other));
    other = kind;
    other.health = Health::no_new;
    EXPECT_FALSE(may_use(c, other));
    c.tolerates = Health::no_new;
    EXPECT_TRUE(may_use(c, other));
    other.health = Health::evict;
    EXPECT_FALSE(may_use(c, other));
    c.models = {ModelIndex(0)};
    EXPECT_FALSE(may_use(c, kind));
    c.models = {ModelIndex(0), ModelIndex(1)};
    EXPECT_TRUE(may_use(c, kind));
}

TEST(FittingDevices, ByComputeMemoryAndSlots) {
    TestWorld world;
    NodeSpec spec = node_spec(5, 8'000);
    spec.gpus[3].slots = 1;
    NodeState& node = world.add(spec);
    world.take(node, 0, 500);
    world.take(node, 1, 100, 10'000);
    world.take(node, 2, 1000);
    world.take(node, 3, 1);
    const Catalog catalog = world.catalog();
    EXPECT_EQ(fitting_devices(node, share(500), catalog), 0b10011U);
    EXPECT_EQ(fitting_devices(node, share(501), catalog), 0b10010U);
    EXPECT_EQ(fitting_devices(node, share(0, 6'385), catalog), 0b10001U);
    EXPECT_EQ(fitting_devices(node, share(0, 6'384), catalog), 0b10011U);
    // Asks for nothing: still not beside a whole owner, nor without a slot.
    EXPECT_EQ(fitting_devices(node, share(0), catalog), 0b10011U);
    // A whole device must be empty.
    EXPECT_EQ(fitting_devices(node, share(1000), catalog), 0b10000U);
}

TEST(FittingDevices, RelativeMemoryByTheDevicesSize) {
    TestWorld world;
    NodeSpec spec = node_spec(2, 8'000);
    spec.gpus[1].memory = MemoryMib(81'920);
    NodeState& node = world.add(spec);
    world.take(node, 0, 0, 8'193);
    world.take(node, 1, 0, 40'960);
    GpuRequest request = gpu_request(1, 0);
    request.memory_ppm = 500'000;
    EXPECT_EQ(fitting_devices(node, demand_class(demand_of(0, {request})), world.catalog()), 0b10U);
}

TEST(FittingDevices, NoDevices) {
    TestWorld world;
    NodeState& node = world.add(node_spec(0, 8'000));
    EXPECT_EQ(fitting_devices(node, share(1), world.catalog()), 0U);
}

TEST(ChoosingDevices, TightestEmptiestAndTies) {
    TestWorld world;
    NodeState& node = world.add(node_spec(4, 8'000));
    world.take(node, 1, 700);
    world.take(node, 2, 700);
    world.take(node, 3, 100, 14'000);  // by memory nearly full
    EXPECT_EQ(tightest_device(node, 0b1111), 3);
    EXPECT_EQ(tightest_device(node, 0b0111), 1);
    EXPECT_EQ(tightest_device(node, 0b0100), 2);
    EXPECT_EQ(emptiest_device(node, 0b1111), 0);
    EXPECT_EQ(emptiest_device(node, 0b1110), 1);
    EXPECT_EQ(tightest_device(node, 0), -1);
    EXPECT_EQ(emptiest_device(node, 0), -1);
    EXPECT_EQ(nth_device(0b10110, 0), 1);
    EXPECT_EQ(nth_device(0b10110, 2), 4);
}

TEST(Parts, TheLastSlotTakesWhatIsLeft) {
    GpuState device;
    device.idle_milli = 600;
    device.free_memory_mib = 8'192;
    ClassBrief brief;
    brief.milli = 100;
    brief.gpu_memory_mib = 4'096;
    EXPECT_TRUE(room_for_part(device, brief, 16'384));
    EXPECT_EQ(value_with_part(device, brief, 16'384), 250);
    device.free_slots = 2;
    EXPECT_EQ(value_with_part(device, brief, 16'384), 250);
    device.free_slots = 1;
    EXPECT_TRUE(room_for_part(device, brief, 16'384));
    EXPECT_EQ(value_with_part(device, brief, 16'384), 0);
    device.free_slots = 0;
    EXPECT_FALSE(room_for_part(device, brief, 16'384));
}

}  // namespace
}  // namespace tessera
