#include "model/pod_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kGpusElsewhere = [](std::string_view name) { return name == "nvidia.com/gpu"; };

Container asking(std::string name, const std::string& resource, std::int64_t amount) {
    Container container;
    container.name = std::move(name);
    container.requests[resource] = Quantity::of(amount);
    return container;
}

class PodProfileTest : public ::testing::Test {
  protected:
    OtherResources asked() {
        const auto profile = pod_profile(pod, names, kGpusElsewhere);
        EXPECT_TRUE(profile) << profile.error().message;
        return profile ? profile->resources : OtherResources();
    }
    ResourceAmount of(const std::string& resource, std::int64_t amount) {
        return {names.resources.intern(resource), amount};
    }

    Vocabulary names;
    Pod pod;
};

TEST_F(PodProfileTest, ResourcesAreSummedByKubernetesRule) {
    const std::string fpga = "example.com/fpga";
    pod.containers = {asking("a", fpga, 1), asking("b", fpga, 1)};
    pod.init_containers = {asking("first", fpga, 3), asking("side", fpga, 1),
                           asking("last", fpga, 1)};
    pod.init_containers[1].restartable = true;
    EXPECT_THAT(asked().extended, ElementsAre(of(fpga, 3))) << "3 at first, then 1 + 1 + 1";
    pod.containers[0].requests.clear();
    pod.containers[0].limits[fpga] = Quantity::of(4);
    EXPECT_THAT(asked().extended, ElementsAre(of(fpga, 6))) << "a limit alone is a request";
}

TEST_F(PodProfileTest, StorageCountsWithOverheadInBytes) {
    pod.containers = {asking("a", "ephemeral-storage", 1000)};
    pod.overhead["ephemeral-storage"] = Quantity::of(24);
    EXPECT_EQ(asked().storage, 1024);
    EXPECT_THAT(asked().extended, IsEmpty());
}

TEST_F(PodProfileTest, WhatIsCountedElsewhereOrNotAtAllIsLeftOut) {
    for (const char* name : {"cpu", "memory", "nvidia.com/gpu", "storage", "example.com/none"}) {
        pod.containers.push_back(
            asking(name, name, name == std::string("example.com/none") ? 0 : 1));
    }
    EXPECT_TRUE(asked().empty());
    pod.containers.push_back(asking("huge", "hugepages-2Mi", 4));
    EXPECT_THAT(asked().extended, ElementsAre(of("hugepages-2Mi", 4)));
}

TEST_F(PodProfileTest, AmountsBeyond64BitsAreRefusedByName) {
    const std::string most = "9223372036854775807";
    for (const char* name : {"a", "b"}) {
        pod.containers.push_back(asking(name, "example.com/fpga", 0));
        pod.containers.back().requests["example.com/fpga"] = *Quantity::parse(most);
    }
    const auto profile = pod_profile(pod, names, kGpusElsewhere);
    ASSERT_FALSE(profile);
    EXPECT_THAT(profile.error().message, ::testing::StartsWith("resources example.com/fpga: "));
}

TEST_F(PodProfileTest, PortsAreThoseOfContainersThatRun) {
    for (const char* name : {"first", "side"}) {
        pod.init_containers.emplace_back().name = name;
        pod.init_containers.back().host_ports.push_back({.port = name[0]});
    }
    pod.init_containers[1].restartable = true;
    pod.containers.emplace_back().host_ports.push_back({"10.0.0.1", Protocol::udp, 53});
    const auto profile = pod_profile(pod, names, kGpusElsewhere);
    ASSERT_TRUE(profile);
    EXPECT_THAT(profile->ports,
                ElementsAre(PortUse{.port = 's'},
                            PortUse{names.label_values.find("10.0.0.1"), Protocol::udp, 53}));
}

TEST_F(PodProfileTest, EqualPodsHaveEqualProfiles) {
    pod.labels = {{"b", "2"}, {"a", "1"}};
    pod.space = "lab";
    Pod other = pod;
    other.name = "another";
    const auto profile = *pod_profile(pod, names, kGpusElsewhere);
    EXPECT_EQ(profile, *pod_profile(other, names, kGpusElsewhere));
    EXPECT_EQ(profile.hash(), pod_profile(other, names, kGpusElsewhere)->hash());
    other.deleting = true;
    EXPECT_NE(profile, *pod_profile(other, names, kGpusElsewhere));
}

TEST_F(PodProfileTest, ANodeOffersWhatTheKubeletWouldAdmit) {
    Node node;
    node.capacity = {{"ephemeral-storage", Quantity::of(100)},
                     {"example.com/old", Quantity::of(1)}};
    node.allocatable = {{"ephemeral-storage", Quantity::of(90)},
                        {"cpu", Quantity::of(8)},
                        {"nvidia.com/gpu", Quantity::of(8)},
                        {"example.com/fpga", Quantity::of(2)}};
    const auto offer = node_offer(node, names, kGpusElsewhere);
    ASSERT_TRUE(offer);
    EXPECT_EQ(offer->storage, 90);
    EXPECT_THAT(offer->extended, ElementsAre(of("example.com/fpga", 2)));
}

}  // namespace
}  // namespace tessera
