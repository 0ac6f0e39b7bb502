#include "role/mirror/pod_pack.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(PodPack, KeepsWhatTellsAShare) {
    Pod pod;
    pod.space = "team";
    pod.name = "p-0";
    pod.uid = std::string(200, 'u');
    pod.node_name = "gpu-a";
    pod.labels = {{"sharedgpu/gpu_request", "0.5"}, {"empty", ""}};
    pod.annotations = {{"kubectl.kubernetes.io/last-applied-configuration", "{}"},
                       {"tessera.dev/placement", std::string(20'000, 'x')}};
    pod.containers.resize(2);
    pod.containers[0].name = "main";
    pod.containers[0].limits["aliyun.com/gpu-mem"] = Quantity::of(8);
    pod.containers[1].state = ContainerState::running;
    pod.init_containers.resize(1);
    pod.init_containers[0].restartable = true;
    pod.overhead["cpu"] = Quantity::from_nano(1);
    pod.requests["memory"] = Quantity::of(-1);
    pod.resource_claims = {"claim"};
    pod.priority = -5;
    pod.phase = PodPhase::running;
    pod.deleting = true;

    const std::string packed = pack_bound(pod);
    const Pod again = unpack_bound(packed);
    EXPECT_EQ(again.owner(), pod.owner());
    EXPECT_EQ(again.node_name, "gpu-a");
    EXPECT_EQ(again.labels, pod.labels);
    EXPECT_EQ(again.annotations.size(), 1U);
    EXPECT_EQ(again.annotations.at("tessera.dev/placement"), std::string(20'000, 'x'));
    ASSERT_EQ(again.containers.size(), 2U);
    EXPECT_EQ(again.containers[0].name, "main");
    EXPECT_EQ(again.containers[0].limits, pod.containers[0].limits);
    EXPECT_EQ(again.containers[1].state, ContainerState::running);
    EXPECT_TRUE(again.init_containers.at(0).restartable);
    EXPECT_EQ(again.overhead, pod.overhead);
    EXPECT_EQ(again.requests, pod.requests);
    EXPECT_EQ(again.resource_claims, pod.resource_claims);
    EXPECT_EQ(again.priority, -5);
    EXPECT_EQ(again.phase, PodPhase::running);
    EXPECT_TRUE(again.deleting);
    EXPECT_EQ(pack_bound(again), packed);
}

TEST(PodPackDeathTest, AHalfIsAFault) {
    const std::string packed = pack_bound(Pod());
    EXPECT_DEATH(unpack_bound(packed.substr(1)), "packed pod");
}

}  // namespace
}  // namespace tessera
