#include "codec/cell_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kFile = R"(cellTypes:
  V100-NODE:
    childCellType: V100
    childCellNumber: 2
    childCellPriority: 60
    isNodeLevel: true
  RACK:
    childCellType: V100-NODE
    childCellNumber: 2
cells:
- cellType: V100-NODE
  cellId: apple
- cellType: RACK
  cellChildren:
  - cellId: lemon
  - cellId: orange
)";

std::string error_of(std::string_view text, const CellLimits& limits = {}) {
    const auto config = parse_cell_yaml(text, limits);
    return config ? "" : config.error().message;
}

std::string replaced(std::string_view what, std::string_view by) {
    std::string text(kFile);
    text.replace(text.find(what), what.size(), by);
    return text;
}

TEST(CellYaml, ReadsTypesAndCellsWithLines) {
    const auto config = parse_cell_yaml(kFile);
    ASSERT_TRUE(config.has_value()) << config.error().message;
    ASSERT_EQ(config->types.size(), 2U);
    EXPECT_EQ(config->types[0].name, "V100-NODE");
    EXPECT_EQ(config->types[0].child, "V100");
    EXPECT_EQ(config->types[0].child_priority, 60);
    EXPECT_TRUE(config->types[0].node_level);
    EXPECT_FALSE(config->types[1].child_priority.has_value());
    EXPECT_EQ(config->types[1].line, 7);
    ASSERT_EQ(config->cells.size(), 2U);
    EXPECT_EQ(config->cells[1].line, 13);
    EXPECT_EQ(config->cells[1].children[1].id, "orange");
    const auto tree = CellTree::build(*config);
    ASSERT_TRUE(tree.has_value()) << tree.error().message;
    EXPECT_TRUE(tree->find_leaf("2/orange/4").valid());
}

TEST(CellYaml, ErrorsNameTheLine) {
    EXPECT_EQ(error_of(replaced("childCellNumber: 2", "childCellNumber: two")),
              "line 4: cell type \"V100-NODE\".childCellNumber: \"two\" is not a whole number");
    EXPECT_THAT(error_of(replaced("isNodeLevel: true", "isNodeLevel: perhaps")),
                HasSubstr("line 6: cell type \"V100-NODE\".isNodeLevel is neither"));
    EXPECT_EQ(error_of(replaced("cellChildren:", "cellChilden:")),
              "line 14: a cell has no key \"cellChilden\"; it may have cellType, cellId, "
              "cellChildren");
    EXPECT_THAT(error_of(replaced("cellId: apple", "cellType: RACK")),
                HasSubstr("line 12: a cell.cellType is there twice"));
    EXPECT_THAT(error_of(replaced("    childCellNumber: 2\ncells", "cells")),
                HasSubstr("line 7: cell type \"RACK\" has no childCellNumber"));
    EXPECT_THAT(error_of(replaced("cellId: apple", "cellId: [a")), HasSubstr("not valid YAML"));
}

TEST(CellYaml, RefusesWhatIsNoTopology) {
    EXPECT_THAT(error_of(""), HasSubstr("the file is not a map"));
    EXPECT_THAT(error_of("cells: []"), HasSubstr("cellTypes is missing"));
    EXPECT_THAT(error_of("cellTypes: {}"), HasSubstr("cells is missing"));
    EXPECT_THAT(error_of("cellTypes: {}\ncells: {a: b}"), HasSubstr("not a list of cells"));
    EXPECT_THAT(error_of("cellTypes: {a: 3}\ncells: []"), HasSubstr("is not a map"));
    EXPECT_THAT(error_of("cellTypes: {}\ncells: []\nmore: 1"), HasSubstr("no key \"more\""));
    EXPECT_THAT(error_of(std::string(17U << 20, ' ')), HasSubstr("at most 16777216 are read"));
}

TEST(CellYaml, AliasesCannotMultiply) {
    std::string text = "cellTypes: {}\ncells:\n- &a0 {cellId: x}\n";
    for (int i = 1; i < 14; ++i) {
        std::string children;
        for (int k = 0; k < 10; ++k) {
            children += (k > 0 ? ", *a" : "*a") + std::to_string(i - 1);
        }
        text += "- &a" + std::to_string(i) + " {cellChildren: [" + children + "]}\n";
    }
    EXPECT_THAT(error_of(text, {.cells = 100'000}), HasSubstr("more than 100000 cells"));
}

TEST(CellYaml, DeepNestingIsAnError) {
    EXPECT_EQ(error_of(std::string(100'000, '[')),
              "line 1: this is not valid YAML: it is nested too deeply");
    EXPECT_EQ(error_of(std::string("a:\n\0", 4)), "line 2: a NUL byte is no text");
    EXPECT_FALSE(error_of("cells: " + std::string(100'000, '{')).empty());
    std::string text = "cellTypes: {}\ncells:\n";
    for (int i = 0; i < 40; ++i) {
        text += std::string(static_cast<std::size_t>(2 * i), ' ') + "- cellChildren:\n";
    }
    EXPECT_THAT(error_of(text), HasSubstr("nested more than 16 deep"));
}

}  // namespace
}  // namespace tessera
