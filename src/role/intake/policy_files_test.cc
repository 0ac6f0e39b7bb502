#include "role/intake/policy_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/registry.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::string_view kTopology = R"(cellTypes:
  V100-SWITCH:
    childCellType: Tesla V100
    childCellNumber: 2
    childCellPriority: 60
    isNodeLevel: true
  V100-NODE:
    childCellType: V100-SWITCH
    childCellNumber: 2
cells:
- cellType: V100-NODE
  cellChildren:
  - cellId: berry
  - cellId: berry
)";

NodeSpec node(std::string name, int gpus, ModelIndex model) {
    NodeSpec spec;
    spec.name = std::move(name);
    GpuSpec gpu;
    gpu.model = model;
    spec.gpus.assign(static_cast<std::size_t>(gpus), gpu);
    return spec;
}

struct World {
    Interner<ModelIndex> models;
    ModelIndex other = models.intern("T4");
    ModelIndex v100 = models.intern("Tesla-V100");
    std::vector<NodeSpec> nodes{node("apple", 1, other), node("berry", 4, v100)};
};

TEST(Topology, GivesLinksAndPriorities) {
    World world;
    const auto tree = read_topology(kTopology, "cells.yaml");
    ASSERT_TRUE(tree) << tree.error().message;
    const auto use = use_topology(*tree, world.nodes, world.models);
    ASSERT_TRUE(use) << use.error().message;
    EXPECT_THAT(use->model_priority, ElementsAre(0, 60));
    EXPECT_THAT(use->notes, IsEmpty());
    EXPECT_EQ(world.nodes[1].links.at(0, 1).level, LinkLevel::pcie_switch);
    EXPECT_EQ(world.nodes[1].links.at(1, 2).level, LinkLevel::pcie_host);
    EXPECT_TRUE(world.nodes[0].links.empty()) << "not in the file";
    EXPECT_TRUE(make_policy("kubeshare", {.model_priority = use->model_priority}));
}

TEST(Topology, LinksThatAreKnownStay) {
    World world;
    world.nodes[1].links = LinkMatrix(4);
    world.nodes[1].links.set(0, 3, {LinkLevel::nvlink, 2});
    ASSERT_TRUE(use_topology(*read_topology(kTopology, "f"), world.nodes, world.models));
    EXPECT_EQ(world.nodes[1].links.at(0, 3).level, LinkLevel::nvlink);
    EXPECT_EQ(world.nodes[1].links.at(0, 1).level, LinkLevel::unknown);
}

TEST(Topology, WhatDoesNotMatchIsTold) {
    World world;
    const auto tree = read_topology(kTopology, "f");
    world.nodes[1] = node("berry", 5, world.v100);
    EXPECT_THAT(use_topology(*tree, world.nodes, world.models)->notes,
                ElementsAre("1 GPU of a node of the topology has no cell of its model in it"));
    world.nodes[1].name = "cherry";
    EXPECT_THAT(use_topology(*tree, world.nodes, world.models)->notes,
                ElementsAre("the one node of the topology is not there"));
    Interner<ModelIndex> strangers;
    std::vector<NodeSpec> elsewhere{node("far", 1, strangers.intern("T4"))};
    EXPECT_THAT(use_topology(*tree, elsewhere, strangers).error().message,
                AllOf(HasSubstr("no node of the topology (the first of 1 is \"berry\")"),
                      HasSubstr("among the one node given")));
}

TEST(Topology, BrokenFilesAreRefusedWithFileAndLine) {
    const auto refusal = [](std::string_view what, std::string_view by) {
        std::string text(kTopology);
        text.replace(text.find(what), what.size(), by);
        const auto tree = read_topology(text, "cells.yaml");
        return tree ? std::string("accepted") : tree.error().message;
    };
    EXPECT_THAT(refusal("childCellNumber: 2", "childCellNumber: 2.5"),
                StartsWith("cells.yaml:4: "));
    EXPECT_THAT(refusal("childCellNumber: 2", "childCellNumber: -2"),
                HasSubstr("-2 is not a count of 1 or more"));
    EXPECT_THAT(refusal("childCellNumber: 2", "childCellNumber: 99999999999999999999"),
                HasSubstr("is not a whole number"));
    EXPECT_THAT(refusal("childCellPriority: 60", "childCellPriority: NaN"),
                HasSubstr("\"NaN\" is not a whole number"));
    EXPECT_THAT(refusal("childCellPriority: 60", "childCellPriority: 101"),
                HasSubstr("101 is not in 0..100"));
    EXPECT_THAT(refusal("isNodeLevel: true", "isNodeLevl: true"), HasSubstr("no key"));
    EXPECT_THAT(refusal("isNodeLevel: true", "isNodeLevel: false"), HasSubstr("no node"));
    EXPECT_THAT(refusal("- cellType: V100-NODE", "- cellType: V100"),
                HasSubstr("cells[0].cellType: \"V100\" is not among the cellTypes"));
    EXPECT_THAT(refusal("  - cellId: berry\n", ""), HasSubstr("lists 1 cellChildren"));
    EXPECT_THAT(refusal("cellTypes:", "cellTypes: ["), HasSubstr("not valid YAML"));
}

