#include "policy/formulas/kubeshare.h"

#include "model/cell_distance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::ElementsAre;

constexpr auto kPack = ServiceClass::opportunistic;
constexpr auto kGuarantee = ServiceClass::guaranteed;

TEST(KubeshareFormulas, NodeScoreOfTwoLeaves) {
    const std::vector<LeafView> leaves = {{1000, 10, 0}, {400, 10, 0}};
    EXPECT_EQ(kubeshare_node_score_milli(kPack, leaves), 15'000);
    EXPECT_EQ(kubeshare_node_score_milli(kGuarantee, leaves), -20'000);
    EXPECT_FALSE(kubeshare_node_score_milli(kPack, {}).has_value());
}

TEST(KubeshareFormulas, LeafScores) {
    const LeafView leaf{400, 10, 2'500};
    EXPECT_EQ(kubeshare_leaf_score_milli(kPack, false, leaf), 70'000);
    EXPECT_EQ(kubeshare_leaf_score_milli(kGuarantee, false, leaf), 10'000 - 60'000 - 250'000);
    const LeafView free{1000, 10, 1'000};
    EXPECT_EQ(kubeshare_leaf_score_milli(kPack, true, free), 10'000);
    EXPECT_EQ(kubeshare_leaf_score_milli(kGuarantee, true, free), 10'000 - 100'000);
}

TEST(KubeshareFormulas, NormaliseShiftsAndStretches) {
    std::vector<std::int64_t> scores = {-20'000, 15'000, 180'000};
    kubeshare_normalise(scores);
    EXPECT_THAT(scores, ElementsAre(0, 17, 100));
    scores = {3'000, 99'999, 100'000};
    kubeshare_normalise(scores);
    EXPECT_THAT(scores, ElementsAre(3, 99, 100)) << "within range they stay";
    scores = {-5'000, 20'000};
    kubeshare_normalise(scores);
    EXPECT_THAT(scores, ElementsAre(0, 25)) << "only shifted";
    scores = {300'000, 300'000};
    kubeshare_normalise(scores);
    EXPECT_THAT(scores, ElementsAre(0, 0)) << "equal ones stay equal";
    kubeshare_normalise({});
}

TEST(KubeshareFormulas, TwoHalfCardsAreNoFreeCard) {
    const std::vector<LeafView> halves = {{500, 0, 0}, {500, 0, 0}};
    EXPECT_EQ(kubeshare_free_leaves(halves), 0);
    const std::vector<LeafView> one = {{1000, 0, 0}, {999, 0, 0}};
    EXPECT_EQ(kubeshare_free_leaves(one), 1);
}

TEST(KubeshareFormulas, PodsWithoutGpuLeaveGpuNodesAlone) {
    EXPECT_GT(kubeshare_regular_score(false), kubeshare_regular_score(true));
}

TEST(KubeshareFormulas, DistanceToTheGroup) {
    const std::vector<std::string> group = {"a/1", "b/2"};
    const LeafView near{.milli_available = 1000,
                        .priority = 10,
                        .distance_milli = DistanceToCells(group).mean_milli("a/3")};
    EXPECT_EQ(near.distance_milli, (2 + 101) * 1000 / 2);
    EXPECT_EQ(DistanceToCells({}).mean_milli("a/3"), 0) << "no group, no pull";
    const std::int64_t points = 10'000 - 100 * near.distance_milli;
    EXPECT_EQ(kubeshare_leaf_score_milli(ServiceClass::guaranteed, false, near), points);
    EXPECT_EQ(kubeshare_leaf_score_milli(ServiceClass::guaranteed, true, near), points);
    EXPECT_EQ(kubeshare_leaf_score_milli(ServiceClass::opportunistic, false, near), 10'000);
}

}  // namespace
}  // namespace tessera
