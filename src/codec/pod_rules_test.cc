// What a pod asks of its neighbourhood, as it is written in a manifest.
#include "model/pod_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "codec/kube_json.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

Expected<Pod> pod_with(std::string_view spec, std::string_view status = "{}") {
    return read_pod_json(fmt::format(
        R"({{"metadata":{{"name":"p"}},"spec":{{"containers":[{{"name":"c"}}],{}}},"status":{}}})",
        spec, status));
}
PodRules rules_with(std::string_view spec, std::string_view status = "{}") {
    const auto pod = pod_with(spec, status);
    EXPECT_TRUE(pod) << pod.error().message;
    return pod ? rules_of(*pod) : PodRules();
}
std::string refusal(std::string_view spec) {
    const auto pod = pod_with(spec);
    return pod ? "accepted" : pod.error().message;
}

TEST(PodRules, APodThatSaysNothingHasNone) {
    const auto pod = pod_with(R"("preemptionPolicy":"PreemptLowerPriority",
        "volumes":[{"name":"token","projected":{}}],"affinity":{"podAffinity":{}})",
                              R"({"conditions":[{"type":"PodScheduled","status":"True"}]})");
    ASSERT_TRUE(pod) << pod.error().message;
    EXPECT_EQ(pod->rules, nullptr);
    EXPECT_TRUE(pod->preempts);
    EXPECT_EQ(pod->created_s, 0);
}

TEST(PodRules, Affinity) {
    const PodRules rules = rules_with(R"("affinity":{
        "nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":5,
          "preference":{"matchExpressions":[{"key":"gen","operator":"Gt","values":["3"]}]}}]},
        "podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{
            "labelSelector":{"matchLabels":{"app":"db"},"matchExpressions":[
              {"key":"tier","operator":"In","values":["a","b"]}]},
            "namespaces":["x","y"],"namespaceSelector":{"matchLabels":{"team":"red"}},
            "topologyKey":"zone","matchLabelKeys":["rev"],"mismatchLabelKeys":["old"]}],
          "preferredDuringSchedulingIgnoredDuringExecution":[{"weight":7,
            "podAffinityTerm":{"topologyKey":"rack","labelSelector":{}}}]},
        "podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
            {"topologyKey":"host"}],
          "preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100,
            "podAffinityTerm":{"topologyKey":"host"}}]}})");
    using enum LabelOperator;
    ASSERT_THAT(rules.preferred_nodes, SizeIs(1));
    EXPECT_EQ(rules.preferred_nodes[0].weight, 5);
    EXPECT_THAT(rules.preferred_nodes[0].term.labels,
                ElementsAre(NodeRequirement{"gen", gt, {"3"}}));
    PodTerm near{.pods = LabelSelector{{"app", in, {"db"}}, {"tier", in, {"a", "b"}}},
                 .spaces = {"x", "y"},
                 .spaces_by = LabelSelector{{"team", in, {"red"}}},
                 .topology_key = "zone",
                 .match_keys = {"rev"},
                 .mismatch_keys = {"old"}};
    EXPECT_THAT(rules.near, ElementsAre(near));
    EXPECT_THAT(rules.apart, ElementsAre(PodTerm{.topology_key = "host"}));
    EXPECT_THAT(rules.preferred,
                ElementsAre(WeightedPodTerm{7, {.pods = LabelSelector(), .topology_key = "rack"}},
                            WeightedPodTerm{-100, {.topology_key = "host"}}));
}

TEST(PodRules, Spreading) {
    const PodRules rules = rules_with(R"("topologySpreadConstraints":[
        {"maxSkew":2,"minDomains":3,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",
         "labelSelector":{"matchLabels":{"app":"db"}},"nodeAffinityPolicy":"Ignore",
         "nodeTaintsPolicy":"Honor","matchLabelKeys":["rev"]},
        {"maxSkew":1,"topologyKey":"host","whenUnsatisfiable":"ScheduleAnyway"}])");
    const SpreadRule first{.topology_key = "zone",
                           .pods = LabelSelector{{"app", LabelOperator::in, {"db"}}},
                           .max_skew = 2,
                           .min_domains = 3,
                           .required = true,
                           .only_admitting = false,
                           .only_tolerated = true,
                           .match_keys = {"rev"}};
    EXPECT_THAT(rules.spread,
                ElementsAre(first, SpreadRule{.topology_key = "host", .required = false}));
}

