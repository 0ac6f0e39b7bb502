#include "codec/node_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using testing::HasSubstr;

TEST(NodeSpecText, ReadsCountsShapesAndModels) {
    Interner<ModelIndex> models;
    const auto nodes = parse_node_spec("2x8g96c768Gi:A100,1g8c512Mi,4g48c1Ti", models);
    ASSERT_TRUE(nodes.has_value()) << nodes.error().message;
    ASSERT_EQ(nodes->size(), 4U);
    EXPECT_EQ((*nodes)[1].cpu, MilliCpu(96000));
    EXPECT_EQ((*nodes)[1].memory, MemoryMib(768 * 1024));
    EXPECT_EQ((*nodes)[1].gpus.size(), 8U);
    EXPECT_EQ((*nodes)[1].gpus[7].model, models.find("A100"));
    EXPECT_EQ((*nodes)[2].memory, MemoryMib(512));
    EXPECT_FALSE((*nodes)[2].gpus[0].model.valid());
    EXPECT_EQ((*nodes)[3].memory, MemoryMib(1024 * 1024));
    EXPECT_NE((*nodes)[0].name, (*nodes)[1].name);
    EXPECT_EQ(format_node_spec(*nodes, models), "2x8g96c768Gi:A100,1g8c512Mi,4g48c1024Gi");
}

TEST(NodeSpecText, RefusesWithTheItemAndTheForm) {
    Interner<ModelIndex> models;
    for (const char* text :
         {"", "8", "8g", "8g96", "8g96c", "8g96c768", "8g96c768Gb", "8g96c768Gi:", "8g96c768Gi ",
          "x8g96c768Gi", "-1x8g96c768Gi", "8g96c768Gi,", "99999999999999999999x8g1c1Gi",
          "1g1c9223372036854775807Ti"}) {
        const auto nodes = parse_node_spec(text, models);
        ASSERT_FALSE(nodes.has_value()) << text;
        EXPECT_THAT(nodes.error().message, HasSubstr("for example 64x8g96c768Gi:A100"));
    }
    EXPECT_LT(parse_node_spec(std::string(10'000'000, '8'), models).error().message.size(), 300U);
    EXPECT_THAT(parse_node_spec("17g1c1Gi", models).error().message, HasSubstr("17 GPUs"));
    EXPECT_THAT(parse_node_spec("0x1g1c1Gi", models).error().message, HasSubstr("count of 0"));
    EXPECT_THAT(parse_node_spec("1000000x1g1c1Gi,1g1c1Gi", models).error().message,
                HasSubstr("1000000 in all"));
    EXPECT_THAT(parse_node_spec("1g0c1Gi", models).error().message, HasSubstr("0 cores"));
}

TEST(NodeSpecText, TellsSpecsFromFiles) {
    EXPECT_TRUE(looks_like_node_spec("64x8g96c768Gi"));
    EXPECT_FALSE(looks_like_node_spec("nodes.csv"));
    EXPECT_FALSE(looks_like_node_spec("2024/nodes"));
    EXPECT_FALSE(looks_like_node_spec("2024.csv.gz"));
}

}  // namespace
}  // namespace tessera
