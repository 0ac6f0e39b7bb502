// tessera explain: what it understood, what it compared, and what it counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "codec/test_directory.h"
#include "role/cli/command.h"
#include "role/cli/terminal.h"
#include "role/cli/test_command.h"
#include "sim/file.h"

namespace tessera::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kNodes = R"("nodes":[
    {"name":"a","cpuMilli":16000,"memoryMib":65536,
     "gpus":[{"count":2,"model":"A100","memoryMib":40960}]},
    {"name":"b","cpuMilli":16000,"memoryMib":65536,
     "gpus":[{"count":1,"model":"T4","memoryMib":16384}]},
    {"name":"c","cpuMilli":16000,"memoryMib":65536}])";

class Explain : public testing::Test {
  protected:
    std::string write(const std::string& name, std::string_view text) {
        const std::string path = directory_.file(name);
        EXPECT_TRUE(write_file(path, text));
        return path;
    }
    std::string state(std::string_view policy = "tessera") {
        return write("s.json",
                     fmt::format("{{\"version\":1,\"policy\":\"{}\",{}}}", policy, kNodes));
    }
    // A manifest's answer; `more` flags behind it.
    Outcome pod(std::string_view manifest, const std::vector<std::string>& more = {}) {
        std::vector<std::string> arguments{"explain", "--state", state(), "--pod",
                                           write("pod.yaml", manifest)};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return tessera(arguments);
    }
    static std::string limits(std::string_view what) {
        return fmt::format(
            "kind: Pod\nmetadata: {{name: p}}\nspec:\n  containers:\n  - name: main\n"
            "    resources: {{limits: {{{}}}}}\n",
            what);
    }

  private:
    TestDirectory directory_;
};

TEST_F(Explain, SaysHowNodesWereComparedWhereScoresDoNot) {
    const Outcome text = tessera({"explain", "--state", state(), "--gpus", "0", "--memory", "1Gi"});
    EXPECT_EQ(text.code, kExitFine) << text.err;
    EXPECT_THAT(text.out, HasSubstr("scores are compared in steps of 40; within one, least idle "
                                    "GPU"));
    const Outcome json =
        tessera({"explain", "--state", state(), "--gpus", "0", "--memory", "1Gi", "--json"});
    EXPECT_THAT(json.out, HasSubstr("\"order\":\"scores are compared in steps of 40"));
    const Outcome apart =
        tessera({"explain", "--state", state("binpack"), "--milli", "100", "--top", "1"});
    EXPECT_THAT(apart.out, Not(HasSubstr("of equal scores"))) << "the scores say it all";
    const Outcome file = tessera(
        {"explain", "--state", state(), "--gpus", "0", "--memory", "1Gi", "--policy",
         write("p.yaml", "name: mine\nscores:\n- {name: packing}\nties: [most-idle, oldest]\n")});
    EXPECT_EQ(file.code, kExitFine) << file.err;
}

TEST_F(Explain, SaysHowItUnderstoodAPod) {
    struct Case {
        const char* limits;
        const char* text;
    };
    for (const Case& one : std::vector<Case>{
             {"aliyun.com/gpu-mem: 300",
              "understood as gpushare: 300 MiB of one GPU, compute "
              "shared; 0 cores, 0 MiB of node memory"},
             {"nvidia.com/gpu: 2, cpu: 1", "understood as nvidia: 2 whole GPUs; 1 core, "},
             {"elasticgpu.io/gpu-core: 50, elasticgpu.io/gpu-memory: 1024",
              "understood as elastic: 500 milli and 1 024 MiB of one GPU; "},
             {"cpu: 500m", "understood as native: no GPU; 0.5 cores, "},
         }) {
        EXPECT_THAT(pod(limits(one.limits)).out, HasSubstr(one.text));
    }
    const Outcome refused = pod(limits("nvidia.com/gpu: 8"));
    EXPECT_EQ(refused.code, kExitNo);
    EXPECT_THAT(refused.out, HasSubstr("understood as nvidia: 8 whole GPUs"));
    const Outcome json = pod(limits("nvidia.com/gpu: 8"), {"--json"});
    EXPECT_THAT(json.out, AllOf(HasSubstr("\"dialect\":\"nvidia\""), HasSubstr("\"demand\":{"),
                                HasSubstr("\"alternatives\":[[{")));
    EXPECT_THAT(tessera({"explain", "--state", state()}).out, Not(HasSubstr("understood as")));
}

