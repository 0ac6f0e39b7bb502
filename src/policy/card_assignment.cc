#include "policy/card_assignment.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "base/assert.h"
#include "base/rng.h"
#include "model/gpu.h"

namespace tessera {
namespace {

constexpr std::int64_t kFirstSteps = 2'000;    // then the table decides, if it can
constexpr std::int64_t kAllSteps = 2'000'000;  // beyond the table's reach
constexpr std::size_t kTableShares = 12;

constexpr std::size_t slot(int i) { return static_cast<std::size_t>(i); }
constexpr DeviceMask bit(int i) { return DeviceMask{1} << i; }

// A part of one card, for one container.
struct Share {
    std::size_t container = 0;
    std::int32_t milli = 0;
    std::int64_t memory_mib = 0;
    int slots = 1;
};

bool fits(const Share& share, const CardView& card) {
    return card.usable && card.milli_free >= share.milli &&
           card.memory_free_mib >= share.memory_mib && card.slots_free >= share.slots;
}

// How much of a card is left, in thousandths: the scarcer of compute and memory.
std::int64_t value_left(const CardView& card) {
    return device_value(card.milli_free, card.memory_free_mib, card.memory_total_mib);
}

bool smaller(const CardView& a, const CardView& b) {
    return a.memory_free_mib != b.memory_free_mib ? a.memory_free_mib < b.memory_free_mib
                                                  : a.slots_free < b.slots_free;
}

// Whole-card containers, small needs first, each to the smallest empty card that suffices (of equal
// ones that with the fewest slots): any other choice leaves a smaller card to the rest.
bool take_whole_cards(std::span<const ContainerNeed> needs, std::vector<CardView>& cards,
                      CardAssignment& result) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < needs.size(); ++i) {
        if (needs[i].whole) {
            order.insert(order.end(), slot(std::max(0, needs[i].cards)), i);
        }
    }
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return needs[i].memory_mib; });
    for (const std::size_t i : order) {
        int best = -1;
        for (int card = 0; std::cmp_less(card, cards.size()); ++card) {
            const CardView& view = cards[slot(card)];
            const bool good = view.usable && view.empty && view.milli_free >= view.milli_total &&
                              view.memory_free_mib >= needs[i].memory_mib;
            if (good && (best < 0 || smaller(view, cards[slot(best)]))) {
                best = card;
            }
        }
        if (best < 0) {
            return false;
        }
        result[i] |= bit(best);
        cards[slot(best)].usable = false;
    }
    return true;
}

// Depth first over shares, largest first. Shares of one container are neighbours, so that cards
// in equal state really are interchangeable.
class ShareSearch {
  public:
    ShareSearch(std::vector<Share> shares, std::vector<CardView> cards,
                const AssignOptions& options)
        : shares_(std::move(shares)),
          cards_(std::move(cards)),
          options_(options),
          rng_(options.draw),
          card_of_(shares_.size(), -1) {
        sort_shares();
    }

    const std::vector<Share>& shares() const { return shares_; }
    // By share; meaningful after run() was true.
    const std::vector<int>& card_of() const { return card_of_; }

    bool run() {
        const bool table = shares_.size() <= kTableShares;
        steps_left_ = table ? kFirstSteps : kAllSteps;
        if (place(0)) {
            return true;
        }
        return steps_left_ <= 0 && table && place_by_table();
    }

  private:
    void sort_shares() {
        std::int64_t memory_max = 1;
        for (const CardView& card : cards_) {
            memory_max = std::max(memory_max, card.memory_total_mib);
        }
        const auto size = [memory_max](const Share& share) {
            return std::max<std::int64_t>(share.milli, share.memory_mib * 1000 / memory_max);
        };
        std::ranges::stable_sort(shares_, [&](const Share& a, const Share& b) {
            const auto left = size(a);
            const auto right = size(b);
            return left != right ? left > right : a.container < b.container;
        });
        // What is still to be placed from each share on, to cut early.
        milli_from_.assign(shares_.size() + 1, 0);
        memory_from_.assign(shares_.size() + 1, 0);
        for (std::size_t i = shares_.size(); i-- > 0;) {
            milli_from_[i] = milli_from_[i + 1] + shares_[i].milli;
            memory_from_[i] = memory_from_[i + 1] + shares_[i].memory_mib;
        }
    }

