// The routes as kube-scheduler and people call them, against the contracts of the originals.
#include "role/extender/extender.h"

#include <gtest/gtest.h>

#include "codec/json_value.h"
#include "role/extender/test_extender.h"

namespace tessera {
namespace {

using namespace tessera::testing;

class ExtenderTest : public ::testing::Test {
  protected:
    void two_gpushare_nodes() {
        rig_.list({gpushare_node("gpu-a", 32, 2), gpushare_node("gpu-b", 32, 2)});
    }
    // Filter, then bind where the share is held, by the prefix of an original.
    HttpResponse bind(const std::string& pod, const std::string& node,
                      const std::string& prefix = "/tessera") {
        return rig_.call("POST", prefix + "/bind", bind_body(pod, node));
    }
    std::string held_node() {
        std::string found;
        for (NodeIndex node : rig_.mirror.nodes_by_name()) {
            for (const auto& shares : rig_.mirror.report(node).gpus) {
                found = shares.empty() ? found : std::string(rig_.mirror.node_name(node));
            }
        }
        return found;
    }
    std::int64_t used(const std::string& node) {
        std::int64_t sum = 0;
        for (const auto& shares : rig_.mirror.report(rig_.mirror.find_node(node)).gpus) {
            for (const ShareOnGpu& share : shares) {
                sum += share.grant.memory.value();
            }
        }
        return sum;
    }

    Rig rig_;
};

// A filter that tells nothing but why; the sentence follows.
const std::string kNoNodes = R"({"Nodes":null,"NodeNames":null,"FailedNodes":null,)"
                             R"("FailedAndUnresolvableNodes":null,"Error":)";
constexpr const char* kBothFit = R"({"Nodes":null,"NodeNames":["gpu-b","gpu-a"],"FailedNodes":{},)"
                                 R"("FailedAndUnresolvableNodes":null,"Error":""})";

TEST_F(ExtenderTest, FilterAnswersTheNamesThatFitInTheirOrder) {
    two_gpushare_nodes();
    const std::string body = names_body(gpushare_pod("p", 8), {"gpu-b", "gpu-a"});
    for (const char* path : {"/gpushare-scheduler/filter", "/scheduler/filter", "/tessera/filter",
                             "/gpushare-scheduler/filter/", "/tessera/filter//"}) {
        EXPECT_EQ(rig_.post(path, body), kBothFit) << path;
    }
    EXPECT_EQ(rig_.mirror.pod_count(), 1U);  // held once, by uid
}

TEST_F(ExtenderTest, FilterSaysWhyNodesDoNotFit) {
    rig_.list({gpushare_node("gpu-a", 32, 2), gpushare_node("gpu-b", 16, 2),
               node_json("cpu", R"("ephemeral-storage":"1Gi")")});
    EXPECT_EQ(rig_.post("/tessera/filter",
                        names_body(gpushare_pod("p", 12), {"cpu", "gpu-b", "gpu-a", "gone"})),
              R"({"Nodes":null,"NodeNames":["gpu-a"],)"
              R"("FailedNodes":{"gone":"the node is not known to Tessera yet"},)"
              R"("FailedAndUnresolvableNodes":{"cpu":"the node has no GPU",)"
              R"("gpu-b":"the whole GPU has less memory than the pod asks for"},"Error":""})");
    rig_.post("/tessera/filter", names_body(gpushare_pod("q", 12), {"gpu-a"}));
    EXPECT_EQ(rig_.post("/tessera/filter", names_body(gpushare_pod("r", 12), {"gpu-a"})),
              R"({"Nodes":null,"NodeNames":[],)"
              R"("FailedNodes":{"gpu-a":"GPU memory: 12288 MiB asked, at most 4096 free on one )"
              R"(GPU"},"FailedAndUnresolvableNodes":null,"Error":""})");
}

