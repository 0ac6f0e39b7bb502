#include "policy/card_assignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::ElementsAre;

CardView card(std::int32_t milli, std::int64_t memory, std::int64_t total = 1000) {
    return {.milli_free = milli,
            .memory_free_mib = memory,
            .empty = milli == 1000 && memory == total,
            .memory_total_mib = total};
}

TEST(CardAssignment, LargestFirstSoThatAllFit) {
    // In the order given, 400 would go to the first card and leave no room for 600.
    const std::vector<ContainerNeed> needs = {{.milli = 400}, {.milli = 600}};
    const auto result = assign_cards(needs, std::vector{card(600, 1000), card(400, 1000)});
    ASSERT_TRUE(result.has_value());
    EXPECT_THAT(*result, ElementsAre(0b10U, 0b01U));
}

TEST(CardAssignment, WholeCardsLeaveTheLargerOnes) {
    const std::vector<ContainerNeed> needs = {{.milli = 100, .memory_mib = 1500}, {.whole = true}};
    const auto result = assign_cards(needs, std::vector{card(1000, 2000, 2000), card(1000, 1000)});
    ASSERT_TRUE(result.has_value());
    EXPECT_THAT(*result, ElementsAre(0b01U, 0b10U));
}

TEST(CardAssignment, SharesOfOneContainerAreOnDifferentCards) {
    const std::vector<ContainerNeed> needs = {{.cards = 2, .milli = 300}};
    EXPECT_FALSE(assign_cards(needs, std::vector{card(1000, 1000)}).has_value());
    const auto result =
        assign_cards(needs, std::vector{card(1000, 1000), card(200, 1000), card(300, 1000)});
    ASSERT_TRUE(result.has_value());
    EXPECT_THAT(*result, ElementsAre(0b101U));
}

TEST(CardAssignment, UnusableAndOccupiedCards) {
    std::vector<CardView> cards = {card(1000, 1000), card(1000, 1000)};
    cards[0].usable = false;
    cards[1].empty = false;  // a share that takes nothing is still a share
    EXPECT_FALSE(assign_cards(std::vector<ContainerNeed>{{.whole = true}}, cards).has_value());
    EXPECT_THAT(*assign_cards(std::vector<ContainerNeed>{{.milli = 10}}, cards),
                ElementsAre(0b10U));
    EXPECT_THAT(*assign_cards(std::vector<ContainerNeed>{{.cards = 0}}, {}), ElementsAre(0U));
    EXPECT_FALSE(
        assign_cards(std::vector<ContainerNeed>{{.cards = 1'000'000, .whole = true}}, cards)
            .has_value());
}

TEST(CardAssignment, OrderOfPreference) {
    const std::vector<CardView> cards = {card(500, 1000), card(900, 1000), card(300, 1000)};
    const std::vector<ContainerNeed> one = {{.milli = 300}};
    EXPECT_THAT(*assign_cards(one, cards, {.order = CardOrder::fullest_first}),
                ElementsAre(0b100U));
    EXPECT_THAT(*assign_cards(one, cards, {.order = CardOrder::emptiest_first}),
                ElementsAre(0b010U));
}

TEST(CardAssignment, TwoContainersNeedTwoSlots) {
    std::vector<CardView> cards(2);
    for (CardView& card : cards) {
        card.milli_free = 1000;
        card.slots_free = 1;
    }
    const std::vector<ContainerNeed> two(2, {.milli = 100});
    const auto apart = assign_cards(two, cards);
    ASSERT_TRUE(apart);
    EXPECT_NE((*apart)[0], (*apart)[1]);
    cards.pop_back();
    EXPECT_FALSE(assign_cards(two, cards));
}

}  // namespace
}  // namespace tessera
