#include "codec/kube_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::string_view kPod = R"({
  "status": {"phase": "Running", "qosClass": "Burstable",
    "containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": 0}}},
                          {"name": "log", "state": {"running": {}}}],
    "initContainerStatuses": [{"name": "car", "state": {"waiting": null}}]},
  "spec": {
    "initContainers": [{"name": "prepare"}, {"name": "car", "restartPolicy": "Always"}],
    "containers": [
      {"name": "main", "image": "x", "ports": [{"containerPort": 80, "hostPort": 8080}, {}],
       "resources": {"limits": {"aliyun.com/gpu-mem": "8", "cpu": 0.5, "memory": 1e3},
                     "requests": {"cpu": "250m"}}},
      {"name": "log", "resources": null}],
    "schedulerName": "tessera", "nodeName": "gpu-a", "priority": -5, "priorityClassName": "high",
    "nodeSelector": {"zone": "x"}, "overhead": {"cpu": "10m"},
    "resources": {"requests": {"memory": "1Gi"}},
    "resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}],
    "tolerations": [{"key": "a", "operator": "Exists"}, {"key": "b", "value": "v", "effect": "NoSchedule"}]},
  "metadata": {"name": "train", "namespace": "lab", "uid": "6f1c", "labels": {"app": "\u00e9\n"},
    "annotations": {"a/b": "c"}, "deletionTimestamp": "2026-01-01T00:00:00Z",
    "managedFields": [{"x": [{"y": {}}]}]},
  "apiVersion": "v1", "kind": "Pod"
})";

TEST(KubeJson, ReadsAPodInAnyOrderOfFields) {
    const auto pod = read_pod_json(kPod);
    ASSERT_TRUE(pod) << pod.error().message;
    EXPECT_EQ(pod->owner(), "lab/train/6f1c");
    EXPECT_EQ(pod->labels.at("app"), "é\n");
    EXPECT_EQ(pod->annotations.at("a/b"), "c");
    EXPECT_TRUE(pod->deleting);
    EXPECT_EQ(pod->scheduler_name, "tessera");
    EXPECT_EQ(pod->node_name, "gpu-a");
    EXPECT_EQ(pod->priority, -5);
    EXPECT_EQ(pod->priority_class, "high");
    EXPECT_EQ(pod->node_selector.at("zone"), "x");
    EXPECT_EQ(pod->overhead.at("cpu").to_string(), "10m");
    EXPECT_EQ(pod->requests.at("memory"), Quantity::of(1 << 30));
    EXPECT_THAT(pod->resource_claims, ElementsAre("gpu"));
    ASSERT_THAT(pod->containers, SizeIs(2));
    EXPECT_EQ(pod->containers[0].limits.at("aliyun.com/gpu-mem"), Quantity::of(8));
    EXPECT_EQ(pod->containers[0].limits.at("cpu").to_string(), "500m");
    EXPECT_EQ(pod->containers[0].limits.at("memory").to_string(), "1k");
    EXPECT_EQ(pod->containers[0].requests.at("cpu").to_string(), "250m");
    EXPECT_THAT(pod->containers[0].host_ports, ElementsAre(HostPort{.port = 8080}));
    ASSERT_THAT(pod->init_containers, SizeIs(2));
    EXPECT_FALSE(pod->init_containers[0].restartable);
    EXPECT_TRUE(pod->init_containers[1].restartable);
    ASSERT_THAT(pod->tolerations, SizeIs(2));
    EXPECT_TRUE(pod->tolerations[0].exists);
    EXPECT_EQ(pod->tolerations[1].effect, TaintEffect::no_schedule);
    EXPECT_EQ(pod->phase, PodPhase::running);
    EXPECT_EQ(pod->containers[0].state, ContainerState::ended);
    EXPECT_EQ(pod->containers[1].state, ContainerState::running);
}

