#include "dialect/keti.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/test_pods.h"

namespace tessera {
namespace {

using testing::container;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node;
using testing::node_with;
using testing::pod;
using ::testing::SizeIs;
using testing::World;

const std::string kGpus = "keti.com/mpsgpu";

Pod asking(const StringMap& annotations = {}, const char* gpus = "1") {
    Pod result = pod({{kGpus, gpus}});
    result.scheduler_name = "gpu-scheduler";
    result.annotations = annotations;
    return result;
}

TEST(Keti, OneUnitIsOneSlotOfACard) {
    World world;
    const auto asked = world.ask(asking({}, "2"));
    ASSERT_TRUE(asked);
    const GpuRequest& request = asked->demand.alternatives.front().requests.front();
    EXPECT_EQ(request.gpus, 2);
    EXPECT_EQ(request.milli, MilliGpu(100));
    EXPECT_EQ(request.limit, MilliGpu(1000));
    EXPECT_EQ(asked->demand.isolation, Isolation::mps);
    world.context.options.keti_slots = 48;
    EXPECT_EQ(world.requests(asking())[0].milli, MilliGpu(20));
    for (const int slots : {0, -1, 1001}) {
        world.context.options.keti_slots = slots;
        EXPECT_THAT(world.refusal(asking()), HasSubstr("slots per card are not accepted"));
        EXPECT_FALSE(node_spec(node({{kGpus, "20"}}), world.context));
    }
}

TEST(Keti, MemoryRequestDefaultsToTheLimit) {
    World world;
    EXPECT_EQ(world.requests(asking({{"GPUlimits", "4Gi"}}))[0].memory, MemoryMib(4096));
    EXPECT_EQ(world.requests(asking({{"GPUlimits", "4Gi"}, {"GPUrequest", "1500M"}}))[0].memory,
              MemoryMib(1431));
    EXPECT_EQ(world.requests(asking({{"GPUrequest", "1"}}))[0].memory_bytes, Bytes(1));
    EXPECT_THAT(world.refusal(asking({{"GPUlimits", "1Gi"}, {"GPUrequest", "2Gi"}})),
                HasSubstr("GPUrequest: \"2Gi\" is not accepted"));
    EXPECT_THAT(world.refusal(asking({{"GPUlimits", "lots"}})),
                HasSubstr("GPUlimits: \"lots\" is not a quantity"));
    EXPECT_THAT(world.refusal(asking({{"GPUlimits", "-1"}})), HasSubstr("not accepted"));
}

TEST(Keti, PriorityWords) {
    World world;
    const auto priority = [&](const char* word) {
        return world.ask(asking({{"priority", word}}))->demand.priority;
    };
    EXPECT_EQ(world.ask(asking())->demand.priority, 50);
    EXPECT_EQ(priority("L"), 10);
    EXPECT_EQ(priority("low"), 10);
    EXPECT_EQ(priority("H"), 100);
    EXPECT_EQ(priority("High"), 100);
    EXPECT_EQ(priority("I"), 1500);
    EXPECT_EQ(priority("Immediatly"), 1500);  // as its documents spell it
    EXPECT_EQ(priority("immediately"), 1500);
    EXPECT_EQ(priority("Middle"), 50);
    EXPECT_THAT(world.refusal(asking({{"priority", "hihg"}})),
                HasSubstr("priority: \"hihg\" is not accepted"));
}

TEST(Keti, NodeNameAnnotationPinsAlsoPodsWithoutGpu) {
    World world;
    Pod pinned = asking({{"nodeName", "gpu-b"}}, "0");
    const auto asked = world.ask(pinned);
    ASSERT_TRUE(asked);
    EXPECT_FALSE(asked->demand.wants_gpu());
    const NodeFilter& filter = world.filters[asked->demand.filter];
    Node here = node({});
    EXPECT_FALSE(admits(filter, node_spec(here, world.context)->traits));
    here.name = "gpu-b";
    EXPECT_TRUE(admits(filter, node_spec(here, world.context)->traits));
}

TEST(Keti, WritesDistinctUuidsWithoutEmptyElements) {
    World world;
    Pod two = pod({container("a", {{kGpus, "2"}}), container("b", {{kGpus, "1"}})});
    const auto asked = world.ask(two);
    Placement placement;
    for (int gpu : {0, 2}) {
        placement.grants.push_back(
            {world.name("a"), GpuIndex(static_cast<std::uint8_t>(gpu)), MilliGpu(100), {}, {}});
    }
    placement.grants.push_back({world.name("b"), GpuIndex(2), MilliGpu(100), {}, {}});
    const NodeSpec node = node_with({100, 100, 100});
    const auto marks = placement_marks({two, *asked, placement, node, {}}, world.context);
    ASSERT_TRUE(marks);
    EXPECT_EQ(marks->annotations, (StringMap{{"UUID", "GPU-0,GPU-2"}}));
}

TEST(Keti, ADeviceWithoutUuidIsToldNotGuessed) {
    World world;
    const Pod one = asking();
    const auto asked = world.ask(one);
    NodeSpec node = node_with({100});
    node.gpus[0].uuid.clear();
    Placement placement;
    placement.grants.push_back({world.name("main"), GpuIndex(0), MilliGpu(100), {}, {}});
    const auto marks = placement_marks({one, *asked, placement, node, {}}, world.context);
    ASSERT_FALSE(marks);
    EXPECT_THAT(marks.error().message, HasSubstr("no known UUID"));
}

TEST(Keti, ReadsUuidsBackSkippingTheEmptyElementOfTheOriginal) {
    World world;
    Pod bound = asking({{"UUID", "GPU-2,,GPU-1"}, {"GPUlimits", "1Gi"}}, "2");
    const auto again = read_back(bound, node_with({9000, 9000, 9000}), world.context);
    ASSERT_TRUE(again && again->has_value());
    ASSERT_THAT((*again)->grants, SizeIs(2));
    EXPECT_EQ((*again)->grants[0].gpu, GpuIndex(2));
    EXPECT_EQ((*again)->grants[1].gpu, GpuIndex(1));
    EXPECT_EQ((*again)->grants[1].memory, MemoryMib(1024));
    bound.annotations["UUID"] = "GPU-9";
    EXPECT_FALSE(read_back(bound, node_with({1}), world.context));
    bound.annotations["UUID"] = "";
    EXPECT_EQ(read_back(bound, node_with({1}), world.context).value(), std::nullopt);
}

TEST(Keti, NodeHasTenSlotsPerCard) {
    World world;
    const auto spec = node_spec(node({{kGpus, "20"}}), world.context);
    ASSERT_TRUE(spec);
    ASSERT_THAT(spec->gpus, SizeIs(2));
    EXPECT_EQ(spec->gpus[0].slots, 10);
    EXPECT_FALSE(node_spec(node({{kGpus, "25"}}), world.context));
    EXPECT_THAT(node_spec(node({{kGpus, "0"}}), world.context)->gpus, IsEmpty());
}

}  // namespace
}  // namespace tessera
