#include "role/intake/intake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/kube_json.h"
#include "codec/kube_yaml.h"
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

TEST(TakeNode, TheAnnotationReplacesTheDialectsRule) {
    World world;
    Node mixed = node({{"cpu", "8"}, {"aliyun.com/gpu-mem", "32"}, {"aliyun.com/gpu-count", "2"}});
    EXPECT_EQ(take_node(mixed, world.context)->gpus[1].memory, MemoryMib(16384));
    mixed.annotations["tessera.dev/gpus"] =
        R"({"version":1,"gpus":[{"memoryMib":16384,"uuid":"GPU-a"},{"memoryMib":81920}],)"
        R"("links":[{"a":0,"b":1,"level":"numa"}]})";
    mixed.capacity["aliyun.com/gpu-count"] = Quantity::of(99);  // no longer looked at
    const auto spec = take_node(mixed, world.context);
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->gpus[1].memory, MemoryMib(81920));
    EXPECT_EQ(spec->cpu, MilliCpu(8000));
    EXPECT_EQ(spec->links.at(0, 1).level, LinkLevel::numa);
    mixed.annotations["tessera.dev/gpus"] = "{}";
    EXPECT_THAT(take_node(mixed, world.context).error().message,
                HasSubstr("node gpu-a: tessera.dev/gpus: "));
}

// Places each request on the first devices, writes it down, and reads the pod as bound.
Expected<Held> round_trip(World& world, Pod& pod, const NodeSpec& node, Placement& placement) {
    TESSERA_TRY(const PodDemand asked, world.ask(pod));
    placement = Placement();
    placement.node = world.names.nodes.intern(node.name);
    placement.cpu = asked.demand.cpu;
    placement.memory = asked.demand.memory;
    for (const GpuRequest& request : asked.demand.alternatives.front().requests) {
        for (std::uint8_t gpu = 0; gpu < request.gpus; ++gpu) {
            placement.grants.push_back(
                {request.name, GpuIndex(gpu), request.milli, request.memory, {}});
        }
    }
    PortBook ports;
    TESSERA_TRY(
        const PlacementMarks marks,
        placement_writes({pod, asked, placement, node, Nanoseconds(1)}, world.context, ports));
    pod.annotations.insert(marks.annotations.begin(), marks.annotations.end());
    pod.node_name = node.name;
    return read_held(pod, node, world.context);
}

TEST(Records, EveryDialectsPlacementReadsBackAsOurs) {
    const NodeSpec node = node_with({81920, 81920});
    for (const char* resource :
         {"aliyun.com/gpu-mem", "elasticgpu.io/gpu-core", "nano-gpu/gpu-percent", "keti.com/mpsgpu",
          "nvidia.com/gpu", "nvidia.com/gpumem", "tessera.dev/gpu"}) {
        World world;
        Pod asking = pod({{resource, "2"}, {"cpu", "500m"}, {"memory", "1Gi"}});
        Placement placement;
        const auto held = round_trip(world, asking, node, placement);
        ASSERT_TRUE(held) << resource << ": " << held.error().message;
        EXPECT_TRUE(held->ours) << resource;
        EXPECT_EQ(held->placement, placement) << resource;
        EXPECT_THAT(asking.annotations.at("tessera.dev/placement"),
                    HasSubstr(R"("containers":{"main":[)"));
    }
}

// Whatever the fault behind it: a sentence, and nothing written.
TEST(Records, APlacementWithoutNamesOrDevicesIsRefused) {
    for (const char* resource : {"tessera.dev/gpu", "elasticgpu.io/gpu-core", "keti.com/mpsgpu"}) {
        World world;
        const Pod asking = pod({{resource, "1"}});
        const NodeSpec node = node_with({1000});
        const PodDemand asked = *world.ask(asking);
        Placement placement;
        placement.grants.push_back(
            {world.name("main"), GpuIndex(0), kWholeGpu, MemoryMib(1000), {}});
        PortBook ports;
        const auto written = [&](const PodDemand& of) {
            return placement_writes({asking, of, placement, node, Nanoseconds(1)}, world.context,
                                    ports);
        };
        ASSERT_TRUE(written(asked)) << resource;
        PodDemand nameless = asked;
        nameless.uses[0].container = RequestIndex::none();
        EXPECT_EQ(written(nameless).error().message,
                  "pod default/train: a container that uses GPUs has no name");
        placement.grants[0].request = RequestIndex::none();
        EXPECT_EQ(
            written(asked).error().message,
            "pod default/train: GPU 0 of node gpu-a is granted to a container without a name");
        placement.grants[0] = {world.name("main"), GpuIndex(1), kWholeGpu, MemoryMib(1000), {}};
        EXPECT_EQ(written(asked).error().message,
                  "pod default/train: GPU 1 is granted, but node gpu-a has 1");
    }
}

TEST(Records, ACopyOnAnotherPodIsAForeigner) {
    World world;
    Pod asking = pod({{"tessera.dev/gpu", "1"}});
    Placement placement;
    ASSERT_TRUE(round_trip(world, asking, node_with({1000}), placement));
    asking.uid = "another";
    const auto held = read_held(asking, node_with({1000}), world.context);
    ASSERT_TRUE(held);
    EXPECT_FALSE(held->ours);
    EXPECT_TRUE(held->devices_unknown);
    EXPECT_THAT(held->placement.grants, IsEmpty());
}

