// plan_gang on random clusters: nothing is left behind, every seat is one that the ledger grants,
// no required domain is left, and where a plain search finds room for the minimum, so does it, at
// least as close together. TESSERA_PROPERTY_SCALE=n tries n times as many clusters.
#include "engine/gang_placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/rng.h"
#include "engine/admission.h"
#include "engine/statement.h"
#include "engine/test_tenants.h"
#include "policy/assignment.h"
#include "policy/registry.h"
#include "policy/test_random.h"

namespace tessera {
namespace {

using testing::any_of;
using testing::one_in;
using testing_cluster::dump;

struct Tally {
    int placed = 0;
    int several_nodes = 0;
    int refused = 0;
    int beyond = 0;
    int late = 0;
    int unlike = 0;
};

class Gangs {
  public:
    explicit Gangs(std::uint64_t seed) : rng_(seed) {
        std::vector<NodeSpec> nodes;
        for (std::uint64_t n = 1 + rng_.below(16); n > 0; --n) {
            nodes.push_back(node());
        }
        const char* policy = any_of<const char*>(
            rng_, {"tessera", "fgd", "spread", "random", "kubeshare", "exclusive"});
        const ClusterOptions cluster{.milli_per_gpu = MilliGpu(any_of(rng_, {1000, 1000, 1500})),
                                     .filters = filters_};
        for (auto* engine : {&engine_, &twin_}) {
            *engine = std::make_unique<Engine>(nodes, *make_policy("binpack", {}),
                                               Engine::Options{.seed = seed}, cluster);
            (*engine)->add_policy(*make_policy(policy, {}));
        }
        for (std::uint64_t pods = rng_.below(3 * nodes.size()); pods > 0; --pods) {
            const Demand demand = wanted();
            const PodIndex pod(next_++);
            EXPECT_EQ(engine_->place(pod, demand), twin_->place(pod, demand));
        }
    }

    void run(Tally& tally) {
        demands_.clear();
        for (std::uint64_t kinds = any_of(rng_, {1, 1, 1, 2, 3}); kinds > 0; --kinds) {
            demands_.push_back(wanted());
            if (one_in(rng_, 4) && demands_.back().wants_gpu()) {
                demands_.back().alternatives.push_back({{testing::gpu_request(1, 200)}});
            }
        }
        const std::uint64_t count = 1 + rng_.below(12);
        members_.clear();
        for (std::uint64_t i = 0; i < count; ++i) {
            members_.push_back({PodIndex(next_++), &demands_[rng_.below(demands_.size())]});
        }
        const GroupIndex group(static_cast<std::uint32_t>(rng_.below(1000)));
        running_.clear();
        if (one_in(rng_, 3)) {
            start_some(group);
        }
        draw_topology();
        ask_ = {.group = group,
                .members = members_,
                .minimum = 1 + rng_.below(count + running_.size()),
                .running = running_,
                .topology = topology_};
        const PolicySlot slot(any_of<std::uint8_t>(rng_, {0, 1, 1}));
        const std::string before = dump(engine_->ledger());
        const Rng draws = engine_->placer(slot).draws();
        const GangPlan plan = plan_gang(*engine_, slot, ask_);
        ASSERT_EQ(dump(engine_->ledger()), before);
        ASSERT_EQ(Rng(engine_->placer(slot).draws()).next(), Rng(draws).next());
        ASSERT_TRUE(engine_->placer(slot).consistent());
        check_same(plan, plan_gang(*twin_, slot, ask_));
        compare(slot, plan);
        if (plan.placed()) {
            take(slot, plan);
            check_none_left(slot, plan);
        }
        count_in(plan, tally);
    }

