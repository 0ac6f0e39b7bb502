#include "policy/formulas/elastic.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/rng.h"

namespace tessera {
namespace {

constexpr std::int64_t kMilliPerCore = 10;

DeviceMask single_cards(std::span<const ContainerNeed> needs, const CardAssignment& assignment) {
    DeviceMask used = 0;
    for (std::size_t i = 0; i < needs.size(); ++i) {
        used |= needs[i].whole ? 0 : assignment[i];
    }
    return used;
}

// Walks all combinations of the single-card containers, in their order, cards ascending.
class Combinations {
  public:
    Combinations(std::span<const ContainerNeed> needs, std::span<const CardView> cards,
                 ElasticRater rater)
        : needs_(needs), cards_(cards.begin(), cards.end()), rater_(rater) {}

    std::optional<ElasticChoice> best(CardAssignment whole) {
        for (const DeviceMask mask : whole) {
            for (DeviceMask rest = mask; rest != 0; rest &= rest - 1) {
                CardView& card = cards_[static_cast<std::size_t>(std::countr_zero(rest))];
                card.milli_free = 0;
                card.memory_free_mib = 0;
                card.empty = false;
                taken_ |= rest & (~rest + 1);
            }
        }
        now_ = std::move(whole);
        walk(0);
        return best_;
    }

  private:
    void walk(std::size_t at) {
        while (at < needs_.size() && (needs_[at].whole || needs_[at].cards == 0)) {
            ++at;
        }
        if (at == needs_.size()) {
            const std::int64_t rate = rater_ == ElasticRater::binpack
                                          ? elastic_binpack_rate(cards_, single_cards(needs_, now_))
                                          : elastic_spread_rate(cards_);
            if (!best_ || rate >= best_->rate) {
                best_ = ElasticChoice{now_, rate};
            }
            return;
        }
        const ContainerNeed& need = needs_[at];
        for (std::size_t c = 0; c < cards_.size(); ++c) {
            CardView& card = cards_[c];
            const bool fits = card.usable && (taken_ >> c & 1) == 0 &&
                              card.milli_free >= need.milli &&
                              card.memory_free_mib >= need.memory_mib && card.slots_free > 0;
            if (fits) {
                const CardView before = card;
                card.milli_free -= need.milli;
                card.memory_free_mib -= need.memory_mib;
                --card.slots_free;
                now_[at] = DeviceMask{1} << c;
                walk(at + 1);
                card = before;
            }
        }
    }

    std::span<const ContainerNeed> needs_;
    std::vector<CardView> cards_;
    ElasticRater rater_;
    DeviceMask taken_ = 0;
    CardAssignment now_;
    std::optional<ElasticChoice> best_;
};

// Few enough to walk, and no container with shares on several cards.
bool walkable(std::span<const ContainerNeed> needs, std::size_t cards) {
    std::int64_t combinations = 1;
    for (const ContainerNeed& need : needs) {
        if (need.whole || need.cards == 0) {
            continue;
        }
        combinations *= static_cast<std::int64_t>(cards);
        if (need.cards > 1 || combinations > kElasticCombinations) {
            return false;
        }
    }
    return true;
}

std::optional<ElasticChoice> walk_all(std::span<const ContainerNeed> needs,
                                      std::span<const CardView> cards, ElasticRater rater) {
    std::vector<ContainerNeed> whole_only(needs.begin(), needs.end());
    for (ContainerNeed& need : whole_only) {
        need.cards = need.whole ? need.cards : 0;
    }
    auto whole = assign_cards(whole_only, cards);
    if (!whole) {
        return std::nullopt;
    }
    return Combinations(needs, cards, rater).best(std::move(*whole));
}

}  // namespace

std::optional<ElasticChoice> elastic_choice(std::span<const ContainerNeed> needs,
                                            std::span<const CardView> cards, ElasticRater rater,
                                            std::uint64_t draw) {
    if (rater != ElasticRater::random && walkable(needs, cards.size())) {
        return walk_all(needs, cards, rater);
    }
    const CardOrder order = rater == ElasticRater::binpack  ? CardOrder::fullest_first
                            : rater == ElasticRater::spread ? CardOrder::emptiest_first
                                                            : CardOrder::by_lot;
    auto assignment = assign_cards(needs, cards, {.order = order, .draw = draw});
    if (!assignment) {
        return std::nullopt;
    }
    ElasticChoice choice;
    const std::vector<CardView> after = cards_after(cards, needs, *assignment);
    if (rater == ElasticRater::binpack) {
        choice.rate = elastic_binpack_rate(after, single_cards(needs, *assignment));
    } else if (rater == ElasticRater::spread) {
        choice.rate = elastic_spread_rate(after);
    } else {
        choice.rate = static_cast<std::int64_t>(Rng(draw).below(101));
    }
    choice.cards = std::move(*assignment);
    return choice;
}

std::int64_t elastic_binpack_rate(std::span<const CardView> after, DeviceMask used) {
    if (after.empty()) {
        return 0;
    }
    const auto [memory_low, memory_high] =
        std::ranges::minmax(after, {}, &CardView::memory_free_mib);
    const auto [milli_low, milli_high] = std::ranges::minmax(after, {}, &CardView::milli_free);
    const std::int64_t range =
        (memory_high.memory_free_mib + milli_high.milli_free / kMilliPerCore -
         memory_low.memory_free_mib - milli_low.milli_free / kMilliPerCore) /
        2;
    return range / (std::popcount(used) + 1) * 100;
}

std::int64_t elastic_spread_rate(std::span<const CardView> after) {
    std::int64_t rate = 0;
    for (const CardView& card : after) {
        const std::int64_t used =
            1000 - device_value(card.milli_free, card.memory_free_mib, card.memory_total_mib);
        rate += 1000 - used * used / 1000;
    }
    return rate;
}

}  // namespace tessera
