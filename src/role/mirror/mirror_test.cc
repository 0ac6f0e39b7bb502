#include "role/mirror/mirror.h"

#include <gtest/gtest.h>

#include "codec/kube_json.h"

namespace tessera {
namespace {

constexpr Nanoseconds kNow{1'000'000'000};

Node gpu_node(const std::string& name) {
    return read_node_json(fmt::format(
                              R"({{"metadata":{{"name":"{}"}},"status":{{
            "addresses":[{{"type":"InternalIP","address":"10.0.0.1"}}],
            "allocatable":{{"cpu":"32","memory":"128Gi","pods":"110",
                            "aliyun.com/gpu-mem":"32","aliyun.com/gpu-count":"2"}},
            "conditions":[{{"type":"Ready","status":"True"}}]}}}})",
                              name))
        .value();
}

Pod gpu_pod(const std::string& name, int units, const std::string& node = "") {
    Pod pod = read_pod_json(fmt::format(
                                R"({{"metadata":{{"name":"{0}","uid":"uid-{0}"}},
            "spec":{{"containers":[{{"name":"main","resources":{{
                "limits":{{"aliyun.com/gpu-mem":"{1}"}}}}}}]}}}})",
                                name, units))
                  .value();
    pod.node_name = node;
    return pod;
}

class MirrorTest : public ::testing::Test {
  protected:
    void start(std::vector<Pod> pods = {}) {
        mirror_.replace_nodes({gpu_node("a"), gpu_node("b")});
        mirror_.replace_pods(std::move(pods));
        EXPECT_FALSE(mirror_.synced());
        mirror_.replace_config_maps({});
        EXPECT_TRUE(mirror_.synced());
    }
    std::vector<NodeIndex> both() const { return {mirror_.find_node("a"), mirror_.find_node("b")}; }
    Fit filter(const Pod& pod) { return mirror_.filter(pod, both(), {"", kNow}).value(); }
    PodKey key(const Pod& pod) const { return {pod.space, pod.name, pod.uid}; }
    std::int64_t used(std::string_view node) {
        std::int64_t sum = 0;
        for (const auto& shares : mirror_.report(mirror_.find_node(node)).gpus) {
            for (const ShareOnGpu& share : shares) {
                sum += share.grant.memory.value();
            }
        }
        return sum;
    }

    Mirror mirror_{{}};
};

TEST_F(MirrorTest, HoldsTheBestShareAndBindsIt) {
    start();
    const Pod pod = gpu_pod("p", 8);
    const Fit fit = filter(pod);
    EXPECT_EQ(fit.fitting, 2U);
    ASSERT_LT(fit.best, 2U);
    const std::string node(mirror_.node_name(both()[fit.best]));
    EXPECT_EQ(used(node), 8 * 1024);
    const auto plan = mirror_.prepare_bind(key(pod), node, kNow);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->annotations.at("ALIYUN_COM_GPU_MEM_POD"), "8");
    EXPECT_TRUE(plan->annotations.contains("tessera.dev/placement"));
    mirror_.bind_ended(key(pod), BindResult::bound, kNow);
    EXPECT_EQ(mirror_.expire(Nanoseconds(kNow.value() * 1000)), 0U);
    EXPECT_EQ(used(node), 8 * 1024);
    // Said again, it is done already; elsewhere it is refused.
    EXPECT_TRUE(mirror_.prepare_bind(key(pod), node, kNow)->bound_already);
    EXPECT_FALSE(mirror_.prepare_bind(key(pod), node == "a" ? "b" : "a", kNow));
}

