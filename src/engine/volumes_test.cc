#include "engine/volumes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "model/node_constraints.h"
#include "model/pod_rules.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;

class VolumesTest : public ::testing::Test {
  protected:
    // A node by its zone.
    NodeTraits node(const std::string& zone) {
        Node words;
        words.name = "n";
        words.labels["zone"] = zone;
        return node_traits(words, names);
    }
    std::string answer(const Pod& pod, const std::string& zone = "x") {
        const auto code = book.ask(pod).refusal(node(zone));
        return code ? std::string(refusal_info(*code).name) : "";
    }
    static NodeSelectorTerm in_zone(const std::string& zone) {
        return {.labels = {{.key = "zone", .op = LabelOperator::in, .values = {zone}}}};
    }
    static Pod pod_with(std::vector<VolumeClaimUse> claims) {
        Pod pod;
        pod.name = "p";
        pod.uid = "pod-uid";
        pod.rules = std::make_shared<const PodRules>(PodRules{.claims = std::move(claims)});
        return pod;
    }
    static VolumeClaim claim(const std::string& name, const std::string& storage_class = "local") {
        VolumeClaim made;
        made.meta.name = name;
        made.meta.uid = name + "-uid";
        made.storage_class = storage_class;
        made.modes = bit(AccessMode::once);
        made.asked = Quantity::of(10);
        return made;
    }
    static VolumeClaim bound(VolumeClaim made, const std::string& volume) {
        made.volume = volume;
        made.meta.annotations[VolumeClaim::kBindCompleted] = "yes";
        return made;
    }
    static Volume volume(const std::string& name, const std::string& zone, std::int64_t size) {
        Volume made;
        made.meta.name = name;
        made.storage_class = "local";
        made.modes = bit(AccessMode::once) | bit(AccessMode::many);
        made.capacity = Quantity::of(size);
        made.phase = "Available";
        made.node_terms.push_back(in_zone(zone));
        return made;
    }
    static StorageClass waiting_class(const std::string& name, const std::string& provisioner) {
        StorageClass made;
        made.meta.name = name;
        made.provisioner = provisioner;
        made.waits = true;
        return made;
    }

    Vocabulary names;
    VolumeBook book{names};
};

TEST_F(VolumesTest, WithoutClaimsThereIsNothingToAsk) {
    EXPECT_FALSE(book.ask(Pod()).concerns());
    EXPECT_EQ(answer(Pod()), "");
}

TEST_F(VolumesTest, ABoundVolumeSaysWhereItCanBeReached) {
    const Pod pod = pod_with({{"data", false}});
    EXPECT_EQ(answer(pod), "VolumeNotReady") << "no claim";
    book.set(bound(claim("data"), "v"));
    EXPECT_EQ(answer(pod), "VolumeNotReady") << "no volume";
    book.set(volume("v", "x", 10));
    EXPECT_EQ(answer(pod, "x"), "");
    EXPECT_EQ(answer(pod, "y"), "VolumeNodeAffinity");
    EXPECT_TRUE(book.ask(pod).steps(node("x"))->empty());
    book.remove_volume("v");
    EXPECT_EQ(answer(pod), "VolumeNotReady");
}

TEST_F(VolumesTest, ClaimsThatOthersBindAreWaitedFor) {
    const Pod pod = pod_with({{"data", false}});
    StorageClass at_once = waiting_class("local", "d");
    at_once.waits = false;
    book.set(claim("data"));
    EXPECT_EQ(answer(pod), "VolumeNotReady") << "no such class";
    book.set(at_once);
    EXPECT_EQ(answer(pod), "VolumeNotReady") << "bound at once, by its controller";
    book.set(waiting_class("local", "d"));
    EXPECT_EQ(answer(pod), "");
    VolumeClaim wants = claim("data");
    wants.volume = "v";
    book.set(wants);
    EXPECT_EQ(answer(pod), "VolumeNotReady") << "it names its volume, which has not agreed yet";
    VolumeClaim ending = claim("data");
    ending.meta.deleting = true;
    book.set(ending);
    EXPECT_EQ(answer(pod), "VolumeNotReady");
    book.remove_claim("default", "data");
    EXPECT_EQ(answer(pod), "VolumeNotReady");
}

TEST_F(VolumesTest, AnEphemeralClaimMustBeThePods) {
    const Pod pod = pod_with({{"p-tmp", true}});
    book.set(waiting_class("local", "d"));
    book.set(claim("p-tmp"));
    EXPECT_EQ(answer(pod), "VolumeNotReady");
    VolumeClaim own = claim("p-tmp");
    own.meta.controller = "pod-uid";
    book.set(own);
    EXPECT_EQ(answer(pod), "");
}