TEST_F(ExtenderTest, AnOldViewSaysYesButNotNo) {
    rig_.list({gpushare_node("gpu-a", 32, 2)});
    rig_.current = false;
    EXPECT_EQ(rig_.post("/tessera/filter", names_body(gpushare_pod("p", 12), {"gpu-a"})),
              R"({"Nodes":null,"NodeNames":["gpu-a"],"FailedNodes":{},)"
              R"("FailedAndUnresolvableNodes":null,"Error":""})");
    rig_.post("/tessera/filter", names_body(gpushare_pod("q", 12), {"gpu-a"}));
    const auto full = names_body(gpushare_pod("r", 12), {"gpu-a"});
    const std::string old = rig_.post("/tessera/filter", full);
    EXPECT_NE(old.find("try again in a moment"), std::string::npos) << old;
    rig_.current = true;
    const std::string now = rig_.post("/tessera/filter", full);
    EXPECT_NE(now.find("at most 4096 free"), std::string::npos) << now;
}

TEST_F(ExtenderTest, WholeNodesComeBackAsTheyCame) {
    two_gpushare_nodes();
    const std::string a = gpushare_node("gpu-a", 32, 2);
    const std::string body = fmt::format(
        R"({{"Pod":{},"Nodes":{{"metadata":{{}},"items":[{{"metadata":{{"name":"x"}}}},{}]}},)"
        R"("NodeNames":null}})",
        gpushare_pod("p", 8), a);
    EXPECT_EQ(rig_.post("/gpushare-scheduler/filter", body),
              R"({"Nodes":{"metadata":{},"items":[)" + a +
                  R"(]},"NodeNames":null,)"
                  R"("FailedNodes":{"x":"the node is not known to Tessera yet"},)"
                  R"("FailedAndUnresolvableNodes":null,"Error":""})");
}

// Two devices of 4069 each free do not make 8138; one of 8138 does. Of those that fit the tightest
// is taken.
TEST_F(ExtenderTest, GpusharesOwnVectors) {
    const auto running = [](const std::string& name, int units, int gpu) {
        Pod pod = read_pod_json(gpushare_pod(name, units)).value();
        pod.node_name = "gpu-a";
        pod.annotations["ALIYUN_COM_GPU_MEM_IDX"] = std::to_string(gpu);
        pod.annotations["ALIYUN_COM_GPU_MEM_POD"] = std::to_string(units);
        return pod;
    };
    rig_.list({gpushare_node("gpu-a", 65104, 4)},
              {running("a", 4069, 0), running("b", 8138, 1), running("c", 12207, 2)});
    rig_.post("/gpushare-scheduler/filter", names_body(gpushare_pod("p", 8138), {"gpu-a"}));
    EXPECT_EQ(bind("p", "gpu-a", "/gpushare-scheduler").body, R"({"Error":""})");
    ASSERT_EQ(rig_.plans.size(), 1U);
    const StringMap& marks = rig_.plans[0].annotations;
    EXPECT_EQ(marks.at("ALIYUN_COM_GPU_MEM_IDX"), "1");
    EXPECT_EQ(marks.at("ALIYUN_COM_GPU_MEM_POD"), "8138");
    EXPECT_EQ(marks.at("ALIYUN_COM_GPU_MEM_DEV"), "16276");
    EXPECT_EQ(marks.at("ALIYUN_COM_GPU_MEM_ASSIGNED"), "false");
    EXPECT_EQ(marks.at("ALIYUN_COM_GPU_MEM_ASSUME_TIME"), "1000000000000");

    Rig small;
    small.list({gpushare_node("gpu-a", 16276, 2)}, {running("a", 4069, 0), running("b", 4069, 1)});
    const std::string body = names_body(gpushare_pod("p", 8138), {"gpu-a"});
    EXPECT_NE(small.post("/gpushare-scheduler/filter", body).find(R"("NodeNames":[])"),
              std::string::npos);
    small.mirror.pod_gone(running("b", 4069, 1));
    EXPECT_NE(small.post("/gpushare-scheduler/filter", body).find(R"("NodeNames":["gpu-a"])"),
              std::string::npos);
}