    bool place(std::size_t at) {
        if (at == shares_.size()) {
            return true;
        }
        if (--steps_left_ < 0 || !enough_left(at)) {
            return false;
        }
        std::array<int, kMaxGpusPerNode> order;
        const int n = candidates(at, order);
        for (int i = 0; i < n; ++i) {
            CardView& card = cards_[slot(order[slot(i)])];
            const CardView before = card;
            card.milli_free -= shares_[at].milli;
            card.memory_free_mib -= shares_[at].memory_mib;
            card.slots_free -= shares_[at].slots;
            card.empty = false;
            card_of_[at] = order[slot(i)];
            if (place(at + 1)) {
                return true;
            }
            card = before;
            card_of_[at] = -1;
        }
        return false;
    }

    bool enough_left(std::size_t at) const {
        std::int64_t milli = 0;
        std::int64_t memory = 0;
        for (const CardView& card : cards_) {
            milli += card.usable ? card.milli_free : 0;
            memory += card.usable ? card.memory_free_mib : 0;
        }
        return milli >= milli_from_[at] && memory >= memory_from_[at];
    }

    bool used_by_same_container(std::size_t at, int card) const {
        for (std::size_t i = at; i-- > 0 && shares_[i].container == shares_[at].container;) {
            if (card_of_[i] == card) {
                return true;
            }
        }
        return false;
    }

    // Cards for a share in order of preference, one of each state.
    int candidates(std::size_t at, std::array<int, kMaxGpusPerNode>& order) {
        int n = 0;
        for (int card = 0; std::cmp_less(card, cards_.size()); ++card) {
            if (fits(shares_[at], cards_[slot(card)]) && !used_by_same_container(at, card) &&
                (options_.order == CardOrder::by_lot || !state_listed(card, order, n))) {
                order[slot(n++)] = card;
            }
        }
        const auto left = [this](int card) { return value_left(cards_[slot(card)]); };
        if (options_.order == CardOrder::fullest_first) {
            std::stable_sort(order.begin(), order.begin() + n,
                             [&](int a, int b) { return left(a) < left(b); });
        } else if (options_.order == CardOrder::emptiest_first) {
            std::stable_sort(order.begin(), order.begin() + n,
                             [&](int a, int b) { return left(a) > left(b); });
        } else {
            for (int i = n; i > 1; --i) {
                std::swap(order[slot(i - 1)], order[rng_.below(static_cast<std::uint64_t>(i))]);
            }
        }
        return n;
    }

    bool state_listed(int card, const std::array<int, kMaxGpusPerNode>& order, int n) const {
        const CardView& view = cards_[slot(card)];
        return std::any_of(order.begin(), order.begin() + n, [&](int other) {
            const CardView& listed = cards_[slot(other)];
            return listed.milli_free == view.milli_free &&
                   listed.memory_free_mib == view.memory_free_mib &&
                   listed.memory_total_mib == view.memory_total_mib &&
                   listed.slots_free == view.slots_free;
        });
    }