TEST_F(Explain, GpushareUnitsFollowTheRule) {
    for (const char* units : {"41", "80", "100"}) {
        EXPECT_THAT(pod(limits(std::string("aliyun.com/gpu-mem: ") + units)).out,
                    AllOf(HasSubstr(std::string("gpushare: ") + units + " MiB of one GPU"),
                          HasSubstr("note: its aliyun.com/gpu-mem is taken in MiB: no GPU here")));
    }
    EXPECT_THAT(pod(limits("aliyun.com/gpu-mem: 40")).out,
                AllOf(HasSubstr("40 960 MiB of one GPU"), Not(HasSubstr("note:"))));
}

constexpr std::string_view kTemplate =
    "  template:\n    spec:\n      containers:\n      - name: main\n"
    "        resources: {limits: {nvidia.com/gpu: 1}}\n";

TEST_F(Explain, ReplicasAreNoGroup) {
    const auto deployment = [](int replicas) {
        return fmt::format("kind: Deployment\nmetadata: {{name: d}}\nspec:\n  replicas: {}\n{}",
                           replicas, kTemplate);
    };
    const Outcome many = pod(deployment(300));
    EXPECT_EQ(many.code, kExitNo) << many.err;
    EXPECT_THAT(many.out,
                AllOf(HasSubstr("3 of its 300 replicas would start now, 3 on the empty"),
                      HasSubstr("goes to"), Not(HasSubstr("Gang")), Not(HasSubstr("group"))));
    const Outcome few = pod(deployment(2));
    EXPECT_EQ(few.code, kExitFine);
    EXPECT_THAT(few.out, HasSubstr("all of its 2 replicas would start now"));
    const Outcome json = pod(deployment(300), {"--json"});
    EXPECT_THAT(json.out, AllOf(HasSubstr("\"replicas\":{\"size\":300,\"fits\":false,"
                                          "\"membersNow\":3"),
                                Not(HasSubstr("Gang")), Not(HasSubstr("\"group\""))));
}

TEST_F(Explain, EveryKindWithATemplate) {
    const Outcome cron =
        pod("kind: CronJob\nmetadata: {name: n}\nspec:\n  jobTemplate:\n    spec:\n"
            "      parallelism: 2\n      template:\n        spec:\n          containers:\n"
            "          - name: main\n            resources: {limits: {nvidia.com/gpu: 1}}\n");
    EXPECT_EQ(cron.code, kExitFine) << cron.err;
    EXPECT_THAT(cron.out, HasSubstr("all of its 2 replicas would start now"));
    const Outcome daemon =
        pod("kind: DaemonSet\nmetadata: {name: d}\nspec:\n" + std::string(kTemplate));
    EXPECT_EQ(daemon.code, kExitFine) << daemon.err;
    EXPECT_THAT(daemon.out, HasSubstr("note: a DaemonSet puts one pod on every node"));
    const Outcome alone = pod("kind: Service\nmetadata: {name: s}\n");
    EXPECT_EQ(alone.code, kExitUse);
    EXPECT_THAT(alone.err,
                HasSubstr("it has \"Service\"; accepted are Pod, SharePod, Job, CronJob,"));
    const Outcome beside =
        pod("kind: Service\nmetadata: {name: s}\n---\n" + limits("nvidia.com/gpu: 1"));
    EXPECT_EQ(beside.code, kExitFine) << beside.err;
    EXPECT_THAT(beside.out, HasSubstr("\"Service\" has no pods that are read here"));
    const Outcome list = pod("- kind: Pod\n");
    EXPECT_EQ(list.code, kExitUse);
    EXPECT_THAT(list.err, HasSubstr("pod.yaml:1: a list is not accepted: an object with a kind"));
}

TEST_F(Explain, FixesOfAGroupAreAboutOnePodOfIt) {
    const Outcome group =
        tessera({"explain", "--state", state(), "--members", "3", "--model", "V100"});
    EXPECT_EQ(group.code, kExitNo);
    EXPECT_THAT(group.out,
                AllOf(HasSubstr("one pod of it would fit\n"), HasSubstr("if T4 were allowed")));
    const Outcome one = tessera({"explain", "--state", state(), "--model", "V100"});
    EXPECT_THAT(one.out, AllOf(HasSubstr("\nwould fit\n"), Not(HasSubstr("one pod of it"))));
}