TEST_F(ExtenderTest, InspectAsGpushareAnswersIt) {
    rig_.list({gpushare_node("gpu-a", 32, 2), node_json("cpu", R"("ephemeral-storage":"1Gi")")});
    rig_.post("/gpushare-scheduler/filter", names_body(gpushare_pod("p", 8), {"gpu-a"}));
    const std::string expected = R"({"nodes":[{"name":"gpu-a","totalGPU":32,"usedGPU":8,"devs":[)"
                                 R"({"id":0,"totalGPU":16,"usedGPU":8,"pods":[)"
                                 R"({"name":"p","namespace":"default","usedGPU":8}]},)"
                                 R"({"id":1,"totalGPU":16,"usedGPU":0,"pods":[]}]}]})";
    EXPECT_EQ(rig_.get("/gpushare-scheduler/inspect"), expected);
    EXPECT_EQ(rig_.get("/gpushare-scheduler/inspect/"), expected);
    EXPECT_EQ(rig_.get("/gpushare-scheduler/inspect/gpu-a"), expected);
    const HttpResponse unknown = rig_.call("GET", "/gpushare-scheduler/inspect/nope");
    EXPECT_EQ(unknown.status, 404);
    EXPECT_EQ(unknown.body, R"({"nodes":[],"error":"node \"nope\" is not known"})");
}

TEST_F(ExtenderTest, ElasticsRoutes) {
    rig_.list({elastic_node("e", 200, 2000), elastic_node("f", 200, 2000)});
    const std::string pod =
        pod_json("p", R"("containers":[)" +
                          container_json("main", R"("elasticgpu.io/gpu-core":"20",)"
                                                 R"("elasticgpu.io/gpu-memory":"200")") +
                          "]");
    const std::string body = names_body(pod, {"f", "e"});
    EXPECT_NE(rig_.post("/scheduler/filter", body).find(R"("NodeNames":["f","e"])"),
              std::string::npos);
    const std::string held = held_node();
    EXPECT_EQ(rig_.post("/scheduler/priorities", body),
              fmt::format(R"([{{"Host":"f","Score":{}}},{{"Host":"e","Score":{}}}])",
                          held == "f" ? 10 : 0, held == "e" ? 10 : 0));
    EXPECT_EQ(bind("p", held, "/scheduler").body, R"({"Error":""})");
    EXPECT_EQ(rig_.plans.at(0).annotations.at("elasticgpu.io/assumed"), "true");
    EXPECT_TRUE(rig_.plans[0].annotations.contains("elasticgpu.io/container-main"));
    const std::string card = rig_.plans[0].annotations.at("elasticgpu.io/container-main");
    const std::string used = R"({"CoreAvailable":80,"MemoryAvailable":800,"CoreTotal":100,)"
                             R"("MemoryTotal":1000})";
    const std::string free = R"({"CoreAvailable":100,"MemoryAvailable":1000,"CoreTotal":100,)"
                             R"("MemoryTotal":1000})";
    const auto status = parse_json(rig_.get("/scheduler/status"));
    ASSERT_TRUE(status);
    ASSERT_EQ(status->members.size(), 2U);
    for (const auto& [key, value] : status->members) {
        EXPECT_NE(value.text.find(held + R"(":[)" +
                                  (card == "0" ? used + "," + free : free + "," + used)),
                  std::string::npos)
            << key << value.text;
    }
}

TEST_F(ExtenderTest, PrioritizeRanksTheHeldNodeAboveAll) {
    std::vector<std::string> nodes;
    std::vector<std::string> names;
    for (int i = 0; i < 30; ++i) {
        names.push_back(fmt::format("n{:02}", i));
        nodes.push_back(gpushare_node(names.back(), 32, 2));
    }
    rig_.list(nodes);
    for (int i = 0; i < 20; ++i) {
        const std::string pod = fmt::format("p{}", i);
        rig_.post("/tessera/filter", names_body(gpushare_pod(pod, i % 7 + 1), names));
        const std::string answer =
            rig_.post("/tessera/prioritize", names_body(gpushare_pod(pod, i % 7 + 1), names));
        const auto scores = parse_json(answer);
        ASSERT_TRUE(scores) << answer;
        ASSERT_EQ(scores->items.size(), names.size());
        std::string best;
        for (std::size_t n = 0; n < names.size(); ++n) {
            const std::string& host = scores->items[n].members[0].value.text;
            EXPECT_EQ(host, names[n]);
            const int score = std::stoi(scores->items[n].members[1].value.text);
            EXPECT_LE(score, 10);
            if (score == 10) {
                EXPECT_TRUE(best.empty());
                best = host;
            }
        }
        const Rig::Answer bound = rig_.start("POST", "/tessera/bind", bind_body(pod, best));
        ASSERT_TRUE(bound->has_value());
        EXPECT_EQ((*bound)->body, R"({"Error":""})");
        EXPECT_EQ(rig_.mirror.held_count(), 0U);
    }
}

