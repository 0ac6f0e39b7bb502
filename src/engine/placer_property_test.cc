// The index gives the placements of a plain scan, one by one, whatever happens to the cluster.
//
// Two engines in lock-step, one of them with Placer::Options::full_scan; and the index equals a
// fresh evaluation. TESSERA_PROPERTY_SCALE=n tries n times as many clusters.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "engine/engine.h"
#include "policy/assignment.h"
#include "policy/registry.h"
#include "policy/test_random.h"

namespace tessera {
namespace {

using testing::one_in;

struct Case {
    std::string policy;
    bool oracle = false;  // the policy knows the mix beforehand
    Placer::Options options = {};
    std::size_t demands = 30;
    int steps = 150;
    bool nodes_change = true;
    bool whole_nodes = false;  // nodes of eight devices, and pods for most or all of one
    bool policy_changes = false;
    bool joins = false;        // nodes only join, all of shapes that are known: the index stays
    bool constraints = false;  // labels, taints and filters; nodes change theirs
    KetiPolicy keti = {};
};

class LockStep {
  public:
    LockStep(const Case& tried, std::uint64_t seed) : rng_(seed), case_(tried) {
        for (std::uint64_t n = 1 + rng_.below(40); n > 0; --n) {
            nodes_.push_back(any_node());
        }
        std::vector<ClassCount> mix;
        for (std::size_t i = 0; i < tried.demands; ++i) {
            demands_.push_back(tried.whole_nodes && i % 3 == 0 ? whole_node_demand()
                                                               : testing::random_demand(rng_));
            if (tried.constraints) {
                demands_.back().filter = filters_->intern(testing::random_filter(rng_));
            }
            mix.push_back(
                {demand_class(demands_.back()), 1 + static_cast<std::int64_t>(rng_.below(20))});
        }
        Placer::Options options = tried.options;
        options.seed = seed;
        const ClusterOptions cluster{.filters = filters_};
        indexed_.emplace(nodes_, policy(mix), options, cluster);
        options.full_scan = true;
        scanned_.emplace(nodes_, policy(mix), options, cluster);
        intern();
    }

    void run() {
        for (int step = 0; step < case_.steps && !::testing::Test::HasFailure(); ++step) {
            SCOPED_TRACE("step " + std::to_string(step));
            one_step();
            if (step % 7 == 0 || step + 1 == case_.steps) {
                ASSERT_TRUE(indexed_->placer().consistent());
            }
        }
        EXPECT_TRUE(indexed_->ledger().verify().empty());
        EXPECT_TRUE(indexed_->cluster().consistent());
    }

    const Placer::Counters& counters() const { return indexed_->placer().counters(); }
    std::size_t placed() const { return placed_; }
    std::size_t kept_away() const { return kept_away_; }

  private:
    std::unique_ptr<Policy> policy(const std::vector<ClassCount>& mix) const {
        auto made = make_policy(
            case_.policy,
            {.mix = case_.oracle ? std::span(mix) : std::span<ClassCount>(), .keti = case_.keti});
        EXPECT_TRUE(made.has_value());
        return std::move(*made);
    }

    void intern() {
        classes_.clear();
        for (const Demand& demand : demands_) {
            classes_.push_back(indexed_->intern(demand));
            EXPECT_EQ(classes_.back(), scanned_->intern(demand));
        }
    }

    void change_policy() {
        const char* name = testing::any_of<const char*>(
            rng_, {"tessera", "fgd", "binpack", "random", "exclusive", "kubeshare"});
        indexed_->set_policy(*make_policy(name, {}));
        scanned_->set_policy(*make_policy(name, {}));
        EXPECT_EQ(indexed_->placer().policy().name(), name);
        intern();
    }

    NodeSpec any_node() {
        NodeSpec node = testing::random_node(rng_);
        while (case_.whole_nodes && node.gpus.size() != 8) {
            node = testing::random_node(rng_);
        }
        if (case_.constraints) {
            node.traits = testing::random_traits(rng_);
        }
        return node;
    }

