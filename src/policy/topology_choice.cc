#include "policy/topology_choice.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

#include "base/assert.h"

namespace tessera {
namespace {

constexpr int kMax = kMaxGpusPerNode;
// 120 pairs of 255 lanes stay below this: levels come before lanes in a sum.
constexpr std::int64_t kLevelWeight = 32768;
// 16 GPUs with 15 links each stay below this: what is inside comes before what is cut.
constexpr std::int64_t kInnerWeight = std::int64_t{1} << 26;
constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::min() / 4;

using Mask = std::uint32_t;

constexpr Mask bit(int i) { return Mask{1} << i; }
constexpr std::size_t slot(int i) { return static_cast<std::size_t>(i); }

Link link_between(const LinkMatrix& links, int a, int b) {
    return a < links.gpus() && b < links.gpus() ? links.at(a, b) : Link{};
}

std::int64_t weight_of(Link link) {
    return static_cast<std::int64_t>(link.level) * kLevelWeight + link.lanes;
}

// Of two sets of one size, the one whose sorted indices come first.
bool lower_indices(DeviceMask a, DeviceMask b) {
    const DeviceMask differ = a ^ b;
    return (differ & (~differ + 1) & a) != 0;
}

struct Found {
    DeviceMask set = 0;
    LinkLevel worst = LinkLevel::unknown;
    std::int64_t score = kNothing;

    bool beats(const Found& other) const {
        if (set == 0 || other.set == 0) {
            return set != 0;
        }
        if (worst != other.worst) {
            return worst > other.worst;
        }
        return score != other.score ? score > other.score : lower_indices(set, other.set);
    }
};

// Exact search among at most 16 candidates, numbered 0..n-1 in order of their indices.
class SubsetSearch {
  public:
    // Chooses among `members`; `candidates` are all whose links a choice may cut.
    SubsetSearch(const LinkMatrix& links, const SubsetQuery& query, DeviceMask members,
                 DeviceMask candidates)
        : count_(query.count) {
        for (Mask rest = members; rest != 0; rest &= rest - 1) {
            index_[slot(n_++)] = std::countr_zero(rest);
        }
        read_links(links, query);
        if (query.tie == SubsetTie::least_harm) {
            weigh_harm(links, candidates);
        }
        find_twins();
    }

    Found run() {
        for (int level = static_cast<int>(LinkLevel::nvlink); level >= 0; --level) {
            if ((levels_present_ & bit(level)) == 0) {
                continue;
            }
            const Mask core = keep_linked(static_cast<LinkLevel>(level));
            if (std::popcount(core) < count_) {
                continue;
            }
            sum_best_links(core);
            best_ = greedy(core) - 1;  // an equal set of lower indices is still to be found
            State start;
            start.allowed = core;
            start.gain = alone_;
            search(start);
            if (best_set_ != 0) {
                return {to_devices(best_set_), static_cast<LinkLevel>(level), best_};
            }
        }
        return {};
    }

  private:
    struct State {
        Mask chosen = 0;
        Mask allowed = 0;                       // linked to all that are chosen, not yet decided
        std::int64_t score = 0;                 // of the chosen
        std::array<std::int64_t, kMax> gain{};  // what each would add
    };

    void read_links(const LinkMatrix& links, const SubsetQuery& query) {
        for (int a = 0; a < n_; ++a) {
            for (int b = a + 1; b < n_; ++b) {
                const Link link = link_between(links, index_[slot(a)], index_[slot(b)]);
                const bool barred =
                    query.rule == GroupRule::distinct && (*query.groups)[slot(index_[slot(a)])] ==
                                                             (*query.groups)[slot(index_[slot(b)])];
                const auto code = static_cast<std::uint16_t>(
                    (static_cast<unsigned>(link.level) << 8) | link.lanes);
                code_[slot(a)][slot(b)] = code_[slot(b)][slot(a)] = code;
                weight_[slot(a)][slot(b)] = weight_[slot(b)][slot(a)] =
                    weight_of(link) * kInnerWeight;
                if (!barred) {
                    levels_present_ |= bit(static_cast<int>(link.level));
                    open_[slot(a)] |= bit(b);
                    open_[slot(b)] |= bit(a);
                }
            }
        }
        if (count_ == 1) {
            levels_present_ = bit(0);  // no pair, so no level to compare
        }
    }

    // Twins can be swapped without changing any sum, so of several the first is taken first.
    void find_twins() {
        for (int a = 0; a < n_; ++a) {
            for (int b = a + 1; b < n_; ++b) {
                if (alike(a, b)) {
                    later_twins_[slot(a)] |= bit(b);
                }
            }
        }
    }