TEST(Records, DevicesAreFoundByUuidWhenTheirOrderChanged) {
    World world;
    NodeSpec node = node_with({1000, 1000});
    Pod asking = pod({{"tessera.dev/gpu", "1"}});
    Placement placement;
    ASSERT_TRUE(round_trip(world, asking, node, placement));
    std::swap(node.gpus[0], node.gpus[1]);
    EXPECT_EQ(read_held(asking, node, world.context)->placement.grants[0].gpu, GpuIndex(1));
    node.gpus.pop_back();
    EXPECT_THAT(read_held(asking, node, world.context).error().message,
                HasSubstr("pod default/train: tessera.dev/placement: \"GPU-0\" is not a GPU of"));
}

TEST(Records, WhatOthersPlacedCountsAsForeign) {
    World world;
    Pod theirs = pod({{"aliyun.com/gpu-mem", "3"}, {"cpu", "1"}});
    theirs.annotations = {{"ALIYUN_COM_GPU_MEM_IDX", "1"}, {"ALIYUN_COM_GPU_MEM_POD", "3"}};
    auto held = read_held(theirs, node_with({8192, 8192}), world.context);
    ASSERT_TRUE(held);
    EXPECT_FALSE(held->ours);
    EXPECT_FALSE(held->devices_unknown);
    ASSERT_THAT(held->placement.grants, SizeIs(1));
    EXPECT_EQ(held->placement.cpu, MilliCpu(1000));

    // The later framework's record takes precedence, and may name several devices.
    theirs.annotations["scheduler.framework.gpushare.allocation"] = R"({"0":{"0":1,"1":2}})";
    held = read_held(theirs, node_with({8192, 8192}), world.context);
    ASSERT_TRUE(held);
    ASSERT_THAT(held->placement.grants, SizeIs(2));
    EXPECT_EQ(held->placement.grants[1].memory, MemoryMib(2048));
}

// An annotation that says less than the limits do gives nobody the rest.
TEST(Records, AForeignRecordCountsNoLessThanThePodAsksFor) {
    for (const char* key : {"", "secret"}) {
        World world;
        const NodeSpec node = node_with({8192, 8192});
        Pod theirs = pod({{"aliyun.com/gpu-mem", "8"}});
        theirs.annotations = {{"ALIYUN_COM_GPU_MEM_IDX", "1"}, {"ALIYUN_COM_GPU_MEM_POD", "1"}};
        auto held = read_held(theirs, node, world.context, key);
        ASSERT_TRUE(held) << held.error().message;
        EXPECT_FALSE(held->devices_unknown);
        ASSERT_THAT(held->placement.grants, SizeIs(1));
        EXPECT_EQ(held->placement.grants[0].gpu, GpuIndex(1));
        EXPECT_EQ(held->placement.grants[0].memory, MemoryMib(8192));
        // Two pieces that are too little together: each counts in full.
        theirs.annotations["scheduler.framework.gpushare.allocation"] = R"({"0":{"0":1,"1":2}})";
        held = read_held(theirs, node, world.context, key);
        ASSERT_TRUE(held) << held.error().message;
        ASSERT_THAT(held->placement.grants, SizeIs(2));
        EXPECT_EQ(held->placement.grants[0].memory, MemoryMib(8192));
    }
}

TEST(Records, AForgedRecordUnderAnotherNameCountsInFull) {
    World world;
    const NodeSpec node = node_with({1000, 1000});
    Pod asking = pod({{"tessera.dev/gpu", "1"}});
    Placement placement;
    ASSERT_TRUE(round_trip(world, asking, node, placement));
    std::string& record = asking.annotations.at("tessera.dev/placement");
    for (const auto& [was, forged] : {std::pair(R"("request":"main")", R"("request":"else")"),
                                      std::pair(R"("main":["main"])", R"("main":["else"])"),
                                      std::pair(R"("milli":1000)", R"("milli":1)")}) {
        ASSERT_NE(record.find(was), std::string::npos) << record;
        record.replace(record.find(was), std::string_view(was).size(), forged);
    }
    const auto held = read_held(asking, node, world.context, "secret");
    ASSERT_TRUE(held) << held.error().message;
    EXPECT_FALSE(held->ours);
    EXPECT_FALSE(held->devices_unknown);
    ASSERT_THAT(held->placement.grants, SizeIs(1));
    EXPECT_EQ(held->placement.grants[0].milli, kWholeGpu);
}

TEST(Records, PodsWithoutGpuHoldTheirHostPart) {
    World world;
    const auto held = read_held(pod({{"cpu", "2"}}), node_with({}), world.context);
    ASSERT_TRUE(held);
    EXPECT_FALSE(held->devices_unknown);
    EXPECT_EQ(held->placement.cpu, MilliCpu(2000));
}

TEST(Manifests, FromYamlToDemand) {
    World world;
    const auto all = read_kube_yaml(R"(
apiVersion: batch/v1
kind: Job
metadata: {name: nbody, namespace: userpod}
spec:
  template:
    metadata:
      annotations: {GPUlimits: 2Gi, priority: Immediatly}
    spec:
      hostIPC: true
      schedulerName: gpu-scheduler
      containers:
        - name: nbody1
          resources:
            limits: {keti.com/mpsgpu: 1, cpu: 250m, memory: 6400Mi}
)");
    ASSERT_TRUE(all) << all.error().message;
    const auto asked = world.ask(all->pods.at(0).pod);
    ASSERT_TRUE(asked) << asked.error().message;
    EXPECT_EQ(asked->demand.priority, 1500);
    EXPECT_EQ(asked->demand.memory, MemoryMib(6400));
    EXPECT_EQ(asked->demand.alternatives.front().requests.front().memory, MemoryMib(2048));
}

}  // namespace
}  // namespace tessera
