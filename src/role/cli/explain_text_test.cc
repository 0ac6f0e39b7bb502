// tessera explain and tessera policy as a user meets them.
#include "role/cli/explain_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "codec/state_json.h"
#include "codec/test_directory.h"
#include "role/cli/command.h"
#include "role/cli/test_command.h"
#include "role/wording/decision_words.h"
#include "sim/file.h"

namespace tessera::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Files of this test, gone when it ends.
class Files : public testing::Test {
  protected:
    std::string write(const std::string& name, std::string_view text) {
        const std::string path = directory_.file(name);
        EXPECT_TRUE(write_file(path, text));
        return path;
    }

  private:
    TestDirectory directory_;
};

constexpr std::string_view kState = R"({"version":1,"policy":"binpack","nodes":[
    {"name":"gpu-a","cpuMilli":16000,"memoryMib":65536,
     "gpus":[{"count":2,"model":"A100","memoryMib":40960}]},
    {"name":"gpu-b","cpuMilli":16000,"memoryMib":65536,
     "gpus":[{"count":4,"model":"A100","memoryMib":40960}]},
    {"name":"cpu","cpuMilli":16000,"memoryMib":65536}],
    "demands":[{"cpuMilli":1000,"memoryMib":1024,
                "alternatives":[[{"milli":300,"memoryMib":30720}]]}],
    "pods":[{"name":"default/old","demand":0,"placement":{"node":0,"cpuMilli":1000,
             "memoryMib":1024,"grants":[{"gpu":0,"milli":300,"memoryMib":30720}]}},
            {"name":"default/waits","demand":0}],
    "history":[0,0]})";

constexpr std::string_view kUnknownMemory = R"({"version":1,"policy":"binpack","nodes":[
    {"name":"n","cpuMilli":16000,"memoryMib":65536,"gpus":[{"count":2}]}]})";

using ExplainCommand = Files;
using PolicyCommand = Files;

TEST(ExplainText, ThousandsAreApart) {
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(2048), "2 048");
    EXPECT_EQ(grouped(-1234567), "-1 234 567");
    EXPECT_EQ(grouped(-123), "-123");
}

TEST_F(ExplainCommand, WhyHere) {
    const std::string state = write("s.json", kState);
    const Outcome fits =
        tessera({"explain", "--state", state, "--milli", "500", "--gpu-memory", "8Gi"});
    EXPECT_EQ(fits.code, kExitFine) << fits.err;
    EXPECT_THAT(fits.out, HasSubstr("fits on 2 nodes of 3: goes to gpu-a, GPU 0"));
    EXPECT_THAT(fits.out, HasSubstr("GPU 0: 700 milli and 10 240 MiB free, 1 share"));
    EXPECT_THAT(fits.out, HasSubstr("of 2 GPUs that fit there it is the tightest"));
    EXPECT_THAT(fits.out, AllOf(HasSubstr("chosen"), HasSubstr("NodeHasNoGpu")));
    EXPECT_THAT(fits.out, Not(HasSubstr("\x1b")));  // not a terminal
}

TEST_F(ExplainCommand, WhyNotAndWhatWouldHelp) {
    const std::string state = write("s.json", kState);
    const Outcome refused =
        tessera({"explain", "--state", state, "--gpus", "8", "--cpu", "20", "--model", "A100"});
    EXPECT_EQ(refused.code, kExitNo);
    EXPECT_THAT(refused.out, HasSubstr("no node of this cluster can ever hold it"));
    EXPECT_THAT(refused.out, HasSubstr("by no single change"));
    const Outcome close = tessera({"explain", "--state", state, "--gpus", "4", "--cpu", "17"});
    EXPECT_THAT(close.out, HasSubstr("with 1 000 milli-cores less CPU (16 000 instead of 17 000): "
                                     "on 4 GPUs of 1 node"));
    const Outcome json = tessera({"explain", "--state", state, "--gpus", "6", "--json"});
    EXPECT_EQ(json.code, kExitNo);
    EXPECT_THAT(json.out, HasSubstr(R"("fits":false)"));
    EXPECT_THAT(json.out, HasSubstr(R"({"fix":"FewerGpus","asked":6,"to":4,"unit":"GPUs")"));
    EXPECT_THAT(json.out,
                HasSubstr(R"("code":"GpuCountInsufficient","kind":"never on this node")"));
}

