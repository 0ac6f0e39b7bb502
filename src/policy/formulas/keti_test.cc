#include "policy/formulas/keti.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

LinkMatrix linked(int gpus, std::initializer_list<std::array<int, 3>> pairs) {
    LinkMatrix links(gpus);
    for (const auto& [a, b, lanes] : pairs) {
        links.set(a, b, {LinkLevel::nvlink, static_cast<std::uint8_t>(lanes)});
    }
    return links;
}

KetiCandidate gpu(int index, std::int64_t points, int pods = 0) {
    return {index, points * 1000, pods};
}

TEST(KetiFormulas, TotalsOfOneAndOfALinkedPair) {
    const KetiPolicy policy;  // 0.4 : 0.6, NVLink 10 %
    const std::vector<KetiCandidate> gpus = {gpu(0, 120), gpu(1, 80)};
    const auto one = keti_choose(gpus, {}, 1, policy);
    ASSERT_TRUE(one.has_value());
    EXPECT_EQ(one->gpus, 0b1U);
    EXPECT_EQ(keti_total(210'000, one->score_milli, policy), 156);
    const auto two = keti_choose(gpus, linked(2, {{0, 1, 4}}), 2, policy);
    ASSERT_TRUE(two.has_value());
    EXPECT_EQ(two->score_milli, 110'000);
    EXPECT_EQ(keti_total(210'000, two->score_milli, policy), 150);
    EXPECT_EQ(keti_total_without_gpu(211'999, policy), 84);
}

TEST(KetiFormulas, OneGpuAvoidsNvlink) {
    KetiPolicy policy;
    const std::vector<KetiCandidate> gpus = {gpu(0, 120), gpu(1, 118), gpu(2, 60)};
    const LinkMatrix links = linked(3, {{0, 1, 2}});
    EXPECT_EQ(keti_choose(gpus, links, 1, policy)->gpus, 0b001U);
    policy.avoid_nvlink_one_gpu = true;
    EXPECT_EQ(keti_adjusted_milli(gpus[0], links, 1, policy) / 1000, 36);
    EXPECT_EQ(keti_adjusted_milli(gpus[1], links, 1, policy) / 1000, 35);
    EXPECT_EQ(keti_adjusted_milli(gpus[2], links, 1, policy) / 1000, 60);
    EXPECT_EQ(keti_choose(gpus, links, 1, policy)->gpus, 0b100U);
    EXPECT_EQ(keti_choose(gpus, links, 2, policy)->gpus, 0b011U) << "for two it is wanted";
}

TEST(KetiFormulas, PairsAreComparedWithTheTwoBest) {
    KetiPolicy policy;
    const std::vector<KetiCandidate> gpus = {gpu(0, 90), gpu(1, 100), gpu(2, 98), gpu(3, 92)};
    const LinkMatrix links = linked(4, {{0, 3, 2}});
    policy.nvlink_percent = 0;
    EXPECT_EQ(keti_choose(gpus, links, 2, policy)->gpus, 0b0110U) << "99 against 91";
    policy.nvlink_percent = 10;
    EXPECT_EQ(keti_choose(gpus, links, 2, policy)->gpus, 0b1001U) << "99 against 100.1";
    const auto three = keti_choose(gpus, links, 3, policy);
    EXPECT_EQ(three->gpus, 0b1011U) << "a pair, and the best of the rest";
    EXPECT_EQ(three->score_milli, (2 * 100'100 + 100'000) / 3);
    EXPECT_EQ(std::popcount(keti_choose(gpus, links, 4, policy)->gpus), 4);
    EXPECT_FALSE(keti_choose(gpus, links, 5, policy).has_value());
    EXPECT_FALSE(keti_choose({}, links, 1, policy).has_value());
    EXPECT_FALSE(keti_choose(gpus, links, 0, policy).has_value());
}

TEST(KetiFormulas, WithoutLinksTheBestScoresWin) {
    const std::vector<KetiCandidate> gpus = {gpu(0, 10), gpu(1, 30), gpu(2, 20), gpu(3, 30)};
    EXPECT_EQ(keti_choose(gpus, {}, 2, {})->gpus, 0b1010U) << "not the order of a map";
    EXPECT_EQ(keti_choose(gpus, {}, 1, {})->gpus, 0b0010U) << "ties: the lowest index";
}

TEST(KetiFormulas, BinpackAndSpread) {
    KetiPolicy policy;
    const KetiGpu idle{};
    const KetiGpu busy{.pods = 2, .used_milli = 400};
    std::vector<KetiCandidate> gpus = {{0, keti_gpu_score_milli(idle), 0},
                                       {1, keti_gpu_score_milli(busy), 2}};
    EXPECT_EQ(keti_choose(gpus, {}, 1, policy)->gpus, 0b01U);
    policy.allocate = KetiAllocate::binpack;
    EXPECT_EQ(keti_choose(gpus, {}, 1, policy)->gpus, 0b10U);
}

TEST(KetiFormulas, BusyGpusScoreLower) {
    EXPECT_EQ(keti_gpu_score_milli({}), 11'000);
    EXPECT_EQ(keti_gpu_score_milli({.pods = 1, .used_milli = 300}), 7'000 - 1'000);
    EXPECT_LT(keti_gpu_score_milli({.pods = 1, .used_milli = 900}),
              keti_gpu_score_milli({.pods = 1, .used_milli = 300}));
    EXPECT_LT(keti_gpu_score_milli({.pods = 3, .used_milli = 300}),
              keti_gpu_score_milli({.pods = 1, .used_milli = 300}));
}

TEST(KetiFormulas, NodeScores) {
    const KetiNode half{.cpu = {500, 1000}, .memory = {30, 40}, .storage = {1, 4}};
    EXPECT_EQ(keti_node_score_milli(half), 150'000);
    EXPECT_EQ(keti_node_score_milli({.cpu = {500, 1000}, .memory = {30, 40}, .storage = {}}),
              125'000)
        << "unknown storage adds nothing";
    EXPECT_EQ(keti_node_score_milli({.cpu = {-5, 10}, .memory = {50, 40}, .storage = {}}), 100'000)
        << "over-committed is empty-handed, not negative";
}

TEST(KetiFormulas, NodesWithSeveralGpusScoreHigher) {
    KetiPolicy policy;
    EXPECT_EQ(keti_with_gpus_milli(210'000, 4, policy), 294'000);
    policy.prefer_multi_gpu_node = false;
    EXPECT_EQ(keti_with_gpus_milli(210'000, 4, policy), 210'000);
}

}  // namespace
}  // namespace tessera
