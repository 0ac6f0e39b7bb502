#include "role/scheduler/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "role/scheduler/scheduler_rig.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::PodAsk;
using testing::SchedulerRig;

constexpr std::int64_t kCard = 16384;

std::vector<std::string> bodies(const SchedulerRig& rig, std::string_view method,
                                std::string_view path_end) {
    std::vector<std::string> found;
    for (const ClientCall& call : rig.told) {
        if (call.method == method && call.path.find(path_end) != std::string::npos) {
            found.push_back(call.body);
        }
    }
    return found;
}

TEST(Scheduler, BindsAPodWithItsPlacementInside) {
    SchedulerRig rig;
    rig.start();
    rig.add_node("a", {kCard});
    rig.add_pod({.name = "p", .milli = 500, .memory_mib = 4096});
    rig.run();
    EXPECT_EQ(rig.node_of("p"), "a");
    EXPECT_THAT(rig.api.pods.at("p").annotations.at("tessera.dev/placement"),
                HasSubstr("\"milli\":500"));
    EXPECT_THAT(bodies(rig, "POST", "/events"),
                ElementsAre(AllOf(HasSubstr(R"("reason":"Scheduled")"),
                                  HasSubstr("Successfully assigned default/p to a"),
                                  HasSubstr(R"("name":"p.)"))));
    EXPECT_EQ(rig.scheduler->counts().binding, 0U);
    EXPECT_EQ(rig.scheduler->counts().bound, 1U);
}

TEST(Scheduler, LeavesPodsOfOtherSchedulersAlone) {
    SchedulerRig rig;
    rig.start();
    rig.add_node("a", {kCard});
    rig.add_pod({.name = "other", .scheduler = "default-scheduler"});
    rig.run();
    EXPECT_EQ(rig.node_of("other"), "");
    EXPECT_TRUE(rig.told.empty());
}

TEST(Scheduler, TheMoreImportantPodGoesFirst) {
    SchedulerRig rig;
    rig.add_pod({.name = "low", .priority = 0});
    rig.add_pod({.name = "high", .priority = 1000});
    rig.api.nodes["a"] = {kCard};
    rig.start();
    rig.run();
    EXPECT_THAT(rig.bound_in_order, ElementsAre("high"));
    EXPECT_EQ(rig.node_of("low"), "");
}

TEST(Scheduler, APodWithoutGpusIsScheduledToo) {
    SchedulerRig rig;
    rig.start();
    rig.add_node("a", {kCard});
    rig.add_pod({.name = "plain", .gpus = 0});
    rig.run();
    EXPECT_EQ(rig.node_of("plain"), "a");
    EXPECT_TRUE(rig.api.pods.at("plain").annotations.empty()) << "there is nothing to remember";
}

TEST(Scheduler, WhoFitsNowhereIsToldWhyAndGoesWhenThereIsRoom) {
    SchedulerRig rig;
    rig.start();
    rig.add_node("a", {kCard});
    rig.add_pod({.name = "first"});
    rig.run();
    rig.add_pod({.name = "second"});
    rig.run();
    EXPECT_EQ(rig.node_of("second"), "");
    EXPECT_THAT(bodies(rig, "PATCH", "/pods/second/status"),
                ElementsAre(AllOf(HasSubstr(R"("reason":"Unschedulable")"),
                                  HasSubstr("0/1 nodes are available: 1 "))));
    EXPECT_THAT(bodies(rig, "POST", "/events").back(),
                AllOf(HasSubstr("FailedScheduling"), HasSubstr(R"("name":"second.)")));
    rig.remove_pod("first");
    rig.run(seconds(1));
    EXPECT_EQ(rig.node_of("second"), "a") << "at once, without a back-off";
}

TEST(Scheduler, ANewNodeHelpsThoseWhoWait) {
    SchedulerRig rig;
    rig.start();
    rig.add_pod({.name = "p"});
    rig.run();
    EXPECT_EQ(rig.node_of("p"), "");
    rig.add_node("a", {kCard});
    rig.run(seconds(1));
    EXPECT_EQ(rig.node_of("p"), "a");
}

TEST(Scheduler, OfManyEqualPodsAFullClusterTriesOneWhenAPlaceGetsFree) {
    SchedulerRig rig;
    rig.api.nodes["a"] = {kCard, kCard};
    for (int i = 0; i < 500; ++i) {
        rig.api.add({.name = fmt::format("p{:03}", i)});
    }
    rig.start();
    rig.run();
    ASSERT_EQ(rig.bound_in_order.size(), 2U);
    const std::uint64_t before = rig.scheduler->counts().parked;
    rig.remove_pod(rig.bound_in_order.front());
    rig.run(seconds(1));
    EXPECT_EQ(rig.bound_in_order.size(), 3U);
    EXPECT_LE(rig.scheduler->counts().parked - before, 2U);
}

TEST(Scheduler, ABindThatIsRefusedGivesTheShareBackAndIsTriedAgain) {
    SchedulerRig rig;
    int refused = 0;
    rig.instead = [&](const BindPlan&, const std::function<void(WriteOutcome)>& done) {
        if (refused++ < 2) {
            done({WriteEnd::refused, "the API server says no"});
            return true;
        }
        return false;
    };
    rig.start();
    rig.add_node("a", {kCard});
    rig.add_pod({.name = "p"});
    rig.run();
    EXPECT_EQ(refused, 3);
    EXPECT_EQ(rig.node_of("p"), "a");
    EXPECT_THAT(bodies(rig, "POST", "/events").front(), HasSubstr("the API server says no"));
}

TEST(Scheduler, AShareWhoseBindEndedUnknownIsNotGivenToAnother) {
    SchedulerRig rig;
    rig.instead = [&](const BindPlan& plan, const std::function<void(WriteOutcome)>& done) {
        if (plan.name != "p") {
            return false;
        }
        done({WriteEnd::unknown, "no answer came"});
        return true;
    };
    rig.start();
    rig.add_node("a", {kCard});
    rig.add_pod({.name = "p"});
    rig.run(seconds(1));
    rig.add_pod({.name = "q"});
    rig.run(seconds(50));
    EXPECT_EQ(rig.node_of("q"), "") << "p may be bound there";
    EXPECT_EQ(rig.mirror.in_doubt_count(), 1U);
}

TEST(Scheduler, AManifestThatCannotBeServedIsToldOnceAndHurtsNobody) {
    SchedulerRig rig;
    rig.start();
    rig.add_node("a", {kCard});
    rig.add_pod({.name = "broken", .milli = 700});
    rig.api.pods.at("broken").annotations["tessera.dev/gpu-milli"] = "many";
    rig.show("broken");
    rig.add_pod({.name = "good"});
    rig.run();
    EXPECT_EQ(rig.node_of("good"), "a");
    EXPECT_THAT(bodies(rig, "PATCH", "/pods/broken/status"),
                ElementsAre(HasSubstr("tessera.dev/gpu-milli")));
    rig.remove_pod("good");
    rig.api.pods.at("broken").annotations["tessera.dev/gpu-milli"] = "700";
    rig.show("broken");
    rig.run(seconds(1));
    EXPECT_EQ(rig.node_of("broken"), "a");
}

// No two of them on one node.
PodAsk apart(const std::string& name) {
    return {.name = name,
            .milli = 100,
            .spec = R"("affinity":{"podAntiAffinity":{)"
                    R"("requiredDuringSchedulingIgnoredDuringExecution":[{)"
                    R"("labelSelector":{"matchLabels":{"app":"web"}},)"
                    R"("topologyKey":"kubernetes.io/hostname"}]}})",
            .labels = R"("app":"web")"};
}

TEST(Scheduler, PodsThatMustBeApartAreAndTheLastIsToldWhyItWaits) {
    SchedulerRig rig;
    rig.start();
    rig.add_node("a", {kCard});
    rig.add_node("b", {kCard});
    for (const char* name : {"one", "two", "three"}) {
        rig.add_pod(apart(name));
    }
    rig.run(seconds(1));
    EXPECT_EQ(rig.node_of("three"), "");
    EXPECT_NE(rig.node_of("one"), rig.node_of("two"));
    EXPECT_THAT(bodies(rig, "PATCH", "/pods/three/status"),
                ElementsAre(HasSubstr("0/2 nodes are available: 2 ")));
    rig.remove_pod("one");
    rig.run(seconds(15));
    EXPECT_NE(rig.node_of("three"), "") << "the one it had to be apart from is gone";
}

TEST(Scheduler, AWishCountsWhereAllNodesFit) {
    SchedulerRig rig;
    rig.start();
    for (const char* node : {"a", "b", "c"}) {
        rig.add_node(node, {kCard});
    }
    rig.add_pod({.name = "p",
                 .milli = 100,
                 .spec = R"("affinity":{"nodeAffinity":{)"
                         R"("preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100,)"
                         R"("preference":{"matchExpressions":[{"key":"kubernetes.io/hostname",)"
                         R"("operator":"In","values":["c"]}]}}]}})"});
    rig.run();
    EXPECT_EQ(rig.node_of("p"), "c");
}

TEST(Scheduler, ANodeOfWhichTheRecordCannotBeWrittenIsPassedOver) {
    SchedulerOptions options;
    options.names = {{"kubeshare-scheduler", "kubeshare"}};
    SchedulerRig rig(options);
    rig.start();
    Node nameless = testing::TinyApi::node("a", {kCard});  // KubeShare's record names the UUID
    nameless.annotations["tessera.dev/gpus"] = R"({"version":1,"gpus":[{"memoryMib":16384}]})";
    rig.mirror.node_changed(nameless);
    rig.add_node("b", {kCard});
    rig.add_pod({.name = "p",
                 .scheduler = "kubeshare-scheduler",
                 .gpus = 0,
                 .labels = R"("sharedgpu/gpu_request":"0.5","sharedgpu/gpu_limit":"1.0")"});
    rig.run(seconds(1));
    EXPECT_EQ(rig.node_of("p"), "b");
}

TEST(Scheduler, APodThatIsHeldBackByAGateIsNotTried) {
    SchedulerRig rig;
    rig.start();
    rig.add_node("a", {kCard});
    PodAsk ask{.name = "p", .spec = R"("schedulingGates":[{"name":"quota"}])"};
    rig.add_pod(ask);
    rig.run();
    EXPECT_EQ(rig.node_of("p"), "");
    EXPECT_TRUE(rig.told.empty());
    rig.api.pods.at("p").ask.spec.clear();
    rig.show("p");
    rig.run();
    EXPECT_EQ(rig.node_of("p"), "a");
}

TEST(Scheduler, APodWithARuleThatIsNotJudgedIsNotPlacedAgainstIt) {
    SchedulerRig rig;
    rig.start();
    rig.add_node("a", {kCard});
    Pod pod = testing::TinyApi::pod(rig.api.add({.name = "p"}));
    pod.resource_claims = {"gpu"};
    rig.mirror.pod_changed(pod);
    rig.run();
    EXPECT_EQ(rig.node_of("p"), "");
    EXPECT_THAT(bodies(rig, "PATCH", "/pods/p/status"),
                ElementsAre(HasSubstr("spec.resourceClaims is not judged")));
}

TEST(Scheduler, DecidesNothingWhileItMayNot) {
    SchedulerRig rig;
    rig.why_not_ready = "this copy stands by";
    rig.start();
    rig.add_node("a", {kCard});
    rig.add_pod({.name = "p"});
    rig.run();
    EXPECT_EQ(rig.node_of("p"), "");
    rig.why_not_ready.clear();
    rig.scheduler->run();
    rig.run();
    EXPECT_EQ(rig.node_of("p"), "a");
}

TEST(Scheduler, APodThatIsDeletedWhileItWaitsIsForgotten) {
    SchedulerRig rig;
    rig.start();
    for (int i = 0; i < 3; ++i) {
        rig.add_pod({.name = "p"});
        rig.run(seconds(5));
        rig.remove_pod("p");
    }
    rig.add_node("a", {kCard});
    rig.run();
    const SchedulerCounts counts = rig.scheduler->counts();
    EXPECT_EQ(counts.queue.ready + counts.queue.parked + counts.queue.resting, 0U);
    EXPECT_EQ(rig.reports.remembered(), 0U);
}

TEST(Scheduler, NoMoreBindsAreUnderWayThanAllowed) {
    SchedulerOptions options;
    options.max_binding = 3;
    SchedulerRig rig(options);
    std::size_t most = 0;
    rig.instead = [&](const BindPlan&, const std::function<void(WriteOutcome)>&) {
        most = std::max(most, rig.scheduler->counts().binding);
        return false;
    };
    rig.api.nodes["a"] = std::vector<std::int64_t>(8, kCard);
    for (int i = 0; i < 8; ++i) {
        rig.api.add({.name = fmt::format("p{}", i)});
    }
    rig.start();
    rig.run();
    EXPECT_EQ(rig.bound_in_order.size(), 8U);
    EXPECT_EQ(most, 3U);
}

}  // namespace
}  // namespace tessera
