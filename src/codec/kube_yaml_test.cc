#include "codec/kube_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string refusal(std::string_view text) {
    const auto all = read_kube_yaml(text);
    return all ? "accepted" : all.error().message;
}

TEST(KubeYaml, ReadsSeveralDocuments) {
    const auto all = read_kube_yaml(R"(# a comment
---
apiVersion: v1
kind: Pod
metadata:
  name: multi
  annotations: {GPUlimits: "4Gi"}
spec:
  containers:
    - name: main
      resources:
        limits:
          aliyun.com/gpu-mem: 300
          cpu: "250m"
          memory: 6400Mi
---
---
kind: Node
metadata: {name: gpu-a, labels: {gpu: on}}
status:
  capacity: {cpu: 8, memory: .5Gi, pods: +5}
---
kind: Secret
)");
    ASSERT_TRUE(all) << all.error().message;
    ASSERT_THAT(all->pods, SizeIs(1));
    const Container& main = all->pods[0].pod.containers.at(0);
    EXPECT_EQ(main.limits.at("aliyun.com/gpu-mem"), Quantity::of(300));
    EXPECT_EQ(main.limits.at("memory"), Quantity::of(std::int64_t{6400} << 20));
    ASSERT_THAT(all->nodes, SizeIs(1));
    EXPECT_EQ(all->nodes[0].labels.at("gpu"), "on");
    EXPECT_EQ(all->nodes[0].capacity.at("memory"), Quantity::of(1 << 29));
    EXPECT_EQ(all->nodes[0].capacity.at("pods"), Quantity::of(5));
    EXPECT_THAT(all->skipped, ElementsAre("Secret"));
}

TEST(KubeYaml, QuotedIsTextPlainIsTyped) {
    const auto all = read_kube_yaml(
        "kind: Pod\nmetadata: {name: p, labels: {GPU_MEM_REQ: '872', t: \"true\", n: '', l: "
        "1.2.3}}\n"
        "spec:\n  containers: [{name: c}]\n  nodeName: ~\n");
    ASSERT_TRUE(all) << all.error().message;
    const Pod& pod = all->pods.at(0).pod;
    EXPECT_EQ(pod.labels.at("GPU_MEM_REQ"), "872");
    EXPECT_EQ(pod.labels.at("t"), "true");
    EXPECT_EQ(pod.labels.at("n"), "");
    EXPECT_EQ(pod.labels.at("l"), "1.2.3");
    EXPECT_EQ(pod.node_name, "");
}

TEST(KubeYaml, ErrorsNameTheLine) {
    EXPECT_EQ(refusal("kind: Pod\nmetadata:\n  name: p\n  labels:\n    GPU_MEM_REQ: 872\n"),
              "line 5: metadata.labels.GPU_MEM_REQ: \"872\" is not accepted: text (in YAML a "
              "number or truth value needs quotes) is");
    EXPECT_THAT(refusal("kind: Node\nmetadata: {name: n}\n---\nkind: Pod\nmetadata: {name: p}\n"
                        "spec:\n  containers:\n    - name: c\n      resources:\n        limits:\n"
                        "          cpu: 1x\n"),
                HasSubstr("line 11: spec.containers[0].resources.limits.cpu: \"1x\" is not a "
                          "quantity"));
    EXPECT_THAT(refusal("kind: Pod\nmetadata: [\n"), HasSubstr("not valid YAML"));
    EXPECT_THAT(refusal("- a\n- b\n"),
                HasSubstr("line 1: a list is not accepted: an object with a kind"));
    EXPECT_THAT(refusal("kind: Pod\n? [a]\n: b\n"), HasSubstr("line 2: a key is not accepted"));
    EXPECT_THAT(refusal("kind: Pod\nmetadata:\n  name: p\nmetadata:\n  name: q\n"),
                HasSubstr("the key is there twice"));
}

constexpr std::string_view kSlashQuoted = R"(apiVersion: apps/v1
kind: Deployment
metadata:
  name: cuda-test
spec:
  template:
    spec:
      containers:
        - name: cuda
          resources:
            limits:
              elasticgpu.io/gpu-memory: "256" // 256 MiB
)";

