// Placer::rank: what a door gets that is told which nodes there are. Over all nodes it is choose(),
// over some it is the best of a plain look at each. And several policies on one ledger: each index
// equals its scan, and each policy hears of the end of every pod that it heard of, once.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/rng.h"
#include "engine/engine.h"
#include "policy/assignment.h"
#include "policy/registry.h"
#include "policy/test_random.h"

namespace tessera {
namespace {

using testing::one_in;

std::unique_ptr<Policy> policy(std::string_view name, std::span<const ClassCount> mix,
                               bool second_best) {
    PolicyContext inputs{.mix = mix};
    inputs.keti.avoid_high_score = second_best;
    auto made = make_policy(name, inputs);
    EXPECT_TRUE(made.has_value());
    return std::move(*made);
}

struct Case {
    std::string policy;
    std::size_t columns = 512;
    bool second_best = false;
};

// Two engines with the same history: one is asked to choose, the other to rank.
class Twins {
  public:
    Twins(const Case& tried, std::uint64_t seed) : rng_(seed) {
        std::vector<NodeSpec> nodes;
        for (std::uint64_t n = 1 + rng_.below(20); n > 0; --n) {
            nodes.push_back(testing::random_node(rng_));
            nodes.back().traits = testing::random_traits(rng_);
        }
        std::vector<ClassCount> mix;
        for (int i = 0; i < 12; ++i) {
            demands_.push_back(testing::random_demand(rng_));
            demands_.back().filter = filters_->intern(testing::random_filter(rng_));
            mix.push_back({demand_class(demands_.back()), 1});
        }
        Placer::Options options;
        options.seed = seed;
        options.max_columns = tried.columns;
        const ClusterOptions cluster{.filters = filters_};
        for (auto* engine : {&chooses_, &ranks_}) {
            engine->emplace(nodes, policy(tried.policy, mix, tried.second_best), options, cluster);
        }
    }

    void run() {
        for (std::uint32_t step = 0; step < 80 && !::testing::Test::HasFailure(); ++step) {
            SCOPED_TRACE("step " + std::to_string(step));
            const Demand& demand = demands_[rng_.below(demands_.size())];
            const ClassIndex wanted = ranks_->intern(demand);
            ASSERT_EQ(wanted, chooses_->intern(demand));
            rank_some(wanted);
            chooses_->observe(wanted);
            ranks_->observe(wanted);
            rank_all(PodIndex(step), wanted);
            if (one_in(rng_, 5) && !live_.empty()) {
                std::swap(live_[rng_.below(live_.size())], live_.back());
                chooses_->depart(live_.back());
                ranks_->depart(live_.back());
                live_.pop_back();
            }
        }
    }
    int chosen = 0;
    int some = 0;

  private:
    void rank_all(PodIndex pod, ClassIndex wanted) {
        std::vector<NodeIndex> all;
        for (std::uint32_t n = 0; n < ranks_->cluster().size(); ++n) {
            all.emplace_back(n);
        }
        const bool fits = chooses_->try_place(pod, wanted);
        std::vector<Key> keys(all.size());
        Placer& placer = ranks_->placer(kFirstPolicy);
        const Placer::Ranking ranking = placer.rank(wanted, all, keys);
        ASSERT_EQ(ranking.best != SIZE_MAX, fits);
        if (!fits) {
            return;
        }
        const auto placement = placer.choose_on(placer.scores(ranks_->cluster(), wanted),
                                                all[ranking.best], ranking.draw);
        ASSERT_EQ(placement, chooses_->placement(pod));
        ASSERT_TRUE(ranks_->hold(pod, {kFirstPolicy, wanted, *placement}, kNoDeadline));
        ASSERT_TRUE(ranks_->confirm(pod, {kFirstPolicy, wanted, *placement}));
        live_.push_back(pod);
        ++chosen;
    }

    // Some nodes, in any order, twice now and then, and one that nobody knows. Asked of a copy of
    // the choice: both engines draw once, so that they stay alike.
    void rank_some(ClassIndex wanted) {
        std::vector<NodeIndex> among{NodeIndex::none()};
        for (std::uint64_t n = rng_.below(12); n > 0; --n) {
            among.emplace_back(static_cast<std::uint32_t>(rng_.below(ranks_->cluster().size())));
        }
        std::swap(among.front(), among[rng_.below(among.size())]);
        std::vector<Key> keys(among.size(), 99);
        Placer& placer = ranks_->placer(kFirstPolicy);
        const Placer::Ranking ranking = placer.rank(wanted, among, keys);
        std::vector<Key> same(among.size());
        ASSERT_EQ(chooses_->placer(kFirstPolicy).rank(wanted, among, same).best, ranking.best);
        ASSERT_EQ(same, keys);
        check_some(wanted, among, keys, ranking.best);
    }