    bool alike(int a, int b) const {
        const Mask others = ~(bit(a) | bit(b));
        if (alone_[slot(a)] != alone_[slot(b)] ||
            (open_[slot(a)] & others) != (open_[slot(b)] & others)) {
            return false;
        }
        for (int x = 0; x < n_; ++x) {
            if (x != a && x != b && code_[slot(a)][slot(x)] != code_[slot(b)][slot(x)]) {
                return false;
            }
        }
        return true;
    }

    // What a set cuts is the sum of its members' links less twice what lies inside. Sets that are
    // compared here have equal insides, so the members' sums decide.
    void weigh_harm(const LinkMatrix& links, DeviceMask candidates) {
        for (int a = 0; a < n_; ++a) {
            const int gpu = index_[slot(a)];
            for (Mask rest = candidates & ~bit(gpu); rest != 0; rest &= rest - 1) {
                alone_[slot(a)] -= weight_of(link_between(links, gpu, std::countr_zero(rest)));
            }
        }
    }

    // The graph of links at or above a level, without GPUs that have too few of them.
    Mask keep_linked(LinkLevel level) {
        Mask core = bit(n_) - 1;
        for (int a = 0; a < n_; ++a) {
            linked_[slot(a)] = 0;
            for (Mask rest = open_[slot(a)]; rest != 0; rest &= rest - 1) {
                const int b = std::countr_zero(rest);
                if ((code_[slot(a)][slot(b)] >> 8) >= static_cast<int>(level)) {
                    linked_[slot(a)] |= bit(b);
                }
            }
        }
        for (bool changed = true; changed;) {
            changed = false;
            for (Mask rest = core; rest != 0; rest &= rest - 1) {
                const int a = std::countr_zero(rest);
                if (std::popcount(linked_[slot(a)] & core) < count_ - 1) {
                    core &= ~bit(a);
                    changed = true;
                }
            }
        }
        return core;
    }

    // For the bound: what a GPU's best 1, 2, 3 ... links sum to.
    void sum_best_links(Mask core) {
        for (Mask rest = core; rest != 0; rest &= rest - 1) {
            const int a = std::countr_zero(rest);
            auto& sums = best_links_[slot(a)];
            sums.fill(0);
            int n = 1;
            for (Mask others = linked_[slot(a)] & core; others != 0; others &= others - 1) {
                insert_descending(sums, n++, weight_[slot(a)][slot(std::countr_zero(others))]);
            }
            std::partial_sum(sums.begin(), sums.begin() + n, sums.begin());
        }
    }

    // sums[1..n-1] are in descending order; sums[0] stays 0.
    static void insert_descending(std::array<std::int64_t, kMax>& sums, int n, std::int64_t value) {
        int at = n;
        for (; at > 1 && sums[slot(at - 1)] < value; --at) {
            sums[slot(at)] = sums[slot(at - 1)];
        }
        sums[slot(at)] = value;
    }

    // A good set to begin with: from each GPU on, always take what adds most.
    std::int64_t greedy(Mask core) const {
        std::int64_t best = kNothing + 1;
        for (Mask firsts = core; firsts != 0; firsts &= firsts - 1) {
            State state;
            state.allowed = core;
            state.gain = alone_;
            take(state, std::countr_zero(firsts));
            int taken = 1;
            while (taken < count_ && state.allowed != 0) {
                take(state, most_gain(state));
                ++taken;
            }
            best = taken == count_ ? std::max(best, state.score) : best;
        }
        return best;
    }

    void take(State& state, int a) const {
        state.chosen |= bit(a);
        state.allowed &= linked_[slot(a)];
        state.score += state.gain[slot(a)];
        for (int b = 0; b < kMax; ++b) {
            state.gain[slot(b)] += weight_[slot(a)][slot(b)];
        }
    }

    static int most_gain(const State& state) {
        int best = std::countr_zero(state.allowed);
        for (Mask rest = state.allowed; rest != 0; rest &= rest - 1) {
            const int a = std::countr_zero(rest);
            best = state.gain[slot(a)] > state.gain[slot(best)] ? a : best;
        }
        return best;
    }

    // Takes candidates in order, so that of equal sets the lowest indices are found first.
    void search(const State& state) {
        const int missing = count_ - std::popcount(state.chosen);
        if (missing == 1) {
            finish(state);
            return;
        }
        Mask allowed = state.allowed;
        while (std::popcount(allowed) >= missing && can_win(state, allowed, missing)) {
            const int a = std::countr_zero(allowed);
            State next = state;
            next.allowed = allowed;
            take(next, a);
            search(next);
            allowed &= ~(bit(a) | later_twins_[slot(a)]);
        }
    }

    void finish(const State& state) {
        if (state.allowed == 0) {
            return;
        }
        const int last = most_gain(state);
        const std::int64_t score = state.score + state.gain[slot(last)];
        if (score > best_) {
            best_set_ = state.chosen | bit(last);
            best_ = score;
        }
    }

