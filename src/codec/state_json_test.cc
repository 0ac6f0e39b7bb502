#include "codec/state_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kSmall = R"({"version":1,"seed":"18446744073709551615","nodes":[
    {"name":"a","cpuMilli":96000,"memoryMib":786432,
     "gpus":[{"count":2,"model":"A100","memoryMib":81920},{"model":"T4","health":"evict"}],
     "links":[{"a":0,"b":1,"level":"nvlink","lanes":12}]}],
    "demands":[{"cpuMilli":4000,"memoryMib":8192,
                "alternatives":[[{"name":"main","milli":500,"memoryMib":1024}]]}],
    "pods":[{"name":"p","demand":0,"placement":{"node":0,"cpuMilli":4000,"memoryMib":8192,
             "grants":[{"request":"main","gpu":1,"milli":500,"memoryMib":1024}]}},
            {"name":"q","demand":0}],
    "history":[0,0,-1]})";

std::string error_of(std::string_view text) {
    Vocabulary names;
    const auto state = read_state_json(text, names);
    return state ? "" : state.error().message;
}

TEST(StateJson, ReadsWhatIsThere) {
    Vocabulary names;
    const auto state = read_state_json(kSmall, names);
    ASSERT_TRUE(state) << state.error().message;
    EXPECT_EQ(state->seed, UINT64_MAX);
    ASSERT_EQ(state->nodes.size(), 1U);
    const NodeSpec& node = state->nodes[0];
    ASSERT_EQ(node.gpus.size(), 3U);
    EXPECT_EQ(names.models.name(node.gpus[2].model), "T4");
    EXPECT_EQ(node.gpus[2].health, Health::evict);
    EXPECT_EQ(node.links.at(1, 0), (Link{LinkLevel::nvlink, 12}));
    EXPECT_EQ(node.pods, 110);
    EXPECT_EQ(state->demands[0].alternatives[0].requests[0].milli, MilliGpu(500));
    EXPECT_EQ(state->pods[0].placement->grants.begin()->gpu, GpuIndex(1));
    EXPECT_FALSE(state->pods[1].placement);
    EXPECT_EQ(state->history, (std::vector<std::int32_t>{0, 0, -1}));
}

TEST(StateJson, WhatIsWrittenReadsBackEqual) {
    Vocabulary names;
    auto state = read_state_json(kSmall, names);
    ASSERT_TRUE(state);
    Demand& demand = state->demands.emplace_back();
    demand.models = {names.models.intern("T4")};
    demand.service = ServiceClass::latency;
    demand.isolation = Isolation::exclusive;
    demand.priority = -7;
    demand.gang = Gang{names.groups.intern("g"), 4, 2};
    demand.app = names.apps.intern("bert");
    demand.tolerates = Health::evict;
    demand.admin_access = true;
    GpuRequest request;
    request.gpus = 2;
    request.limit = MilliGpu(700);
    request.memory_ppm = 250'000;
    request.memory_bytes = Bytes(12'345);
    request.spare = {1, 2, 3};
    request.rule = GroupRule::distinct;
    request.rule_attribute = kAttributeLink;
    demand.alternatives = {{{request, request}}, {{request}}};
    state->nodes[0].schedulable = false;
    state->nodes[0].gpus[1].spare = {0, 4, 0};
    state->pods[0].placement->admin_access = true;
    state->pods[0].placement->pods = 0;
    state->pods[0].placement->alternative = 1;
    state->policy = "a \"policy\"";
    const std::string written = write_state_json(*state, names);
    const auto again = read_state_json(written, names);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->policy, state->policy);
    EXPECT_EQ(again->seed, state->seed);
    EXPECT_EQ(again->demands, state->demands);
    EXPECT_EQ(again->pods, state->pods);
    EXPECT_EQ(again->history, state->history);
    EXPECT_EQ(again->nodes[0].links, state->nodes[0].links);
    EXPECT_EQ(again->nodes[0].gpus[1].spare, state->nodes[0].gpus[1].spare);
    EXPECT_EQ(write_state_json(*again, names), written);
}

