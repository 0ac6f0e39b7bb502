#include "codec/decision_json.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

std::string json_of(const Decision& decision, const Vocabulary& vocabulary) {
    const DecisionNames names{[](NodeIndex node) { return node.value() == 0 ? "a" : "b"; },
                              vocabulary};
    JsonWriter json;
    write_decision(decision, names, json);
    return json.take();
}

TEST(DecisionJson, APlacement) {
    Vocabulary vocabulary;
    Decision decision;
    decision.sequence = 7;
    decision.demand_class = ClassIndex(3);
    decision.seed = 42;
    decision.policy = "binpack";
    decision.policy_epoch = 1;
    decision.nodes = 2;
    decision.nodes_fitting = 1;
    Placement& placement = decision.placement.emplace();
    placement.node = NodeIndex(1);
    placement.grants.push_back({.request = vocabulary.requests.intern("main"),
                                .gpu = GpuIndex(3),
                                .milli = MilliGpu(500),
                                .memory = MemoryMib(64)});
    decision.candidates.push_back({NodeIndex(1), 9, 2, {{"binpack", -1.5}}, -1.5});
    decision.devices = {
        {{GpuIndex(3), MilliGpu(700), MemoryMib(99), 1}}, 2, true, false, LinkLevel::nvlink};
    decision.refusal.counts.push_back({RefusalCode::node_has_no_gpu, 1, 1, 0});
    EXPECT_EQ(
        json_of(decision, vocabulary),
        R"({"outcome":"placed","policy":"binpack","policyEpoch":1,"sequence":7,"class":3,)"
        R"("seed":"42","draw":"0","nodes":{"all":2,"fitting":1},"node":"b","grants":[)"
        R"({"request":"main","gpu":3,"milli":500,"memoryMib":64}],"devices":{"taken":[)"
        R"({"gpu":3,"idleMilli":700,"freeMemoryMib":99,"shares":1}],"fitting":2,)"
        R"("tightest":true,"emptiest":false,"slowestLink":"nvlink"},"candidates":[)"
        R"({"node":"b","score":-1.5,"terms":{"binpack":-1.5},"key":9,"tie":2}],"refusals":[)"
        R"({"code":"NodeHasNoGpu","kind":"never on this node","reason":"the node has no GPU",)"
        R"("nodes":1,"nodesAny":1,"gpus":0}],"gpusThatWouldServe":0})");
}

TEST(DecisionJson, ARefusalWithItsFixes) {
    Vocabulary vocabulary;
    Decision decision;
    decision.nodes = 1;
    decision.refusal.kind = RefusalKind::not_now;
    decision.refusal.fixes = {
        {.kind = FixKind::less_gpu_memory, .asked = 8192, .to = 6144, .nodes = 12, .gpus = 31},
        {.kind = FixKind::other_model, .model = vocabulary.models.intern("T4"), .nodes = 1},
        {.kind = FixKind::open_node, .nodes = 2}};
    const std::string text = json_of(decision, vocabulary);
    EXPECT_NE(text.find(R"("outcome":"refused")"), std::string::npos);
    EXPECT_NE(text.find(R"("kind":"not now","wouldFitIf":[)"
                        R"({"fix":"LessGpuMemory","asked":8192,"to":6144,"unit":"MiB","nodes":12,)"
                        R"("gpus":31},{"fix":"OtherModel","model":"T4","nodes":1,"gpus":0},)"
                        R"({"fix":"OpenNode","nodes":2,"gpus":0}])"),
              std::string::npos)
        << text;
}

TEST(DecisionJson, WhatStandsInTheWay) {
    Vocabulary vocabulary;
    const LabelKey gpu = vocabulary.label_keys.intern("gpu");
    const LabelValue only = vocabulary.label_values.intern("only");
    Decision decision;
    decision.refusal.counts = {
        {RefusalCode::node_tainted, 3, 4, 0, Obstacle{gpu, only}, 3},
        {RefusalCode::node_selector_mismatch, 1, 1, 0, Obstacle{gpu, only}, 1},
        {RefusalCode::node_name_mismatch, 1, 1, 0, Obstacle{{}, only}, 1},
        {RefusalCode::node_affinity_mismatch, 1, 1, 0, Obstacle{gpu}, 1}};
    decision.refusal.fixes = {{.kind = FixKind::tolerate_taint, .key = gpu, .value = only},
                              {.kind = FixKind::without_selector, .key = gpu, .value = only},
                              {.kind = FixKind::without_pin, .value = only},
                              {.kind = FixKind::without_affinity}};
    const std::string text = json_of(decision, vocabulary);
    for (const char* part :
         {R"("nodesAny":4,"gpus":0,"obstacle":"gpu=only:NoSchedule","obstacleNodes":3})",
          R"("obstacle":"gpu=only","obstacleNodes":1})", R"("obstacle":"only")",
          R"("obstacle":"gpu","obstacleNodes")",
          R"({"fix":"TolerateTaint","taint":"gpu=only","nodes":0,"gpus":0})",
          R"({"fix":"WithoutNodeSelector","label":"gpu=only")",
          R"({"fix":"WithoutPin","node":"only")", R"({"fix":"WithoutNodeAffinity","nodes":0)"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
    }
}

}  // namespace
}  // namespace tessera