TEST_F(ExplainCommand, PodsOfTheStateAndManifests) {
    const std::string state = write("s.json", kState);
    const Outcome running = tessera({"explain", "--state", state, "--running", "old"});
    EXPECT_EQ(running.code, kExitFine) << running.err;
    EXPECT_THAT(running.out, HasSubstr("default/old runs on gpu-a, GPU 0"));
    EXPECT_THAT(running.out, HasSubstr("no node would be better now"));
    const Outcome waiting = tessera({"explain", "--state", state, "--running", "default/waits"});
    EXPECT_THAT(waiting.out, HasSubstr("default/waits: fits on"));
    const Outcome unknown = tessera({"explain", "--state", state, "--running", "wait"});
    EXPECT_EQ(unknown.code, kExitUse);
    EXPECT_THAT(unknown.err, HasSubstr("perhaps default/waits"));

    const std::string manifest = write("pod.yaml",
                                       "apiVersion: v1\n"
                                       "kind: Pod\n"
                                       "metadata: {name: train}\n"
                                       "spec:\n"
                                       "  containers:\n"
                                       "  - name: main\n"
                                       "    image: x\n"
                                       "    resources: {limits: {nvidia.com/gpu: 4}}\n");
    const Outcome pod = tessera({"explain", "--state", state, "--pod", manifest});
    EXPECT_EQ(pod.code, kExitFine) << pod.err;
    EXPECT_THAT(pod.out, HasSubstr("default/train: fits on 1 node of 3: goes to gpu-b, GPUs 0, 1"));
}

TEST_F(ExplainCommand, NodeConstraintsOfAManifestAreJudged) {
    const std::string state = write("constraints.json", R"({"version":1,"nodes":[
        {"name":"gpu-a","cpuMilli":16000,"memoryMib":65536,"gpus":[{"count":2}],
         "labels":{"zone":"a"},"taints":[{"key":"gpu","value":"only","effect":"NoSchedule"}]},
        {"name":"gpu-b","cpuMilli":16000,"memoryMib":65536,"gpus":[{"count":2}],
         "labels":{"zone":"b"}}]})");
    const auto asked = [&](const std::string& spec) {
        return tessera({"explain", "--state", state, "--pod",
                        write("pod.yaml", "kind: Pod\nmetadata: {name: train}\nspec:\n" + spec +
                                              "  containers:\n"
                                              "  - name: main\n"
                                              "    resources: {limits: {nvidia.com/gpu: 1}}\n")});
    };
    const Outcome plain = asked("");
    EXPECT_EQ(plain.code, kExitFine) << plain.err;
    EXPECT_THAT(plain.out, HasSubstr("fits on 1 node of 2: goes to gpu-b"));
    EXPECT_THAT(plain.out, HasSubstr("the node has a taint that the pod does not tolerate: "
                                     "gpu=only:NoSchedule"));
    const Outcome chosen = asked("  nodeSelector: {zone: a}\n");
    EXPECT_EQ(chosen.code, kExitNo);
    EXPECT_THAT(chosen.out, HasSubstr("NodeSelectorMismatch"));
    EXPECT_THAT(chosen.out, HasSubstr("labels of the pod's node selector: zone=a"));
    EXPECT_THAT(chosen.out, HasSubstr("with a toleration of gpu=only: on 2 GPUs of 1 node"));
    EXPECT_THAT(chosen.out, HasSubstr("without node selector zone=a: on 2 GPUs of 1 node"));
    const Outcome tolerating = asked(
        "  nodeSelector: {zone: a}\n"
        "  tolerations: [{key: gpu, operator: Exists}]\n");
    EXPECT_EQ(tolerating.code, kExitFine) << tolerating.out;
    EXPECT_THAT(tolerating.out, HasSubstr("goes to gpu-a"));
    const std::string affinity =
        "  affinity:\n    nodeAffinity:\n"
        "      requiredDuringSchedulingIgnoredDuringExecution:\n"
        "        nodeSelectorTerms:\n        - matchExpressions:\n";
    const Outcome nowhere =
        asked(affinity + "          - {key: zone, operator: In, values: [c]}\n");
    EXPECT_EQ(nowhere.code, kExitNo);
    EXPECT_THAT(nowhere.out, HasSubstr("required node affinity: zone"));
    EXPECT_THAT(nowhere.out, HasSubstr("without its required node affinity: on 2 GPUs of 1 node"));
    const Outcome wrong = asked(affinity + "          - {key: zone, operator: Is}\n");
    EXPECT_EQ(wrong.code, kExitUse);
    EXPECT_THAT(wrong.err, HasSubstr("pod.yaml:9: spec.affinity.nodeAffinity."));
    EXPECT_THAT(wrong.err, HasSubstr("operator: \"Is\" is not accepted: In, NotIn, Exists,"));
}