TEST_F(MirrorTest, AHoldEndsByItselfAndAnotherNodeTakesItOver) {
    start();
    const Pod pod = gpu_pod("p", 8);
    const Fit fit = filter(pod);
    const std::string other = fit.best == 0 ? "b" : "a";
    ASSERT_TRUE(mirror_.prepare_bind(key(pod), other, kNow));
    EXPECT_EQ(used(other), 8 * 1024);
    EXPECT_EQ(mirror_.pod_count(), 1U);
    mirror_.bind_ended(key(pod), BindResult::unknown, kNow);
    EXPECT_EQ(mirror_.expire(Nanoseconds(kNow.value() + 19'000'000'000)), 0U);
    EXPECT_EQ(mirror_.expire(Nanoseconds(kNow.value() + 21'000'000'000)), 1U);
    EXPECT_EQ(mirror_.pod_count(), 0U);
}

TEST_F(MirrorTest, PodsOfTheExtenderBeforeUsCountFromTheStart) {
    Pod old = gpu_pod("old", 16, "a");
    old.annotations["ALIYUN_COM_GPU_MEM_IDX"] = "1";
    old.annotations["ALIYUN_COM_GPU_MEM_POD"] = "16";
    old.annotations["ALIYUN_COM_GPU_MEM_DEV"] = "16";
    old.annotations["ALIYUN_COM_GPU_MEM_ASSIGNED"] = "true";
    old.annotations["ALIYUN_COM_GPU_MEM_ASSUME_TIME"] = "1";
    start({old});
    const NodeReport report = mirror_.report(mirror_.find_node("a"));
    ASSERT_EQ(report.gpus[1].size(), 1U);
    EXPECT_EQ(report.gpus[1][0].state, "foreign");
    EXPECT_EQ(report.address, "10.0.0.1");
    // Three devices are left for whole ones.
    for (int i = 0; i < 3; ++i) {
        EXPECT_LT(filter(gpu_pod(fmt::format("p{}", i), 16)).best, 2U);
    }
    EXPECT_EQ(filter(gpu_pod("p3", 16)).fitting, 0U);
    mirror_.pod_gone(old);
    EXPECT_EQ(filter(gpu_pod("p3", 16)).fitting, 1U);
}

TEST_F(MirrorTest, ATerminatingPodKeepsItsShareUntilItsContainersHaveEnded) {
    start();
    Pod pod = gpu_pod("p", 16);
    const Fit fit = filter(pod);
    const std::string node(mirror_.node_name(both()[fit.best]));
    auto plan = mirror_.prepare_bind(key(pod), node, kNow);
    ASSERT_TRUE(plan);
    pod.annotations = plan->annotations;
    pod.node_name = node;
    pod.deleting = true;
    mirror_.pod_changed(pod);
    EXPECT_EQ(used(node), 16 * 1024);
    pod.phase = PodPhase::succeeded;
    mirror_.pod_changed(pod);
    EXPECT_EQ(used(node), 0);
}

TEST_F(MirrorTest, UnhealthyGpusTakeNothingNewUntilTheConfigMapGoes) {
    start();
    mirror_.config_map_changed({"kube-system", "unhealthy-gpu-a", {{"gpus", " 0, 1 ,x"}}});
    EXPECT_EQ(mirror_.take_notes().size(), 1U);
    EXPECT_EQ(filter(gpu_pod("p", 8)).fitting, 1U);
    mirror_.config_map_gone("kube-system", "unhealthy-gpu-a");
    EXPECT_EQ(filter(gpu_pod("p", 8)).fitting, 2U);
}

TEST_F(MirrorTest, APodThatWasMadeAnewIsAnotherOne) {
    start({gpu_pod("p", 8)});
    const auto refused = mirror_.prepare_bind({"default", "p", "older"}, "a", kNow);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "pod default/p was deleted and made anew: its uid is uid-p, not older");
}

TEST_F(MirrorTest, APodBoundToANodeThatComesLaterIsCountedThen) {
    Pod early = gpu_pod("early", 8, "c");
    early.annotations["ALIYUN_COM_GPU_MEM_IDX"] = "0";
    early.annotations["ALIYUN_COM_GPU_MEM_POD"] = "8";
    start({early});
    EXPECT_EQ(mirror_.pod_count(), 0U);
    mirror_.node_changed(gpu_node("c"));
    EXPECT_EQ(used("c"), 8 * 1024);
}

TEST_F(MirrorTest, VictimsAreThoseThatFreeEnoughOfOneGpu) {
    start();
    std::vector<std::string> small;
    for (int i = 0; i < 8; ++i) {  // 8 units each: both GPUs of both nodes are full
        const Pod pod = gpu_pod(fmt::format("s{}", i), 8);
        const Fit fit = filter(pod);
        ASSERT_LT(fit.best, 2U);
    }
    Pod large = gpu_pod("large", 16);
    large.priority = 100;
    const NodeIndex a = mirror_.find_node("a");
    const NodeReport report = mirror_.report(a);
    // One of each GPU would do by the sum, and frees neither.
    const std::vector<std::string> chosen{report.gpus[0][0].uid, report.gpus[1][0].uid};
    const auto victims = mirror_.victims_needed(large, a, chosen, {"", kNow});
    ASSERT_TRUE(victims);
    EXPECT_EQ(victims->size(), 3U);
    large.priority = 0;
    EXPECT_FALSE(mirror_.victims_needed(large, a, chosen, {"", kNow}));
}

}  // namespace
}  // namespace tessera