    Demand whole_node_demand() {
        GpuRequest request = testing::gpu_request(5 + static_cast<int>(rng_.below(4)), 1000);
        if (one_in(rng_, 4)) {
            testing::add_rule(rng_, request);
        }
        Demand demand = testing::random_demand(rng_);
        demand.cpu = MilliCpu(testing::any_of<std::int64_t>(rng_, {0, 4'000, 32'000}));
        demand.memory = MemoryMib(testing::any_of<std::int64_t>(rng_, {0, 8'192}));
        demand.alternatives = {{{request}}};
        return demand;
    }

    void one_step() {
        if (case_.policy_changes && one_in(rng_, 30)) {
            change_policy();
        }
        const std::uint64_t lot = rng_.below(100);
        if (lot < 60 || (lot < 90 && live_.empty())) {
            arrive();
        } else if (lot < 90 || !case_.nodes_change) {
            depart();
        } else {
            change_node();
        }
    }

    void arrive() {
        // Some classes are common and some rare, so that columns are given up and taken again.
        const std::size_t bound = one_in(rng_, 3) ? classes_.size() : classes_.size() / 3 + 1;
        const std::size_t asked = rng_.below(bound);
        const ClassIndex wanted = classes_[asked];
        const GroupIndex group =
            demands_[asked].gang ? demands_[asked].gang->group : GroupIndex::none();
        if (one_in(rng_, 20)) {
            indexed_->observe(wanted);
            scanned_->observe(wanted);
            return;
        }
        const PodIndex pod(next_pod_++);
        count_kept_away(wanted);
        // A pod that waited is no arrival: the policy does not learn, and no slice is built.
        const bool waited = case_.joins && one_in(rng_, 2);
        const auto place = [&](Engine& engine) {
            return waited ? engine.try_place(pod, wanted, group)
                          : engine.arrive(pod, wanted, group);
        };
        const bool fits = place(*indexed_);
        ASSERT_EQ(fits, place(*scanned_));
        ASSERT_EQ(indexed_->placement(pod), scanned_->placement(pod));
        ASSERT_EQ(indexed_->fitting_nodes(wanted), scanned_->fitting_nodes(wanted));
        if (fits) {
            live_.push_back(pod);
            ++placed_;
        }
    }

    // Nodes that have room for the class and do not admit it.
    void count_kept_away(ClassIndex wanted) {
        const Cluster& cluster = indexed_->cluster();
        const ClassTable& classes = indexed_->placer().classes();
        const Catalog catalog = cluster.catalog(classes);
        for (std::uint32_t n = 0; n < cluster.size(); ++n) {
            const bool room = fits(cluster.node(NodeIndex(n)), classes[wanted], catalog);
            kept_away_ += room && !cluster.admits(NodeIndex(n), classes[wanted].filter) ? 1 : 0;
        }
    }

    void depart() {
        if (live_.empty()) {
            return;
        }
        std::swap(live_[rng_.below(live_.size())], live_.back());
        indexed_->depart(live_.back());
        scanned_->depart(live_.back());
        live_.pop_back();
    }

    void change_node() {
        const NodeIndex node(static_cast<std::uint32_t>(rng_.below(nodes_.size())));
        const std::uint64_t lot = case_.joins ? 0 : rng_.below(10);
        NodeSpec& spec = nodes_[node.slot()];
        if (lot == 0) {
            NodeSpec fresh = any_node();
            if (case_.joins || (case_.constraints && one_in(rng_, 2))) {
                fresh = spec;
                fresh.traits = one_in(rng_, 2) ? NodeTraits() : testing::random_traits(rng_);
            }
            ASSERT_TRUE(indexed_->add_node(fresh) && scanned_->add_node(fresh));
            nodes_.push_back(fresh);
        } else if (lot == 1) {
            ASSERT_TRUE(indexed_->remove_node(node) && scanned_->remove_node(node));
        } else if (lot < 5) {
            if (case_.constraints && one_in(rng_, 2)) {
                // Often of no node, so that the last taint goes and the first comes.
                spec.traits = one_in(rng_, 2) ? NodeTraits() : testing::random_traits(rng_);
            } else {
                spec = any_node();
            }
            ASSERT_TRUE(indexed_->update_node(node, spec) && scanned_->update_node(node, spec));
        } else if (!spec.gpus.empty()) {
            const GpuIndex gpu(static_cast<std::uint8_t>(rng_.below(spec.gpus.size())));
            const Health health =
                testing::any_of(rng_, {Health::ok, Health::no_new, Health::evict});
            // False for a node that was removed.
            ASSERT_EQ(indexed_->set_health(node, gpu, health).has_value(),
                      scanned_->set_health(node, gpu, health).has_value());
        }
    }

    Rng rng_;
    const Case& case_;
    std::vector<NodeSpec> nodes_;
    std::shared_ptr<FilterTable> filters_ = std::make_shared<FilterTable>();
    std::optional<Engine> indexed_;
    std::optional<Engine> scanned_;
    std::vector<Demand> demands_;
    std::vector<ClassIndex> classes_;
    std::vector<PodIndex> live_;
    std::uint32_t next_pod_ = 0;
    std::size_t placed_ = 0;
    std::size_t kept_away_ = 0;
};

int scale() {
    const char* asked = std::getenv("TESSERA_PROPERTY_SCALE");
    return std::max(1, asked == nullptr ? 1 : std::atoi(asked));
}

struct Tally {
    Placer::Counters counters;
    std::size_t placed = 0;
    std::size_t kept_away = 0;
};

Tally run_clusters(const Case& tried, int clusters) {
    Tally sum;
    for (int i = 0; i < clusters * scale() && !::testing::Test::HasFailure(); ++i) {
        const auto seed = static_cast<std::uint64_t>(i) + 1;
        SCOPED_TRACE(tried.policy + ", seed " + std::to_string(seed));
        LockStep pair(tried, seed);
        pair.run();
        sum.placed += pair.placed();
        sum.kept_away += pair.kept_away();
        sum.counters.rebuilds += pair.counters().rebuilds;
        sum.counters.sliced_nodes += pair.counters().sliced_nodes;
        sum.counters.scans += pair.counters().scans;
        sum.counters.host_refreshes += pair.counters().host_refreshes;
    }
    return sum;
}

TEST(PlacerProperty, EveryPolicyPlacesAsItsScan) {
    for (const PolicyInfo& info : known_policies()) {
        const Case tried{.policy = std::string(info.name), .oracle = info.name == "fgd-published"};
        EXPECT_GT(run_clusters(tried, 6).placed, 50U) << info.name;
    }
}

// Labels, taints and filters: with columns that are given up, and indices that are built in slices.
TEST(PlacerProperty, NodeConstraintsAreJudgedAsByTheScan) {
    for (const PolicyInfo& info : known_policies()) {
        const Case tried{.policy = std::string(info.name),
                         .oracle = info.name == "fgd-published",
                         .constraints = true};
        const Tally tally = run_clusters(tried, 3);
        EXPECT_GT(tally.placed, 20U) << info.name;
        EXPECT_GT(tally.kept_away, 100U) << info.name;
    }
    for (const char* name : {"tessera", "fgd", "random"}) {
        for (const std::size_t columns : {1, 8, 512}) {
            Case tried{.policy = name, .demands = 90, .steps = 300, .constraints = true};
            tried.options.max_columns = columns;
            tried.options.rebuild_at_once_nodes = 10;
            tried.options.slice_nodes = 1;
            const Tally tally = run_clusters(tried, 4);
            EXPECT_GT(tally.kept_away, 100U) << name;
            const bool learns = std::string_view(name) != "random";
            EXPECT_EQ(tally.counters.sliced_nodes > 0, learns) << name;
            // Of some 180 arrivals in each of four clusters; spare capacities are always scanned
            // for.
            EXPECT_EQ(tally.counters.scans > 150, columns < 90) << name << " " << columns;
        }
    }
}

// More nodes than there is room for at first, while indices of other scores are built in slices.
TEST(PlacerProperty, NodesThatJoinAreJudgedAsByTheScan) {
    for (const char* name : {"tessera", "fgd"}) {
        for (const bool policy_changes : {false, true}) {
            Case tried{.policy = name,
                       .demands = 90,
                       .steps = 1'500,
                       .policy_changes = policy_changes,
                       .joins = true,
                       .constraints = true};
            tried.options.rebuild_at_once_nodes = 10;
            tried.options.slice_nodes = 1;
            const Tally tally = run_clusters(tried, 2);
            EXPECT_GT(tally.kept_away, 100U) << name;
            EXPECT_GT(tally.counters.sliced_nodes, 100U) << name;
        }
    }
}

TEST(PlacerProperty, TheSecondBestIsThatOfTheScan) {
    for (const std::size_t columns : {0, 4, 64}) {
        Case tried{.policy = "keti", .steps = 250, .constraints = columns == 64};
        tried.keti.avoid_high_score = true;
        tried.options.max_columns = columns;
        EXPECT_GT(run_clusters(tried, 12).placed, 50U);
    }
}

TEST(PlacerProperty, LearningAtOnce) {
    for (const char* name : {"tessera", "fgd"}) {
        Case tried{.policy = name, .steps = 700, .nodes_change = false};
        const Tally tally = run_clusters(tried, 2);
        EXPECT_GT(tally.counters.rebuilds, 10U);
        EXPECT_EQ(tally.counters.sliced_nodes, 0U);
    }
}

TEST(PlacerProperty, LearningInSlices) {
    for (const char* name : {"tessera", "fgd"}) {
        Case tried{.policy = name, .steps = 500};
        tried.options.rebuild_at_once_nodes = 0;
        tried.options.slice_nodes = 1;
        const Tally tally = run_clusters(tried, 4);
        EXPECT_GT(tally.counters.rebuilds, 4U);
        EXPECT_GT(tally.counters.sliced_nodes, 50U);
    }
}

TEST(PlacerProperty, PoliciesChangeWhilePodsRun) {
    for (const std::size_t at_once : {0, 2048}) {
        Case tried{.policy = "tessera", .steps = 400, .policy_changes = true};
        tried.options.rebuild_at_once_nodes = at_once;
        tried.options.slice_nodes = 1;
        EXPECT_GT(run_clusters(tried, 6).placed, 50U);
    }
}

TEST(PlacerProperty, FewColumns) {
    for (const char* name : {"tessera", "fgd", "random", "bestfit"}) {
        for (const std::size_t columns : {0, 1, 8}) {
            Case tried{.policy = name, .steps = 200};
            tried.options.max_columns = columns;
            tried.options.rebuild_at_once_nodes = 20;
            tried.options.slice_nodes = 1;
            const Tally tally = run_clusters(tried, 2);
            EXPECT_GT(tally.counters.scans, 20U) << columns;
        }
    }
}

TEST(PlacerProperty, MoreClassesThanFirstColumns) {
    Case tried{.policy = "tessera", .demands = 300, .steps = 400};
    tried.options.rebuild_at_once_nodes = 0;
    tried.options.slice_nodes = 1;
    EXPECT_GT(run_clusters(tried, 2).placed, 50U);
}

// A class for whole nodes gets a price when hosts are short: only nodes that can host it are
// scored again, and that must be enough.
TEST(PlacerProperty, HostPricesReachEveryNodeTheyConcern) {
    Case tried{.policy = "tessera", .demands = 12, .steps = 1'200, .whole_nodes = true};
    EXPECT_GT(run_clusters(tried, 4).counters.host_refreshes, 0U);
    // A price also moves the keys of nodes that do not admit the class. Few clusters show it.
    tried.constraints = true;
    EXPECT_GT(run_clusters(tried, 30).counters.host_refreshes, 0U);
}

}  // namespace
}  // namespace tessera