TEST_F(ExplainCommand, NotesOfManifests) {
    const std::string state = write("s.json", kState);
    const auto explain = [&](const std::string& metadata, const std::string& limits) {
        const std::string manifest = write(
            "pod.yaml", fmt::format("kind: Pod\nmetadata: {{name: p{}}}\nspec:\n  containers:\n"
                                    "  - name: main\n    resources:\n      limits:\n        {}\n",
                                    metadata, limits));
        return tessera({"explain", "--state", state, "--pod", manifest});
    };
    const Outcome mib = explain("", "aliyun.com/gpu-mem: 300");
    EXPECT_EQ(mib.code, kExitFine) << mib.err;
    EXPECT_THAT(mib.out, HasSubstr("note: its aliyun.com/gpu-mem is taken in MiB"));
    EXPECT_THAT(explain("", "aliyun.com/gpu-mem: 30").out, Not(HasSubstr("note:")));
    const Outcome slashes = explain("", "elasticgpu.io/gpu-core: \"200\" // 2 GPU cards");
    EXPECT_EQ(slashes.code, kExitFine) << slashes.err;
    EXPECT_THAT(slashes.out, HasSubstr("pod.yaml:8: // is taken for a comment"));
    const std::string group =
        R"(, labels: {sharedgpu/gpu_request: "1.0", sharedgpu/gpu_limit: "1.0",
      sharedgpu/group_name: g, sharedgpu/group_headcount: "50", sharedgpu/group_threshold: "0.1"})";
    const Outcome few = explain(group, "cpu: 100m");
    EXPECT_EQ(few.code, kExitFine) << few.out << few.err;
    EXPECT_THAT(few.out, HasSubstr("all 5 members fit together"));
    EXPECT_THAT(few.out, HasSubstr("note: 5 of its group's 50 members must start together"));
    const Outcome refused = explain("", "nvidia.com/gpu: -1");
    EXPECT_EQ(refused.code, kExitUse);
    EXPECT_THAT(refused.err, HasSubstr("pod.yaml: pod default/p: container main: "));
}

TEST_F(ExplainCommand, GroupsAndPolicies) {
    const std::string state = write("s.json", kState);
    EXPECT_EQ(tessera({"explain", "--state", state, "--members", "5"}).code, kExitFine);
    const Outcome six = tessera({"explain", "--state", state, "--members", "6"});
    EXPECT_EQ(six.code, kExitNo);
    EXPECT_THAT(six.out, HasSubstr("GangIncomplete"));
    EXPECT_THAT(tessera({"explain", "--state", state, "--members", "7"}).out,
                HasSubstr("GangTooLarge"));
    const std::string policy =
        write("p.yaml", "name: mine\nscores:\n- {name: spread}\ndevices: emptiest\n");
    const Outcome own =
        tessera({"explain", "--state", state, "--milli", "100", "--policy", policy});
    EXPECT_THAT(own.out, AllOf(HasSubstr("goes to gpu-b"), HasSubstr("policy mine")));
}