  private:
    NodeSpec node() {
        NodeSpec spec = testing::random_node(rng_);
        if (!one_in(rng_, 3)) {
            spec = testing::node_spec(any_of(rng_, {1, 2, 4, 8}), 32'000);
            spec.name = "n" + std::to_string(rng_.below(50));
        }
        return spec;
    }

    Demand wanted() {
        Demand demand = testing::random_demand(rng_);
        demand.cpu = std::min(demand.cpu, MilliCpu(4'000));
        demand.memory = std::min(demand.memory, MemoryMib(4'096));
        demand.gang.reset();
        if (!one_in(rng_, 3)) {
            demand.models.clear();
        }
        for (Alternative& one : demand.alternatives) {
            for (GpuRequest& request : one.requests) {
                request.spare = {};
            }
        }
        if (one_in(rng_, 8)) {
            demand.filter = filters_->intern(testing::random_filter(rng_));
        }
        return demand;
    }

    // Members that came earlier, wherever they went.
    void start_some(GroupIndex group) {
        for (std::uint64_t i = 1 + rng_.below(3); i > 0; --i) {
            Demand demand = demands_.front();
            demand.gang = Gang{group, 8, 1};
            const PodIndex pod(next_++);
            const auto placed = engine_->place(pod, demand);
            ASSERT_EQ(placed, twin_->place(pod, demand));
            if (placed) {
                running_.push_back(OwnerId::pod(pod.value()));
            }
        }
    }

    NodeDomains any_domains(std::uint64_t most) {
        NodeDomains domains;
        domains.count = static_cast<std::uint32_t>(1 + rng_.below(most));
        for (std::size_t n = 0; n < engine_->cluster().size(); ++n) {
            domains.of_node.push_back(one_in(rng_, 8) ? DomainIndex()
                                                      : DomainIndex(static_cast<std::uint32_t>(
                                                            rng_.below(domains.count))));
        }
        return domains;
    }

    void draw_topology() {
        zones_ = any_domains(3);
        racks_ = any_domains(6);
        rows_ = any_domains(3);
        topology_ = {};
        topology_.required = one_in(rng_, 3) ? &zones_ : nullptr;
        if (one_in(rng_, 2)) {
            topology_.preferred = {&racks_};
        } else if (one_in(rng_, 2)) {
            topology_.preferred = {&racks_, &rows_};
        }
    }

    static void check_same(const GangPlan& a, const GangPlan& b) {
        ASSERT_EQ(a.outcome, b.outcome);
        ASSERT_EQ(a.level, b.level);
        ASSERT_EQ(a.seats.size(), b.seats.size());
        for (std::size_t i = 0; i < a.seats.size(); ++i) {
            ASSERT_EQ(a.seats[i].pod, b.seats[i].pod);
            ASSERT_EQ(a.seats[i].placement, b.seats[i].placement);
        }
    }

    bool allowed(NodeIndex node) const {
        return topology_.required == nullptr || topology_.required->of_node[node.slot()].valid();
    }
    DomainIndex zone(NodeIndex node) const {
        return topology_.required == nullptr ? DomainIndex(0)
                                             : topology_.required->of_node[node.slot()];
    }

    // The zones that the gang may use: where most of those that run are, else any.
    std::set<DomainIndex> zones() const {
        std::map<DomainIndex, int> members;
        std::set<DomainIndex> all;
        for (std::uint32_t n = 0; n < engine_->cluster().size(); ++n) {
            if (allowed(NodeIndex(n))) {
                all.insert(zone(NodeIndex(n)));
            }
        }
        for (OwnerId owner : running_) {
            const NodeIndex node = engine_->ledger().find(owner)->node;
            if (allowed(node)) {
                ++members[zone(node)];
            }
        }
        if (members.empty()) {
            return all;
        }
        const auto most =
            std::max_element(members.begin(), members.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; });
        return {most->first};
    }

    // Domains of a level, tried one by one, each member on the node that the policy likes best.
    bool plain_search(PolicySlot slot, std::size_t level, std::size_t needed) const {
        std::map<std::pair<DomainIndex, DomainIndex>, std::vector<NodeIndex>> domains;
        const std::set<DomainIndex> usable = zones();
        for (std::uint32_t n = 0; n < engine_->cluster().size(); ++n) {
            const NodeIndex node(n);
            DomainIndex domain(level == 0 ? n : 0);
            if (level > 0 && level <= topology_.preferred.size()) {
                domain = topology_.preferred[level - 1]->of_node[n];
            }
            if (allowed(node) && usable.contains(zone(node)) && domain.valid()) {
                domains[{zone(node), domain}].push_back(node);
            }
        }
        const bool top = level == topology_.preferred.size() + 1;
        return std::any_of(domains.begin(), domains.end(), [&](const auto& domain) {
            const bool theirs = std::any_of(running_.begin(), running_.end(), [&](OwnerId owner) {
                const NodeIndex at = engine_->ledger().find(owner)->node;
                return std::count(domain.second.begin(), domain.second.end(), at) > 0;
            });
            return (running_.empty() || top || theirs) && plain_fill(slot, domain.second) >= needed;
        });
    }

    std::size_t plain_fill(PolicySlot slot, const std::vector<NodeIndex>& nodes) const {
        Placer& placer = engine_->placer(slot);
        std::vector<GangMember> order = members_;
        const auto size = [&](const GangMember& member) {
            const DemandClass& one = placer.classes()[placer.intern(*member.demand)];
            return std::tuple(one.gpu_milli_total, one.cpu, one.memory);
        };
        std::stable_sort(order.begin(), order.end(),
                         [&](const auto& a, const auto& b) { return size(a) > size(b); });
        const Rng draws = placer.draws();
        Statement statement(engine_->ledger_for_statement());
        std::size_t placed = 0;
        std::vector<Key> keys(nodes.size());
        for (const GangMember& member : order) {
            bool done = false;
            const std::size_t end = std::max<std::size_t>(1, member.demand->alternatives.size());
            for (std::size_t a = 0; a < end && !done; ++a) {
                const ClassIndex one = placer.intern(*member.demand, a);
                const auto ranking = placer.rank(one, nodes, keys);
                if (ranking.best != SIZE_MAX) {
                    const auto placement = placer.choose_on(nodes[ranking.best], one);
                    done = placement &&
                           statement.assume(OwnerId::pod(member.pod.value()), *placement,
                                            {.tolerates = placer.classes()[one].tolerates});
                }
            }
            placed += done ? 1 : 0;
        }
        statement.discard();
        placer.set_draws(draws);
        return placed;
    }

    void compare(PolicySlot slot, const GangPlan& plan) const {
        const std::size_t running = running_.size();
        const std::size_t needed = ask_.minimum > running ? ask_.minimum - running : 0;
        ASSERT_EQ(plan.needed, needed);
        if (plan.outcome == GangOutcome::too_few_members) {
            ASSERT_LT(members_.size(), needed);
            return;
        }
        const std::size_t levels = topology_.preferred.size() + 2;
        std::size_t plain = 0;
        while (plain < levels && !plain_search(slot, plain, std::max<std::size_t>(1, needed))) {
            ++plain;
        }
        if (plan.placed() && !plan.seats.empty()) {
            ASSERT_GE(plan.seats.size(), needed);
            ASSERT_LE(plan.level, plain);
        } else {
            ASSERT_EQ(plain, levels);
            ASSERT_EQ(plan.placed(), needed == 0);
            ASSERT_TRUE(plan.seats.empty());
        }
    }

    // Every seat is granted, and by the plain rules.
    void take(PolicySlot slot, const GangPlan& plan) {
        const Placer& placer = engine_->placer(slot);
        std::set<DomainIndex> used;
        for (const GangSeat& seat : plan.seats) {
            const NodeIndex node = seat.placement.node;
            ASSERT_TRUE(
                engine_->cluster().admits(node, placer.classes()[seat.demand_class].filter));
            ASSERT_TRUE(allowed(node));
            used.insert(zone(node));
        }
        ASSERT_LE(used.size(), 1U);
        const auto held = hold_gang(*engine_, slot, plan, kNoDeadline);
        ASSERT_TRUE(held) << held.error().message;
        ASSERT_TRUE(hold_gang(*twin_, slot, plan, kNoDeadline));
        ASSERT_EQ(engine_->cluster().over_committed_gpus(), 0);
    }

    // Whoever was left out finds no room where the gang may go.
    void check_none_left(PolicySlot slot, const GangPlan& plan) const {
        std::set<PodIndex> seated;
        std::set<DomainIndex> usable = zones();
        for (const GangSeat& seat : plan.seats) {
            seated.insert(seat.pod);
            usable = {zone(seat.placement.node)};
        }
        Placer& placer = engine_->placer(slot);
        const Catalog catalog = engine_->cluster().catalog(placer.classes());
        for (const GangMember& member : members_) {
            for (std::uint32_t n = 0; !seated.contains(member.pod) && n < engine_->cluster().size();
                 ++n) {
                const DemandClass& one = placer.classes()[placer.intern(*member.demand)];
                const bool here = allowed(NodeIndex(n)) && usable.contains(zone(NodeIndex(n)));
                ASSERT_FALSE(here &&
                             admits_and_fits(engine_->cluster(), NodeIndex(n), one, catalog));
            }
        }
    }

    void count_in(const GangPlan& plan, Tally& tally) const {
        std::set<NodeIndex> nodes;
        for (const GangSeat& seat : plan.seats) {
            nodes.insert(seat.placement.node);
        }
        tally.placed += plan.seats.empty() ? 0 : 1;
        tally.several_nodes += nodes.size() > 1 ? 1 : 0;
        tally.refused += plan.placed() ? 0 : 1;
        tally.beyond += plan.placed() && plan.seats.size() > plan.needed ? 1 : 0;
        tally.late += plan.placed() && !running_.empty() && !plan.seats.empty() ? 1 : 0;
        tally.unlike += plan.placed() && demands_.size() > 1 && plan.needed > 1 ? 1 : 0;
    }

    Rng rng_;
    std::shared_ptr<FilterTable> filters_ = std::make_shared<FilterTable>();
    std::unique_ptr<Engine> engine_;
    std::unique_ptr<Engine> twin_;
    std::vector<Demand> demands_;
    std::vector<GangMember> members_;
    std::vector<OwnerId> running_;
    NodeDomains zones_;
    NodeDomains racks_;
    NodeDomains rows_;
    GangTopology topology_;
    GangAsk ask_;
    std::uint32_t next_ = 0;
};

TEST(GangProperty, AllOrNothingAndNeverWorseThanAPlainSearch) {
    const char* scale = std::getenv("TESSERA_PROPERTY_SCALE");
    const std::uint64_t seeds =
        300 * static_cast<std::uint64_t>(std::max(1, scale == nullptr ? 1 : std::atoi(scale)));
    Tally tally;
    for (std::uint64_t seed = 1; seed <= seeds && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Gangs gangs(seed);
        for (int ask = 0; ask < 4 && !HasFailure(); ++ask) {
            gangs.run(tally);
        }
    }
    EXPECT_GT(tally.placed, 200);
    EXPECT_GT(tally.several_nodes, 100);
    EXPECT_GT(tally.refused, 100);
    EXPECT_GT(tally.beyond, 50);
    EXPECT_GT(tally.late, 50);
    EXPECT_GT(tally.unlike, 50);
}

}  // namespace
}  // namespace tessera