    // Which sets of shares the first cards can hold, card by card: 3^shares steps per card.
    bool place_by_table() {
        const std::uint32_t all = (1U << shares_.size()) - 1;
        const std::vector<Share> sums = set_sums(all);
        constexpr std::uint16_t kUnreached = 0xffff;
        std::vector<std::vector<std::uint16_t>> last(
            cards_.size() + 1, std::vector<std::uint16_t>(all + 1, kUnreached));
        last[0][0] = 0;
        for (std::size_t c = 0; c < cards_.size(); ++c) {
            for (std::uint32_t held = 0; held <= all; ++held) {
                if (last[c][held] == kUnreached) {
                    continue;
                }
                const std::uint32_t rest = all & ~held;
                for (std::uint32_t more = rest;; more = (more - 1) & rest) {
                    auto& mark = last[c + 1][held | more];
                    if (mark == kUnreached &&
                        (more == 0 || (sums[more].milli >= 0 && fits(sums[more], cards_[c])))) {
                        mark = static_cast<std::uint16_t>(more);
                    }
                    if (more == 0) {
                        break;
                    }
                }
            }
        }
        if (last[cards_.size()][all] == kUnreached) {
            return false;
        }
        std::uint32_t held = all;
        for (std::size_t c = cards_.size(); c-- > 0;) {
            const std::uint32_t here = last[c + 1][held];
            for (std::uint32_t set = here; set != 0; set &= set - 1) {
                card_of_[slot(std::countr_zero(set))] = static_cast<int>(c);
            }
            held &= ~here;
        }
        return true;
    }

    // What each set needs of one card; milli = -1 for sets with two shares of one container.
    std::vector<Share> set_sums(std::uint32_t all) const {
        std::vector<Share> sums(all + 1);
        sums[0].slots = 0;
        for (std::uint32_t set = 1; set <= all; ++set) {
            const int first = std::countr_zero(set);
            const std::uint32_t rest = set & (set - 1);
            bool twice = sums[rest].milli < 0;
            for (std::uint32_t other = rest; other != 0; other &= other - 1) {
                twice |= shares_[slot(std::countr_zero(other))].container ==
                         shares_[slot(first)].container;
            }
            sums[set].milli = twice ? -1 : sums[rest].milli + shares_[slot(first)].milli;
            sums[set].memory_mib = sums[rest].memory_mib + shares_[slot(first)].memory_mib;
            sums[set].slots = std::popcount(set);
        }
        return sums;
    }

    std::vector<Share> shares_;
    std::vector<CardView> cards_;
    const AssignOptions& options_;
    Rng rng_;
    std::vector<int> card_of_;
    std::vector<std::int64_t> milli_from_;
    std::vector<std::int64_t> memory_from_;
    std::int64_t steps_left_ = 0;
};

}  // namespace

std::optional<CardAssignment> assign_cards(std::span<const ContainerNeed> needs,
                                           std::span<const CardView> cards,
                                           const AssignOptions& options) {
    TESSERA_ASSERT(cards.size() <= kMaxGpusPerNode, "a node has at most that many cards");
    CardAssignment result(needs.size(), 0);
    std::vector<CardView> left(cards.begin(), cards.end());
    std::vector<Share> shares;
    for (std::size_t i = 0; i < needs.size(); ++i) {
        if (std::cmp_greater(needs[i].cards, cards.size())) {
            return std::nullopt;
        }
        if (!needs[i].whole) {
            shares.insert(
                shares.end(), slot(std::max(0, needs[i].cards)),
                Share{.container = i, .milli = needs[i].milli, .memory_mib = needs[i].memory_mib});
        }
    }
    if (!take_whole_cards(needs, left, result)) {
        return std::nullopt;
    }
    ShareSearch search(std::move(shares), std::move(left), options);
    if (!search.run()) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < search.shares().size(); ++i) {
        result[search.shares()[i].container] |= bit(search.card_of()[i]);
    }
    return result;
}

std::vector<CardView> cards_after(std::span<const CardView> cards,
                                  std::span<const ContainerNeed> needs,
                                  const CardAssignment& assignment) {
    std::vector<CardView> result(cards.begin(), cards.end());
    for (std::size_t i = 0; i < needs.size(); ++i) {
        for (DeviceMask rest = assignment[i]; rest != 0; rest &= rest - 1) {
            CardView& card = result[slot(std::countr_zero(rest))];
            card.milli_free = needs[i].whole ? 0 : card.milli_free - needs[i].milli;
            card.memory_free_mib = needs[i].whole ? 0 : card.memory_free_mib - needs[i].memory_mib;
            card.slots_free = needs[i].whole ? 0 : card.slots_free - 1;
            card.empty = false;
        }
    }
    return result;
}

}  // namespace tessera
