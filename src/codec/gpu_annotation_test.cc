#include "codec/gpu_annotation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(GpuAnnotation, ReadsDevicesAndLinks) {
    Vocabulary names;
    const auto found = read_gpu_annotation(R"({"version":1,"gpus":[
        {"uuid":"GPU-1","model":" A100","memoryMib":81920,"numa":1,"health":"no-new","slots":48},
        {"memoryMib":16384,"allocator":"claim","spare":[7,0,1]}],
        "links":[{"a":1,"b":0,"level":"nvlink","lanes":12}]})",
                                           names);
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_THAT(found->gpus, SizeIs(2));
    EXPECT_EQ(found->gpus[0].uuid, "GPU-1");
    EXPECT_EQ(names.models.name(found->gpus[0].model), "A100");
    EXPECT_EQ(found->gpus[0].memory, MemoryMib(81920));
    EXPECT_EQ(found->gpus[0].numa, 1);
    EXPECT_EQ(found->gpus[0].health, Health::no_new);
    EXPECT_EQ(found->gpus[0].slots, 48);
    EXPECT_FALSE(found->gpus[1].model.valid());
    EXPECT_EQ(found->gpus[1].mode, AllocatorMode::claim);
    EXPECT_EQ(found->gpus[1].spare, (SpareAmounts{7, 0, 1}));
    EXPECT_EQ(found->links.at(0, 1), (Link{LinkLevel::nvlink, 12}));
}

TEST(GpuAnnotation, WhatIsWrittenReadsBackEqual) {
    Vocabulary names;
    GpuInventory inventory;
    for (int i = 0; i < 16; ++i) {
        GpuSpec gpu;
        gpu.uuid = "GPU-" + std::to_string(i);
        gpu.model = names.models.intern(i % 2 == 0 ? "A100" : "T4-\"quoted\"-é");
        gpu.memory = MemoryMib(1000 * (i + 1));
        gpu.numa = static_cast<std::uint8_t>(i / 8);
        gpu.health = static_cast<Health>(i % 3);
        gpu.mode = static_cast<AllocatorMode>(i % 2);
        gpu.slots = static_cast<std::uint16_t>(i * 3);
        gpu.spare = {i, 0, 2 * i};
        inventory.gpus.push_back(gpu);
    }
    inventory.links = LinkMatrix(16);
    inventory.links.set(0, 15, {LinkLevel::pcie_switch, 0});
    inventory.links.set(3, 4, {LinkLevel::nvlink, 18});
    const auto again = read_gpu_annotation(write_gpu_annotation(inventory, names), names);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->links, inventory.links);
    ASSERT_THAT(again->gpus, SizeIs(16));
    for (std::size_t i = 0; i < 16; ++i) {
        EXPECT_EQ(again->gpus[i].uuid, inventory.gpus[i].uuid);
        EXPECT_EQ(again->gpus[i].model, inventory.gpus[i].model);
        EXPECT_EQ(again->gpus[i].memory, inventory.gpus[i].memory);
        EXPECT_EQ(again->gpus[i].numa, inventory.gpus[i].numa);
        EXPECT_EQ(again->gpus[i].health, inventory.gpus[i].health);
        EXPECT_EQ(again->gpus[i].mode, inventory.gpus[i].mode);
        EXPECT_EQ(again->gpus[i].slots, inventory.gpus[i].slots);
        EXPECT_EQ(again->gpus[i].spare, inventory.gpus[i].spare);
    }
}

TEST(GpuAnnotation, LinksThatSayNothingAreNone) {
    for (const std::string_view links : {R"([])", R"([{"a":0,"b":1}])"}) {
        Vocabulary names;
        const auto found = read_gpu_annotation(
            fmt::format(
                R"({{"version":1,"gpus":[{{"memoryMib":1}},{{"memoryMib":1}}],"links":{}}})",
                links),
            names);
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_TRUE(found->links.empty()) << links;
    }
}

