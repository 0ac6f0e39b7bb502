#include "model/cell_tree.h"

#include "model/cell_distance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

CellSpec named(std::string id, std::vector<CellSpec> children = {}) {
    return {.type = "", .id = std::move(id), .children = std::move(children)};
}

CellSpec root(std::string type, std::string id = "", std::vector<CellSpec> children = {}) {
    return {.type = std::move(type), .id = std::move(id), .children = std::move(children)};
}

// The cluster of KubeShare's own description: two nodes alone, a group of three, and a node whose
// GPUs sit behind two switches.
CellConfig fruit() {
    CellConfig config;
    config.types = {
        {.name = "one", .child = "GTX-1080", .child_count = 1, .node_level = true},
        {.name = "two",
         .child = "Tesla-V100",
         .child_count = 2,
         .child_priority = 60,
         .node_level = true},
        {.name = "four",
         .child = "RTX-2080",
         .child_count = 4,
         .child_priority = 100,
         .node_level = true},
        {.name = "three-nodes", .child = "two", .child_count = 3},
        {.name = "two-switches", .child = "four", .child_count = 2},
    };
    config.cells = {
        root("one", "apple"),
        root("three-nodes", "", {named("lemon"), named("orange"), named("grape")}),
        root("one", "banana"),
        root("two-switches", "", {named("strawberry"), named("strawberry")}),
    };
    return config;
}

std::vector<std::string> ids(const CellTree& tree, std::span<const CellIndex> leaves) {
    std::vector<std::string> result;
    for (const CellIndex leaf : leaves) {
        result.push_back(tree.cell(leaf).id);
    }
    return result;
}

std::string error_of(const CellConfig& config, const CellLimits& limits = {}) {
    auto tree = CellTree::build(config, limits);
    return tree ? "" : tree.error().message;
}

TEST(CellTree, LeafIdsCountAlongTheLevelOfTheirRoot) {
    const auto tree = CellTree::build(fruit());
    ASSERT_TRUE(tree.has_value()) << tree.error().message;
    EXPECT_THAT(ids(*tree, tree->leaves()),
                ElementsAre("apple/1", "2/lemon/1", "2/lemon/2", "2/orange/3", "2/orange/4",
                            "2/grape/5", "2/grape/6", "banana/1", "4/strawberry/1",
                            "4/strawberry/2", "4/strawberry/3", "4/strawberry/4", "4/strawberry/5",
                            "4/strawberry/6", "4/strawberry/7", "4/strawberry/8"));
    EXPECT_THAT(tree->warnings(), IsEmpty());
}

TEST(CellTree, KnowsNodesModelsPrioritiesAndLevels) {
    const auto tree = CellTree::build(fruit());
    ASSERT_TRUE(tree.has_value());
    EXPECT_EQ(tree->node_count(), 6U);
    EXPECT_THAT(ids(*tree, tree->leaves_of("orange")), ElementsAre("2/orange/3", "2/orange/4"));
    EXPECT_THAT(tree->leaves_of("strawberry"), SizeIs(8));
    EXPECT_THAT(tree->leaves_of("cherry"), IsEmpty());
    EXPECT_EQ(tree->priority("Tesla-V100"), 60);
    EXPECT_EQ(tree->priority("GTX-1080"), 0);
    EXPECT_EQ(tree->priority("unheard-of"), 0);
    const Cell& group = tree->cell(tree->roots()[1]);
    EXPECT_EQ(group.level, 3);
    EXPECT_FALSE(group.node.valid());
    EXPECT_EQ(tree->priority(group), 60);
    EXPECT_EQ(tree->model_name(group.model), "Tesla-V100");
    const Cell& lemon = tree->cell(group.first_child);
    EXPECT_EQ(tree->node_name(lemon.node), "lemon");
    const CellIndex leaf = tree->find_leaf("2/lemon/2");
    ASSERT_TRUE(leaf.valid());
    EXPECT_EQ(tree->node_name(tree->cell(leaf).node), "lemon");
    EXPECT_FALSE(tree->find_leaf("2/lemon").valid());
}

