// What a mirror knows of names and kinds of demand stays in proportion to what is there.
//
// TESSERA_PROPERTY_SCALE=n lets n times as many pods come and go, and prints the memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "codec/kube_json.h"
#include "role/mirror/mirror.h"

namespace tessera {
namespace {

constexpr Nanoseconds kHoldFor{1'000'000'000};
constexpr std::size_t kSpare = 2'000;

int scale() {
    const char* text = std::getenv("TESSERA_PROPERTY_SCALE");
    return text == nullptr ? 1 : std::max(1, std::atoi(text));
}

std::size_t resident_mib() {
    std::ifstream file("/proc/self/statm");
    std::size_t pages = 0;
    file >> pages >> pages;
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) >> 20U;
}

Node gpu_node(const std::string& name) {
    return read_node_json(fmt::format(
                              R"({{"metadata":{{"name":"{0}",
                "labels":{{"host":"{0}","l-{0}":"1"}}}},
            "status":{{"allocatable":{{"cpu":"32","memory":"128Gi","pods":"110",
                            "aliyun.com/gpu-mem":"32","aliyun.com/gpu-count":"2"}},
            "conditions":[{{"type":"Ready","status":"True"}}]}}}})",
                              name))
        .value();
}

// Like no other: its container, models, group, application, node constraint and amounts.
Pod odd_pod(int number) {
    return read_pod_json(fmt::format(
                             R"({{"metadata":{{"name":"p{0}","uid":"uid-{0}","annotations":{{
                "tessera.dev/gpu-milli":"{1}","tessera.dev/gpu-memory-mib":"{2}",
                "tessera.dev/gpu-model":"M{0}","tessera.dev/app":"app-{0}",
                "tessera.dev/group":"g{0}","tessera.dev/group-size":"2"}}}},
            "spec":{{"affinity":{{"nodeAffinity":{{
                "requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[
                    {{"matchExpressions":[{{"key":"k{0}","operator":"NotIn","values":["v{0}"]}}]}}
                ]}}}}}},
                "containers":[{{"name":"c{0}","resources":{{
                "limits":{{"tessera.dev/gpu":"1"}}}}}}]}}}})",
                             number, 1 + number % 999, 1 + number % 16'000))
        .value();
}

std::size_t names_in(const Vocabulary& names) {
    return names.nodes.used() + names.models.used() + names.requests.used() + names.groups.used() +
           names.apps.used() + names.label_keys.used() + names.label_values.used();
}

class MirrorNames : public ::testing::Test {
  protected:
    MirrorNames() {
        mirror_.replace_nodes({gpu_node("a"), gpu_node("b")});
        mirror_.replace_pods({});
        mirror_.replace_config_maps({});
    }
    static MirrorOptions options() {
        MirrorOptions result;
        result.hold_for = kHoldFor;
        result.spare_names = kSpare;
        return result;
    }
    Expected<Fit> filter(const Pod& pod) {
        const std::vector<NodeIndex> both{mirror_.find_node("a"), mirror_.find_node("b")};
        return mirror_.filter(pod, both, {"", now_});
    }
    void later() {
        now_ += kHoldFor;
        mirror_.expire(now_, now_);
    }

    Nanoseconds now_{1'000'000'000};
    Mirror mirror_{options()};
};

TEST_F(MirrorNames, OfPodsThatCameAndWentAreLetGo) {
    std::size_t most = 0;
    const int pods = 10'000 * scale();
    for (int number = 0; number < pods; ++number) {
        Pod pod = odd_pod(number);
        if (number % 2 == 0) {
            pod.annotations.erase("tessera.dev/gpu-model");  // no node has it
        }
        const auto fit = filter(pod);
        ASSERT_TRUE(fit) << fit.error().message;
        ASSERT_EQ(fit->fitting, number % 2 == 0 ? 2U : 0U);
        later();
        most = std::max(most, names_in(mirror_.names()));
        if (scale() > 1 && number % (pods / 10) == 0) {
            fmt::print("{} pods: {} names, {} MiB\n", number, names_in(mirror_.names()),
                       resident_mib());
        }
    }
    // Models, which are counted apart, may be as many again.
    EXPECT_LE(most, 3 * kSpare);
    EXPECT_GE(most, kSpare / 2);
}

TEST_F(MirrorNames, OfPodsThatAreThereStay) {
    Pod held = odd_pod(9000001);
    held.annotations.erase("tessera.dev/gpu-model");
    const auto first = filter(held);
    ASSERT_TRUE(first) << first.error().message;
    Pod bound = odd_pod(9000002);
    bound.annotations.erase("tessera.dev/gpu-model");
    const Fit fit = *filter(bound);
    const std::string node = fit.best == 0 ? "a" : "b";
    auto plan = mirror_.prepare_bind({bound.space, bound.name, bound.uid}, node, now_);
    ASSERT_TRUE(plan) << plan.error().message;
    mirror_.bind_ended({bound.space, bound.name, bound.uid}, {WriteEnd::done}, now_);
    for (int number = 0; number < 5'000; ++number) {
        ASSERT_TRUE(filter(odd_pod(number)));
    }
    EXPECT_TRUE(mirror_.names().requests.find("c9000001").valid());
    EXPECT_TRUE(mirror_.names().requests.find("c9000002").valid());
    EXPECT_TRUE(mirror_.names().label_keys.find("k9000001").valid());
    EXPECT_FALSE(mirror_.names().requests.find("c7").valid());
    const NodeReport report = mirror_.report(mirror_.find_node(node));
    std::vector<std::string_view> containers;
    for (const auto& shares : report.gpus) {
        for (const ShareOnGpu& share : shares) {
            if (share.uid == bound.uid) {
                containers.push_back(mirror_.names().requests.name(share.grant.request));
            }
        }
    }
    EXPECT_EQ(containers, std::vector<std::string_view>{"c9000002"});
    // What is held can still be bound, under its container's name.
    const Fit again = *filter(held);
    plan =
        mirror_.prepare_bind({held.space, held.name, held.uid}, again.best == 0 ? "a" : "b", now_);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_NE(plan->annotations.at("tessera.dev/placement").find("c9000001"), std::string::npos);
    EXPECT_TRUE(mirror_.ledger().verify().empty());
}

TEST_F(MirrorNames, TheIndexOfANodeThatIsGoneGoesToAnother) {
    Pod there = odd_pod(1);
    there.node_name = "n0";
    mirror_.node_changed(gpu_node("n0"));
    mirror_.pod_changed(there);
    for (int number = 0; number < 3'000; ++number) {
        const std::string name = fmt::format("n{}", number);
        mirror_.node_changed(gpu_node(name));
        EXPECT_TRUE(mirror_.find_node(name).valid());
        mirror_.node_gone(name);
        EXPECT_FALSE(mirror_.find_node(name, mirror_.find_node("a")).valid());
    }
    EXPECT_LE(mirror_.cluster().size(), 150U);
    EXPECT_LE(mirror_.names().label_keys.used(), kSpare + 2 * mirror_.cluster().size());
    // Nobody has the place of the one that a pod is still on.
    mirror_.node_changed(gpu_node("n0"));
    EXPECT_EQ(mirror_.ledger().owners_on(mirror_.find_node("n0")).size(), 1U);
    EXPECT_EQ(mirror_.node_count(), 3U);
    EXPECT_TRUE(mirror_.ledger().verify().empty());
}

}  // namespace
}  // namespace tessera