    // Whether the best imaginable completion is better than the best set so far: each newcomer
    // brings its gain and half of its best links to the others. The sum of the r largest values is
    // at most r*t plus what exceeds t, whatever t is; the last exact t at this depth nearly always
    // settles it without selecting the r largest.
    bool can_win(const State& state, Mask allowed, int missing) {
        std::array<std::int64_t, kMax> twice;
        std::int64_t& threshold = threshold_[slot(missing)];
        const std::int64_t wanted = 2 * (best_ - state.score);
        std::int64_t excess = missing * threshold;
        int n = 0;
        for (Mask rest = allowed; rest != 0; rest &= rest - 1) {
            const int a = std::countr_zero(rest);
            const std::int64_t value =
                2 * state.gain[slot(a)] + best_links_[slot(a)][slot(missing - 1)];
            excess += std::max<std::int64_t>(value - threshold, 0);
            twice[slot(n++)] = value;
        }
        if (excess <= wanted) {
            return false;
        }
        std::nth_element(twice.begin(), twice.begin() + (missing - 1), twice.begin() + n,
                         std::greater<>());
        threshold = twice[slot(missing - 1)];
        return std::accumulate(twice.begin(), twice.begin() + missing, std::int64_t{0}) > wanted;
    }

    DeviceMask to_devices(Mask set) const {
        DeviceMask devices = 0;
        for (; set != 0; set &= set - 1) {
            devices |= DeviceMask{1} << index_[slot(std::countr_zero(set))];
        }
        return devices;
    }

    int n_ = 0;
    int count_;
    Mask levels_present_ = 0;
    std::array<int, kMax> index_{};
    std::array<std::array<std::uint16_t, kMax>, kMax> code_{};  // level, lanes
    std::array<std::array<std::int64_t, kMax>, kMax> weight_{};
    std::array<std::int64_t, kMax> alone_{};
    std::array<Mask, kMax> open_{};  // may stand together
    std::array<Mask, kMax> later_twins_{};
    std::array<Mask, kMax> linked_{};                                // at the level tried
    std::array<std::array<std::int64_t, kMax>, kMax> best_links_{};  // at the level tried
    std::array<std::int64_t, kMax + 1> threshold_{};                 // by GPUs missing: see can_win
    Mask best_set_ = 0;
    std::int64_t best_ = kNothing;
};

DeviceMask lowest(DeviceMask mask, int count) {
    DeviceMask result = 0;
    for (; count > 0; --count) {
        result |= mask & (~mask + 1);
        mask &= mask - 1;
    }
    return result;
}

// Each group's candidates are a question of their own.
DeviceMask best_within_a_group(const LinkMatrix& links, const SubsetQuery& query,
                               DeviceMask candidates) {
    Found best;
    const DeviceMask all = candidates;
    while (candidates != 0) {
        const GroupId group = (*query.groups)[slot(std::countr_zero(candidates))];
        DeviceMask members = 0;
        for (DeviceMask rest = candidates; rest != 0; rest &= rest - 1) {
            const int gpu = std::countr_zero(rest);
            members |= (*query.groups)[slot(gpu)] == group ? bit(gpu) : 0;
        }
        candidates &= ~members;
        if (std::popcount(members) >= query.count) {
            const Found found = SubsetSearch(links, query, members, all).run();
            best = found.beats(best) ? found : best;
        }
    }
    return best.set;
}

}  // namespace

DeviceMask best_connected(const LinkMatrix& links, const SubsetQuery& query) {
    TESSERA_ASSERT(query.rule == GroupRule::none || query.groups != nullptr,
                   "a rule needs the groups it is about");
    DeviceMask candidates = query.candidates & (bit(kMax) - 1);
    if (query.rule != GroupRule::none) {
        for (int gpu = 0; gpu < kMax; ++gpu) {
            candidates &= (*query.groups)[slot(gpu)] == kNoGroup ? ~bit(gpu) : ~Mask{0};
        }
    }
    if (query.count < 1 || std::popcount(candidates) < query.count) {
        return 0;
    }
    if (query.rule == GroupRule::same) {
        return best_within_a_group(links, query, candidates);
    }
    const bool no_choice = query.rule == GroupRule::none &&
                           (links.empty() || std::popcount(candidates) == query.count);
    if (no_choice || (query.count == 1 && query.tie == SubsetTie::lowest_index)) {
        return lowest(candidates, query.count);
    }
    return SubsetSearch(links, query, candidates, candidates).run().set;
}

SetQuality set_quality(const LinkMatrix& links, DeviceMask set) {
    SetQuality quality;
    for (DeviceMask rest = set; rest != 0; rest &= rest - 1) {
        const int a = std::countr_zero(rest);
        for (DeviceMask others = rest & (rest - 1); others != 0; others &= others - 1) {
            const Link link = link_between(links, a, std::countr_zero(others));
            quality.worst = std::min(quality.worst, link.level);
            quality.inner += weight_of(link);
        }
    }
    return quality;
}

}  // namespace tessera