TEST(CellTree, SynthesisesMissingChildrenAndSaysSoOfNodes) {
    CellConfig config = fruit();
    config.cells = {root("three-nodes")};
    const auto tree = CellTree::build(config);
    ASSERT_TRUE(tree.has_value());
    EXPECT_THAT(ids(*tree, tree->leaves()),
                ElementsAre("1/1/1", "1/1/2", "1/2/3", "1/2/4", "1/3/5", "1/3/6"));
    ASSERT_THAT(tree->warnings(), SizeIs(1));
    EXPECT_THAT(tree->warnings()[0], HasSubstr("3 node-level cells have no cellId"));
}

TEST(CellTree, TakesGivenIdsOfLeavesAndOfPartOfALevel) {
    CellConfig config = fruit();
    config.cells = {
        root("three-nodes", "rack", {named("a", {named("x"), named("")}), named("b"), named("c")})};
    const auto tree = CellTree::build(config);
    ASSERT_TRUE(tree.has_value()) << tree.error().message;
    EXPECT_THAT(ids(*tree, tree->leaves()), ElementsAre("rack/a/x", "rack/a/2", "rack/b/3",
                                                        "rack/b/4", "rack/c/5", "rack/c/6"));
}

TEST(CellTree, DistanceFollowsTheIds) {
    EXPECT_EQ(cell_distance("4/strawberry/1", "4/strawberry/5"), 4);
    EXPECT_EQ(cell_distance("2/lemon/1", "2/orange/3"), 102);
    EXPECT_EQ(cell_distance("apple/1", "2/lemon/1"), 102);
    EXPECT_EQ(cell_distance("2/lemon/1", "apple/1"), 102);
    EXPECT_EQ(cell_distance("apple/1", "apple/1"), 0);
    EXPECT_EQ(cell_distance("room/apple/1", "apple/1"), 100);
    EXPECT_EQ(cell_distance("1", "name"), 100);
    EXPECT_EQ(cell_distance("", "3/x/1"), 104);
    EXPECT_EQ(cell_distance("99999999999999999999/1", "1/1"), 100) << "no count, so a name";
}

TEST(CellTree, RefusesTypesThatLeadNowhere) {
    CellConfig config = fruit();
    config.cells = {root("three-noodles")};
    EXPECT_EQ(error_of(config), "cells[0].cellType: \"three-noodles\" is not among the cellTypes");
    config = fruit();
    config.types[3].child = "tow";  // a typing error turns it into a GPU model
    EXPECT_THAT(error_of(config), HasSubstr("if \"tow\" is not a GPU model, it is missing"));
    config = fruit();
    config.types[2].child = "two-switches";
    EXPECT_THAT(error_of(config), HasSubstr("leads back to itself"));
    config = fruit();
    config.types[0].child = "one";
    EXPECT_EQ(error_of(config), "cellTypes.one.childCellType: \"one\" leads back to itself");
    config = fruit();
    config.types[0].child.clear();
    EXPECT_THAT(error_of(config), HasSubstr("cellTypes.one.childCellType is missing"));
    config = fruit();
    config.types[1].name = "one";
    EXPECT_THAT(error_of(config), HasSubstr("\"one\" is there twice"));
    config = fruit();
    config.types[3].node_level = true;
    EXPECT_THAT(error_of(config), HasSubstr("a node contains no nodes"));
}

TEST(CellTree, RefusesNumbersOutOfRange) {
    CellConfig config = fruit();
    config.types[1].line = 12;
    config.types[1].child_priority = 101;
    EXPECT_EQ(error_of(config), "line 12: cellTypes.two.childCellPriority: 101 is not in 0..100");
    config.types[1].child_priority = -1;
    EXPECT_THAT(error_of(config), HasSubstr("-1 is not in 0..100"));
    config = fruit();
    config.types[1].child_count = 0;
    EXPECT_THAT(error_of(config), HasSubstr("0 is not a count of 1 or more"));
    config = fruit();
    config.types[0].child = "RTX-2080";
    config.types[0].child_priority = 5;
    EXPECT_THAT(error_of(config), HasSubstr("has priority 100 here and 5 in \"one\""));
}