TEST_F(ExplainCommand, WrongUseAndWrongFiles) {
    const std::string state = write("s.json", kState);
    EXPECT_EQ(tessera({"explain"}).code, kExitUse);
    EXPECT_EQ(tessera({"explain", "--state", state, "--gpus", "17"}).code, kExitUse);
    EXPECT_EQ(tessera({"explain", "--state", state, "--milli", "0"}).code, kExitUse);
    EXPECT_EQ(tessera({"explain", "--state", state, "--running", "x", "--gpus", "1"}).code,
              kExitUse);
    EXPECT_EQ(tessera({"explain", "--state", state, "--cpu", "many"}).code, kExitUse);
    EXPECT_EQ(tessera({"explain", "--state", state, "--policy", "nobody"}).code, kExitUse);
    EXPECT_EQ(tessera({"explain", "--state", "/nonexistent"}).code, kExitEnvironment);
    const std::string broken = write("b.json", R"({"version":1,"nodes":[{"name":1}]})");
    const Outcome bad = tessera({"explain", "--state", broken});
    EXPECT_EQ(bad.code, kExitUse);
    EXPECT_THAT(bad.err, HasSubstr("nodes[0].name"));
    const std::string marked = write("m.json", "\xef\xbb\xbf" + std::string(kState));
    EXPECT_EQ(tessera({"explain", "--state", marked}).code, kExitFine);
    const std::string service = write("service.yaml", "kind: Service\nmetadata: {name: s}\n");
    const Outcome none = tessera({"explain", "--state", state, "--pod", service});
    EXPECT_EQ(none.code, kExitUse);
    EXPECT_THAT(none.err, HasSubstr("there is no pod in it; it has \"Service\""));
}

TEST_F(ExplainCommand, AStateThatSimWroteIsRead) {
    const std::string state = write("sim.json", "");
    const Outcome run = tessera({"sim", "--nodes", "4x4g32c128Gi", "--pods", "notebooks", "--count",
                                 "200", "--policy", "tessera", "--state", state});
    EXPECT_EQ(run.code, kExitFine) << run.err;
    const Outcome why = tessera({"explain", "--state", state, "--running", "pod-0"});
    EXPECT_EQ(why.code, kExitFine) << why.err;
    EXPECT_THAT(why.out, HasSubstr("policy tessera"));
    EXPECT_EQ(tessera({"sim", "--seeds", "1-2", "--state", state}).code, kExitUse);
}

TEST_F(ExplainCommand, AQueueIsCaughtWhilePodsRunAndWait) {
    const std::string state = write("queue.json", "");
    const Outcome run =
        tessera({"sim", "--nodes", "2x8g96c768Gi:T4", "--pods", "llm", "--protocol", "queue",
                 "--load", "2", "--arrivals", "300", "--state", state, "--at", "150"});
    ASSERT_EQ(run.code, kExitFine) << run.err;
    Vocabulary names;
    const auto taken = read_state_json(*read_file(state), names);
    ASSERT_TRUE(taken.has_value()) << taken.error().message;
    const auto placed =
        std::count_if(taken->pods.begin(), taken->pods.end(),
                      [](const PodState& pod) { return pod.placement.has_value(); });
    const auto came = std::count_if(taken->history.begin(), taken->history.end(),
                                    [](std::int32_t event) { return event >= 0; });
    EXPECT_GT(placed, 2);
    EXPECT_GT(std::ssize(taken->pods), placed) << "at twice the capacity some wait";
    EXPECT_GT(came, 150) << "those that stood there at the start came too";
    EXPECT_LT(came, 200);
    const Outcome late =
        tessera({"sim", "--nodes", "2x8g96c768Gi", "--state", state, "--at", "1000000"});
    EXPECT_EQ(late.code, kExitUse);
    EXPECT_THAT(late.err, HasSubstr("pods come in this run"));
}

