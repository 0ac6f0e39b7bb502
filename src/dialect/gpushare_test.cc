#include "dialect/gpushare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/test_pods.h"
#include "engine/cluster.h"

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

const std::string kMemory = "aliyun.com/gpu-mem";

TEST(Gpushare, AsksForMemoryOfOneDeviceAndReservesNoCompute) {
    World world;
    const auto requests = world.requests(pod({{kMemory, "3"}}));
    ASSERT_THAT(requests, SizeIs(1));
    EXPECT_EQ(requests[0].gpus, 1);
    EXPECT_EQ(requests[0].memory, MemoryMib(3 * 1024));
    EXPECT_EQ(requests[0].milli, MilliGpu(0));
    EXPECT_EQ(requests[0].limit, MilliGpu(1000));
}

TEST(Gpushare, CoschemlSampleOf300IsMib) {
    World world;
    world.context.options.gpushare_unit = MemoryUnit::mib;
    EXPECT_EQ(world.requests(pod({{kMemory, "300"}}))[0].memory, MemoryMib(300));
    EXPECT_EQ(find_dialect("coscheml"), find_dialect("gpushare"));
}

TEST(Gpushare, APodsUnitByTheDevicesThatAreThere) {
    const std::vector<NodeSpec> nodes{node_with({16384}), node_with({32768, 24576})};
    EXPECT_EQ(gpushare_unit(pod({{kMemory, "300"}}), nodes), MemoryUnit::mib);
    EXPECT_EQ(gpushare_unit(pod({{kMemory, "33"}}), nodes), MemoryUnit::mib);
    EXPECT_EQ(gpushare_unit(pod({{kMemory, "32"}}), nodes), MemoryUnit::gib);
    EXPECT_EQ(gpushare_unit(pod({{kMemory, "16276"}}), nodes), MemoryUnit::mib);
    EXPECT_EQ(gpushare_unit(pod({{kMemory, "300"}}), {}), MemoryUnit::gib) << "nothing is known";
    EXPECT_EQ(gpushare_unit(pod({{kMemory, "-1"}}), nodes), MemoryUnit::gib);
}

TEST(Gpushare, VectorVTwoContainersOf1And2UnitsShareOneDevice) {
    World world;
    const Pod both = pod(
        {container("a", {{kMemory, "1"}}), container("b", {{kMemory, "2"}}), container("c", {})});
    const auto asked = world.ask(both);
    ASSERT_TRUE(asked);
    ASSERT_THAT(asked->demand.alternatives.front().requests, SizeIs(1));
    EXPECT_EQ(asked->demand.alternatives.front().requests[0].memory, MemoryMib(3 * 1024));
    EXPECT_THAT(asked->uses, ElementsAre(ContainerUse{world.name("a"), world.name("*")},
                                         ContainerUse{world.name("b"), world.name("*")}));
}

TEST(Gpushare, InitContainersCountByKubernetesRule) {
    World world;
    Pod with_init = pod({{kMemory, "2"}});
    with_init.init_containers = {container("warm", {{kMemory, "5"}})};
    EXPECT_EQ(world.requests(with_init)[0].memory, MemoryMib(5 * 1024));
}

TEST(Gpushare, ZeroAsksForNoGpu) {
    World world;
    EXPECT_THAT(world.requests(pod({{kMemory, "0"}})), IsEmpty());
}

TEST(Gpushare, MalformedAmountsAreRefusedWithOneSentence) {
    World world;
    for (const char* amount : {"-1", "1.5", "500m", "9E", "2000000"}) {
        EXPECT_THAT(world.refusal(pod({{kMemory, amount}})),
                    HasSubstr("pod default/train: container main: aliyun.com/gpu-mem: "))
            << amount;
    }
    // A negative amount cannot hide behind another container's.
    EXPECT_THAT(
        world.refusal(pod({container("a", {{kMemory, "5"}}), container("b", {{kMemory, "-4"}})})),
        HasSubstr("container b: aliyun.com/gpu-mem: -4 is not accepted"));
}