TEST(KubeJson, DefaultsAreKubernetesOwn) {
    const auto pod =
        read_pod_json(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]}})");
    ASSERT_TRUE(pod);
    EXPECT_EQ(pod->space, "default");
    EXPECT_EQ(pod->scheduler_name, "default-scheduler");
    EXPECT_EQ(pod->phase, PodPhase::pending);
    EXPECT_EQ(pod->priority, std::nullopt);
    EXPECT_FALSE(pod->deleting);
}

TEST(KubeJson, ReadsANode) {
    const auto node = read_node_json(R"({"kind":"Node","metadata":{"name":"gpu-a",
        "labels":{"zone":"x"},"annotations":{"tessera.dev/gpus":"{}"}},
        "spec":{"unschedulable":true,"taints":[{"key":"k","value":"v","effect":"NoSchedule"}]},
        "status":{"capacity":{"cpu":"32","aliyun.com/gpu-mem":"64"},"allocatable":{"cpu":"31500m"},
        "conditions":[{"type":"MemoryPressure","status":"False"},
                      {"type":"Ready","status":"Unknown"}]}})");
    ASSERT_TRUE(node) << node.error().message;
    EXPECT_EQ(node->name, "gpu-a");
    EXPECT_TRUE(node->unschedulable);
    EXPECT_FALSE(node->ready);
    EXPECT_EQ(node->offered("cpu")->to_string(), "31500m");
    EXPECT_EQ(node->offered("aliyun.com/gpu-mem")->to_string(), "64");
    EXPECT_EQ(node->offered("nvidia.com/gpu"), nullptr);
    ASSERT_THAT(node->taints, SizeIs(1));
    EXPECT_EQ(node->taints[0], (Taint{"k", "v", TaintEffect::no_schedule}));
}

TEST(KubeJson, ReadsRequiredNodeAffinity) {
    const auto pod = read_pod_json(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}],
        "affinity":{"podAffinity":{"x":1},"nodeAffinity":{
          "preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"preference":{}}],
          "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
            {"matchExpressions":[{"key":"zone","operator":"In","values":["x","y"]},
                                 {"key":"gen","operator":"Gt","values":["3"]}],
             "matchFields":[{"key":"metadata.name","operator":"NotIn","values":["gpu-b"]}]},
            {"matchExpressions":[{"key":"old","operator":"DoesNotExist"}]},
            {}]}}}}})");
    ASSERT_TRUE(pod) << pod.error().message;
    using enum LabelOperator;
    EXPECT_THAT(
        pod->node_terms,
        ElementsAre(NodeSelectorTerm{{{"zone", in, {"x", "y"}}, {"gen", gt, {"3"}}},
                                     {{"metadata.name", not_in, {"gpu-b"}}}},
                    NodeSelectorTerm{{{"old", does_not_exist, {}}}, {}}, NodeSelectorTerm{}));
    const auto none = read_pod_json(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}],
        "affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":null}}}})");
    ASSERT_TRUE(none) << none.error().message;
    EXPECT_TRUE(none->node_terms.empty());
}

