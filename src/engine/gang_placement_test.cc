#include "engine/gang_placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "engine/test_cluster.h"
#include "engine/test_tenants.h"
#include "policy/registry.h"

namespace tessera {
namespace {

using testing_cluster::dump;
using testing_cluster::make_demand;
using testing_cluster::make_node;

constexpr GroupIndex kGang{1};

class GangTest : public ::testing::Test {
  protected:
    void build(int nodes, int gpus = 4, const char* policy = "tessera") {
        std::vector<NodeSpec> specs;
        for (int n = 0; n < nodes; ++n) {
            specs.push_back(make_node("n" + std::to_string(n), {.gpus = gpus}));
        }
        engine_ = std::make_unique<Engine>(std::move(specs), *make_policy(policy, {}));
    }

    // Neighbours in domains of so many nodes.
    NodeDomains blocks_of(std::size_t nodes) const {
        NodeDomains domains;
        for (std::size_t n = 0; n < engine_->cluster().size(); ++n) {
            domains.count = static_cast<std::uint32_t>(n / nodes) + 1;
            domains.of_node.emplace_back(domains.count - 1);
        }
        return domains;
    }

    static Demand share(int milli) { return make_demand({.gpus = 1, .milli = milli}); }
    static Demand whole(int gpus) { return make_demand({.gpus = gpus}); }

    std::vector<GangMember> members(const Demand& demand, std::size_t count) {
        std::vector<GangMember> result;
        for (std::size_t i = 0; i < count; ++i) {
            result.push_back({PodIndex(next_++), &demand});
        }
        return result;
    }

    GangPlan plan(const GangAsk& ask) {
        const std::string before = dump(engine_->ledger());
        GangPlan plan = plan_gang(*engine_, kFirstPolicy, ask);
        EXPECT_EQ(dump(engine_->ledger()), before);
        EXPECT_TRUE(engine_->placer().consistent());
        return plan;
    }

    void hold(const GangPlan& plan) {
        ASSERT_TRUE(plan.placed());
        ASSERT_TRUE(hold_gang(*engine_, kFirstPolicy, plan, kNoDeadline));
    }

    OwnerId occupy(std::uint32_t node, int gpu, int milli) {
        const PodIndex pod(next_++);
        const Placement placement = testing_cluster::pod_on(
            NodeIndex(node), {{.request = {},
                               .gpu = GpuIndex(static_cast<std::uint8_t>(gpu)),
                               .milli = MilliGpu(milli),
                               .memory = MemoryMib(0)}});
        EXPECT_TRUE(engine_->confirm(pod, {kFirstPolicy, {}, placement}));
        return OwnerId::pod(pod.value());
    }

    static std::map<std::uint32_t, int> nodes_of(const GangPlan& plan) {
        std::map<std::uint32_t, int> nodes;
        for (const GangSeat& seat : plan.seats) {
            ++nodes[seat.placement.node.value()];
        }
        return nodes;
    }