TEST_F(Explain, MisspeltKeysAreNoted) {
    const Outcome outcome =
        pod("kind: Pod\nmetadata: {name: p, labels: {sharedgpu/gpu_reqest: '0.5'}}\nspec:\n"
            "  containers:\n  - name: main\n");
    EXPECT_THAT(outcome.out, HasSubstr("note: its \"sharedgpu/gpu_reqest\" is not a key of "
                                       "sharedgpu/ and was passed over; did you mean "
                                       "sharedgpu/gpu_request?"));
}

TEST_F(Explain, WrongUseIsToldInOneSentence) {
    struct Case {
        std::vector<std::string> flags;
        const char* message;
    };
    for (const Case& one : std::vector<Case>{
             {{"--running", "nobody"}, "--running: pod \"nobody\" is not in the state"},
             {{"--running", "x", "--gpus", "1"}, "--gpus describes a pod, and --running names one"},
             {{"--pod", "x", "--running", "y"}, "--pod and --running are two questions"},
             {{"--policy", "fgd-published"}, "in the simulator only; use fgd"},
             {{"--policy", "cbp"}, "comes with insight and prediction"},
         }) {
        std::vector<std::string> arguments{"explain", "--state", state()};
        arguments.insert(arguments.end(), one.flags.begin(), one.flags.end());
        const Outcome outcome = tessera(arguments);
        EXPECT_EQ(outcome.code, kExitUse) << outcome.out;
        EXPECT_THAT(outcome.err, HasSubstr(one.message));
    }
    const Outcome unknown = tessera({"explain", "--state", state("nobodys")});
    EXPECT_EQ(unknown.code, kExitUse);
    EXPECT_THAT(unknown.err, HasSubstr("s.json: policy: policy \"nobodys\" is not known"));
    EXPECT_THAT(tessera({"explain", "--help"}).out, Not(HasSubstr("xcludes")));
}

TEST_F(Explain, PoliciesOfLaterAreNamedInTheSameWordsEverywhere) {
    for (const char* name : {"cbp", "pp", "coscheml"}) {
        const std::string file = write("mine.yaml", fmt::format("name: mine\nbase: {}\n", name));
        for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
                 {"policy", "show", name},
                 {"policy", "show", file},
                 {"sim", "--policy", name},
                 {"sim", "--policy", file},
                 {"sim", "--suite", "transfer", "--policy", std::string("fgd,") + name},
                 {"demo", "--policy", name},
                 {"explain", "--state", state(), "--policy", file}}) {
            const Outcome outcome = tessera(arguments);
            EXPECT_EQ(outcome.code, kExitUse) << arguments[0] << outcome.out;
            EXPECT_THAT(outcome.err, HasSubstr("comes with insight and prediction"));
        }
        EXPECT_THAT(tessera({"policy", "check", file}).err,
                    HasSubstr("mine.yaml:2: base: policy " + std::string(name) + " places by"));
    }
    const Outcome demo = tessera({"demo", "--policy", "fgd-published"});
    EXPECT_EQ(demo.code, kExitUse);
    EXPECT_THAT(demo.err, HasSubstr("in the simulator only; use fgd"));
}

TEST_F(Explain, NamesOfOthersDoNotReachTheTerminalRaw) {
    EXPECT_EQ(printable("gpu-\xc3\xa9"), "gpu-\xc3\xa9");
    EXPECT_EQ(printable("\x1b[31m\x07"), "\\x1b[31m\\x07");
    EXPECT_EQ(printable("\xc2\x9b"
                        "1m\xff"),
              "\\xc2\\x9b1m\\xff");
    const std::string evil = write("evil.json", R"({"version":1,"nodes":[
        {"name":"a\u001b]0;x\u0007","cpuMilli":16000,"memoryMib":65536,"gpus":[{"count":2}],
         "taints":[{"key":"t","value":"\u001b[2J","effect":"NoSchedule"}]},
        {"name":"b\u001b[1m","cpuMilli":16000,"memoryMib":65536,"gpus":[{"count":2}]}]})");
    const std::string manifest = write("evil.yaml",
                                       "kind: Pod\nmetadata: {name: \"p\\e[5m\"}\nspec:\n"
                                       "  containers:\n  - name: main\n"
                                       "    resources: {limits: {nvidia.com/gpu: 1}}\n");
    const Outcome placed = tessera({"explain", "--state", evil, "--pod", manifest});
    EXPECT_EQ(placed.code, kExitFine) << placed.err;
    EXPECT_THAT(placed.out, AllOf(HasSubstr("b\\x1b[1m"), Not(HasSubstr("\x1b"))));
    const Outcome refused = tessera({"explain", "--state", evil, "--gpus", "3"});
    EXPECT_THAT(refused.out, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace tessera::cli
