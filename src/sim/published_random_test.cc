#include "sim/published_random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

// What every Go program that forgot to seed used to draw from 0 to 99.
TEST(PublishedRandom, DrawsWhatGoDraws) {
    PublishedRandom random(1);
    std::vector<std::uint32_t> drawn;
    for (int i = 0; i < 10; ++i) {
        drawn.push_back(random.below(100));
    }
    EXPECT_THAT(drawn, testing::ElementsAre(81, 87, 47, 59, 81, 18, 25, 40, 56, 0));
}

TEST(PublishedRandom, StaysBelowTheBoundAndReachesAll) {
    PublishedRandom random(7);
    for (const std::uint32_t bound : {1U, 2U, 3U, 7U, 8U, 1213U}) {
        std::vector<int> plain(bound);
        std::vector<int> shuffled(bound);
        for (std::uint32_t i = 0; i < 20 * bound; ++i) {
            ++plain.at(random.below(bound));
            ++shuffled.at(random.below_for_shuffle(bound));
        }
        EXPECT_THAT(plain, testing::Each(testing::Gt(0))) << bound;
        EXPECT_THAT(shuffled, testing::Each(testing::Gt(0))) << bound;
    }
}

TEST(PublishedRandom, SeedsAreTakenModuloAPrime) {
    constexpr std::uint64_t kPrime = (std::uint64_t{1} << 31) - 1;
    EXPECT_EQ(PublishedRandom(42).next(), PublishedRandom(42 + kPrime).next());
    EXPECT_EQ(PublishedRandom(0).next(), PublishedRandom(kPrime).next());
    EXPECT_NE(PublishedRandom(0).next(), PublishedRandom(1).next());
    EXPECT_NE(PublishedRandom(~std::uint64_t{0}).next(), PublishedRandom(1).next());
}

}  // namespace
}  // namespace tessera