    void check_some(ClassIndex wanted, std::span<const NodeIndex> among, std::span<const Key> keys,
                    std::size_t best) {
        const Cluster& cluster = ranks_->cluster();
        const Placer& placer = ranks_->placer();
        const DemandClass& asked = placer.classes()[wanted];
        const Catalog catalog = cluster.catalog(placer.classes());
        using Seen = std::tuple<Key, Tie, std::int64_t>;  // the last: by node, backwards
        std::map<NodeIndex, Seen> fitting;
        for (std::size_t i = 0; i < among.size(); ++i) {
            const NodeIndex node = among[i];
            const bool room = node.valid() && cluster.admits(node, asked.filter) &&
                              fits(cluster.node(node), asked, catalog);
            if (!asked.wants_spare() || !room) {
                ASSERT_EQ(keys[i] != 0, room) << i;
            }
            if (keys[i] == 0) {
                continue;
            }
            const ClassIndex only[] = {wanted};
            Key key = 0;
            placer.scorer().score(cluster.node(node), only, std::span(&key, 1));
            ASSERT_EQ(keys[i], key);
            fitting[node] = {key, placer.scorer().tie(cluster.node(node)),
                             -std::int64_t{node.value()}};
        }
        ASSERT_EQ(best == SIZE_MAX, fitting.empty());
        if (fitting.empty()) {
            return;
        }
        ++some;
        ASSERT_NE(keys[best], 0);
        if (placer.scorer().selection() == Selection::uniform) {
            return;
        }
        std::vector<std::pair<Seen, NodeIndex>> order;
        for (const auto& [node, seen] : fitting) {
            order.emplace_back(seen, node);
        }
        std::sort(order.rbegin(), order.rend());
        const bool second =
            placer.scorer().selection() == Selection::second_best && order.size() > 1;
        ASSERT_EQ(among[best], order[second ? 1 : 0].second);
    }

    Rng rng_;
    std::shared_ptr<FilterTable> filters_ = std::make_shared<FilterTable>();
    std::vector<Demand> demands_;
    std::optional<Engine> chooses_;
    std::optional<Engine> ranks_;
    std::vector<PodIndex> live_;
};

void run_twins(const Case& tried, int seeds) {
    int chosen = 0;
    int some = 0;
    for (int seed = 1; seed <= seeds && !::testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(tried.policy + ", seed " + std::to_string(seed));
        Twins twins(tried, static_cast<std::uint64_t>(seed));
        twins.run();
        chosen += twins.chosen;
        some += twins.some;
    }
    EXPECT_GT(chosen, 20) << tried.policy;
    EXPECT_GT(some, 20) << tried.policy;
}

TEST(RankProperty, OverAllNodesItChoosesAndOverSomeItIsTheBest) {
    for (const PolicyInfo& info : known_policies()) {
        for (const std::size_t columns : {0, 4, 512}) {
            run_twins({.policy = std::string(info.name), .columns = columns}, 4);
        }
    }
    run_twins({.policy = "keti", .second_best = true}, 8);
    run_twins({.policy = "keti", .columns = 0, .second_best = true}, 8);
}

// --- several policies

// Counts what a policy is told, and is another one besides.
class Listener final : public Policy {
  public:
    struct Told {
        int arrived = 0;
        int departed = 0;
    };
    Listener(std::string_view name, Told& told) : told_(told), inner_(policy(name, {}, false)) {}
    std::string_view name() const override { return inner_->name(); }
    std::shared_ptr<const Scorer> scorer(const Catalog& catalog) override {
        return inner_->scorer(catalog);
    }
    DemandClass adapt(DemandClass asked) const override { return inner_->adapt(std::move(asked)); }
    void arrived(ClassIndex demand_class) override {
        ++told_.arrived;
        inner_->arrived(demand_class);
    }
    void departed(ClassIndex demand_class) override {
        ++told_.departed;
        inner_->departed(demand_class);
    }
    PolicyUpdate update(const Catalog& catalog, const Census& census) override {
        return inner_->update(catalog, census);
    }

  private:
    Told& told_;
    std::unique_ptr<Policy> inner_;
};

class Doors {
  public:
    explicit Doors(std::uint64_t seed) : rng_(seed) {
        std::vector<NodeSpec> nodes;
        for (std::uint64_t n = 2 + rng_.below(12); n > 0; --n) {
            nodes.push_back(testing::random_node(rng_));
        }
        nodes_ = nodes;
        told_.resize(kNames.size());
        engine_.emplace(std::move(nodes), std::make_unique<Listener>(kNames[0], told_[0]));
        for (int i = 0; i < 12; ++i) {
            demands_.push_back(testing::random_demand(rng_));
        }
    }

    void run() {
        for (int step = 0; step < 200 && !::testing::Test::HasFailure(); ++step) {
            SCOPED_TRACE("step " + std::to_string(step));
            one_step(step);
            if (step % 5 == 0) {
                check();
            }
        }
        check();
    }
    int ended = 0;
    int expired = 0;

  private:
    static constexpr std::array<std::string_view, 5> kNames{"tessera", "gpushare",
                                                            "elastic-binpack", "random", "fgd"};
    struct Held {
        Choice choice;
        std::int64_t deadline = 0;
        bool confirmed = false;
        bool heard = false;
    };

