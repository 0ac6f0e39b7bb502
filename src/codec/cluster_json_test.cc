#include "codec/cluster_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

template <class T>
std::string refusal(const Expected<T>& read) {
    return read ? "accepted" : read.error().message;
}

TEST(ClusterJson, Budget) {
    const auto budget = read_disruption_budget_json(
        R"({"kind":"PodDisruptionBudget","metadata":{"name":"b","namespace":"lab"},
        "spec":{"minAvailable":2,"selector":{"matchLabels":{"app":"web"},
          "matchExpressions":[{"key":"tier","operator":"NotIn","values":["x"]}]}},
        "status":{"disruptionsAllowed":1,"disruptedPods":{"p":"2026-01-31T23:59:59Z"}}})");
    ASSERT_TRUE(budget) << budget.error().message;
    EXPECT_EQ(budget->meta.space, "lab");
    ASSERT_TRUE(budget->pods);
    EXPECT_THAT(*budget->pods, ElementsAre(NodeRequirement{"app", LabelOperator::in, {"web"}},
                                           NodeRequirement{"tier", LabelOperator::not_in, {"x"}}));
    EXPECT_EQ(budget->allowed, 1);
    EXPECT_THAT(budget->disrupted, ElementsAre("p"));
    EXPECT_FALSE(read_disruption_budget_json(R"({"metadata":{"name":"b"}})")->pods);
}

TEST(ClusterJson, Claim) {
    const auto claim = read_volume_claim_json(R"({"metadata":{"name":"c","namespace":"lab",
        "uid":"u","creationTimestamp":"1970-01-01T00:01:00Z",
        "ownerReferences":[{"uid":"a"},{"uid":"o","controller":true},{"uid":"z"}],
        "annotations":{"pv.kubernetes.io/bind-completed":"yes"}},
        "spec":{"volumeName":"v","storageClassName":"","volumeAttributesClassName":"gold","accessModes":["ReadWriteOnce",
          "ReadWriteOncePod"],"resources":{"requests":{"storage":"1Ki"}},"volumeMode":"Block",
          "selector":{"matchLabels":{"a":"b"}}},"status":{"phase":"Bound"}})");
    ASSERT_TRUE(claim) << claim.error().message;
    EXPECT_TRUE(claim->bound());
    EXPECT_EQ(claim->meta.controller, "o");
    EXPECT_EQ(claim->meta.created_s, 60);
    EXPECT_EQ(claim->storage_class, "");
    EXPECT_EQ(claim->attributes_class, "gold");
    EXPECT_EQ(claim->modes, bit(AccessMode::once) | bit(AccessMode::once_pod));
    EXPECT_EQ(claim->asked, Quantity::of(1024));
    EXPECT_TRUE(claim->block);
    EXPECT_TRUE(claim->selector);
    EXPECT_EQ(claim->phase, "Bound");
    const auto old = read_volume_claim_json(R"({"metadata":{"name":"c","annotations":
        {"volume.beta.kubernetes.io/storage-class":"old"}},"spec":{}})");
    ASSERT_TRUE(old);
    EXPECT_EQ(old->storage_class, "old");
    EXPECT_FALSE(old->bound());
    EXPECT_FALSE(read_volume_claim_json(R"({"metadata":{"name":"c"}})")->storage_class);
}

TEST(ClusterJson, VolumeAndClass) {
    const auto volume = read_volume_json(R"({"metadata":{"name":"v"},"spec":{
        "capacity":{"storage":"2Gi"},"claimRef":{"namespace":"lab","name":"c","uid":"u"},
        "nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[
          {"key":"zone","operator":"In","values":["x"]}]}]}},
        "storageClassName":"fast","volumeAttributesClassName":"gold","accessModes":["ReadOnlyMany"],"csi":{"driver":"d"}},
        "status":{"phase":"Available"}})");
    ASSERT_TRUE(volume) << volume.error().message;
    ASSERT_EQ(volume->node_terms.size(), 1U);
    EXPECT_EQ(volume->node_terms[0].labels[0].key, "zone");
    EXPECT_EQ(volume->claim_space + volume->claim_name + volume->claim_uid, "labcu");
    EXPECT_EQ(volume->capacity, Quantity::of(std::int64_t{2} << 30));
    EXPECT_EQ(volume->modes, bit(AccessMode::read_many));
    EXPECT_EQ(volume->driver, "d");
    EXPECT_EQ(volume->attributes_class, "gold");
    EXPECT_EQ(volume->storage_class, "fast");

    const auto made = read_storage_class_json(R"({"metadata":{"name":"fast"},"provisioner":"d",
        "volumeBindingMode":"WaitForFirstConsumer","allowedTopologies":[
          {"matchLabelExpressions":[{"key":"zone","values":["x","y"]}]}]})");
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(made->waits);
    ASSERT_EQ(made->allowed.size(), 1U);
    EXPECT_THAT(made->allowed[0].labels,
                ElementsAre(NodeRequirement{"zone", LabelOperator::in, {"x", "y"}}));
    EXPECT_FALSE(read_storage_class_json(R"({"metadata":{"name":"fast"}})")->waits);
}

