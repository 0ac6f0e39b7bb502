#include "dialect/elastic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/test_pods.h"

namespace tessera {
namespace {

using testing::container;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node;
using testing::node_with;
using testing::pod;
using ::testing::SizeIs;
using testing::World;

const std::string kCore = "elasticgpu.io/gpu-core";
const std::string kMemory = "elasticgpu.io/gpu-memory";

TEST(Elastic, CoreBelow100IsAPartWithItsMemory) {
    World world;
    const auto requests = world.requests(pod({{kCore, "20"}, {kMemory, "200"}}));
    ASSERT_THAT(requests, SizeIs(1));
    EXPECT_EQ(requests[0].milli, MilliGpu(200));
    EXPECT_EQ(requests[0].memory, MemoryMib(200));
    EXPECT_EQ(requests[0].memory_bytes, Bytes(200 * kBytesPerMib));
}

TEST(Elastic, ReadmeSampleOfMemoryAlone) {
    World world;
    const auto requests = world.requests(pod({{kMemory, "256"}}));
    ASSERT_THAT(requests, SizeIs(1));
    EXPECT_EQ(requests[0].milli, MilliGpu(0));
    EXPECT_EQ(requests[0].memory, MemoryMib(256));
}

TEST(Elastic, G12Core250IsTwoWholeCardsMemoryIgnored) {
    World world;
    const auto requests = world.requests(pod({{kCore, "250"}, {kMemory, "9000"}}));
    ASSERT_THAT(requests, SizeIs(1));
    EXPECT_EQ(requests[0].gpus, 2);
    EXPECT_TRUE(requests[0].whole());
    EXPECT_EQ(requests[0].memory, MemoryMib(0));
}

TEST(Elastic, ContainersWithoutGpuAreZeroNotMinusOne) {
    World world;
    const auto requests = world.requests(
        pod({container("plain", {{"cpu", "1"}}), container("gpu", {{kCore, "30"}})}));
    ASSERT_THAT(requests, SizeIs(1));
    EXPECT_EQ(requests[0].name, world.name("gpu"));
}

TEST(Elastic, EveryDomainIsAccepted) {
    World world;
    for (const char* core :
         {"elasticgpu.io/gpu-core", "elasticgpu.com/gpu-core", "nano-gpu/gpu-percent",
          "nano-gpu.io/gpu-core", "elastic-gpu/gpu-percent"}) {
        const auto requests = world.requests(pod({{core, "50"}}));
        ASSERT_THAT(requests, SizeIs(1)) << core;
        EXPECT_EQ(requests[0].milli, MilliGpu(500));
    }
    EXPECT_THAT(world.refusal(pod({{kCore, "50"}, {"elasticgpu.com/gpu-core", "50"}})),
                HasSubstr("both ask for GPUs"));
}

TEST(Elastic, MalformedAmountsAreRefused) {
    World world;
    for (const char* amount : {"-1", "0.5", "1e10", "1601"}) {
        EXPECT_THAT(world.refusal(pod({{kCore, amount}})),
                    HasSubstr("container main: elasticgpu.io/gpu-core: "));
    }
    EXPECT_THAT(
        world.refusal(pod({container("a", {{kCore, "900"}}), container("b", {{kCore, "800"}})})),
        HasSubstr("17 or more whole GPUs"));
}

Placement placed(World& world) {
    Placement placement;
    placement.grants.push_back({world.name("a"), GpuIndex(2), MilliGpu(300), MemoryMib(0), {}});
    placement.grants.push_back({world.name("b"), GpuIndex(0), kWholeGpu, MemoryMib(100), {}});
    placement.grants.push_back({world.name("b"), GpuIndex(1), kWholeGpu, MemoryMib(100), {}});
    return placement;
}

Pod two_containers() {
    return pod({container("a", {{kCore, "30"}}), container("plain", {}),
                container("b", {{kCore, "200"}})});
}

TEST(Elastic, WritesOneAnnotationPerAskingContainer) {
    World world;
    const Pod asking = two_containers();
    const auto asked = world.ask(asking);
    const auto marks = placement_marks(
        {asking, *asked, placed(world), node_with({100, 100, 100}), {}}, world.context);
    ASSERT_TRUE(marks);
    EXPECT_EQ(marks->annotations, (StringMap{{"elasticgpu.io/container-a", "2"},
                                             {"elasticgpu.io/container-b", "0,1"},
                                             {"elasticgpu.io/assumed", "true"}}));
    EXPECT_EQ(marks->labels, (StringMap{{"elasticgpu.io/assumed", "true"}}));
}

TEST(Elastic, NanoWritesItsOwnKeys) {
    World world;
    const Pod asking = pod({{"nano-gpu/gpu-percent", "30"}});
    const auto asked = world.ask(asking);
    Placement placement;
    placement.grants.push_back({world.name("main"), GpuIndex(1), MilliGpu(300), {}, {}});
    const auto marks =
        placement_marks({asking, *asked, placement, node_with({1, 1}), {}}, world.context);
    EXPECT_EQ(marks->annotations,
              (StringMap{{"nano-gpu/assume", "true"}, {"nano-gpu/container-main", "1"}}));
}

TEST(Elastic, ReadsBackWhatItWrote) {
    World world;
    Pod bound = two_containers();
    const auto asked = world.ask(bound);
    const NodeSpec node = node_with({100, 100, 100});
    bound.annotations =
        placement_marks({bound, *asked, placed(world), node, {}}, world.context)->annotations;
    // The original wrote a card for containers without GPU as well.
    bound.annotations["elasticgpu.io/container-plain"] = "1";
    const auto again = read_back(bound, node, world.context);
    ASSERT_TRUE(again && again->has_value());
    EXPECT_EQ((*again)->grants, placed(world).grants);
}

TEST(Elastic, InitContainerListsBorrowedCardsAndReadsBackOnlyItsOwn) {
    World world;
    Pod bound = pod({{kCore, "100"}});
    bound.init_containers = {container("prepare", {{kCore, "300"}})};
    const auto asked = world.ask(bound);
    ASSERT_TRUE(asked);
    ASSERT_THAT(asked->demand.alternatives.front().requests, SizeIs(2));
    const NodeSpec node = node_with({10, 10, 10});
    Placement placement;
    placement.grants.push_back({world.name("main"), GpuIndex(1), kWholeGpu, MemoryMib(10), {}});
    placement.grants.push_back({world.name("prepare"), GpuIndex(0), kWholeGpu, MemoryMib(10), {}});
    placement.grants.push_back({world.name("prepare"), GpuIndex(2), kWholeGpu, MemoryMib(10), {}});
    bound.annotations =
        placement_marks({bound, *asked, placement, node, {}}, world.context)->annotations;
    EXPECT_EQ(bound.annotations["elasticgpu.io/container-prepare"], "1,0,2");
    const auto again = read_back(bound, node, world.context);
    ASSERT_TRUE(again && again->has_value());
    EXPECT_EQ((*again)->grants, placement.grants);
}

TEST(Elastic, WrongAnnotationsAreErrors) {
    World world;
    for (const char* value : {"3", "0,0", "0,1", "-1", "", "a", "99999999999999999999"}) {
        Pod bound = pod({{kCore, "30"}});
        bound.annotations["elasticgpu.io/container-main"] = value;
        EXPECT_FALSE(read_back(bound, node_with({1, 1}), world.context)) << value;
    }
}

TEST(Elastic, NodeCardsAreCoreOver100WithEvenMemory) {
    World world;
    auto spec = node_spec(node({{kCore, "250"}, {kMemory, "32001"}}), world.context);
    ASSERT_TRUE(spec);
    ASSERT_THAT(spec->gpus, SizeIs(2));
    EXPECT_EQ(spec->gpus[1].memory, MemoryMib(16000));
}

TEST(Elastic, NodeWithLessThanACardOrNoneDoesNotDivideByZero) {
    World world;
    EXPECT_THAT(node_spec(node({{kCore, "50"}, {kMemory, "1000"}}), world.context)->gpus,
                IsEmpty());
    EXPECT_THAT(node_spec(node({{kMemory, "1000"}}), world.context)->gpus, IsEmpty());
    EXPECT_THAT(node_spec(node({{"cpu", "8"}}), world.context)->gpus, IsEmpty());
}

}  // namespace
}  // namespace tessera