    void one_step(int step) {
        if (policies_ < kNames.size() && step % 20 == 10) {
            const PolicySlot slot = engine_->add_policy(
                std::make_unique<Listener>(kNames[policies_], told_[policies_]));
            ASSERT_EQ(slot.slot(), policies_++);
        }
        const std::uint64_t lot = rng_.below(10);
        if (lot < 5) {
            hold();
        } else if (lot == 5) {
            now_ += 5;
            expire();
        } else if (lot == 6) {
            const NodeIndex node(static_cast<std::uint32_t>(rng_.below(nodes_.size())));
            if (one_in(rng_, 4)) {
                ASSERT_TRUE(engine_->remove_node(node));
            } else {
                ASSERT_TRUE(engine_->update_node(node, testing::random_node(rng_)));
            }
        } else if (!held_.empty()) {
            end_or_confirm();
        }
    }

    void hold() {
        const PolicySlot slot(static_cast<std::uint8_t>(rng_.below(policies_)));
        Placer& placer = engine_->placer(slot);
        const ClassIndex wanted = placer.intern(demands_[rng_.below(demands_.size())]);
        const auto placement = placer.choose(wanted);
        if (!placement) {
            return;
        }
        Held one;
        one.heard = !one_in(rng_, 4);
        one.choice = {slot, one.heard ? wanted : ClassIndex(), *placement};
        one.deadline = now_ + 1 + static_cast<std::int64_t>(rng_.below(30));
        const PodIndex pod(next_++);
        if (!engine_->hold(pod, one.choice, Nanoseconds(one.deadline))) {
            // Without its class nobody knows that it tolerates a device that takes nothing new.
            ASSERT_FALSE(one.heard);
            return;
        }
        if (one.heard) {
            placer.arrived(wanted);
            ++expected_[slot].arrived;
        }
        held_[pod] = one;
    }

    void end_or_confirm() {
        auto at = std::next(held_.begin(), static_cast<std::ptrdiff_t>(rng_.below(held_.size())));
        auto& [pod, one] = *at;
        if (!one.confirmed && one_in(rng_, 2)) {
            ASSERT_TRUE(engine_->confirm(pod, one.choice));
            one.confirmed = true;
            return;
        }
        if (one.confirmed) {
            engine_->depart(pod);
            expected_[one.choice.policy].departed += one.heard ? 1 : 0;
            ++ended;
        } else {
            engine_->drop(pod);
        }
        held_.erase(at);
    }

    void expire() {
        std::vector<PodIndex> due;
        for (const auto& [pod, one] : held_) {
            if (!one.confirmed && one.deadline <= now_) {
                due.push_back(pod);
            }
        }
        std::vector<PodIndex> found = engine_->expire(Nanoseconds(now_));
        std::sort(found.begin(), found.end());
        ASSERT_EQ(found, due);
        for (PodIndex pod : due) {
            held_.erase(pod);
            ++expired;
        }
    }

    void check() {
        ASSERT_TRUE(engine_->ledger().verify().empty());
        ASSERT_EQ(engine_->ledger().size(), held_.size());
        for (std::uint8_t p = 0; p < policies_; ++p) {
            const PolicySlot slot(p);
            Placer& placer = engine_->placer(slot);
            ASSERT_TRUE(placer.consistent()) << kNames[p];
            ASSERT_EQ(told_[p].arrived, expected_[slot].arrived) << kNames[p];
            ASSERT_EQ(told_[p].departed, expected_[slot].departed) << kNames[p];
            if (placer.scorer().selection() == Selection::uniform) {
                continue;  // two draws differ
            }
            const ClassIndex wanted = placer.intern(demands_[rng_.below(demands_.size())]);
            const auto chosen = placer.choose(wanted);
            const auto scanned = placer.choose_by_scan(wanted);
            ASSERT_EQ(chosen.has_value(), scanned.has_value()) << kNames[p];
            if (chosen && !placer.classes()[wanted].wants_spare()) {
                ASSERT_EQ(chosen->node, scanned->node) << kNames[p];
            }
        }
    }

    Rng rng_;
    std::vector<NodeSpec> nodes_;
    std::vector<Listener::Told> told_;
    std::optional<Engine> engine_;
    std::size_t policies_ = 1;
    std::vector<Demand> demands_;
    std::map<PodIndex, Held> held_;
    std::map<PolicySlot, Listener::Told> expected_;
    std::int64_t now_ = 0;
    std::uint32_t next_ = 0;
};

TEST(EngineProperty, SeveralPoliciesOnOneLedgerEachHearOfTheirOwn) {
    int ended = 0;
    int expired = 0;
    for (std::uint64_t seed = 1; seed <= 40 && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Doors doors(seed);
        doors.run();
        ended += doors.ended;
        expired += doors.expired;
    }
    EXPECT_GT(ended, 100);
    EXPECT_GT(expired, 100);
}

}  // namespace
}  // namespace tessera
