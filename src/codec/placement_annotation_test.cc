#include "codec/placement_annotation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

PlacementRecord sample() {
    PlacementRecord record;
    record.owner = "lab/train/6f1c";
    record.node = "gpu-a";
    record.dialect = "elastic";
    record.cpu_milli = 4000;
    record.memory_mib = 8192;
    record.alternative = 1;
    record.admin_access = true;
    record.grants = {{"main", 0, "GPU-1", 500, 1000, 4096, {}},
                     {"main", 3, "GPU-4", 500, 800, 4096, {1, 0, 0}},
                     {"side \"car\"", 3, "", 0, 1000, 10, {}}};
    record.containers = {{"main", {"main"}}, {"prepare", {"main", "side \"car\""}}};
    return record;
}

TEST(PlacementAnnotation, WhatIsWrittenReadsBackEqual) {
    const auto again = read_placement_annotation(write_placement_annotation(sample()));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, sample());
    PlacementRecord bare;
    bare.owner = "a/b/c";
    bare.node = "n";
    EXPECT_EQ(read_placement_annotation(write_placement_annotation(bare)).value(), bare);
}

TEST(PlacementAnnotation, TextIsStable) {
    PlacementRecord record = sample();
    record.grants.resize(1);
    record.containers = {{"main", {"main"}}};
    record.alternative = 0;
    record.admin_access = false;
    EXPECT_EQ(write_placement_annotation(record),
              R"({"version":1,"owner":"lab/train/6f1c","node":"gpu-a","dialect":"elastic",)"
              R"("cpuMilli":4000,"memoryMib":8192,"grants":[{"request":"main","gpu":0,)"
              R"("uuid":"GPU-1","milli":500,"limitMilli":1000,"memoryMib":4096}],)"
              R"("containers":{"main":["main"]}})");
}

TEST(PlacementAnnotation, MalformedIsRefusedWithOneSentence) {
    const std::string head = R"({"version":1,"owner":"o","node":"n")";
    const std::vector<std::pair<std::string, const char*>> cases{
        {R"({"version":1,"node":"n"})", "owner is missing"},
        {R"({"version":1,"owner":"o"})", "node is missing"},
        {R"({"version":"1","owner":"o","node":"n"})", "version: \"1\" is not accepted"},
        {head + R"(,"grants":[{"request":"r","gpu":16,"milli":1,"memoryMib":1}]})",
         "grants[0].gpu: 16 is not accepted"},
        {head + R"(,"grants":[{"request":"r","gpu":0,"milli":1001,"memoryMib":1}]})",
         "grants[0].milli: 1001 is not accepted"},
        {head + R"(,"grants":[{"request":"r","gpu":0,"milli":-1,"memoryMib":1}]})", "milli: -1"},
        {head + R"(,"grants":[{"request":"r","gpu":0,"milli":1}]})", "memoryMib is missing"},
        {head + R"(,"grants":[{"gpu":0,"milli":1,"memoryMib":1}]})", "request is missing"},
        {head + R"(,"grants":{}})", "grants: an object is not accepted"},
        {head + R"(,"containers":{"c":["nobody"]}})",
         "containers.\"c\": \"nobody\" is not accepted: a request with a grant is"},
        {head + R"(,"containers":{"c":"x"}})", "a list is"},
        {head + R"(,"containers":[]})", "an object is"},
        {head + R"(,"adminAccess":"yes"})", "true or false is"},
        {head + R"(,"signed":"x"})", "key \"signed\" is not accepted"},
        {head + R"(,"node":"m"})", "\"node\" is there twice"},
        {"[]", "an object is"},
        {"{", "not valid JSON"},
    };
    for (const auto& [text, sentence] : cases) {
        const auto found = read_placement_annotation(text);
        ASSERT_FALSE(found) << text;
        EXPECT_THAT(found.error().message, HasSubstr("tessera.dev/placement: "));
        EXPECT_THAT(found.error().message, HasSubstr(sentence)) << text;
    }
}

TEST(GpushareAllocation, ReadsUnitsPerDevice) {
    const auto found = read_gpushare_allocation(R"({"0":{"1":3},"1":{"0":2,"1":1}})");
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_THAT(*found, SizeIs(3));
    EXPECT_EQ((*found)[1].gpu, 0);
    EXPECT_EQ((*found)[1].units, 2);
    EXPECT_THAT(read_gpushare_allocation("{}").value(), IsEmpty());
    for (const char* bad : {R"({"0":{"x":1}})", R"({"0":{"-1":1}})", R"({"0":{"0":-1}})",
                            R"({"0":{"16":1}})", R"({"0":3})", "[1]", ""}) {
        EXPECT_FALSE(read_gpushare_allocation(bad)) << bad;
    }
}

}  // namespace
}  // namespace tessera