TEST_F(ExplainCommand, MemoryOfBuiltInModelsIsKnown) {
    const std::string state = write("memory.json", "");
    ASSERT_EQ(tessera({"sim", "--nodes", "2x2g8c64Gi:T4,1x2g8c64Gi:X9", "--pods", "notebooks",
                       "--ratio", "0.1", "--state", state})
                  .code,
              kExitFine);
    const Outcome fits =
        tessera({"explain", "--state", state, "--milli", "100", "--gpu-memory", "8Gi"});
    EXPECT_EQ(fits.code, kExitFine) << fits.out;
    EXPECT_THAT(fits.out, AllOf(HasSubstr("note: the memory of 2 GPUs is not known"),
                                HasSubstr("@80Gi"), HasSubstr("GpuMemoryUnknown")));
    const Outcome large = tessera({"explain", "--state", state, "--gpu-memory", "16Gi"});
    EXPECT_EQ(large.code, kExitNo);
    EXPECT_THAT(large.out, HasSubstr("with 1 275 MiB less GPU memory (15 109 instead of 16 384)"));
}

TEST_F(ExplainCommand, UnknownMemoryIsNotCalledSmall) {
    const std::string state = write("unknown.json", kUnknownMemory);
    const Outcome placed = tessera({"explain", "--state", state, "--milli", "100"});
    EXPECT_EQ(placed.code, kExitFine);
    EXPECT_THAT(placed.out, AllOf(HasSubstr("GPU 0: 1 000 milli free, memory unknown, empty"),
                                  Not(HasSubstr("MiB")), Not(HasSubstr("note"))));
    EXPECT_THAT(tessera({"explain", "--state", state, "--milli", "100", "--json"}).out,
                Not(HasSubstr("freeMemoryMib")));
    const Outcome refused = tessera({"explain", "--state", state, "--gpu-memory", "8Gi"});
    EXPECT_EQ(refused.code, kExitNo);
    EXPECT_THAT(refused.out,
                AllOf(HasSubstr("it asks for GPU memory, and that of some GPUs is not known"),
                      HasSubstr("GpuMemoryUnknown"), HasSubstr("tessera.dev/gpus"),
                      Not(HasSubstr("TooSmall")), Not(HasSubstr("ever hold it"))));
}

TEST_F(ExplainCommand, FlagsAboutAGpuNeedOne) {
    const std::string state = write("unknown.json", kUnknownMemory);
    const auto refused = [&](std::vector<std::string> flags) {
        flags.insert(flags.begin(), {"explain", "--state", state});
        const Outcome outcome = tessera(flags);
        EXPECT_EQ(outcome.code, kExitUse);
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        return outcome.err;
    };
    EXPECT_THAT(refused({"--gpus", "0", "--milli", "500"}),
                HasSubstr("--milli is about a GPU, and --gpus 0 asks for none"));
    EXPECT_THAT(refused({"--gpus", "0", "--milli", "1000"}), HasSubstr("--milli is about"));
    EXPECT_THAT(refused({"--gpus", "0", "--gpu-memory", "8Gi"}), HasSubstr("--gpu-memory is"));
    EXPECT_THAT(refused({"--gpus", "0", "--model", "T4"}), HasSubstr("--model is about"));
    EXPECT_THAT(refused({"--model", ""}),
                HasSubstr("--model: \"\" is not accepted; names such as A100"));
    EXPECT_EQ(tessera({"explain", "--state", state, "--gpus", "0", "--cpu", "1"}).code, kExitFine);
}

TEST_F(ExplainCommand, OtherVendorsGpusAreNoted) {
    const std::string state = write("unknown.json", kUnknownMemory);
    const std::string pod = write("amd.yaml",
                                  "kind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n"
                                  "  - name: c\n    resources: {limits: {amd.com/gpu: 1}}\n");
    const Outcome outcome = tessera({"explain", "--state", state, "--pod", pod});
    EXPECT_EQ(outcome.code, kExitFine) << outcome.err;
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("\"amd.com/gpu\" is not a resource that Tessera"),
                                   HasSubstr("nvidia.com/gpu, tessera.dev/gpu")));
}