TEST(ClusterJson, LimitsNamespaceAndPriority) {
    const auto limits = read_csi_node_json(R"({"metadata":{"name":"n"},"spec":{"drivers":[
        {"name":"d","nodeID":"x","allocatable":{"count":8}},{"name":"e","nodeID":"x"}]}})");
    ASSERT_TRUE(limits) << limits.error().message;
    EXPECT_THAT(limits->by_driver, ElementsAre(Pair("d", 8)));
    const auto space = read_namespace_json(R"({"metadata":{"name":"lab","labels":{"a":"b"}}})");
    ASSERT_TRUE(space);
    EXPECT_EQ(space->meta.labels.at("a"), "b");
    const auto high = read_priority_class_json(R"({"metadata":{"name":"high"},"value":-7,
        "globalDefault":true,"preemptionPolicy":"Never"})");
    ASSERT_TRUE(high) << high.error().message;
    EXPECT_EQ(high->value, -7);
    EXPECT_TRUE(high->usual);
    EXPECT_FALSE(high->preempts);
}

TEST(ClusterJson, Group) {
    const auto gang = read_pod_group_json(R"({"metadata":{"name":"g","namespace":"lab"},"spec":{
        "schedulingPolicy":{"gang":{"minCount":4}},
        "schedulingConstraints":{"topology":[{"key":"rack"}]},"disruptionMode":"PodGroup",
        "priorityClassName":"high","priority":5,"resourceClaims":[{"name":"r"}]}})");
    ASSERT_TRUE(gang) << gang.error().message;
    EXPECT_EQ(gang->minimum, 4);
    EXPECT_EQ(gang->topology_key, "rack");
    EXPECT_TRUE(gang->as_one);
    EXPECT_EQ(gang->priority_class, "high");
    EXPECT_EQ(gang->priority, 5);
    EXPECT_THAT(gang->resource_claims, ElementsAre("r"));
    const auto basic = read_pod_group_json(
        R"({"metadata":{"name":"g"},"spec":{"schedulingPolicy":{"basic":{}}}})");
    ASSERT_TRUE(basic);
    EXPECT_EQ(basic->minimum, 0);
    EXPECT_FALSE(basic->as_one);
}

TEST(ClusterJson, RefusalsNameTheField) {
    EXPECT_EQ(refusal(read_namespace_json("{}")), "metadata.name is missing");
    EXPECT_EQ(refusal(read_volume_claim_json(
                  R"({"metadata":{"name":"c"},"spec":{"accessModes":["Often"]}})")),
              "spec.accessModes[0]: \"Often\" is not accepted: ReadWriteOnce, ReadOnlyMany, "
              "ReadWriteMany, ReadWriteOncePod are");
    EXPECT_EQ(refusal(read_storage_class_json(
                  R"({"metadata":{"name":"c"},"volumeBindingMode":"Later"})")),
              "volumeBindingMode: \"Later\" is not accepted: Immediate or WaitForFirstConsumer is");
    EXPECT_EQ(refusal(read_pod_group_json(
                  R"({"metadata":{"name":"g"},"spec":{"schedulingPolicy":{"gang":{}}}})")),
              "spec.schedulingPolicy.gang: minCount is missing: 1 or more is accepted");
    EXPECT_EQ(refusal(read_pod_group_json(R"({"metadata":{"name":"g"},"spec":{
        "schedulingConstraints":{"topology":[{"key":"a"},{"key":"b"}]}}})")),
              "spec.schedulingConstraints.topology[1]: more than one topology is not accepted: "
              "one is");
    EXPECT_EQ(refusal(read_disruption_budget_json(R"({"metadata":{"name":"b"},"spec":{"selector":{
        "matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]}}})")),
              "spec.selector.matchExpressions[0]: operator: \"Gt\" is not accepted in a label "
              "selector: In, NotIn, Exists and DoesNotExist are");
    EXPECT_EQ(
        refusal(read_namespace_json(R"({"metadata":{"name":"n","creationTimestamp":"soon"}})")),
        "metadata.creationTimestamp: \"soon\" is not accepted: a time like "
        "2026-01-31T23:59:59Z is");
}

}  // namespace
}  // namespace tessera