TEST(StateJson, LabelsTaintsAndConstraintsAreCarried) {
    constexpr std::string_view kText = R"({"version":1,"nodes":[
        {"name":"gpu-a","cpuMilli":1,"memoryMib":1,"labels":{"zone":"x","gen":"4"},
         "taints":[{"key":"gpu","value":"only","effect":"NoSchedule"},
                   {"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"},
                   {"key":"gpu","effect":"PreferNoSchedule"}]},
        {"name":"gpu-b","cpuMilli":1,"memoryMib":1}],
        "demands":[{},{"constraints":{"nodeName":"gpu-a","nodeSelector":{"zone":"x"},
          "nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"NotIn","values":["w","b"]},
                                {"key":"gen","operator":"Gt","values":["3"]}],
                                "matchFields":[{"key":"metadata.name","operator":"In","values":["gpu-a"]}]},
                               {}],
          "tolerations":[{"operator":"Exists","effect":"NoExecute"},
                         {"key":"node.kubernetes.io/unschedulable","operator":"Exists"},
                         {"key":"gpu","value":"only"}]}}]})";
    Vocabulary names;
    const auto state = read_state_json(kText, names);
    ASSERT_TRUE(state) << state.error().message;
    const FilterTable& filters = *state->filters;
    EXPECT_FALSE(state->demands[0].filter.valid());
    const FilterIndex asked = state->demands[1].filter;
    ASSERT_TRUE(asked.valid());
    EXPECT_TRUE(admits(filters[asked], state->nodes[0].traits));
    EXPECT_FALSE(admits(filters[asked], state->nodes[1].traits));
    EXPECT_FALSE(admits({}, state->nodes[0].traits));
    EXPECT_EQ(state->nodes[0].traits.taints.size(), 3U);

    const std::string written = write_state_json(*state, names);
    Vocabulary others;  // other indices, the same file
    others.label_values.intern("w");
    others.label_keys.intern("gpu");
    const auto again = read_state_json(written, others);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(write_state_json(*again, others), written);
    const auto same = read_state_json(written, names);
    ASSERT_TRUE(same);
    EXPECT_EQ(same->nodes[0].traits, state->nodes[0].traits);
    EXPECT_EQ((*same->filters)[same->demands[1].filter], filters[asked]);
}

TEST(StateJson, WhatIsWrongIsToldWithItsPlace) {
    const auto state = [](std::string_view nodes, std::string_view rest) {
        return fmt::format(R"({{"version":1,"nodes":[{}]{}}})", nodes, rest);
    };
    constexpr std::string_view kTwo =
        R"({"name":"a","cpuMilli":1,"memoryMib":1,"gpus":[{"count":2}]})";
    constexpr std::string_view kDemand = R"(,"demands":[{"cpuMilli":1}])";
    struct Case {
        std::string text;
        std::string_view message;
    };
    const std::vector<Case> cases{
        {R"({"version":2,"nodes":[]})", "version: 2 is not accepted: 1 is"},
        {R"({"version":1,"node":[]})", "key \"node\" is not accepted: version,"},
        {"", "the file is empty: a state is a JSON object, as tessera sim --state writes it"},
        {"name: mine\nscores:\n- a\n", "this is not a state: a state is a JSON object"},
        {"{\"version\":1,\n \"nodes\":[}", "line 2: column 11: this is not valid JSON"},
        {state(kTwo, fmt::format(R"({},"pods":[{{"name":"p","demand":0,"placement":{{"node":0,
            "grants":[{{"gpu":9,"milli":1}}]}}}}])",
                                 kDemand)),
         "pods[0].placement.grants[0].gpu: 9 is not accepted: node \"a\" has 2 GPUs"},
        {state(kTwo,
               fmt::format(R"({},"pods":[{{"name":"p","demand":0}},{{"name":"p","demand":0}}])",
                           kDemand)),
         "pods[1].name: \"p\" is there twice"},
        {state(R"({"name":"a","cpuMilli":1,"memoryMib":1,"gpus":[{"uuid":"G"},{"uuid":"G"}]})", ""),
         "nodes[0].gpus[1].uuid: \"G\" is there twice"},
        {state(R"({"name":"a","cpuMilli":1,"memoryMib":1,"gpus":[{"uuid":"G","count":2}]})", ""),
         "nodes[0].gpus[0].uuid: \"G\" is there twice"},
        {state(kTwo, fmt::format(R"({},"history":[0,-1,-1])", kDemand)),
         "history[2]: -1 is not accepted: demand 0 leaves more often than it has come"},
        {state(kTwo, R"(,"history":[0])"), "history[0]: 0 names a demand, and there are none"},
        {state("", fmt::format(R"({},"pods":[{{"name":"p","demand":0,"placement":{{"node":0}}}}])",
                               kDemand)),
         "pods[0].placement.node: it names one of nodes, which is an empty list"},
        {state(kTwo, R"(,"pods":[{"name":"p","demand":0}])"),
         "pods[0].demand: it names one of demands, which is an empty list"},
        {state(kTwo, fmt::format(R"({},"mix":[1,2])", kDemand)),
         "mix: 2 numbers are not accepted: one for each of the 1 demands are"},
        {state(kTwo, R"(,"draws":["0","0","0","0"])"), "draws: this list is not accepted"},
        {state(kTwo, R"(,"draws":["1","2","3"])"), "draws: this list is not accepted"},
        {state(kTwo, R"(,"census":[-1])"), "census[0]: -1 is not accepted"},
        {state(kTwo, R"(,"models":[1])"), "models[0]: 1 is not accepted: the name of a model is"},
    };
    for (const Case& one : cases) {
        EXPECT_THAT(error_of(one.text), HasSubstr(std::string(one.message))) << one.text;
    }
}

