#include "role/mirror/mirror.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/kube_json.h"
#include "policy/registry.h"

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
    // Filtered, and bound where it is best. The pod as the API shows it then.
    Pod bind(Pod pod, WriteEnd result = WriteEnd::done) {
        const Fit fit = filter(pod);
        EXPECT_LT(fit.best, 2U);
        pod.node_name = mirror_.node_name(both().at(fit.best));
        auto plan = mirror_.prepare_bind(key(pod), pod.node_name, kNow);
        EXPECT_TRUE(plan);
        mirror_.bind_ended(key(pod), {result}, kNow);
        pod.annotations = plan->annotations;
        return pod;
    }
    std::string other(const Pod& pod) const { return pod.node_name == "a" ? "b" : "a"; }
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
    mirror_.bind_ended(key(pod), {WriteEnd::done}, kNow);
    EXPECT_EQ(mirror_.expire(Nanoseconds(kNow.value() * 1000), Nanoseconds(kNow.value() * 1000)),
              0U);
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
    EXPECT_EQ(mirror_.expire(Nanoseconds(kNow.value() + 19'000'000'000),
                             Nanoseconds(kNow.value() + 19'000'000'000)),
              0U);
    ASSERT_TRUE(mirror_.prepare_bind(key(pod), other, kNow));
    EXPECT_EQ(used(other), 8 * 1024);
    EXPECT_EQ(mirror_.pod_count(), 1U);
    mirror_.bind_ended(key(pod), {WriteEnd::refused}, kNow);
    filter(pod);
    EXPECT_EQ(mirror_.expire(Nanoseconds(kNow.value() + 21'000'000'000),
                             Nanoseconds(kNow.value() + 21'000'000'000)),
              1U);
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
    for (int i = 0; i < 8; ++i) {  // 8 units each: both GPUs of both nodes are full
        const Pod pod = gpu_pod(fmt::format("s{}", i), 8);
        bind(pod);
    }
    Pod large = gpu_pod("large", 16);
    large.priority = 100;
    const NodeIndex a = mirror_.find_node("a");
    const NodeReport report = mirror_.report(a);
    // One of each GPU would do by the sum, and frees neither.
    const std::vector<std::string> chosen{report.gpus[0][0].uid, report.gpus[1][0].uid};
    const Ask ask = mirror_.ask(large, {"", kNow}).value();
    const VictimsFound victims = mirror_.victims_needed(large, ask, {a, chosen});
    EXPECT_TRUE(victims.room);
    EXPECT_EQ(victims.uids.size(), 3U);
    large.priority = 0;
    EXPECT_FALSE(mirror_.victims_needed(large, ask, {a, chosen}).room);
    EXPECT_FALSE(mirror_.victims_needed(large, ask, {NodeIndex(), chosen}).room);
}

// kube-scheduler tries again after a bind that nobody answered. The first may have come through.
TEST_F(MirrorTest, AShareInDoubtIsNotGivenAwayForASecondOne) {
    start();
    const Pod pod = gpu_pod("p", 8);
    const Pod bound = bind(pod, WriteEnd::unknown);
    const Fit again = filter(pod);
    EXPECT_EQ(again.fitting, 1U);
    EXPECT_EQ(mirror_.node_name(both()[again.best]), bound.node_name);
    EXPECT_FALSE(mirror_.prepare_bind(key(pod), other(bound), kNow));
    EXPECT_EQ(used(bound.node_name), 8 * 1024);
    const auto repeated = mirror_.prepare_bind(key(pod), bound.node_name, kNow);
    ASSERT_TRUE(repeated);
    EXPECT_EQ(repeated->annotations.at("ALIYUN_COM_GPU_MEM_IDX"),
              bound.annotations.at("ALIYUN_COM_GPU_MEM_IDX"));
    mirror_.bind_ended(key(pod), {WriteEnd::unknown}, kNow);
    EXPECT_EQ(mirror_.in_doubt_count(), 1U);
    EXPECT_EQ(mirror_.expire(Nanoseconds(kNow.value() + 59'000'000'000),
                             Nanoseconds(kNow.value() + 59'000'000'000)),
              0U);
    EXPECT_EQ(mirror_.expire(Nanoseconds(kNow.value() + 61'000'000'000),
                             Nanoseconds(kNow.value() + 61'000'000'000)),
              1U);
    EXPECT_EQ(mirror_.in_doubt_count(), 0U);
    EXPECT_EQ(filter(pod).fitting, 2U);
}

TEST_F(MirrorTest, AShareInDoubtStaysWhileNobodyTellsOfPods) {
    start();
    const Pod bound = bind(gpu_pod("p", 8), WriteEnd::unknown);
    const auto after = [](std::int64_t seconds) {
        return Nanoseconds(kNow.value() + seconds * 1'000'000'000);
    };
    EXPECT_EQ(mirror_.expire(after(3600), after(59)), 0U);
    EXPECT_EQ(used(bound.node_name), 8 * 1024);
    EXPECT_EQ(mirror_.expire(after(3601), after(61)), 1U);
    EXPECT_EQ(used(bound.node_name), 0);
}

TEST_F(MirrorTest, APlanSaysThatAnEarlierBindMayStillBeMade) {
    start();
    const Pod pod = gpu_pod("p", 8);
    const NodeIndex best = both().at(filter(pod).best);
    EXPECT_FALSE(mirror_.prepare_bind(key(pod), mirror_.node_name(best), kNow)->in_doubt);
    mirror_.bind_ended(key(pod), {WriteEnd::unknown}, kNow);
    EXPECT_TRUE(mirror_.prepare_bind(key(pod), mirror_.node_name(best), kNow)->in_doubt);
    mirror_.bind_ended(key(pod), {WriteEnd::refused}, kNow);
    filter(pod);
    EXPECT_FALSE(mirror_.prepare_bind(key(pod), mirror_.node_name(best), kNow)->in_doubt);
}

TEST_F(MirrorTest, APlanThatFailsDoesNotEndADoubt) {
    start();
    Pod pod = gpu_pod("p", 8);
    const Pod bound = bind(pod, WriteEnd::unknown);
    pod.containers[0].limits["elasticgpu.io/gpu-core"] = Quantity::of(50);
    mirror_.pod_changed(pod);  // nobody can tell any more what it asks for
    const auto plan = mirror_.prepare_bind(key(pod), bound.node_name, kNow);
    ASSERT_FALSE(plan);
    EXPECT_EQ(used(bound.node_name), 8 * 1024) << plan.error().message;
    EXPECT_EQ(mirror_.in_doubt_count(), 1U);
}

TEST_F(MirrorTest, WhatIsWrittenOnAPodThatRunsMovesNothing) {
    start();
    Pod bound = bind(gpu_pod("p", 8), WriteEnd::done);
    mirror_.pod_changed(bound);
    bound.annotations.erase("tessera.dev/placement");
    bound.annotations["ALIYUN_COM_GPU_MEM_POD"] = "1";
    mirror_.pod_changed(bound);
    EXPECT_EQ(used(bound.node_name), 8 * 1024);
    const std::vector<std::string> notes = mirror_.take_notes();
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_NE(notes[0].find("was changed after it was bound"), std::string::npos) << notes[0];
    mirror_.pod_gone(bound);
    EXPECT_EQ(used(bound.node_name), 0);
}

TEST_F(MirrorTest, AHeldShareThatOthersTookIsChosenAnewOrRefused) {
    start();
    const Pod pod = gpu_pod("p", 16);
    const Fit fit = filter(pod);
    const std::string node(mirror_.node_name(both()[fit.best]));
    const auto taken_by = [&](const std::string& name, const std::string& gpu) {
        Pod foreign = gpu_pod(name, 16, node);
        foreign.annotations["ALIYUN_COM_GPU_MEM_IDX"] = gpu;
        foreign.annotations["ALIYUN_COM_GPU_MEM_POD"] = "16";
        mirror_.pod_changed(foreign);
    };
    taken_by("thief0", "0");
    const auto plan = mirror_.prepare_bind(key(pod), node, kNow);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->annotations.at("ALIYUN_COM_GPU_MEM_IDX"), "1");
    mirror_.bind_ended(key(pod), {WriteEnd::refused}, kNow);
    EXPECT_EQ(mirror_.held_count(), 0U);
    ASSERT_EQ(filter(pod).fitting, 2U);
    taken_by("thief1", "1");
    EXPECT_FALSE(mirror_.prepare_bind(key(pod), node, kNow));
    EXPECT_EQ(mirror_.held_count(), 0U);
}

TEST_F(MirrorTest, APodThatABindFoundElsewhereCountsThereAtOnce) {
    start();
    Pod pod = gpu_pod("p", 8);
    const Fit fit = filter(pod);
    const std::string node(mirror_.node_name(both()[fit.best]));
    ASSERT_TRUE(mirror_.prepare_bind(key(pod), node, kNow));
    pod.node_name = node == "a" ? "b" : "a";
    pod.annotations["ALIYUN_COM_GPU_MEM_IDX"] = "1";
    pod.annotations["ALIYUN_COM_GPU_MEM_POD"] = "8";
    const WriteOutcome elsewhere{WriteEnd::refused, "bound", std::make_shared<const Pod>(pod)};
    mirror_.bind_ended(key(pod), elsewhere, kNow);
    EXPECT_EQ(used(node), 0);
    EXPECT_EQ(used(pod.node_name), 8 * 1024);
    EXPECT_EQ(mirror_.held_count(), 0U);
    // What the watch told meanwhile is newer than what the bind saw.
    mirror_.pod_gone(pod);
    mirror_.bind_ended(key(pod), elsewhere, kNow);
    EXPECT_EQ(mirror_.pod_count(), 0U);
}

TEST_F(MirrorTest, HoldsEndWithTheTermAndDoubtsDoNot) {
    start();
    bind(gpu_pod("doubtful", 8), WriteEnd::unknown);
    const Pod bound = bind(gpu_pod("bound", 8));
    mirror_.replace_pods({});  // older than both
    filter(gpu_pod("held", 8));
    EXPECT_EQ(mirror_.held_count(), 2U);
    EXPECT_EQ(mirror_.drop_holds(), 1U);
    EXPECT_EQ(mirror_.in_doubt_count(), 1U);
    EXPECT_EQ(used("a") + used("b"), 16 * 1024);
}

TEST_F(MirrorTest, APodWithAnAbsurdRecordCountsByWhatItAsksFor) {
    Pod forged = gpu_pod("forged", 8, "a");
    forged.annotations["ALIYUN_COM_GPU_MEM_IDX"] = "0";
    forged.annotations["ALIYUN_COM_GPU_MEM_POD"] = "9007199254740991";
    start({forged});
    EXPECT_EQ(used("a"), 8 * 1024);
    mirror_.pod_changed(forged);
    EXPECT_EQ(used("a"), 8 * 1024);
    EXPECT_EQ(mirror_.pod_count(), 1U);
    mirror_.pod_gone(forged);
    EXPECT_EQ(used("a"), 0);
    EXPECT_TRUE(mirror_.ledger().verify().empty());
}

TEST(Mirror, APolicyThatWasMadeAnewDecidesFromThenOn) {
    std::string_view in_force = "binpack";
    MirrorOptions options;
    options.policies = {{"gpushare", "file.yaml"}};
    options.make_policy = [&](std::string_view name) {
        return make_policy(name == "file.yaml" ? in_force : name, {});
    };
    Mirror mirror(std::move(options));
    mirror.replace_nodes({gpu_node("a"), gpu_node("b")});
    mirror.replace_pods({gpu_pod("there", 4, "b")});
    mirror.replace_config_maps({});
    const std::vector<NodeIndex> both{mirror.find_node("a"), mirror.find_node("b")};
    mirror.policy_changed("file.yaml");  // nobody has needed it yet
    EXPECT_EQ(mirror.filter(gpu_pod("p", 4), both, {"", kNow})->best, 1U);
    in_force = "spread";
    EXPECT_EQ(mirror.filter(gpu_pod("p", 4), both, {"", kNow})->best, 1U);
    mirror.policy_changed("file.yaml");
    EXPECT_EQ(mirror.filter(gpu_pod("p", 4), both, {"", kNow})->best, 0U);
}

// By the policy that keeps groups together, in each of the doors.
TEST_F(MirrorTest, MembersOfAGroupAreKeptTogether) {
    Pod first = gpu_pod("first", 4);
    Pod second = gpu_pod("second", 4);
    for (Pod* pod : {&first, &second}) {
        pod->annotations = {{"tessera.dev/group", "ring"}, {"tessera.dev/group-size", "2"}};
    }
    const Asked asked{"kubeshare", kNow};
    const Pod alone = gpu_pod("alone", 4);
    start();
    const std::vector<NodeIndex> only_b{mirror_.find_node("b")};
    ASSERT_EQ(mirror_.filter(first, only_b, asked)->best, 0U);
    constexpr std::size_t there = 1;
    EXPECT_EQ(mirror_.rank(alone, both(), asked)->best, 0U) << "of equal ones the first";
    EXPECT_EQ(mirror_.rank(second, both(), asked)->best, there);
    EXPECT_EQ(mirror_.filter(second, both(), asked)->best, there);
    // Its own share does not draw it, and it is still there.
    EXPECT_EQ(mirror_.rank(second, both(), asked)->best, there);
    // Also one that the API tells of.
    const std::string node(mirror_.node_name(both()[there]));
    first.node_name = node;
    const auto plan = mirror_.prepare_bind(key(first), node, kNow);
    first.annotations.insert(plan->annotations.begin(), plan->annotations.end());
    mirror_.replace_pods({});
    mirror_.pod_gone(first);
    mirror_.pod_gone(second);
    EXPECT_EQ(mirror_.pod_count(), 0U);
    mirror_.pod_changed(first);
    EXPECT_EQ(mirror_.rank(alone, both(), asked)->best, 0U);
    EXPECT_EQ(mirror_.filter(second, both(), asked)->best, there);
}

// Bound by others, whole, and nothing tells the device.
Pod whole_pod(const std::string& name, const std::string& node) {
    Pod pod = read_pod_json(fmt::format(
                                R"({{"metadata":{{"name":"{0}","uid":"uid-{0}"}},
            "spec":{{"containers":[{{"name":"main","resources":{{
                "limits":{{"nvidia.com/gpu":"1"}}}}}}]}}}})",
                                name))
                  .value();
    pod.node_name = node;
    return pod;
}

TEST_F(MirrorTest, AGuessThatWasOneTooManyIsMadeAgainWhenADeviceIsFree) {
    start();
    const std::vector<NodeIndex> only_a{mirror_.find_node("a")};
    mirror_.pod_changed(whole_pod("first", "a"));
    ASSERT_EQ(mirror_.filter(gpu_pod("held", 8), only_a, {"", kNow})->fitting, 1U);
    mirror_.pod_changed(whole_pod("second", "a"));
    // The hold ends: the second pod is on the device that it had.
    mirror_.expire(Nanoseconds(kNow.value() * 1000), Nanoseconds(kNow.value() * 1000));
    for (const auto& shares : mirror_.report(only_a.front()).gpus) {
        EXPECT_EQ(shares.size(), 1U);
    }
    EXPECT_EQ(mirror_.filter(gpu_pod("late", 1), only_a, {"", kNow})->fitting, 0U);
}

TEST_F(MirrorTest, WhatIsOddOfNodesIsTold) {
    start();
    mirror_.take_notes();
    mirror_.config_map_changed({"kube-system", "unhealthy-gpu-a", {{"gpu", "0"}}});
    Node large = gpu_node("large");
    large.allocatable["aliyun.com/gpu-mem"] = Quantity::parse("32320").value();
    mirror_.node_changed(large);
    const std::vector<std::string> notes = mirror_.take_notes();
    ASSERT_EQ(notes.size(), 2U);
    EXPECT_NE(notes[0].find("has no key gpus"), std::string::npos) << notes[0];
    EXPECT_NE(notes[1].find("--gpushare-unit"), std::string::npos) << notes[1];
}

TEST_F(MirrorTest, AGuessMakesWayForADeviceThatIsToldLater) {
    Pod known = gpu_pod("known", 16, "a");
    known.annotations = {{"ALIYUN_COM_GPU_MEM_IDX", "0"}, {"ALIYUN_COM_GPU_MEM_POD", "16"}};
    start({gpu_pod("a-unknown", 8, "a"), known});
    const auto gpus = mirror_.report(mirror_.find_node("a")).gpus;
    ASSERT_EQ(gpus.size(), 2U);
    ASSERT_EQ(gpus[0].size(), 1U);
    EXPECT_EQ(gpus[0][0].name, "known");
    ASSERT_EQ(gpus[1].size(), 1U);
    EXPECT_EQ(gpus[1][0].name, "a-unknown");
    EXPECT_EQ(mirror_.filter(gpu_pod("late", 16), std::vector{mirror_.find_node("a")}, {"", kNow})
                  ->fitting,
              0U);
}

TEST_F(MirrorTest, ADeviceThatFellIllTakesNoShareThatWasHeldOnIt) {
    start();
    const Pod pod = gpu_pod("p", 8);
    const Fit fit = filter(pod);
    const std::string node(mirror_.node_name(both()[fit.best]));
    mirror_.config_map_changed({"kube-system", "unhealthy-gpu-" + node, {{"gpus", "0,1"}}});
    EXPECT_FALSE(mirror_.prepare_bind(key(pod), node, kNow));
}

TEST_F(MirrorTest, APodOnANodeThatIsNotKnownIsBoundAllTheSame) {
    start({gpu_pod("p", 8, "c")});
    EXPECT_FALSE(mirror_.filter(gpu_pod("p", 8), both(), {"", kNow}));
    EXPECT_FALSE(mirror_.prepare_bind({"default", "p", "uid-p"}, "a", kNow));
    EXPECT_TRUE(mirror_.prepare_bind({"default", "p", "uid-p"}, "c", kNow)->bound_already);
    mirror_.pod_gone(gpu_pod("p", 8));
    mirror_.node_changed(gpu_node("c"));
    EXPECT_EQ(mirror_.pod_count(), 0U);
}

// It came and went while the watch was cut.
TEST_F(MirrorTest, APodThatWasBoundAndNeverSeenEndsAfterAList) {
    start();
    const Pod bound = bind(gpu_pod("p", 8));
    const Nanoseconds later(kNow.value() + 3'600'000'000'000);
    EXPECT_EQ(mirror_.expire(later, later), 0U);
    mirror_.replace_pods({});
    EXPECT_EQ(mirror_.expire(later, later), 0U);
    EXPECT_EQ(mirror_.expire(Nanoseconds(later.value() + 19'000'000'000),
                             Nanoseconds(later.value() + 19'000'000'000)),
              0U);
    EXPECT_EQ(mirror_.pod_count(), 1U);
    EXPECT_EQ(mirror_.expire(Nanoseconds(later.value() + 21'000'000'000),
                             Nanoseconds(later.value() + 21'000'000'000)),
              1U);
    EXPECT_EQ(mirror_.pod_count(), 0U);
    // The list was older than the bind, and the watch tells in time.
    const Pod second = bind(gpu_pod("q", 8));
    mirror_.replace_pods({});
    EXPECT_EQ(mirror_.expire(later, later), 0U);
    mirror_.pod_changed(second);
    EXPECT_EQ(mirror_.expire(Nanoseconds(later.value() * 2), Nanoseconds(later.value() * 2)), 0U);
    EXPECT_EQ(mirror_.pod_count(), 1U);
}

TEST_F(MirrorTest, DevicesThatNothingTellsAreCountedEvenWhereNoneIsFree) {
    Pod bad = gpu_pod("bad", 8, "a");
    bad.annotations["ALIYUN_COM_GPU_MEM_IDX"] = "first";
    start({bad, gpu_pod("x", 16, "a"), gpu_pod("y", 16, "a")});
    EXPECT_EQ(used("a"), 40 * 1024);
    EXPECT_EQ(mirror_.cluster().over_committed_gpus(), 1);
    EXPECT_EQ(filter(gpu_pod("p", 1)).fitting, 1U);
    // Told again, nothing changes; the node described anew, neither.
    mirror_.pod_changed(bad);
    mirror_.node_gone("a");
    mirror_.node_changed(gpu_node("a"));
    EXPECT_EQ(used("a"), 40 * 1024);
    EXPECT_TRUE(mirror_.ledger().verify().empty());
}

// Of many small ones and few large ones the few go, wherever the small ones are least important.
TEST_F(MirrorTest, VictimsAreFewOnANodeOfManyPods) {
    const auto placed = [](int device, int number, int units, int priority) {
        Pod pod = gpu_pod(fmt::format("p{}-{}", device, number), units, "a");
        pod.annotations["ALIYUN_COM_GPU_MEM_IDX"] = std::to_string(device);
        pod.annotations["ALIYUN_COM_GPU_MEM_POD"] = std::to_string(units);
        pod.priority = priority;
        return pod;
    };
    std::vector<Pod> pods;
    for (int i = 0; i < 16; ++i) {
        pods.push_back(placed(0, i, 1, 0));
        if (i % 4 == 0) {
            pods.push_back(placed(1, i, 4, 5));
        }
    }
    start(pods);
    Pod asking = gpu_pod("asking", 16);
    asking.priority = 10;
    const Ask ask = mirror_.ask(asking, {"", kNow}).value();
    const VictimsFound found = mirror_.victims_needed(asking, ask, {mirror_.find_node("a"), {}});
    EXPECT_THAT(found.uids,
                testing::UnorderedElementsAre("uid-p1-0", "uid-p1-4", "uid-p1-8", "uid-p1-12"));
    EXPECT_LE(found.steps, 100U);
}

// Thousands of containers of sixteen devices each: nobody runs that, and anybody can bind it.
TEST_F(MirrorTest, APodOfMoreDevicesThanCanBeCountedHasTheWholeNode) {
    start();
    const auto halves = [](std::size_t containers) {
        Pod pod = gpu_pod(fmt::format("w{}", containers), 1, "a");
        pod.annotations["tessera.dev/gpu-milli"] = "500";
        pod.containers.resize(containers);
        for (std::size_t i = 0; i < containers; ++i) {
            pod.containers[i].name = fmt::format("c{}", i);
            pod.containers[i].limits = {{"tessera.dev/gpu", Quantity::of(16)}};
        }
        return pod;
    };
    const std::vector<NodeIndex> only_a{mirror_.find_node("a")};
    for (std::size_t containers : {1U, 64U, 65U, 4'095U, 4'096U, 5'000U}) {
        const Pod pod = halves(containers);
        mirror_.pod_changed(pod);
        EXPECT_EQ(mirror_.filter(gpu_pod("late", 1), only_a, {"", kNow})->fitting, 0U)
            << containers;
        EXPECT_TRUE(mirror_.ledger().verify().empty());
        for (const auto& shares : mirror_.report(only_a.front()).gpus) {
            EXPECT_EQ(shares.size(), containers > 64 ? 1 : containers * 8) << containers;
        }
        mirror_.pod_gone(pod);
        EXPECT_EQ(mirror_.filter(gpu_pod("late", 1), only_a, {"", kNow})->fitting, 1U)
            << containers;
        mirror_.drop_holds();
    }
}

TEST_F(MirrorTest, ANodeThatIsNotKnownHasAVerdict) {
    start();
    EXPECT_FALSE(mirror_.verdict(gpu_pod("p", 8), NodeIndex(), {"", kNow}).fits());
}

}  // namespace
}  // namespace tessera