    std::unique_ptr<Engine> engine_;
    std::uint32_t next_ = 0;
};

TEST_F(GangTest, SharesGoOnOneDeviceWhereTheyFit) {
    for (const char* policy : {"tessera", "spread", "kubeshare", "random"}) {
        build(3, 4, policy);
        occupy(0, 0, 500);
        const Demand demand = share(250);
        const auto four = members(demand, 4);
        const GangPlan found = plan({.group = kGang, .members = four, .minimum = 4});
        ASSERT_TRUE(found.placed());
        EXPECT_EQ(found.level, 0U);
        for (const GangSeat& seat : found.seats) {
            EXPECT_EQ(seat.placement.node, found.seats[0].placement.node) << policy;
            EXPECT_EQ(seat.placement.grants[0].gpu, found.seats[0].placement.grants[0].gpu);
        }
    }
}

TEST_F(GangTest, OneNodeBeforeSeveralAndTheFullestThatHoldsAll) {
    build(3);
    occupy(0, 0, 1000);
    occupy(1, 0, 1000);
    occupy(1, 1, 1000);
    const Demand demand = whole(1);
    const auto two = members(demand, 2);
    EXPECT_EQ(nodes_of(plan({.group = kGang, .members = two, .minimum = 2})),
              (std::map<std::uint32_t, int>{{1, 2}}));
    const auto three = members(demand, 3);
    EXPECT_EQ(nodes_of(plan({.group = kGang, .members = three, .minimum = 3})),
              (std::map<std::uint32_t, int>{{0, 3}}));
    // Four and one are fewer nodes than three and two.
    const auto five = members(demand, 5);
    const GangPlan spread = plan({.group = kGang, .members = five, .minimum = 5});
    EXPECT_EQ(spread.level, 1U);
    EXPECT_EQ(nodes_of(spread).size(), 2U);
    EXPECT_EQ(nodes_of(spread).at(2), 4);
}

TEST_F(GangTest, TheTightestDomainThatHoldsTheMinimum) {
    build(12);
    const NodeDomains racks = blocks_of(2);
    const NodeDomains rooms = blocks_of(6);
    occupy(0, 0, 100);
    const Demand demand = whole(4);
    const auto ask = [&](std::size_t count) {
        const auto waiting = members(demand, count);
        return plan({.group = kGang,
                     .members = waiting,
                     .minimum = count,
                     .topology = {.preferred = {&racks, &rooms}}});
    };
    EXPECT_EQ(ask(1).level, 0U);
    EXPECT_EQ(ask(2).level, 1U);
    const GangPlan room = ask(5);
    EXPECT_EQ(room.level, 2U);
    EXPECT_LT(room.seats.front().placement.node.value(), 6U);  // the fuller room
    EXPECT_EQ(ask(6).seats.front().placement.node.value() / 6, 1U);
    EXPECT_EQ(ask(7).level, 3U);
    const GangPlan none = ask(12);
    EXPECT_EQ(none.outcome, GangOutcome::no_room);
    EXPECT_EQ(none.tally[3].most, 11);
    EXPECT_EQ(none.tally[3].too_small, 1);
    EXPECT_EQ(none.tally[1].domains, 6);
    EXPECT_TRUE(none.seats.empty());
}

TEST_F(GangTest, ARequiredDomainIsNeverLeft) {
    build(6);
    NodeDomains zones = blocks_of(3);
    zones.of_node[5] = DomainIndex();
    const Demand demand = whole(4);
    const auto three = members(demand, 3);
    const GangPlan found =
        plan({.group = kGang, .members = three, .minimum = 3, .topology = {.required = &zones}});
    ASSERT_TRUE(found.placed());
    EXPECT_EQ(nodes_of(found).rbegin()->first, 2U);
    const auto four = members(demand, 4);
    const GangAsk ask{
        .group = kGang, .members = four, .minimum = 4, .topology = {.required = &zones}};
    EXPECT_FALSE(plan(ask).placed());
    // Those beyond the minimum stay out of other domains, too.
    const auto most = members(demand, 6);
    const GangPlan some =
        plan({.group = kGang, .members = most, .minimum = 2, .topology = {.required = &zones}});
    EXPECT_EQ(some.seats.size(), 3U);
}

TEST_F(GangTest, MembersBeyondTheMinimumJoinNearby) {
    build(8);
    const NodeDomains racks = blocks_of(2);
    occupy(0, 0, 100);
    occupy(0, 1, 100);
    const Demand demand = whole(1);
    const auto six = members(demand, 6);
    const GangPlan found =
        plan({.group = kGang, .members = six, .minimum = 4, .topology = {.preferred = {&racks}}});
    EXPECT_EQ(found.seats.size(), 6U);
    EXPECT_EQ(found.level, 0U);
    const auto nodes = nodes_of(found);
    ASSERT_EQ(nodes.size(), 2U);
    EXPECT_EQ(nodes.begin()->first / 2, nodes.rbegin()->first / 2);
}

TEST_F(GangTest, LateMembersComeToThoseThatRun) {
    build(8, 4, "spread");
    const NodeDomains racks = blocks_of(2);
    const NodeDomains zones = blocks_of(4);
    const OwnerId runs = occupy(5, 2, 250);
    const std::vector<OwnerId> running{runs};
    const Demand small = share(250);
    const auto late = members(small, 2);
    const GangTopology topology{.required = &zones, .preferred = {&racks}};
    const GangPlan found = plan(
        {.group = kGang, .members = late, .minimum = 2, .running = running, .topology = topology});
    ASSERT_EQ(found.seats.size(), 2U);
    EXPECT_EQ(found.needed, 1U);
    for (const GangSeat& seat : found.seats) {
        EXPECT_EQ(seat.placement.node, NodeIndex(5));
        EXPECT_EQ(seat.placement.grants[0].gpu, GpuIndex(2));
    }
    // No room there any more: to the same rack, then within the zone, never elsewhere.
    const Demand large = whole(4);
    const auto five = members(large, 5);
    const GangPlan around = plan(
        {.group = kGang, .members = five, .minimum = 2, .running = running, .topology = topology});
    EXPECT_EQ(around.level, 1U);
    EXPECT_EQ(around.seats.front().placement.node, NodeIndex(4));
    EXPECT_EQ(nodes_of(around), (std::map<std::uint32_t, int>{{4, 1}, {6, 1}, {7, 1}}));
    // The minimum runs already: no room for more is no failure.
    const Demand huge = whole(8);
    const auto none = members(huge, 1);
    EXPECT_TRUE(plan({.group = kGang, .members = none, .minimum = 1, .running = running}).placed());
}

TEST_F(GangTest, APolicyThatKeepsGroupsTogetherChoosesDevicesNearThoseThatRun) {
    build(2, 8, "kubeshare");
    const Demand demand = whole(1);
    const Placement there = testing_cluster::pod_on(
        NodeIndex(1),
        {{.request = {}, .gpu = GpuIndex(5), .milli = kWholeGpu, .memory = MemoryMib(16'384)}});
    const PodIndex first(next_++);
    ASSERT_TRUE(engine_->confirm(first, {kFirstPolicy, engine_->intern(demand), there, kGang}));
    const std::vector<OwnerId> running{OwnerId::pod(first.value())};
    const auto late = members(demand, 2);
    const GangPlan found =
        plan({.group = kGang, .members = late, .minimum = 3, .running = running});
    ASSERT_EQ(found.seats.size(), 2U);
    for (const GangSeat& seat : found.seats) {
        EXPECT_EQ(seat.placement.node, NodeIndex(1));
        EXPECT_EQ(std::abs(seat.placement.grants[0].gpu.value() - 5), 1);
    }
}

TEST_F(GangTest, UnlikeMembersAndAlternatives) {
    build(2, 2);
    Demand leader = whole(2);
    leader.alternatives.push_back(whole(1).alternatives.front());
    const Demand worker = share(500);
    std::vector<GangMember> all = members(worker, 4);
    all.push_back(members(leader, 1).front());
    all.push_back(members(leader, 1).front());
    // Largest first, the leaders would take everything: smallest first, one of them waits.
    const GangPlan found = plan({.group = kGang, .members = all, .minimum = 4});
    ASSERT_TRUE(found.placed());
    EXPECT_EQ(found.seats.size(), 5U);
    // With less room the workers share a node, and a leader is served by its alternative.
    occupy(1, 0, 500);
    const GangPlan less = plan({.group = kGang, .members = all, .minimum = 2});
    ASSERT_EQ(less.seats.size(), 5U);
    EXPECT_EQ(less.level, 0U);
    EXPECT_EQ(less.seats.back().pod, all[4].pod);
    EXPECT_EQ(less.seats.back().placement.alternative, 1);
    EXPECT_EQ(plan({.group = kGang, .members = all, .minimum = 6}).outcome, GangOutcome::no_room);
}

TEST_F(GangTest, WaitsForItsMembers) {
    build(2);
    const Demand demand = share(100);
    const auto two = members(demand, 2);
    EXPECT_EQ(plan({.group = kGang, .members = two, .minimum = 3}).outcome,
              GangOutcome::too_few_members);
}

TEST_F(GangTest, HoldingIsAllOrNothing) {
    build(2);
    const Demand demand = whole(4);
    const auto two = members(demand, 2);
    const GangPlan found = plan({.group = kGang, .members = two, .minimum = 2});
    occupy(found.seats.back().placement.node.value(), 0, 100);
    const std::string before = dump(engine_->ledger());
    EXPECT_FALSE(hold_gang(*engine_, kFirstPolicy, found, kNoDeadline));
    EXPECT_EQ(engine_->ledger().size(), 1U);
    EXPECT_FALSE(engine_->ledger().knows(OwnerId::pod(found.seats.front().pod.value())));
}

TEST_F(GangTest, DomainsOfLabelsAndCells) {
    const LabelKey rack(3);
    std::vector<NodeSpec> specs;
    for (int n = 0; n < 4; ++n) {
        specs.push_back(make_node(n == 3 ? "alone" : "n" + std::to_string(n)));
        if (n != 1) {
            specs.back().traits.labels = {{rack, LabelValue(n == 0 ? 8U : 9U)}};
        }
    }
    engine_ = std::make_unique<Engine>(std::move(specs), *make_policy("tessera", {}));
    const NodeDomains racks = domains_by_label(engine_->cluster(), rack);
    EXPECT_EQ(racks.count, 2U);
    EXPECT_EQ(racks.of_node,
              (std::vector{DomainIndex(0), DomainIndex(), DomainIndex(1), DomainIndex(1)}));
    CellConfig config;
    config.types = {{.name = "node", .child = "A100", .child_count = 4, .node_level = true},
                    {.name = "rack", .child = "node", .child_count = 2},
                    {.name = "row", .child = "rack", .child_count = 2}};
    const auto cell = [](std::string id, std::vector<CellSpec> children) {
        CellSpec spec;
        spec.id = std::move(id);
        spec.children = std::move(children);
        return spec;
    };
    config.cells = {cell("r", {cell("a", {cell("n0", {}), cell("n1", {})}),
                               cell("b", {cell("n2", {}), cell("n9", {})})})};
    config.cells[0].type = "row";
    const auto tree = CellTree::build(config);
    ASSERT_TRUE(tree) << tree.error().message;
    const std::vector<NodeDomains> cells = domains_by_cells(engine_->cluster(), *tree);
    ASSERT_EQ(cells.size(), 2U);
    EXPECT_EQ(cells[0].of_node,
              (std::vector{DomainIndex(0), DomainIndex(0), DomainIndex(1), DomainIndex()}));
    EXPECT_EQ(cells[1].of_node,
              (std::vector{DomainIndex(0), DomainIndex(0), DomainIndex(0), DomainIndex()}));
}

// Two gangs, each for three fifths of the cluster, whose members arrive in any order: one gets all
// that it needs, the other nothing, until the first has gone.
TEST_F(GangTest, OfTwoThatCannotBothFitOneWaitsWhole) {
    const Demand demand = whole(4);
    for (std::uint64_t seed = 1; seed <= 200 && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        build(10);
        Rng rng(seed);
        next_ = 0;
        const std::vector<GangMember> all[2] = {members(demand, 6), members(demand, 6)};
        std::size_t arrived[2] = {0, 0};
        bool runs[2] = {false, false};
        const auto try_gang = [&](std::size_t g) {
            const GangPlan found = plan({.group = GroupIndex(static_cast<std::uint32_t>(g)),
                                         .members = std::span(all[g]).first(arrived[g]),
                                         .minimum = 6});
            if (found.placed()) {
                EXPECT_EQ(found.seats.size(), 6U);
                hold(found);
                runs[g] = true;
            }
        };
        while (arrived[0] + arrived[1] < 12) {
            const std::size_t g = rng.below(2);
            if (arrived[g] < 6) {
                ++arrived[g];
                try_gang(g);
                EXPECT_EQ(engine_->ledger().size(), runs[0] || runs[1] ? 6U : 0U);
            }
        }
        ASSERT_NE(runs[0], runs[1]);
        const std::size_t waits = runs[0] ? 1 : 0;
        for (const GangMember& member : all[1 - waits]) {
            engine_->drop(member.pod);
        }
        try_gang(waits);
        EXPECT_TRUE(runs[waits]);
    }
}

}  // namespace
}  // namespace tessera
