#include "policy/formulas/elastic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace tessera {
namespace {

using ::testing::ElementsAre;

CardView card(std::int64_t core_free, std::int64_t memory_free) {
    return {.milli_free = static_cast<std::int32_t>(core_free * 10),
            .memory_free_mib = memory_free,
            .empty = core_free == 100 && memory_free == 1000,
            .memory_total_mib = 1000};
}

// As the dialect reads gpu-core and gpu-memory (MiB); nothing asked is no card.
ContainerNeed elastic_need(std::int64_t core, std::int64_t memory_mib) {
    if (core == 0 && memory_mib == 0) {
        return {.cards = 0};
    }
    return {.cards = 1,
            .whole = false,
            .milli = static_cast<std::int32_t>(core * 10),
            .memory_mib = memory_mib};
}

TEST(ElasticFormulas, BinpackRate) {
    const std::vector<ContainerNeed> needs = {elastic_need(20, 200)};
    const auto empty =
        elastic_choice(needs, std::vector{card(100, 1000), card(100, 1000)}, ElasticRater::binpack);
    ASSERT_TRUE(empty.has_value());
    EXPECT_EQ(empty->rate, 5500);
    EXPECT_THAT(empty->cards, ElementsAre(0b10U)) << "of equal rates the last";
    const auto begun =
        elastic_choice(needs, std::vector{card(80, 800), card(100, 1000)}, ElasticRater::binpack);
    ASSERT_TRUE(begun.has_value());
    EXPECT_EQ(begun->rate, 11000);
    EXPECT_THAT(begun->cards, ElementsAre(0b01U));
    EXPECT_EQ(elastic_binpack_rate(std::vector{card(80, 800), card(80, 800)}, 0b10), 0);
}

TEST(ElasticFormulas, WholeCardsAreTakenAlone) {
    const ContainerNeed need{.cards = 2, .whole = true};
    const auto choice = elastic_choice(std::vector{need},
                                       std::vector{card(100, 1000), card(90, 900), card(100, 1000)},
                                       ElasticRater::binpack);
    ASSERT_TRUE(choice.has_value());
    EXPECT_THAT(choice->cards, ElementsAre(0b101U));
}

TEST(ElasticFormulas, AContainerWithoutGpuGetsNone) {
    const std::vector<ContainerNeed> needs = {elastic_need(0, 0), elastic_need(50, 100)};
    const auto choice = elastic_choice(needs, std::vector{card(50, 500)}, ElasticRater::binpack);
    ASSERT_TRUE(choice.has_value());
    EXPECT_THAT(choice->cards, ElementsAre(0U, 1U));
}

TEST(ElasticFormulas, SpreadTakesTheEmptiestCard) {
    const std::vector<CardView> cards = {card(60, 600), card(90, 900), card(70, 700)};
    const std::vector<ContainerNeed> one = {elastic_need(20, 100)};
    EXPECT_THAT(elastic_choice(one, cards, ElasticRater::spread)->cards, ElementsAre(0b010U));
    EXPECT_THAT(elastic_choice(one, cards, ElasticRater::binpack)->cards, ElementsAre(0b001U));
    const std::vector<ContainerNeed> two = {elastic_need(20, 100), elastic_need(20, 100)};
    const auto pair = elastic_choice(two, cards, ElasticRater::spread);
    ASSERT_TRUE(pair.has_value());
    EXPECT_EQ(pair->cards[0] | pair->cards[1], 0b110U);
}

TEST(ElasticFormulas, RandomIsSeededAndReachesEveryCard) {
    const std::vector<CardView> cards(8, card(100, 1000));
    const std::vector<ContainerNeed> one = {elastic_need(20, 100)};
    std::set<DeviceMask> seen;
    for (std::uint64_t draw = 0; draw < 200; ++draw) {
        const auto choice = elastic_choice(one, cards, ElasticRater::random, draw);
        const auto again = elastic_choice(one, cards, ElasticRater::random, draw);
        ASSERT_TRUE(choice.has_value());
        EXPECT_EQ(choice->cards, again->cards);
        EXPECT_GE(choice->rate, 0);
        EXPECT_LE(choice->rate, 100);
        seen.insert(choice->cards[0]);
    }
    EXPECT_EQ(seen.size(), 8U);
}

TEST(ElasticFormulas, CardsOfUnlikeSizeAreTakenAsTheyAre) {
    std::vector<CardView> cards = {card(100, 1000), card(100, 4000)};
    cards[1].memory_total_mib = 4000;
    const std::vector<ContainerNeed> big = {elastic_need(10, 2000)};
    EXPECT_THAT(elastic_choice(big, cards, ElasticRater::binpack)->cards, ElementsAre(0b10U));
    EXPECT_FALSE(elastic_choice(std::vector{elastic_need(10, 4001)}, cards, ElasticRater::binpack)
                     .has_value());
}

TEST(ElasticFormulas, ManyContainersAreStillPlaced) {
    const std::vector<CardView> cards(8, card(100, 1000));
    const std::vector<ContainerNeed> needs(16, elastic_need(50, 500));
    const auto choice = elastic_choice(needs, cards, ElasticRater::binpack);
    ASSERT_TRUE(choice.has_value());
    const std::vector<ContainerNeed> more(17, elastic_need(50, 500));
    EXPECT_FALSE(elastic_choice(more, cards, ElasticRater::binpack).has_value());
}

}  // namespace
}  // namespace tessera