TEST(KubeYaml, SlashCommentAfterQuotesIsTakenAndToldWithItsLine) {
    const auto quoted = read_kube_yaml(kSlashQuoted);
    ASSERT_TRUE(quoted) << quoted.error().message;
    EXPECT_EQ(quoted->notes, std::vector<std::string>({"line 12: // is taken for a comment, which "
                                                       "kubectl does not do: # begins one"}));
    const auto& limits = quoted->pods.at(0).pod.containers.at(0).limits;
    EXPECT_EQ(limits.at("elasticgpu.io/gpu-memory"), *Quantity::parse("256"));
    std::string plain(kSlashQuoted);
    plain.replace(plain.find("\"256\""), 5, "256");
    EXPECT_EQ(refusal(plain), "line 12: // does not begin a comment in YAML: # is accepted");
    std::string more = std::string(kSlashQuoted) + "      restartPolicy: Never\n";
    EXPECT_EQ(refusal(more), "accepted");
    more += "      restartPolicy: [\n";
    EXPECT_EQ(refusal(more), "line 12: // does not begin a comment in YAML: # is accepted")
        << "the first fault, as the file has it";
    std::string good(kSlashQuoted);
    good.replace(good.find("//"), 2, "#");
    ASSERT_TRUE(read_kube_yaml(good));
    EXPECT_TRUE(read_kube_yaml(good)->notes.empty());
}

TEST(KubeYaml, SlashesInAddressesAreNotComments) {
    EXPECT_THAT(refusal("kind: Pod\nmetadata:\n  name: http://x\n  labels: 5\n"),
                HasSubstr("line 4: metadata.labels"));
}

TEST(KubeYaml, MergedMapsGiveWhatTheMapItselfHasNot) {
    const auto all = read_kube_yaml(
        "kind: Pod\n"
        "x: [&a {app: a, tier: low}, &b {<<: *a, tier: high, zone: z}]\n"
        "metadata: {name: p, labels: {zone: own, <<: [*b, *a]}}\n"
        "spec: {containers: [{name: c}]}\n");
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(all->pods.at(0).pod.labels,
              (StringMap{{"app", "a"}, {"tier", "high"}, {"zone", "own"}}));
    EXPECT_THAT(refusal("kind: Pod\nx: &x {<<: *x}\n"), HasSubstr("nested deeper than 100"));
    std::string bomb = "kind: Pod\na0: &a0 {k: v}\n";
    for (int i = 1; i < 40; ++i) {
        bomb += fmt::format("a{}: &a{} {{<<: [*a{}, *a{}]}}\n", i, i, i - 1, i - 1);
    }
    EXPECT_THAT(refusal(bomb), HasSubstr("aliases counted"));
}

TEST(KubeYaml, FaultsAreToldInWords) {
    EXPECT_EQ(refusal(std::string("kind: Pod\nmetadata: {name: a") + '\0' + "b}\n"),
              "line 2: a NUL byte is no text");
    EXPECT_EQ(refusal("kind: Pod\ndeep: " + std::string(10'000, '[')),
              "line 2: this is not valid YAML: it is nested too deeply");
    EXPECT_EQ(refusal("kind: \"\\\xff\"\n"),
              "line 1: this is not valid YAML: unknown escape character: \"\\xff\"");
    EXPECT_EQ(refusal("\xef\xbb\xbfkind: Service\r\n"), "accepted");
}

TEST(KubeYaml, AliasBombsAndLoopsAreBounded) {
    std::string bomb = "kind: Pod\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 12; ++i) {
        bomb += fmt::format("a{}: &a{} [", i, i);
        for (int j = 0; j < 10; ++j) {
            bomb += fmt::format("{}*a{}", j == 0 ? "" : ", ", i - 1);
        }
        bomb += "]\n";
    }
    EXPECT_THAT(refusal(bomb), HasSubstr("aliases counted"));
    EXPECT_NE(refusal("kind: Pod\nloop: &l [*l]\n"), "accepted");
    EXPECT_NE(refusal("kind: Pod\ndeep: " + std::string(10'000, '[')), "accepted");
    EXPECT_NE(refusal(std::string("kind: Pod\nmetadata: {name: \"\xff\xfe\"}\n")), "accepted");
}

TEST(KubeYaml, StrayPunctuationEnds) {
    for (const char* text : {",", "\n\n,\n", "]", "}", "kind: Pod\n---\n,\n", "a: b\n]"}) {
        EXPECT_THAT(refusal(text), HasSubstr("line ")) << text;
    }
}

TEST(KubeYaml, EmptyTextHoldsNothing) {
    const auto all = read_kube_yaml("");
    ASSERT_TRUE(all);
    EXPECT_TRUE(all->pods.empty());
}

}  // namespace
}  // namespace tessera