TEST_F(ExtenderTest, PodsThatAskForNoGpuPassUntouched) {
    two_gpushare_nodes();
    const std::string pod =
        pod_json("plain", R"("containers":[{"name":"main","resources":{"requests":{"cpu":"1"}}}])");
    const std::string body = names_body(pod, {"gpu-b", "gpu-a"});
    EXPECT_EQ(rig_.post("/tessera/filter", body), kBothFit);
    EXPECT_EQ(rig_.post("/tessera/prioritize", body),
              R"([{"Host":"gpu-b","Score":0},{"Host":"gpu-a","Score":0}])");
    EXPECT_EQ(rig_.mirror.pod_count(), 0U);
}

// A retry would not mend it, and a scheduler that may ignore errors would go on without the GPU.
TEST_F(ExtenderTest, APodThatAsksWronglyIsRefusedByEveryNodeWithTheReason) {
    two_gpushare_nodes();
    const std::string both = pod_json(
        "p", R"("containers":[)" +
                 container_json("main", R"("aliyun.com/gpu-mem":"8","keti.com/mpsgpu":"1")") + "]");
    for (const std::string& pod : {both, gpushare_pod("", 8), pod_json("p", R"("containers":[])"),
                                   std::string(R"({"metadata":{"name":[]}})")}) {
        const std::string answer = rig_.post("/tessera/filter", names_body(pod, {"gpu-a"}));
        EXPECT_TRUE(answer.starts_with(R"({"Nodes":null,"NodeNames":[],"FailedNodes":{},)"
                                       R"("FailedAndUnresolvableNodes":{"gpu-a":")"))
            << answer;
        EXPECT_TRUE(answer.ends_with(R"(},"Error":""})")) << answer;
        for (const char* path : {"/tessera/prioritize", "/scheduler/priorities"}) {
            const HttpResponse said = rig_.call("POST", path, names_body(pod, {"gpu-a"}));
            EXPECT_EQ(said.status, 400) << path << " " << said.body;
        }
    }
}

TEST_F(ExtenderTest, BindTellsTheApiServersWord) {
    two_gpushare_nodes();
    rig_.post("/tessera/filter", names_body(gpushare_pod("p", 8), {"gpu-a"}));
    rig_.at_once = WriteOutcome{WriteEnd::refused, "the pod is bound to another node"};
    EXPECT_EQ(rig_.post("/tessera/bind", bind_body("p", "gpu-a")),
              R"({"Error":"the pod is bound to another node"})");
    EXPECT_EQ(used("gpu-a"), 0);
    for (const char* prefix : {"/gpushare-scheduler", "/scheduler"}) {
        rig_.post("/tessera/filter", names_body(gpushare_pod("p", 8), {"gpu-a"}));
        EXPECT_EQ(bind("p", "gpu-a", prefix).status, 500) << prefix;
    }
    const HttpResponse unknown = bind("nobody", "gpu-a");
    EXPECT_EQ(unknown.body, R"({"Error":"pod default/nobody is not known"})");
    rig_.post("/tessera/filter", names_body(gpushare_pod("p", 8), {"gpu-a"}));
    EXPECT_EQ(bind("p", "nowhere").body, R"({"Error":"node nowhere is not known"})");
}

TEST_F(ExtenderTest, ARepeatOfABindUnderWayWaitsForItsEnd) {
    two_gpushare_nodes();
    rig_.post("/tessera/filter", names_body(gpushare_pod("p", 8), {"gpu-a"}));
    rig_.at_once.reset();
    const auto first = rig_.start("POST", "/tessera/bind", bind_body("p", "gpu-a"));
    const auto again = rig_.start("POST", "/tessera/bind", bind_body("p", "gpu-a"));
    EXPECT_FALSE(first->has_value());
    EXPECT_FALSE(again->has_value());
    EXPECT_EQ(rig_.plans.size(), 1U);
    EXPECT_EQ(rig_.extender.binds_in_flight(), 1U);
    // Elsewhere it is refused meanwhile, and so is another filter.
    EXPECT_EQ(bind("p", "gpu-b").body,
              R"({"Error":"pod default/p is being bound to node gpu-a already"})");
    EXPECT_NE(rig_.post("/tessera/filter", names_body(gpushare_pod("p", 8), {"gpu-b"}))
                  .find("being bound"),
              std::string::npos);
    rig_.pending.at(0)({WriteEnd::done, ""});
    rig_.pending.at(0)({WriteEnd::refused, "said twice"});  // the first word counts
    EXPECT_EQ((*first)->body, R"({"Error":""})");
    EXPECT_EQ((*again)->body, R"({"Error":""})");
    EXPECT_EQ(rig_.extender.binds_in_flight(), 0U);
    EXPECT_EQ(used("gpu-a"), 8 * 1024);
    // Afterwards it is done already.
    EXPECT_EQ(rig_.post("/tessera/bind", bind_body("p", "gpu-a")), R"({"Error":""})");
    EXPECT_EQ(rig_.plans.size(), 1U);
}

TEST_F(ExtenderTest, ABindThatIsDroppedIsAnsweredAndItsShareStaysForAWhile) {
    two_gpushare_nodes();
    rig_.post("/tessera/filter", names_body(gpushare_pod("p", 8), {"gpu-a"}));
    rig_.at_once.reset();
    const auto answer = rig_.start("POST", "/tessera/bind", bind_body("p", "gpu-a"));
    rig_.pending.clear();
    ASSERT_TRUE(answer->has_value());
    EXPECT_NE((*answer)->body.find("whether it was made is unknown"), std::string::npos);
    EXPECT_EQ(used("gpu-a"), 8 * 1024);
    rig_.now = Nanoseconds(rig_.now.value() + 61'000'000'000);
    rig_.post("/tessera/filter", names_body(gpushare_pod("q", 16), {"gpu-a"}));
    EXPECT_EQ(used("gpu-a"), 24 * 1024) << "nothing was heard of pods since";
    EXPECT_EQ(rig_.mirror.expire(rig_.now, rig_.now), 1U);
    EXPECT_EQ(used("gpu-a"), 16 * 1024);
}

TEST_F(ExtenderTest, BindElsewhereMovesTheShareOrRefuses) {
    two_gpushare_nodes();
    rig_.post("/tessera/filter", names_body(gpushare_pod("p", 16), {"gpu-a"}));
    EXPECT_EQ(rig_.post("/tessera/bind", bind_body("p", "gpu-b")), R"({"Error":""})");
    EXPECT_EQ(used("gpu-a"), 0);
    EXPECT_EQ(used("gpu-b"), 16 * 1024);
    EXPECT_EQ(rig_.plans.at(0).node, "gpu-b");
    for (const char* pod : {"x", "y"}) {  // gpu-a is full then
        rig_.post("/tessera/filter", names_body(gpushare_pod(pod, 16), {"gpu-a"}));
    }
    rig_.post("/tessera/filter", names_body(gpushare_pod("z", 16), {"gpu-b"}));
    EXPECT_NE(rig_.post("/tessera/bind", bind_body("z", "gpu-a")).find("does not fit any more"),
              std::string::npos);
    EXPECT_EQ(used("gpu-a"), 32 * 1024);
}

TEST_F(ExtenderTest, APodMadeAnewIsNotBoundByItsOldUid) {
    rig_.list({gpushare_node("gpu-a", 32, 2)}, {read_pod_json(gpushare_pod("p", 8)).value()});
    EXPECT_EQ(
        rig_.post("/tessera/bind", R"({"PodName":"p","PodNamespace":"default",)"
                                   R"("PodUID":"older","Node":"gpu-a"})"),
        R"({"Error":"pod default/p was deleted and made anew: its uid is uid-p, not older"})");
    EXPECT_TRUE(rig_.plans.empty());
}

TEST_F(ExtenderTest, PreemptNamesTheVictimsThatFreeOneGpu) {
    rig_.list({gpushare_node("gpu-a", 32, 2), gpushare_node("gpu-b", 16, 2)});
    for (int i = 0; i < 4; ++i) {
        const std::string pod = fmt::format("s{}", i);
        rig_.post("/tessera/filter", names_body(gpushare_pod(pod, 8), {"gpu-a"}));
        bind(pod, "gpu-a");
    }
    const NodeReport report = rig_.mirror.report(rig_.mirror.find_node("gpu-a"));
    const std::string one = report.gpus[0][0].uid;
    const std::string two = report.gpus[0][1].uid;
    const std::string pod =
        pod_json("large", R"("priority":100,"containers":[)" +
                              container_json("main", R"("aliyun.com/gpu-mem":"16")") + "]");
    const std::string expected = fmt::format(
        R"({{"NodeNameToMetaVictims":{{"gpu-a":{{"Pods":[{{"UID":"{}"}},{{"UID":"{}"}}],)"
        R"("NumPDBViolations":1}}}}}})",
        one, two);
    EXPECT_EQ(rig_.post("/tessera/preempt",
                        fmt::format(R"({{"Pod":{},"NodeNameToVictims":null,)"
                                    R"("NodeNameToMetaVictims":{{"gpu-a":{{"Pods":[)"
                                    R"({{"UID":"{}"}},{{"UID":"{}"}}],"NumPDBViolations":1}},)"
                                    R"("gpu-b":{{"Pods":[{{"UID":"x"}}],"NumPDBViolations":0}},)"
                                    R"("gone":{{"Pods":[]}}}}}})",
                                    pod, one, two)),
              expected);
    EXPECT_EQ(
        rig_.post("/tessera/preempt",
                  fmt::format(R"({{"Pod":{},"NodeNameToMetaVictims":null,)"
                              R"("NodeNameToVictims":{{"gpu-a":{{"Pods":[)"
                              R"({{"metadata":{{"uid":"{}"}}}},{{"metadata":{{"uid":"{}"}}}}],)"
                              R"("NumPDBViolations":1}}}}}})",
                              pod, one, two)),
        expected);
}

TEST_F(ExtenderTest, ExplainTakesAPodOrARequest) {
    two_gpushare_nodes();
    const std::string pod = gpushare_pod("p", 8);
    const std::string alone = rig_.post("/tessera/explain", pod);
    EXPECT_TRUE(alone.starts_with(R"({"outcome":"placed")")) << alone;
    EXPECT_EQ(rig_.post("/tessera/explain", names_body(pod, {"gpu-a"})), alone);
    EXPECT_EQ(rig_.mirror.pod_count(), 0U);
    EXPECT_NE(rig_.post("/tessera/explain", gpushare_pod("p", 800)).find("GpuMemoryTooSmall"),
              std::string::npos);
    EXPECT_EQ(rig_.call("POST", "/tessera/explain", "{}").status, 400);
}

TEST_F(ExtenderTest, InspectTellsAllInOurUnits) {
    rig_.list({gpushare_node("gpu-a", 16, 1)});
    rig_.post("/tessera/filter", names_body(gpushare_pod("p", 8), {"gpu-a"}));
    const std::string all = rig_.get("/tessera/inspect");
    EXPECT_EQ(rig_.get("/tessera/inspect/gpu-a"), all);
    EXPECT_TRUE(parse_json(all));
    EXPECT_NE(all.find(R"("memoryMib":{"total":16384,"free":8192})"), std::string::npos) << all;
    EXPECT_NE(all.find(R"("name":"p","uid":"uid-p")"), std::string::npos) << all;
    EXPECT_NE(all.find(R"("state":"assumed")"), std::string::npos) << all;
    EXPECT_EQ(rig_.call("GET", "/tessera/inspect/nope").status, 404);
}

TEST_F(ExtenderTest, ProbesAndTheStandby) {
    EXPECT_EQ(rig_.get("/healthz"), "ok\n");
    EXPECT_EQ(rig_.call("GET", "/readyz").status, 503);
    EXPECT_EQ(rig_.call("GET", "/tessera/inspect").status, 503);
    EXPECT_EQ(rig_.call("POST", "/tessera/filter", names_body(gpushare_pod("p", 8), {"a"})).status,
              503);
    two_gpushare_nodes();
    EXPECT_EQ(rig_.get("/readyz"), "ok\n");
    EXPECT_EQ(rig_.get("/version"), "1.2.3\n");
    EXPECT_EQ(rig_.get("/metrics"), "tessera_up 1\n");
    rig_.why_not = "this copy is not the leader";
    const std::pair<const char*, int> refusals[] = {
        {"/tessera/filter", 503},   {"/tessera/prioritize", 503},
        {"/tessera/bind", 503},     {"/tessera/preempt", 503},
        {"/scheduler/bind", 500},   {"/gpushare-scheduler/filter", 200},
        {"/scheduler/filter", 200},
    };
    for (const auto& [path, status] : refusals) {
        const HttpResponse answer =
            rig_.call("POST", path, names_body(gpushare_pod("p", 8), {"gpu-a"}));
        EXPECT_EQ(answer.status, status) << path;
        const bool filter = std::string_view(path).ends_with("filter");
        EXPECT_EQ(answer.body, filter ? kNoNodes + R"("this copy is not the leader"})"
                                      : R"({"Error":"this copy is not the leader"})");
    }
    EXPECT_EQ(rig_.call("GET", "/readyz").body, "this copy is not the leader\n");
    EXPECT_EQ(rig_.call("GET", "/tessera/inspect").status, 200);
    EXPECT_EQ(rig_.mirror.pod_count(), 0U);
}

TEST_F(ExtenderTest, OtherPathsAndMethods) {
    const HttpResponse wrong = rig_.call("GET", "/tessera/filter");
    EXPECT_EQ(wrong.status, 405);
    EXPECT_EQ(wrong.allow, "POST");
    EXPECT_EQ(rig_.call("DELETE", "/healthz").allow, "GET");
    for (const char* path : {"/", "", "/tessera", "/tessera/inspect/a/b", "/debug/pprof/"}) {
        const HttpResponse unknown = rig_.call("GET", path);
        EXPECT_EQ(unknown.status, 404) << path;
        EXPECT_NE(unknown.body.find("/gpushare-scheduler/inspect/NODE"), std::string::npos);
    }
}

TEST_F(ExtenderTest, BadRequestsGetAClearAnswerAndChangeNothing) {
    two_gpushare_nodes();
    const std::string pod = gpushare_pod("p", 8);
    const std::string good = names_body(pod, {"gpu-a"});
    const std::string bodies[] = {
        "",
        good.substr(0, good.size() / 2),
        good.substr(0, good.size() - 1),
        "[]",
        "\"text\"",
        "{\"Pod\":" + pod + ",\"NodeNames\":[1,2]}",
        "{\"Pod\":" + pod + ",\"NodeNames\":\"gpu-a\"}",
        "{\"Pod\":[],\"NodeNames\":[\"gpu-a\"]}",
        "{\"Pod\":" + std::string(200'000, '{'),
        "{\"NodeNames\":" + std::string(200'000, '[') + "}",
        "{\"Pod\":" + pod + ",\"NodeNames\":[\"\xc3\x28\"]}",
        good + good,
        std::string(1000, '\0'),
    };
    for (const char* path : {"/tessera/filter", "/tessera/prioritize", "/tessera/bind",
                             "/tessera/preempt", "/tessera/explain"}) {
        for (const std::string& body : bodies) {
            const HttpResponse answer = rig_.call("POST", path, body);
            const bool other_verb = body.find("NodeNames") != std::string::npos &&
                                    (answer.status == 200 || answer.status == 400);
            EXPECT_TRUE(answer.status == 400 || other_verb) << path << " " << body.substr(0, 60);
            EXPECT_TRUE(parse_json(answer.body)) << answer.body;
            EXPECT_LT(answer.body.size(), 2000U);
        }
    }
    // The originals: always 200 for a filter, always 500 for a bind that came to nothing.
    for (const char* path : {"/gpushare-scheduler/filter", "/scheduler/filter"}) {
        const std::string answer = rig_.post(path, bodies[1]);
        EXPECT_TRUE(answer.starts_with(kNoNodes + R"("the request is not valid JSON)")) << answer;
    }
    for (const char* path : {"/gpushare-scheduler/bind", "/scheduler/bind"}) {
        EXPECT_EQ(rig_.call("POST", path, bodies[1]).status, 500);
    }
    for (const std::string& body :
         {std::string("{\"NodeNames\":[\"gpu-a\"]}"), "{\"Pod\":" + pod + "}", std::string("{}")}) {
        EXPECT_NE(rig_.post("/gpushare-scheduler/filter", body).find(R"("Error":"the request has)"),
                  std::string::npos);
    }
    EXPECT_EQ(rig_.mirror.pod_count(), 0U);
    EXPECT_EQ(rig_.post("/tessera/filter", names_body(pod, {"gpu-b", "gpu-a"})), kBothFit);
}

TEST_F(ExtenderTest, AnEnormousLabelHarmsNobody) {
    two_gpushare_nodes();
    const std::string label(4'000'000, 'x');
    const std::string pod = pod_json(
        "p", R"("containers":[)" + container_json("main", R"("aliyun.com/gpu-mem":"8")") + "]",
        fmt::format(R"(,"labels":{{"a":"{}"}})", label));
    EXPECT_EQ(rig_.post("/tessera/filter", names_body(pod, {"gpu-b", "gpu-a"})), kBothFit);
    const std::string wrong =
        pod_json("q", R"("containers":[)" + container_json("main", R"("cpu":"1")") + "]",
                 fmt::format(R"(,"labels":{{"sharedgpu/gpu_limit":"{}"}})", label));
    EXPECT_LT(rig_.post("/tessera/filter", names_body(wrong, {"gpu-b", "gpu-a"})).size(), 2000U);
}

// --- faults of others that must not be ours

TEST_F(ExtenderTest, SideCarsNeverOverCommit) {
    rig_.list({gpushare_node("gpu-a", 32, 2)});
    const auto pod = [](const std::string& name) {
        return pod_json(name, R"("initContainers":[)" +
                                  container_json("side", R"("aliyun.com/gpu-mem":"4")",
                                                 R"(,"restartPolicy":"Always")") +
                                  R"(],"containers":[)" +
                                  container_json("main", R"("aliyun.com/gpu-mem":"4")") + "]");
    };
    for (int i = 0; i < 5; ++i) {
        const std::string name = fmt::format("p{}", i);
        const bool fits = rig_.post("/tessera/filter", names_body(pod(name), {"gpu-a"}))
                              .find(R"("NodeNames":["gpu-a"])") != std::string::npos;
        EXPECT_EQ(fits, i < 4);
        EXPECT_EQ(bind(name, "gpu-a").body == R"({"Error":""})", i < 4);
    }
    EXPECT_EQ(used("gpu-a"), 32 * 1024);
    EXPECT_EQ(rig_.mirror.cluster().over_committed_gpus(), 0);
}

TEST_F(ExtenderTest, PodsOfOneShapeFilteredBackToBackBothBind) {
    rig_.list({gpushare_node("gpu-a", 32, 2)});
    for (const char* pod : {"p", "q"}) {
        rig_.post("/tessera/filter", names_body(gpushare_pod(pod, 16), {"gpu-a"}));
    }
    for (const char* pod : {"p", "q"}) {
        EXPECT_EQ(rig_.post("/tessera/bind", bind_body(pod, "gpu-a")), R"({"Error":""})");
    }
    EXPECT_NE(rig_.plans.at(0).annotations.at("ALIYUN_COM_GPU_MEM_IDX"),
              rig_.plans.at(1).annotations.at("ALIYUN_COM_GPU_MEM_IDX"));
}

TEST_F(ExtenderTest, PodsOfOneToEightContainersAreServed) {
    rig_.list({elastic_node("e", 800, 80000)});
    for (int count = 1; count <= 8; ++count) {
        std::string containers;
        for (int i = 0; i < count; ++i) {
            containers += (i == 0 ? "" : ",") +
                          container_json(fmt::format("c{}", i), R"("elasticgpu.io/gpu-core":"10")");
        }
        const std::string name = fmt::format("p{}", count);
        const std::string pod = pod_json(name, R"("containers":[)" + containers + "]");
        EXPECT_NE(rig_.post("/scheduler/filter", names_body(pod, {"e"})).find(R"(["e"])"),
                  std::string::npos);
        EXPECT_EQ(bind(name, "e", "/scheduler").body, R"({"Error":""})");
        for (int i = 0; i < count; ++i) {
            EXPECT_TRUE(rig_.plans.back().annotations.contains(
                fmt::format("elasticgpu.io/container-c{}", i)));
        }
    }
    EXPECT_EQ(rig_.mirror.cluster().over_committed_gpus(), 0);
}

}  // namespace
}  // namespace tessera