TEST_F(VolumesTest, AWaitingClaimTakesTheSmallestVolumeThatServes) {
    const Pod pod = pod_with({{"data", false}});
    book.set(waiting_class("local", StorageClass::kNoProvisioner));
    book.set(claim("data"));
    EXPECT_EQ(answer(pod), "VolumeNodeAffinity") << "there is no volume";
    book.set(volume("small", "x", 9));
    book.set(volume("large", "x", 30));
    book.set(volume("right", "x", 10));
    book.set(volume("far", "y", 20));
    EXPECT_THAT(*book.ask(pod).steps(node("x")), ElementsAre(VolumeStep{"data", "right"}));
    EXPECT_THAT(*book.ask(pod).steps(node("y")), ElementsAre(VolumeStep{"data", "far"}));
    EXPECT_EQ(answer(pod, "z"), "VolumeNodeAffinity");
    Volume kept = volume("large", "x", 30);
    kept.claim_space = "default";
    kept.claim_name = "data";
    book.set(kept);
    EXPECT_THAT(*book.ask(pod).steps(node("x")), ElementsAre(VolumeStep{"data", "large"}));
    EXPECT_EQ(answer(pod, "y"), "VolumeNodeAffinity") << "it has its volume, which is in x";
    kept.claim_uid = "another";
    book.set(kept);
    EXPECT_THAT(*book.ask(pod).steps(node("x")), ElementsAre(VolumeStep{"data", "right"}));
}

TEST_F(VolumesTest, WhatAVolumeMustHave) {
    const Pod pod = pod_with({{"data", false}});
    book.set(waiting_class("local", ""));
    const auto served = [&](const VolumeClaim& wanted, const Volume& offered) {
        book.set(wanted);
        book.set(offered);
        return answer(pod).empty();
    };
    const Volume good = volume("v", "x", 10);
    EXPECT_TRUE(served(claim("data"), good));
    Volume other = good;
    other.phase = "Released";
    EXPECT_FALSE(served(claim("data"), other));
    other = good;
    other.meta.deleting = true;
    EXPECT_FALSE(served(claim("data"), other));
    other = good;
    other.block = true;
    EXPECT_FALSE(served(claim("data"), other));
    other = good;
    other.storage_class = "fast";
    EXPECT_FALSE(served(claim("data"), other));
    other = good;
    other.attributes_class = "gold";
    EXPECT_FALSE(served(claim("data"), other));
    VolumeClaim wanted = claim("data");
    wanted.modes = bit(AccessMode::read_many);
    EXPECT_FALSE(served(wanted, good));
    wanted = claim("data");
    wanted.selector = LabelSelector{{.key = "disk", .op = LabelOperator::in, .values = {"ssd"}}};
    EXPECT_FALSE(served(wanted, good));
    other = good;
    other.meta.labels["disk"] = "ssd";
    EXPECT_TRUE(served(wanted, other));
}

TEST_F(VolumesTest, TwoClaimsDoNotTakeOneVolume) {
    const Pod pod = pod_with({{"large", false}, {"small", false}});
    book.set(waiting_class("local", StorageClass::kNoProvisioner));
    VolumeClaim large = claim("large");
    large.asked = Quantity::of(20);
    book.set(large);
    book.set(claim("small"));
    book.set(volume("v20", "x", 20));
    EXPECT_EQ(answer(pod), "VolumeNodeAffinity");
    book.set(volume("v10", "x", 10));
    EXPECT_THAT(*book.ask(pod).steps(node("x")),
                ElementsAre(VolumeStep{"small", "v10"}, VolumeStep{"large", "v20"}));
}

TEST_F(VolumesTest, AClassProvisionsWhereItMay) {
    const Pod pod = pod_with({{"data", false}});
    StorageClass made = waiting_class("local", "d");
    made.allowed.push_back(in_zone("x"));
    book.set(made);
    book.set(claim("data"));
    EXPECT_THAT(*book.ask(pod).steps(node("x")), ElementsAre(VolumeStep{"data", ""}));
    EXPECT_EQ(answer(pod, "y"), "VolumeNodeAffinity");
    book.remove_class("local");
    EXPECT_EQ(answer(pod, "x"), "VolumeNotReady");
}

TEST_F(VolumesTest, AClaimForOnePodAtATime) {
    const Pod pod = pod_with({{"data", false}});
    VolumeClaim alone = bound(claim("data"), "v");
    alone.modes = bit(AccessMode::once_pod);
    book.set(alone);
    book.set(volume("v", "x", 10));
    EXPECT_EQ(answer(pod), "");
    book.add_user(pod);
    EXPECT_EQ(answer(pod), "VolumeInUse");
    book.remove_user(pod);
    EXPECT_EQ(answer(pod), "");
}

}  // namespace
}  // namespace tessera
