// An assignment is found if plain search finds one, and it fits.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <bit>

#include "policy/card_assignment.h"

namespace tessera {
namespace {

// No order, no symmetry, no bound: container by container, every set of cards of its size.
bool any_assignment(std::span<const ContainerNeed> needs, std::vector<CardView> cards) {
    if (needs.empty()) {
        return true;
    }
    const ContainerNeed& need = needs.front();
    for (DeviceMask set = 0; set < (DeviceMask{1} << cards.size()); ++set) {
        if (std::popcount(set) != need.cards) {
            continue;
        }
        bool fits = true;
        for (DeviceMask rest = set; rest != 0; rest &= rest - 1) {
            const CardView& card = cards[static_cast<std::size_t>(std::countr_zero(rest))];
            fits = fits && card.usable && card.memory_free_mib >= need.memory_mib &&
                   (need.whole ? card.empty && card.milli_free == card.milli_total
                               : card.milli_free >= need.milli && card.slots_free > 0);
        }
        if (fits &&
            any_assignment(needs.subspan(1), cards_after(cards, needs.subspan(0, 1), {set}))) {
            return true;
        }
    }
    return false;
}

std::vector<CardView> arbitrary_cards(int max) {
    std::vector<CardView> cards;
    const int n = *rc::gen::inRange(0, max + 1);
    const auto slots = *rc::gen::element<std::int32_t>(0, 1, 2, 1000, 1000);
    for (int i = 0; i < n; ++i) {
        CardView card;
        card.slots_free = slots;
        card.memory_total_mib = *rc::gen::element<std::int64_t>(8, 16, 24);
        card.empty = *rc::gen::arbitrary<bool>();
        card.milli_free = card.empty ? 1000 : 100 * *rc::gen::inRange(0, 11);
        card.memory_free_mib =
            card.empty ? card.memory_total_mib : *rc::gen::inRange<std::int64_t>(0, 25);
        card.usable = *rc::gen::inRange(0, 10) > 0;
        cards.push_back(card);
    }
    return cards;
}

std::vector<ContainerNeed> arbitrary_needs(int max) {
    std::vector<ContainerNeed> needs;
    const int n = *rc::gen::inRange(0, max + 1);
    for (int i = 0; i < n; ++i) {
        ContainerNeed need;
        need.whole = *rc::gen::inRange(0, 5) == 0;
        need.cards = *rc::gen::element(0, 1, 1, 1, 1, 1, 2);
        need.milli = need.whole ? 0 : 100 * *rc::gen::inRange(0, 9);
        need.memory_mib = *rc::gen::inRange<std::int64_t>(0, 14);
        needs.push_back(need);
    }
    return needs;
}

void check(std::span<const ContainerNeed> needs, const std::vector<CardView>& cards,
           CardOrder order) {
    const auto result = assign_cards(needs, cards, {.order = order, .draw = 5});
    RC_ASSERT(result.has_value() == any_assignment(needs, cards));
    if (!result) {
        return;
    }
    DeviceMask whole = 0;
    DeviceMask shared = 0;
    for (std::size_t i = 0; i < needs.size(); ++i) {
        RC_ASSERT(std::popcount((*result)[i]) == needs[i].cards);
        RC_ASSERT((whole & (*result)[i]) == 0U);
        (needs[i].whole ? whole : shared) |= (*result)[i];
    }
    RC_ASSERT((whole & shared) == 0U);
    const auto after = cards_after(cards, needs, *result);
    for (std::size_t c = 0; c < cards.size(); ++c) {
        RC_ASSERT(after[c].milli_free >= 0);
        RC_ASSERT(after[c].memory_free_mib >= 0);
        RC_ASSERT(cards[c].usable || ((whole | shared) >> c & 1) == 0);
        RC_ASSERT(cards[c].empty || (whole >> c & 1) == 0);
    }
}

RC_GTEST_PROP(CardAssignmentProperty, FindsWhatPlainSearchFinds, ()) {
    const auto cards = arbitrary_cards(5);
    const auto needs = arbitrary_needs(5);
    check(
        needs, cards,
        *rc::gen::element(CardOrder::fullest_first, CardOrder::emptiest_first, CardOrder::by_lot));
}

// Tight instances, where first choices are often wrong: cut full cards into pieces, and sometimes
// add one piece too many. With pieces of a full cut the answer is known without a search.
RC_GTEST_PROP(CardAssignmentProperty, RefillsCutCards, ()) {
    const int n = *rc::gen::inRange(1, 9);
    std::vector<CardView> cards;
    std::vector<ContainerNeed> needs;
    for (int i = 0; i < n; ++i) {
        CardView card{.milli_free = *rc::gen::inRange(10, 1000),
                      .memory_free_mib = *rc::gen::inRange<std::int64_t>(10, 1000),
                      .empty = false,
                      .memory_total_mib = 1000};
        const int cut = *rc::gen::inRange(1, card.milli_free);
        const auto memory_cut = *rc::gen::inRange<std::int64_t>(1, card.memory_free_mib);
        needs.push_back({.milli = cut, .memory_mib = memory_cut});
        if (needs.size() < 12) {
            needs.push_back(
                {.milli = card.milli_free - cut, .memory_mib = card.memory_free_mib - memory_cut});
        }
        cards.push_back(card);
    }
    const auto full = needs.size() == 2 * cards.size();
    RC_ASSERT(assign_cards(needs, cards).has_value());
    needs.push_back({.milli = 1, .memory_mib = 1});
    if (full && needs.size() <= 12) {
        RC_ASSERT(!assign_cards(needs, cards).has_value());
    }
}

}  // namespace
}  // namespace tessera