TEST(KubeJson, ReadsListsControllersAndNamesWhatItSkips) {
    const auto all = read_kube_json(R"({"kind":"List","apiVersion":"v1","items":[
        {"kind":"Service","metadata":{"name":"web"}},
        {"spec":{"replicas":3,"template":{"metadata":{"labels":{"a":"b"}},
            "spec":{"containers":[{"name":"c"}]}}},"metadata":{"name":"web","namespace":"lab"},
            "kind":"Deployment"},
        {"kind":"Job","metadata":{"name":"j"},"spec":{"parallelism":5,"completions":2,
            "template":{"spec":{"containers":[{"name":"c"}]}}}},
        {"kind":"ReplicaSet","metadata":{"name":"r"},
            "spec":{"template":{"spec":{"containers":[{"name":"c"}]}}}},
        {"kind":"PodList","items":[{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]}}]},
        {"kind":"NodeList","items":[{"metadata":{"name":"n"}}]},
        {"kind":"ConfigMap","metadata":{"name":"unhealthy-gpu-n","namespace":"kube-system"},
            "data":{"gpus":"1"}},
        {"kind":"Service","metadata":{"name":"other"}}]})");
    ASSERT_TRUE(all) << all.error().message;
    ASSERT_THAT(all->pods, SizeIs(4));
    EXPECT_EQ(all->pods[0].kind, "Deployment");
    EXPECT_EQ(all->pods[0].count, 3);
    EXPECT_EQ(all->pods[0].pod.space, "lab");
    EXPECT_EQ(all->pods[0].pod.labels.at("a"), "b");
    EXPECT_EQ(all->pods[1].count, 2);
    EXPECT_EQ(all->pods[2].count, 1);
    EXPECT_EQ(all->pods[3].pod.name, "p");
    EXPECT_THAT(all->nodes, SizeIs(1));
    ASSERT_THAT(all->config_maps, SizeIs(1));
    EXPECT_EQ(all->config_maps[0].data.at("gpus"), "1");
    EXPECT_THAT(all->skipped, ElementsAre("Service"));
}

std::string refusal(std::string_view text) {
    const auto all = read_kube_json(text);
    return all ? "accepted" : all.error().message;
}

std::string pod_with(std::string_view spec) {
    return fmt::format(R"({{"kind":"Pod","metadata":{{"name":"p"}},"spec":{{{}}}}})", spec);
}

TEST(KubeJson, WrongTypesNameFieldValueAndWhatIsAccepted) {
    const std::vector<std::pair<std::string, const char*>> cases{
        {pod_with(R"("containers":5)"), R"(spec.containers: "5" is not accepted: a list is)"},
        {pod_with(R"("containers":[{"name":7}])"),
         R"(spec.containers[0].name: "7" is not accepted: text)"},
        {pod_with(R"("containers":[{"name":"c","resources":{"limits":{"a/b":"x"}}}])"),
         R"(spec.containers[0].resources.limits["a/b"]: "x" is not a quantity)"},
        {pod_with(R"("containers":[{"name":"c","resources":{"limits":{"a/b":true}}}])"),
         R"("true" is not accepted: a quantity is)"},
        {pod_with(R"("containers":[{"name":"c","resources":{"limits":{"a/b":NaN}}}])"),
         "not valid JSON"},
        {pod_with(R"("containers":[{"name":"c","resources":{"limits":{"a/b":1e99}}}])"),
         "too large for a quantity"},
        {pod_with(R"("containers":[{"name":"c"}],"priority":3000000000)"),
         R"(spec.priority: "3000000000" is not accepted: a whole number of 32 bits is)"},
        {pod_with(R"("containers":[{"name":"c"}],"priority":1.5)"), R"("1.5" is not accepted)"},
        {pod_with(R"("containers":[{"name":"c"}],"nodeSelector":{"a":1})"),
         R"(spec.nodeSelector.a: "1" is not accepted: text)"},
        {pod_with(R"("containers":[{"name":"c"},{"name":"c"}])"), "two containers are called"},
        {pod_with(R"("containers":[{}])"), "spec.containers[0]: name is missing"},
        {pod_with(R"("containers":[])"), "a pod has at least one"},
        {pod_with(R"("containers":[{"name":"c"}],"containers":[{"name":"c"}])"),
         "spec.containers: the key is there twice"},
        {R"({"kind":"Pod","kind":"Node","metadata":{"name":"p"}})", "the key is there twice"},
        {R"({"kind":"Pod","metadata":{"name":"p","labels":{"a":"1","a":"2"}}})",
         "metadata.labels.a: the key is there twice"},
        {R"({"kind":"Pod","metadata":"p"})", R"(metadata: "\"p\"" is not accepted: an object is)"},
        {R"({"kind":"Pod","metadata":{}})", "metadata.name is missing"},
        {R"({"kind":["Pod"]})", "kind: a list is not accepted: text"},
        {R"({"metadata":{}})", "kind is missing"},
        {R"({"kind":"Job","metadata":{"name":"j"},"spec":{"parallelism":-1}})",
         "spec.parallelism: -1 is not accepted: 0 or more is"},
        {"[]", "a JSON object is accepted"},
        {"5", "a JSON object is accepted"},
        {"", "not valid JSON"},
        {"{\"kind\":\"Pod\"", "not valid JSON"},
        {"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"\xff\"}}", "not valid JSON"},
        {R"({"kind":"Node","metadata":{"name":"n"}} trailing)", "not valid JSON"},
        {R"({"kind":"Node","metadata":{"name":"n"}}{})", "something follows"},
    };
    for (const auto& [text, sentence] : cases) {
        EXPECT_THAT(refusal(text), HasSubstr(sentence)) << text;
    }
}