TEST(StateJson, WhatThePolicyKnewIsCarried) {
    Vocabulary names;
    names.models.intern("T4");
    names.models.intern("A100");
    ClusterState state;
    state.demands.resize(2);
    state.history = {0, 1, -1};
    state.census = {3, 0, 12};
    state.mix = {40, 2};
    state.draws = {{1, UINT64_MAX, 0, 7}};
    Vocabulary others;
    const auto again = read_state_json(write_state_json(state, names), others);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->history, state.history);
    EXPECT_EQ(again->census, state.census);
    EXPECT_EQ(again->mix, state.mix);
    EXPECT_EQ(again->draws, state.draws);
    EXPECT_EQ(others.models.name(ModelIndex(0)), "T4");
    EXPECT_EQ(others.models.name(ModelIndex(1)), "A100");
}

TEST(StateJson, ErrorsNameThePlaceAndWhatIsAccepted) {
    EXPECT_THAT(error_of("{}"), HasSubstr("version is missing"));
    EXPECT_THAT(error_of(R"({"version":2,"nodes":[]})"), HasSubstr("2 is not accepted: 1 is"));
    EXPECT_THAT(error_of(R"({"version":1})"), HasSubstr("nodes is missing"));
    EXPECT_THAT(error_of(R"({"version":1,"nodes":[],"node":[]})"), HasSubstr("\"node\""));
    EXPECT_THAT(error_of(R"({"version":1,"seed":"x","nodes":[]})"), HasSubstr("seed"));
    EXPECT_THAT(error_of(R"({"version":1,"nodes":[{"name":"a","cpuMilli":-1,"memoryMib":1}]})"),
                HasSubstr("nodes[0].cpuMilli: -1 is not accepted"));
    EXPECT_THAT(error_of(R"({"version":1,"nodes":[{"name":"a","cpuMilli":1,"memoryMib":1},
                            {"name":"a","cpuMilli":1,"memoryMib":1}]})"),
                HasSubstr("nodes[1].name: \"a\" is there twice"));
    EXPECT_THAT(error_of(R"({"version":1,"nodes":[{"name":"a","cpuMilli":1,"memoryMib":1,
                            "gpus":[{"count":9},{"count":8}]}]})"),
                HasSubstr("nodes[0].gpus[1]: more than 16"));
    EXPECT_THAT(error_of(R"({"version":1,"nodes":[],"pods":[{"name":"p","demand":0}]})"),
                HasSubstr("pods[0].demand"));
    EXPECT_THAT(error_of(R"({"version":1,"nodes":[],"demands":[{"alternatives":[[]]}]})"),
                HasSubstr("demands[0].alternatives[0]"));
    EXPECT_THAT(error_of(R"({"version":1,"nodes":[],"history":[0]})"), HasSubstr("history[0]"));
    EXPECT_THAT(error_of("[1"), HasSubstr("a state is a JSON object"));
    const auto node_error = [](std::string_view more) {
        return error_of(fmt::format(
            R"({{"version":1,"nodes":[{{"name":"a","cpuMilli":1,"memoryMib":1,{}}}]}})", more));
    };
    EXPECT_THAT(node_error(R"("labels":{"a":1})"),
                HasSubstr("nodes[0].labels.a: 1 is not accepted"));
    EXPECT_THAT(node_error(R"("labels":[])"), HasSubstr("nodes[0].labels: a list is not accepted"));
    EXPECT_THAT(node_error(R"("taints":[{"key":"a"}])"),
                HasSubstr("nodes[0].taints[0]: effect is missing"));
    EXPECT_THAT(node_error(R"("taints":[{"effect":"NoExecute"}])"),
                HasSubstr("nodes[0].taints[0]: key is missing"));
    EXPECT_THAT(node_error(R"("taints":[{"key":"a","effect":"Go"}])"),
                HasSubstr(R"(nodes[0].taints[0]: effect: "Go" is not accepted: NoSchedule,)"));
    const auto constraint_error = [](std::string_view more) {
        return error_of(fmt::format(
            R"({{"version":1,"nodes":[],"demands":[{{"constraints":{{{}}}}}]}})", more));
    };
    EXPECT_THAT(constraint_error(R"("nodename":"a")"), HasSubstr("demands[0].constraints: key"));
    EXPECT_THAT(constraint_error(R"("tolerations":[{"operator":"Lt"}])"),
                HasSubstr(R"(demands[0].constraints.tolerations[0]: operator: "Lt")"));
    EXPECT_THAT(constraint_error(
                    R"("nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"In"}]}])"),
                HasSubstr("nodeSelectorTerms[0].matchExpressions[0]: values: an empty list"));
    EXPECT_THAT(constraint_error(R"("nodeSelectorTerms":[{"matchLabels":[]}])"),
                HasSubstr("nodeSelectorTerms[0]: key \"matchLabels\" is not accepted"));
}

}  // namespace
}  // namespace tessera