TEST(Gpushare, NodeSplitsMemoryEvenlyAndGuessesTheUnit) {
    World world;
    const Node gib = node({{kMemory, "63"}, {"aliyun.com/gpu-count", "4"}});
    EXPECT_EQ(gpushare_unit(gib), MemoryUnit::gib);
    auto spec = node_spec(gib, world.context);
    ASSERT_TRUE(spec);
    ASSERT_THAT(spec->gpus, SizeIs(4));
    EXPECT_EQ(spec->gpus[3].memory, MemoryMib(15 * 1024));

    const Node mib = node({{kMemory, "32552"}, {"aliyun.com/gpu-count", "2"}});
    EXPECT_EQ(gpushare_unit(mib), MemoryUnit::mib);
    EXPECT_EQ(node_spec(mib, world.context)->gpus[0].memory, MemoryMib(16276));
}

TEST(Gpushare, NodeWithoutCountOrMemoryHasNoGpus) {
    World world;
    EXPECT_THAT(node_spec(node({{kMemory, "64"}}), world.context)->gpus, IsEmpty());
    EXPECT_THAT(
        node_spec(node({{kMemory, "64"}, {"aliyun.com/gpu-count", "0"}}), world.context)->gpus,
        IsEmpty());
    const auto many =
        node_spec(node({{kMemory, "64"}, {"aliyun.com/gpu-count", "17"}}), world.context);
    ASSERT_FALSE(many);
    EXPECT_THAT(many.error().message, HasSubstr("node gpu-a: aliyun.com/gpu-count: 17"));
}

TEST(Gpushare, WritesTheFiveAnnotationsWithTheChosenDevicesOwnSize) {
    World world;
    const Pod asking = pod({{kMemory, "3"}});
    const auto asked = world.ask(asking);
    const NodeSpec mixed = node_with({16384, 32768});  // not "first GPU's size for all"
    Placement placement;
    placement.grants.push_back({world.name("*"), GpuIndex(1), MilliGpu(0), MemoryMib(3072), {}});
    const auto marks = placement_marks(
        {asking, *asked, placement, mixed, Nanoseconds(1'700'000'000'123'456'789)}, world.context);
    ASSERT_TRUE(marks);
    EXPECT_EQ(marks->annotations,
              (StringMap{{"ALIYUN_COM_GPU_MEM_IDX", "1"},
                         {"ALIYUN_COM_GPU_MEM_POD", "3"},
                         {"ALIYUN_COM_GPU_MEM_DEV", "32"},
                         {"ALIYUN_COM_GPU_MEM_ASSIGNED", "false"},
                         {"ALIYUN_COM_GPU_MEM_ASSUME_TIME", "1700000000123456789"}}));
    EXPECT_THAT(marks->labels, IsEmpty());
}

Pod bound(std::string index, std::string units) {
    Pod result = pod({{kMemory, "3"}});
    result.node_name = "gpu-a";
    result.annotations = {{"ALIYUN_COM_GPU_MEM_IDX", std::move(index)},
                          {"ALIYUN_COM_GPU_MEM_POD", std::move(units)}};
    return result;
}

TEST(Gpushare, ReadsItsAnnotationsBack) {
    World world;
    const auto placement = read_back(bound("1", "3"), node_with({16384, 16384}), world.context);
    ASSERT_TRUE(placement && placement->has_value());
    ASSERT_THAT((*placement)->grants, SizeIs(1));
    EXPECT_EQ((*placement)->grants[0].gpu, GpuIndex(1));
    EXPECT_EQ((*placement)->grants[0].memory, MemoryMib(3072));
    EXPECT_EQ((*placement)->node, world.names.nodes.find("gpu-a"));
}

TEST(Gpushare, IndexMinusOneAndNoIndexAreNoPlacement) {
    World world;
    EXPECT_EQ(read_back(bound("-1", "3"), node_with({16384}), world.context).value(), std::nullopt);
    EXPECT_EQ(read_back(pod({{kMemory, "3"}}), node_with({16384}), world.context).value(),
              std::nullopt);
}

TEST(Gpushare, WrongAnnotationsAreErrors) {
    World world;
    for (auto [index, units] :
         {std::pair{"2", "3"}, {"x", "3"}, {"0,1", "3"}, {"0", "-3"}, {"0", "many"}, {"", "3"}}) {
        EXPECT_FALSE(read_back(bound(index, units), node_with({16384, 16384}), world.context))
            << index << " " << units;
    }
    EXPECT_FALSE(read_back(bound("0", "3"), node_with({}), world.context));
}