std::string with_terms(std::string_view terms) {
    return pod_with(fmt::format(
        R"("containers":[{{"name":"c"}}],"affinity":{{"nodeAffinity":{{
           "requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":{}}}}}}})",
        terms));
}

std::string with_expression(std::string_view expression) {
    return with_terms(fmt::format(R"([{{"matchExpressions":[{{{}}}]}}])", expression));
}

std::string with_toleration(std::string_view toleration) {
    return pod_with(
        fmt::format(R"("containers":[{{"name":"c"}}],"tolerations":[{{{}}}])", toleration));
}

TEST(KubeJson, MalformedConstraintsNameFieldValueAndWhatIsAccepted) {
    constexpr const char* kTerms =
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution";
    const std::string expression =
        std::string(kTerms) + ".nodeSelectorTerms[0].matchExpressions[0]: ";
    const std::vector<std::pair<std::string, std::string>> cases{
        {with_terms("[]"), std::string(kTerms) +
                               ": nodeSelectorTerms: an empty list is not accepted: one term or "
                               "more is"},
        {with_terms("5"), "nodeSelectorTerms: \"5\" is not accepted: a list is"},
        {with_expression(R"("operator":"Exists")"),
         expression + "key is missing: the name of a label is accepted"},
        {with_expression(R"("key":"a","operator":"Near")"),
         expression +
             R"(operator: "Near" is not accepted: In, NotIn, Exists, DoesNotExist, Gt, Lt are)"},
        {with_expression(R"("key":"a")"), expression + R"(operator: "" is not accepted)"},
        {with_expression(R"("key":"a","operator":"In")"),
         expression + "values: an empty list is not accepted with In: one value or more is"},
        {with_expression(R"("key":"a","operator":"In","values":[1])"),
         R"(matchExpressions[0].values[0]: "1" is not accepted: text)"},
        {with_expression(R"("key":"a","operator":"Exists","values":["x"])"),
         expression + R"(values: "x" is not accepted with Exists: none is)"},
        {with_expression(R"("key":"a","operator":"Gt","values":["3.5"])"),
         expression + R"(values: "3.5" is not accepted with Gt: one whole number is)"},
        {with_expression(R"("key":"a","operator":"Lt","values":["1","2"])"),
         expression + "values: a list of 2 is not accepted with Lt: one whole number is"},
        {with_terms(R"([{"matchFields":[{"key":"spec.x","operator":"In","values":["n"]}]}])"),
         R"(matchFields[0]: key: "spec.x" is not accepted: metadata.name is)"},
        {with_terms(R"([{"matchFields":[{"key":"metadata.name","operator":"Exists"}]}])"),
         R"(operator: "Exists" is not accepted with metadata.name: In and NotIn are)"},
        {with_terms(
             R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["a","b"]}]}])"),
         "values: a list of 2 is not accepted with metadata.name: the name of one node is"},
        {with_toleration(R"("key":"a","operator":"Gt","value":"5")"),
         R"(spec.tolerations[0]: operator: "Gt" is not accepted: Exists or Equal is)"},
        {with_toleration(R"("value":"a")"),
         "spec.tolerations[0]: key is missing: without one, Exists is the only operator that is "
         "accepted"},
        {with_toleration(R"("key":"a","operator":"Exists","value":"b")"),
         R"(value: "b" is not accepted with Exists: none is)"},
        {with_toleration(R"("key":"a","effect":"Never")"),
         R"(effect: "Never" is not accepted: NoSchedule, PreferNoSchedule, NoExecute are)"},
        {R"({"kind":"Node","metadata":{"name":"n"},"spec":{"taints":[{"key":"k"}]}})",
         "spec.taints[0]: effect is missing: NoSchedule, PreferNoSchedule, NoExecute are accepted"},
        {R"({"kind":"Node","metadata":{"name":"n"},"spec":{"taints":[{"effect":"NoExecute"}]}})",
         "spec.taints[0]: key is missing: the name of a taint is accepted"},
    };
    for (const auto& [text, sentence] : cases) {
        EXPECT_THAT(refusal(text), HasSubstr(sentence)) << text;
    }
}