TEST(PodRules, ClaimsGatesGroupAndState) {
    const auto pod = pod_with(R"("schedulingGates":[{"name":"g"},{"name":"h"}],
        "schedulingGroup":{"podGroupName":"gang"},"preemptionPolicy":"Never",
        "volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data","readOnly":true}},
                   {"name":"w","emptyDir":{}},{"name":"e","ephemeral":{"volumeClaimTemplate":{}}}])",
                              R"({"nominatedNodeName":"n","conditions":[{"type":"Ready",
        "status":"False"},{"type":"PodScheduled","status":"False","reason":"Unschedulable",
        "message":"no room"}]})");
    ASSERT_TRUE(pod) << pod.error().message;
    const PodRules& rules = rules_of(*pod);
    EXPECT_THAT(rules.gates, ElementsAre("g", "h"));
    EXPECT_EQ(rules.group, "gang");
    EXPECT_FALSE(pod->preempts);
    EXPECT_THAT(rules.claims,
                ElementsAre(VolumeClaimUse{"data", false}, VolumeClaimUse{"p-e", true}));
    EXPECT_EQ(rules.nominated_node, "n");
    EXPECT_EQ(rules.unscheduled, (PodCondition{"False", "Unschedulable", "no room"}));
}

TEST(PodRules, HostPortsAndCreation) {
    const auto pod = read_pod_json(R"({"metadata":{"name":"p",
        "creationTimestamp":"1970-01-02T00:00:00Z"},"spec":{"containers":[{"name":"c","ports":[
        {"containerPort":1},{"hostPort":53,"protocol":"UDP","hostIP":"10.0.0.1"},
        {"hostPort":80,"hostIP":"0.0.0.0"}]}]}})");
    ASSERT_TRUE(pod) << pod.error().message;
    EXPECT_THAT(pod->containers[0].host_ports,
                ElementsAre(HostPort{"10.0.0.1", Protocol::udp, 53}, HostPort{.port = 80}));
    EXPECT_EQ(pod->created_s, 86'400);
}

TEST(PodRules, RefusalsNameTheField) {
    const std::string near =
        "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuring"
        "Execution[0]";
    EXPECT_EQ(refusal(R"("affinity":{"podAffinity":{
        "requiredDuringSchedulingIgnoredDuringExecution":[{}]}})"),
              near + ": topologyKey is missing: the name of a node's label is accepted");
    EXPECT_EQ(refusal(R"("affinity":{"podAffinity":{
        "requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"z","labelSelector":
        {"matchExpressions":[{"key":"a","operator":"In"}]}}]}})"),
              near +
                  ".labelSelector.matchExpressions[0]: values: an empty list is not accepted "
                  "with In: one value or more is");
    EXPECT_EQ(refusal(R"("affinity":{"podAntiAffinity":{
        "preferredDuringSchedulingIgnoredDuringExecution":[{"weight":101,
        "podAffinityTerm":{"topologyKey":"z"}}]}})"),
              "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]: "
              "weight: 101 is not accepted: 1 to 100 is");
    EXPECT_EQ(refusal(R"("topologySpreadConstraints":[{"topologyKey":"z","maxSkew":1}])"),
              "spec.topologySpreadConstraints[0]: whenUnsatisfiable: \"\" is not accepted: "
              "DoNotSchedule or ScheduleAnyway is");
    EXPECT_EQ(refusal(R"("topologySpreadConstraints":[{"topologyKey":"z","whenUnsatisfiable":
        "ScheduleAnyway"}])"),
              "spec.topologySpreadConstraints[0]: maxSkew: 0 is not accepted: 1 or more is");
    EXPECT_EQ(refusal(R"("topologySpreadConstraints":[{"topologyKey":"z","maxSkew":1,
        "minDomains":2,"whenUnsatisfiable":"ScheduleAnyway"}])"),
              "spec.topologySpreadConstraints[0]: minDomains: 2 is not accepted: 1 or more is, "
              "with DoNotSchedule only");
    EXPECT_EQ(refusal(R"("topologySpreadConstraints":[{"topologyKey":"z","maxSkew":1,
        "nodeTaintsPolicy":"Maybe","whenUnsatisfiable":"ScheduleAnyway"}])"),
              "spec.topologySpreadConstraints[0]: nodeTaintsPolicy: \"Maybe\" is not accepted: "
              "Honor or Ignore is");
    EXPECT_EQ(refusal(R"("preemptionPolicy":"Sometimes")"),
              "spec.preemptionPolicy: \"Sometimes\" is not accepted: PreemptLowerPriority or Never "
              "is");
    EXPECT_EQ(refusal(R"("volumes":[{"name":"v","persistentVolumeClaim":{}}])"),
              "spec.volumes[0].persistentVolumeClaim: claimName is missing");
    EXPECT_EQ(refusal(R"("initContainers":[{"name":"i","ports":[{"hostPort":70000}]}])"),
              "spec.initContainers[0].ports[0].hostPort: 70000 is not accepted: 0 to 65535 is");
    EXPECT_EQ(refusal(R"("initContainers":[{"name":"i","ports":[{"protocol":"ICMP"}]}])"),
              "spec.initContainers[0].ports[0].protocol: \"ICMP\" is not accepted: TCP, UDP or "
              "SCTP is");
}

}  // namespace
}  // namespace tessera