TEST(Gpushare, VectorIIAnOverfullDeviceHasNothingFree) {
    World world;
    Cluster cluster;
    NodeSpec spec = node_with({4096});
    spec.cpu = MilliCpu(1000);
    spec.memory = MemoryMib(1000);
    const auto index = cluster.add_node(spec);
    // 3 + 3 units of 4: in unsigned arithmetic the device would look almost infinite.
    for (int i = 0; i < 2; ++i) {
        auto placement = read_back(bound("0", "3"), spec, world.context);
        ASSERT_TRUE(placement && placement->has_value());
        cluster.take(**placement, 1);
    }
    EXPECT_EQ(cluster.nodes()[0].gpus[0].free_memory_mib, 0);
    static_cast<void>(index);
}

TEST(Gpushare, MibWhereNoGpuHasSoManyGib) {
    const std::vector<NodeSpec> nodes{node_with({16384, 40960}), node_with({24576})};
    for (const auto& [units, unit] :
         {std::pair{"40", MemoryUnit::gib}, std::pair{"41", MemoryUnit::mib},
          std::pair{"80", MemoryUnit::mib}, std::pair{"100", MemoryUnit::mib},
          std::pair{"101", MemoryUnit::mib}, std::pair{"1", MemoryUnit::gib}}) {
        EXPECT_EQ(gpushare_unit(pod({{kMemory, units}}), nodes), unit) << units;
    }
}

TEST(Gpushare, VectorIIIUnhealthyListOf1AndXExcludesOnlyDevice1) {
    const UnhealthyGpus list = read_unhealthy_gpus("1,x");
    EXPECT_THAT(list.gpus, ElementsAre(1));
    ASSERT_THAT(list.ignored, SizeIs(1));
    EXPECT_THAT(list.ignored[0], HasSubstr("\"x\" is not accepted"));
    NodeSpec spec = node_with({1, 1, 1});
    EXPECT_THAT(mark_unhealthy(spec, list), IsEmpty());
    EXPECT_EQ(spec.gpus[0].health, Health::ok);
    EXPECT_EQ(spec.gpus[1].health, Health::no_new);
}

TEST(Gpushare, UnhealthyListToleratesSpacesAndEmptyEntries) {
    EXPECT_THAT(read_unhealthy_gpus(" 2 , 0,,2, ").gpus, ElementsAre(0, 2));
    EXPECT_THAT(read_unhealthy_gpus("").gpus, IsEmpty());
    EXPECT_THAT(read_unhealthy_gpus("").ignored, IsEmpty());
    EXPECT_THAT(read_unhealthy_gpus("-1,99999999999999999999,0x1").ignored, SizeIs(3));
    NodeSpec spec = node_with({1});
    EXPECT_THAT(mark_unhealthy(spec, read_unhealthy_gpus("7")), SizeIs(1));
}

TEST(Gpushare, VectorIVADeletedPodKeepsItsShareUntilItsContainersEnd) {
    Pod leaving = bound("0", "3");
    leaving.phase = PodPhase::running;
    leaving.deleting = true;
    leaving.containers[0].state = ContainerState::running;
    EXPECT_FALSE(leaving.ended());
    leaving.phase = PodPhase::failed;  // evicted, but the container is still being stopped
    EXPECT_FALSE(leaving.ended());
    leaving.containers[0].state = ContainerState::ended;
    EXPECT_TRUE(leaving.ended());
}

TEST(Gpushare, FrameworkAllocationMayUseSeveralDevices) {
    World world;
    const auto grants =
        gpushare_grants({{1, 2}, {0, 1}, {1, 3}}, node_with({8192, 8192}), world.context);
    ASSERT_TRUE(grants);
    ASSERT_THAT(*grants, SizeIs(2));
    EXPECT_EQ((*grants)[1].memory, MemoryMib(5 * 1024));
    EXPECT_FALSE(gpushare_grants({{2, 1}}, node_with({1, 1}), world.context));
    EXPECT_FALSE(gpushare_grants({{-1, 1}}, node_with({1, 1}), world.context));
    EXPECT_FALSE(gpushare_grants({{0, -1}}, node_with({1, 1}), world.context));
}

}  // namespace
}  // namespace tessera