TEST(CellTree, RefusesMoreThanAnyoneHas) {
    CellConfig config = fruit();
    config.types[3].child_count = std::int64_t{1} << 62;
    EXPECT_THAT(error_of(config), HasSubstr("more than 1000000 cells"));
    config = fruit();
    config.types[2].child_count = 9;  // twice nine in one node
    EXPECT_THAT(error_of(config), HasSubstr("node \"strawberry\" has more than 16 GPUs"));
    EXPECT_THAT(error_of(fruit(), {.cells = 10}), HasSubstr("more than 10 cells"));
    config = fruit();
    for (int i = 0; i < 20; ++i) {
        config.types.push_back({.name = "l" + std::to_string(i),
                                .child = i == 0 ? "three-nodes" : "l" + std::to_string(i - 1),
                                .child_count = 1});
    }
    EXPECT_THAT(error_of(config), HasSubstr("is more than 16 levels deep"));
    std::ranges::reverse(config.types);
    EXPECT_THAT(error_of(config), HasSubstr("is more than 16 levels deep"));
}

TEST(CellTree, RefusesCellsThatContradictTheirType) {
    CellConfig config = fruit();
    config.cells[1].children.pop_back();
    config.cells[1].line = 30;
    EXPECT_EQ(error_of(config),
              "line 30: cell \"2\" of type \"three-nodes\" lists 2 cellChildren, its type says 3");
    config = fruit();
    config.cells[1].children[0].type = "four";
    EXPECT_THAT(error_of(config), HasSubstr("\"four\" stands where the parent's type has \"two\""));
    config = fruit();
    config.cells[0].children = {named("g", {named("h")})};
    EXPECT_THAT(error_of(config), HasSubstr("a GPU contains none"));
    config = fruit();
    config.cells[2].id = "apple";
    EXPECT_THAT(error_of(config), HasSubstr("two GPUs have the id \"apple/1\""));
    for (const char* bad : {"a,b", "a b", "/a", "a/", "a//b", "a\nb"}) {
        config = fruit();
        config.cells[0].id = bad;
        EXPECT_THAT(error_of(config), HasSubstr("is not accepted")) << bad;
    }
}

TEST(CellTree, GpusOfANodeFillItsLeavesByModel) {
    CellConfig config = fruit();
    config.cells = {root("two", "mixed"), root("one", "pool/mixed")};
    const auto tree = CellTree::build(config);
    ASSERT_TRUE(tree.has_value()) << tree.error().message;
    const std::vector<std::string> models = {"GTX-1080", "Tesla-V100", "A100", "Tesla-V100",
                                             "Tesla-V100"};
    const auto leaves = match_leaves(*tree, "mixed", models);
    EXPECT_EQ(tree->cell(leaves[0]).id, "pool/mixed/1");
    EXPECT_EQ(tree->cell(leaves[1]).id, "mixed/1");
    EXPECT_FALSE(leaves[2].valid());
    EXPECT_EQ(tree->cell(leaves[3]).id, "mixed/2");
    EXPECT_FALSE(leaves[4].valid()) << "the file has two of them";
}

TEST(CellTree, ModelsAreOneHoweverTheyAreSpelt) {
    CellConfig config = fruit();
    config.types[0].child = "Tesla V100";
    const auto tree = CellTree::build(config);
    ASSERT_TRUE(tree.has_value()) << tree.error().message;
    EXPECT_EQ(tree->priority("Tesla V100"), 60) << "the priority that \"two\" gives it";
    EXPECT_EQ(tree->cell(tree->find_leaf("apple/1")).type, "Tesla-V100");
    const std::vector<std::string> models = {"Tesla-V100"};
    EXPECT_TRUE(match_leaves(*tree, "apple", models)[0].valid());
}

TEST(CellTree, LinksComeFromSharedCells) {
    const auto tree = CellTree::build(fruit());
    ASSERT_TRUE(tree.has_value());
    const auto leaves = tree->leaves_of("strawberry");
    const LinkMatrix links = links_of_leaves(*tree, leaves);
    EXPECT_EQ(links.at(0, 3).level, LinkLevel::pcie_switch);
    EXPECT_EQ(links.at(3, 4).level, LinkLevel::pcie_host);
    EXPECT_EQ(links.at(4, 7).level, LinkLevel::pcie_switch);
    const std::vector<CellIndex> unknown(4);
    EXPECT_TRUE(links_of_leaves(*tree, unknown).empty());
}

}  // namespace
}  // namespace tessera