std::string config(std::string_view data) {
    return fmt::format(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: gpu-scheduler-policy, namespace: "
        "gpu}}\ndata:\n  {}\n",
        data);
}

TEST(KetiConfig, IsReadFromItsConfigMap) {
    const auto policy = read_keti_config(config("node-gpu-score-weight: 0.5:0.5"), "keti.yaml");
    ASSERT_TRUE(policy) << policy.error().message;
    EXPECT_EQ(policy->policy.node_weight_milli, 500);
    EXPECT_EQ(policy->policy.nvlink_percent, 10) << "the default of its code";
    EXPECT_THAT(policy->notes, IsEmpty());
}

// As the project ships it.
TEST(KetiConfig, NotesWhatChangesNoPlacement) {
    const auto shipped = read_keti_config(config(R"(node-gpu-score-weight: 0.5:0.5
  nvlink-weight-percentage: "0"
  gpu-allocate-prefer: spread
  node-reservation-permit: "false"
  pod-re-schedule-permit: "false"
  avoid-nvlink-one-gpu: "true"
  multi-node-allocation-permit: "false"
  non-gpu-node-prefer: "false"
  multi-gpu-node-prefer: "false"
  least-score-node-prefer: "false"
  avoid-high-score-node: "false")"),
                                          "keti.yaml");
    ASSERT_TRUE(shipped) << shipped.error().message;
    EXPECT_THAT(shipped->notes, ElementsAre(StartsWith("pod-re-schedule-permit: false is about")));
}

TEST(KetiConfig, RefusalsNameFileKeyAndValue) {
    const auto refusal = [](std::string_view text) {
        const auto policy = read_keti_config(text, "keti.yaml");
        return policy ? std::string("accepted") : policy.error().message;
    };
    EXPECT_THAT(refusal("kind: ConfigMap\nmetadata: {name: other}\n"),
                AllOf(StartsWith("keti.yaml: there is no ConfigMap gpu-scheduler-policy"),
                      HasSubstr("in it, but ConfigMap \"other\"; such a ConfigMap")));
    EXPECT_THAT(refusal("kind: Service\n---\nkind: Secret\n"),
                HasSubstr("in it, but Service and more; such"));
    EXPECT_THAT(refusal(""), HasSubstr("in it, which has no object at all;"));
    for (const char* text : {"kind: [", "a,b,c\n", "gpu-allocate-prefer: spread\n"}) {
        EXPECT_THAT(refusal(text),
                    AllOf(StartsWith("keti.yaml:1: "),
                          HasSubstr("; a file with KETI's ConfigMap gpu-scheduler-policy is")));
    }
    EXPECT_THAT(refusal(config("nvlink-weight-percent: \"3\"")),
                AllOf(StartsWith("keti.yaml:5: nvlink-weight-percent: no such key of KETI's"),
                      HasSubstr("did you mean nvlink-weight-percentage? the keys are node-gpu-")));
    EXPECT_THAT(refusal("kind: ConfigMap\nmetadata: {name: gpu-scheduler-policy}\n"
                        "data: {gpu-allocate-prefer: pack}\n"),
                StartsWith("keti.yaml: gpu-allocate-prefer: \"pack\" is neither"))
        << "no line is known";
    EXPECT_THAT(refusal(config("node-gpu-score-weight: \"0.5\"")),
                StartsWith("keti.yaml:5: node-gpu-score-weight: \"0.5\" is not accepted"));
    EXPECT_THAT(refusal(config("node-reservation-permit: \"true\"")),
                StartsWith("keti.yaml:5: node-reservation-permit: true is not accepted"));
    EXPECT_THAT(refusal(config("a: b") + "---\n" + config("a: b")), HasSubstr("one is accepted"));
    EXPECT_THAT(refusal(config("avoid-nvlink-one-gpu: true")), HasSubstr("needs quotes"));
}

}  // namespace
}  // namespace tessera