TEST(KubeJson, HugeAndDeepInputIsBounded) {
    const std::string huge(10'000'000, 'x');
    const auto pod = read_pod_json(fmt::format(
        R"({{"metadata":{{"name":"p","labels":{{"l":"{}"}}}},"spec":{{"containers":[{{"name":"c"}}]}}}})",
        huge));
    ASSERT_TRUE(pod);
    EXPECT_EQ(pod->labels.at("l").size(), huge.size());
    EXPECT_LT(
        refusal(fmt::format(R"({{"kind":"Pod","metadata":{{"{}":1,"labels":5}}}})", huge)).size(),
        500U);
    EXPECT_LT(
        refusal(fmt::format(R"({{"kind":"Pod","metadata":{{"labels":{{"{}":5}}}}}})", huge)).size(),
        500U);
    EXPECT_NE(refusal("{\"kind\":\"Pod\",\"metadata\":" + std::string(100'000, '[')), "accepted");
    std::string lists;
    for (int i = 0; i < 100; ++i) {
        lists += R"({"kind":"List","items":[)";
    }
    EXPECT_NE(refusal(lists), "accepted");
    for (int i = 0; i < 100; ++i) {
        lists += "]}";
    }
    EXPECT_THAT(refusal(lists), HasSubstr("lists within lists"));
}

TEST(KubeJson, CronJobsAndDaemonSetsHaveTemplates) {
    const auto cron = read_kube_json(R"({"kind":"CronJob","metadata":{"name":"nightly"},
        "spec":{"schedule":"0 3 * * *","jobTemplate":{"spec":{"parallelism":4,"completions":3,
        "template":{"spec":{"containers":[{"name":"c"}]}}}}}})");
    ASSERT_TRUE(cron) << cron.error().message;
    ASSERT_EQ(cron->pods.size(), 1U);
    EXPECT_EQ(cron->pods[0].kind, "CronJob");
    EXPECT_EQ(cron->pods[0].count, 3);
    EXPECT_EQ(cron->pods[0].pod.name, "nightly");
    const auto daemon = read_kube_json(R"({"kind":"DaemonSet","metadata":{"name":"d"},
        "spec":{"template":{"spec":{"containers":[{"name":"c"}]}}}})");
    ASSERT_TRUE(daemon) << daemon.error().message;
    EXPECT_EQ(daemon->pods[0].count, 1);
    const auto empty = read_kube_json(R"({"kind":"CronJob","metadata":{"name":"n"},"spec":{}})");
    ASSERT_FALSE(empty);
    EXPECT_NE(empty.error().message.find("spec.jobTemplate.spec.template.spec.containers"),
              std::string::npos);
    EXPECT_NE(kinds_with_pods().find("CronJob"), std::string::npos);
}

}  // namespace
}  // namespace tessera