TEST(GpuAnnotation, MalformedIsRefusedWithOneSentence) {
    const std::vector<std::pair<std::string, const char*>> cases{
        {R"({"gpus":[]})", "version is missing"},
        {R"({"version":2,"gpus":[]})", "the annotation.version: 2 is not accepted"},
        {R"({"version":1})", "gpus is missing"},
        {R"({"version":1,"gpus":{}})", "gpus: an object is not accepted: a list is"},
        {R"({"version":1,"gpus":[5]})", "gpus[0]: 5 is not accepted: an object is"},
        {R"({"version":1,"gpus":[{}]})", "gpus[0]: memoryMib is missing"},
        {R"({"version":1,"gpus":[{"memoryMib":-1}]})", "gpus[0].memoryMib: -1 is not accepted"},
        {R"({"version":1,"gpus":[{"memoryMib":1.5}]})", "memoryMib: 1.5 is not accepted"},
        {R"({"version":1,"gpus":[{"memoryMib":1e300}]})", "memoryMib: 1e300 is not accepted"},
        {R"({"version":1,"gpus":[{"memoryMib":99999999999999999999}]})", "is not accepted"},
        {R"({"version":1,"gpus":[{"memoryMib":NaN}]})", "not valid JSON"},
        {R"({"version":1,"gpus":[{"memoryMib":"1"}]})", "\"1\" is not accepted"},
        {R"({"version":1,"gpus":[{"memoryMib":1,"helth":"ok"}]})",
         "key \"helth\" is not accepted: uuid, model, memoryMib"},
        {R"({"version":1,"gpus":[{"memoryMib":1,"memoryMib":2}]})", "is there twice"},
        {R"({"version":1,"gpus":[{"memoryMib":1,"health":"good"}]})",
         "one of ok, no-new, evict is"},
        {R"({"version":1,"gpus":[{"memoryMib":1,"numa":256}]})", "from 0 to 255"},
        {R"({"version":1,"gpus":[{"memoryMib":1,"uuid":"a"},{"memoryMib":1,"uuid":"a"}]})",
         "gpus[1].uuid: \"a\" is there twice"},
        {R"({"version":1,"gpus":[{"memoryMib":1}],"links":[{"a":0,"b":1}]})",
         "links[0].b: 1 is not accepted: 0 is"},
        {R"({"version":1,"gpus":[{"memoryMib":1}],"links":[{"a":0,"b":0}]})", "with itself"},
        {R"({"version":1,"gpus":[{"memoryMib":1},{"memoryMib":1}],
            "links":[{"a":0,"b":1,"level":"nvlink"},{"a":1,"b":0,"level":"numa"}]})",
         "linked twice"},
        {R"({"version":1,"gpus":[],"links":[{"a":0,"b":0}]})", "links[0].a"},
        {R"({"version":1,"gpus":[{"memoryMib":1,"spare":[1]}]})", "spare: 1 amounts"},
        {R"({"version":1,"gpus":[]} x)", "not valid JSON"},
        {"nonsense", "\"nonsense\" is not accepted: a JSON object is"},
        {"5", "is not accepted: a JSON object is"},
        {"\"\xff\"", "not valid JSON"},
        {"", "not valid JSON"},
        {"{\"version\":" + std::string(100'000, '[') + "}", "not valid JSON"},
        {std::string(10'000'000, 'x'), "not valid JSON"},
    };
    for (const auto& [text, sentence] : cases) {
        Vocabulary names;
        const auto found = read_gpu_annotation(text, names);
        ASSERT_FALSE(found) << text.substr(0, 200);
        EXPECT_THAT(found.error().message, HasSubstr("tessera.dev/gpus: "));
        EXPECT_THAT(found.error().message, HasSubstr(sentence)) << text.substr(0, 200);
        EXPECT_LT(found.error().message.size(), 400U);
    }
    std::string many = R"({"version":1,"gpus":[)";
    for (int i = 0; i < 17; ++i) {
        many += fmt::format("{}{{\"memoryMib\":1}}", i == 0 ? "" : ",");
    }
    Vocabulary names;
    EXPECT_THAT(read_gpu_annotation(many + "]}", names).error().message,
                HasSubstr("17 GPUs are not accepted: up to 16 are"));
}

}  // namespace
}  // namespace tessera
