#include "dialect/nvidia.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/test_pods.h"

namespace tessera {
namespace {

using testing::container;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node;
using testing::pod;
using ::testing::SizeIs;
using testing::World;

TEST(Nvidia, PlainGpusAreWhole) {
    World world;
    const auto requests = world.requests(pod({{"nvidia.com/gpu", "2"}}));
    ASSERT_THAT(requests, SizeIs(1));
    EXPECT_EQ(requests[0].gpus, 2);
    EXPECT_TRUE(requests[0].whole());
}

TEST(Nvidia, HamiMemoryReservesNoCompute) {
    World world;
    const auto requests =
        world.requests(pod({{"nvidia.com/gpu", "2"}, {"nvidia.com/gpumem", "3000"}}));
    ASSERT_THAT(requests, SizeIs(1));
    EXPECT_EQ(requests[0].gpus, 2);
    EXPECT_EQ(requests[0].memory, MemoryMib(3000));
    EXPECT_EQ(requests[0].milli, MilliGpu(0));
    EXPECT_EQ(requests[0].limit, kWholeGpu);
}

TEST(Nvidia, HamiCoresAndPercentages) {
    World world;
    const auto half = world.requests(pod({{"nvidia.com/gpu", "1"},
                                          {"nvidia.com/gpucores", "30"},
                                          {"nvidia.com/gpumem-percentage", "50"}}));
    EXPECT_EQ(half[0].milli, MilliGpu(300));
    EXPECT_EQ(half[0].limit, MilliGpu(300));
    EXPECT_EQ(half[0].memory_ppm, 500'000);
    // Memory not said: all of it. Count not said: one device, as HAMi's webhook sets.
    const auto cores = world.requests(pod({{"nvidia.com/gpucores", "30"}}));
    EXPECT_EQ(cores[0].gpus, 1);
    EXPECT_EQ(cores[0].memory_ppm, 1'000'000);
    // 100 % of the compute is the device alone.
    EXPECT_TRUE(
        world.requests(pod({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpucores", "100"}}))[0].whole());
}

TEST(Nvidia, WhatWeWouldNotGiveIsRefused) {
    World world;
    EXPECT_THAT(world.refusal(pod({{"nvidia.com/mig-1g.5gb", "1"}})),
                HasSubstr("resource \"nvidia.com/mig-1g.5gb\" is not accepted"));
    EXPECT_THAT(world.refusal(pod({{"nvidia.com/gpu", "17"}})), HasSubstr("from 0 to 16"));
    EXPECT_THAT(world.refusal(pod({{"nvidia.com/gpu", "1"}, {"nvidia.com/gpucores", "101"}})),
                HasSubstr("from 0 to 100"));
    Pod chosen = pod({{"nvidia.com/gpu", "1"}});
    chosen.annotations["nvidia.com/use-gputype"] = "A100";
    EXPECT_THAT(world.refusal(chosen), HasSubstr("tessera.dev/gpu-model"));
}

TEST(Nvidia, InitContainersAndSideCars) {
    World world;
    Pod job = pod({{"nvidia.com/gpu", "1"}});
    job.init_containers = {container("prepare", {{"nvidia.com/gpu", "2"}}),
                           container("car", {{"nvidia.com/gpu", "1"}})};
    job.init_containers[1].restartable = true;
    int devices = 0;
    for (const GpuRequest& request : world.requests(job)) {
        devices += request.gpus;
    }
    EXPECT_EQ(devices, 2);  // max(2, 1 + 1)
}

TEST(Nvidia, NodeByCountAndFeatureLabels) {
    World world;
    Node plain = node({{"nvidia.com/gpu", "4"}});
    EXPECT_THAT(node_spec(plain, world.context)->gpus, SizeIs(4));
    plain.labels = {{"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB"},
                    {"nvidia.com/gpu.memory", "81920"},
                    {"nvidia.com/gpu.count", "2"}};  // each card advertised twice
    const auto spec = node_spec(plain, world.context);
    ASSERT_TRUE(spec);
    ASSERT_THAT(spec->gpus, SizeIs(2));
    EXPECT_EQ(spec->gpus[0].memory, MemoryMib(81920));
    EXPECT_EQ(world.names.models.name(spec->gpus[0].model), "NVIDIA-A100-SXM4-80GB");
    plain.labels["nvidia.com/gpu.memory"] = "lots";
    EXPECT_FALSE(node_spec(plain, world.context));
    EXPECT_THAT(node_spec(node({}), world.context)->gpus, IsEmpty());
}

}  // namespace
}  // namespace tessera
