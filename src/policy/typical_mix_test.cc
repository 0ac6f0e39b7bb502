#include "policy/typical_mix.h"

#include <gtest/gtest.h>

#include "policy/test_world.h"

namespace tessera {
namespace {

using testing::demand_of;
using testing::gpu_request;

ClassCount pods(std::int64_t count, Demand demand) { return {demand_class(demand), count}; }

TEST(TypicalMix, MostFrequentUntilNineteenTwentieths) {
    const std::vector<ClassCount> counts{
        pods(1, demand_of(1'000, {gpu_request(1, 100)})),
        pods(60, demand_of(2'000, {gpu_request(1, 200)})),
        pods(4, demand_of(3'000, {gpu_request(1, 300)})),
        pods(35, demand_of(4'000)),  // without a GPU: counted like any other
    };
    const std::vector<TypicalClass> mix = typical_mix(counts);
    ASSERT_EQ(mix.size(), 2U);  // 95 of 100 is enough
    EXPECT_EQ(mix[0].cpu_milli, 2'000);
    EXPECT_EQ(mix[0].milli, 200);
    EXPECT_EQ(mix[0].gpus, 1);
    EXPECT_EQ(mix[0].count, 60);
    EXPECT_EQ(mix[1].cpu_milli, 4'000);
    EXPECT_EQ(mix[1].gpus, 0);
    // The published program divides twice.
    EXPECT_EQ(mix[0].frequency, 60.0 / 100.0 / (95.0 / 100.0));
    EXPECT_NEAR(mix[0].frequency + mix[1].frequency, 1, 1e-12);
}

TEST(TypicalMix, OneShortOfEnoughTakesAnother) {
    const std::vector<ClassCount> counts{pods(94, demand_of(1'000)), pods(4, demand_of(2'000)),
                                         pods(2, demand_of(3'000))};
    EXPECT_EQ(typical_mix(counts).size(), 2U);
}

TEST(TypicalMix, NodeMemoryIsNoPartOfIt) {
    Demand a = demand_of(1'000, {gpu_request(1, 100)});
    Demand b = a;
    b.memory = MemoryMib(4'096);
    const std::vector<TypicalClass> mix =
        typical_mix(std::vector<ClassCount>{pods(3, a), pods(4, b)});
    ASSERT_EQ(mix.size(), 1U);
    EXPECT_EQ(mix[0].count, 7);
    EXPECT_EQ(mix[0].frequency, 1);
}

TEST(TypicalMix, ModelsAre) {
    Demand a = demand_of(1'000, {gpu_request(1, 100)});
    Demand b = a;
    b.models = {ModelIndex(1)};
    const std::vector<TypicalClass> mix =
        typical_mix(std::vector<ClassCount>{pods(3, a), pods(4, b)});
    ASSERT_EQ(mix.size(), 2U);
    EXPECT_TRUE(mix[0].allows(ModelIndex(1)));
    EXPECT_FALSE(mix[0].allows(ModelIndex(0)));
    EXPECT_TRUE(mix[1].allows(ModelIndex(0)));
}

TEST(TypicalMix, NothingSeen) {
    EXPECT_TRUE(typical_mix({}).empty());
    EXPECT_TRUE(typical_mix(std::vector<ClassCount>{pods(0, demand_of(1'000))}).empty());
}

}  // namespace
}  // namespace tessera