TEST_F(ExplainCommand, NotesAboutTheFileAreToldOnce) {
    const std::string state = write("unknown.json", kUnknownMemory);
    const std::string pod =
        "kind: Pod\nmetadata:\n  name: \"a\" // first\nspec:\n  containers:\n  - name: c\n"
        "    resources:\n      limits: {elasticgpu.io/gpu-memory: 100}\n";
    const std::string file = write("two.yaml", pod + "---\n" + pod);
    const auto times = [](const std::string& text, std::string_view what) {
        int count = 0;
        for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
            ++count;
        }
        return count;
    };
    const Outcome text = tessera({"explain", "--state", state, "--pod", file});
    EXPECT_EQ(text.code, kExitNo) << text.err;
    EXPECT_EQ(times(text.out, "does not fit"), 2);
    EXPECT_EQ(times(text.out, file + ":3: // is taken for a comment"), 1) << text.out;
    EXPECT_EQ(times(text.out, "the memory of 2 GPUs is not known"), 1) << text.out;
    const Outcome json = tessera({"explain", "--state", state, "--pod", file, "--json"});
    EXPECT_EQ(times(json.out, "\"notes\":[]"), 2);
    EXPECT_EQ(times(json.out, "sharedNotes"), 1) << json.out;
    EXPECT_EQ(times(json.out, "two.yaml:3: "), 1);
}

TEST_F(PolicyCommand, ListsShowsAndChecks) {
    EXPECT_THAT(tessera({"policy", "list"}).out,
                AllOf(HasSubstr("tessera"), HasSubstr("bestfit-memory"), HasSubstr("safety")));
    EXPECT_THAT(tessera({"policy", "list", "--json"}).out, HasSubstr(R"("policies":[{"name")"));
    for (const char* name : {"tessera", "random", "gpushare", "fgd", "exclusive"}) {
        const Outcome shown = tessera({"policy", "show", name});
        ASSERT_EQ(shown.code, kExitFine) << shown.err;
        EXPECT_THAT(shown.out, HasSubstr(fmt::format("name: my-{}\n", name)));
        const std::string file = write(std::string(name) + ".yaml", shown.out);
        EXPECT_EQ(tessera({"policy", "check", file}).code, kExitFine) << shown.out;
    }
    EXPECT_EQ(tessera({"policy", "show", "nobody"}).code, kExitUse);
    EXPECT_EQ(tessera({"policy"}).code, kExitUse);
    const std::string bad = write("bad.yaml", "name: x\nscores:\n- {name: binpak}\n");
    const Outcome refused = tessera({"policy", "check", bad});
    EXPECT_EQ(refused.code, kExitNo);
    EXPECT_THAT(refused.err, HasSubstr("bad.yaml:3: score \"binpak\" is not known"));
    EXPECT_EQ(tessera({"policy", "check", "/nonexistent.yaml"}).code, kExitEnvironment);
    EXPECT_THAT(tessera({"policy", "check", bad, "--json"}).out, HasSubstr(R"("good":false)"));
}

TEST_F(PolicyCommand, SimTakesAFile) {
    const std::string same = write("same.yaml", tessera({"policy", "show", "binpack"}).out);
    const std::vector<std::string> common{"--nodes",   "4x4g32c128Gi", "--pods",
                                          "notebooks", "--count",      "100"};
    const auto run = [&](const std::string& policy) {
        std::vector<std::string> arguments{"sim", "--policy", policy, "--csv"};
        arguments.insert(arguments.end(), common.begin(), common.end());
        const Outcome outcome = tessera(arguments);
        EXPECT_EQ(outcome.code, kExitFine) << outcome.err;
        return outcome.out;
    };
    const auto without_speed = [](std::string text) {
        return text.substr(text.find("binpack"), 40);
    };
    EXPECT_EQ(without_speed(run(same)), without_speed(run("binpack")));
}

}  // namespace
}  // namespace tessera::cli
