#include "policy/fgd_published.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/rng.h"
#include "policy/fgd_reference.h"
#include "policy/test_world.h"

namespace tessera {
namespace {

using testing::demand_of;
using testing::gpu_request;
using testing::node_spec;
using testing::TestWorld;

std::vector<TypicalClass> mix_of(const std::vector<std::pair<Demand, std::int64_t>>& pods) {
    std::vector<ClassCount> counts;
    for (const auto& [demand, count] : pods) {
        counts.push_back({demand_class(demand), count});
    }
    return typical_mix(counts);
}

// By hand. Mix: 3 x (half a GPU, 4 cores), 1 x (two GPUs, 8 cores), no other pods. A node with two
// empty devices and 8 cores. F = 0 before: both classes are satisfied, no device is too small.
TEST(FgdPublished, ByHand) {
    TestWorld world;
    NodeState& node = world.add(node_spec(2, 8'000));
    const Demand half = demand_of(4'000, {gpu_request(1, 500)});
    const FgdPublishedPolicy policy =
        FgdPublishedPolicy(mix_of({{half, 3}, {demand_of(8'000, {gpu_request(2, 1000)}), 1}}));
    const auto scorer = FgdPublishedPolicy(policy).scorer(world.catalog());
    // After a half with 4 cores: halves still fit (4 cores left, no device below 500), the pair
    // does not: a quarter of 1,500. floor(100 sigmoid(-0.375)) = 40.
    EXPECT_EQ(TestWorld::key(*scorer, node, world.intern(half)), 41U);
    // After 8 cores nothing fits any more: F = 2,000.
    const ClassIndex cores = world.intern(demand_of(8'000));
    EXPECT_EQ(TestWorld::key(*scorer, node, cores),
              static_cast<Key>(100 / (1 + std::exp(2.0)) + 1));
    // The pair itself leaves nothing idle: F = 0, and 50.
    const ClassIndex pair = world.intern(demand_of(8'000, {gpu_request(2, 1000)}));
    EXPECT_EQ(TestWorld::key(*scorer, node, pair), 51U);
}

// Every row of the published table, one class at a time: what a node of 1,300 idle milli loses.
TEST(FgdPublished, SevenKindsOfFragment) {
    TestWorld world;
    NodeState& node = world.add(node_spec(2, 8'000));
    world.take(node, 0, 700);
    const ClassIndex nothing = world.intern(demand_of(0));
    const ClassIndex full = world.intern(demand_of(0, {gpu_request(1, 1000)}));
    const auto score_of_full = [&](Demand demand) {
        const auto scorer =
            FgdPublishedPolicy(mix_of({{std::move(demand), 1}})).scorer(world.catalog());
        EXPECT_EQ(TestWorld::key(*scorer, node, nothing), 51U);  // changes nothing
        return static_cast<int>(TestWorld::key(*scorer, node, full)) - 1;
    };
    const auto sigmoid = [](double gain) {
        return static_cast<int>(100 / (1 + std::exp(-gain / 1000)));
    };
    Demand wrong_model = demand_of(0, {gpu_request(1, 1000)});
    wrong_model.models = {ModelIndex(9)};
    EXPECT_EQ(score_of_full(wrong_model), sigmoid(1'000));       // no access
    EXPECT_EQ(score_of_full(demand_of(0)), sigmoid(1'000));      // no GPU, fits
    EXPECT_EQ(score_of_full(demand_of(9'000)), sigmoid(1'000));  // no GPU, lacks
    EXPECT_EQ(score_of_full(demand_of(9'000, {gpu_request(1, 500)})), sigmoid(1'000));   // lack CPU
    EXPECT_EQ(score_of_full(demand_of(9'000, {gpu_request(2, 1000)})), sigmoid(1'000));  // both
    EXPECT_EQ(score_of_full(demand_of(0, {gpu_request(2, 1000)})), sigmoid(1'000));      // lack GPU
    // Satisfied before (the 300 too small), lacking after: 300 before, 300 after.
    EXPECT_EQ(score_of_full(demand_of(0, {gpu_request(1, 1000)})), 50);
    // Satisfied before and after.
    EXPECT_EQ(score_of_full(demand_of(0, {gpu_request(1, 300)})), 50);
}

// The authors' sums equal the plain ones but for rounding: only what lies on an edge may differ.
TEST(FgdPublished, PlainLoopsButForRounding) {
    int compared = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        Rng rng(seed);
        TestWorld world;
        NodeState& node = world.add(node_spec(1 + static_cast<int>(rng.below(8)), 30'000));
        for (std::size_t gpu = 0; gpu < node.gpu_count; ++gpu) {
            if (const auto taken = static_cast<int>(rng.below(10) * 100); taken > 0) {
                world.take(node, static_cast<int>(gpu), taken);
            }
        }
        std::vector<std::pair<Demand, std::int64_t>> pods;
        for (int i = 0; i < 10; ++i) {
            const auto cpu = static_cast<std::int64_t>(rng.below(5) * 8'000);
            const int milli = 10 * (1 + static_cast<int>(rng.below(100)));
            const int gpus = milli == 1000 ? 1 + static_cast<int>(rng.below(4)) : 1;
            pods.emplace_back(demand_of(cpu, {gpu_request(gpus, milli)}), 1 + rng.below(9));
        }
        const std::vector<TypicalClass> mix = mix_of(pods);
        const auto scorer = FgdPublishedPolicy(mix).scorer(world.catalog());
        for (const auto& [demand, count] : pods) {
            const ClassIndex c = world.intern(demand);
            if (!fits(node, world[c], world.catalog())) {
                continue;
            }
            const reference::Best best =
                reference::best_fragment_score(node, world[c], world.catalog(), mix);
            const int score = static_cast<int>(TestWorld::key(*scorer, node, c)) - 1;
            if (std::abs(best.exact - std::round(best.exact)) > 1e-6) {
                EXPECT_EQ(score, best.score);
                ++compared;
            } else {
                EXPECT_NEAR(score, best.score, 1);
            }
        }
    }
    EXPECT_GT(compared, 50);
}

}  // namespace
}  // namespace tessera
