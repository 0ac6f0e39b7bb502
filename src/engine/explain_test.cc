#include "engine/explain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/rng.h"
#include "engine/engine.h"
#include "engine/test_cluster.h"
#include "policy/registry.h"

namespace tessera {
namespace {

using namespace testing_cluster;

std::vector<NodeSpec> three_nodes() {
    return {make_node("a"), make_node("b", {.gpus = 8}), make_node("c", {.gpus = 2})};
}

Engine make_engine(std::string_view policy) {
    return Engine(three_nodes(), *make_policy(policy, {}));
}

TEST(Explain, ShowsTheChosenNodeAndTheNextBest) {
    Engine engine = make_engine("binpack");
    ASSERT_TRUE(engine.arrive(PodIndex(0), engine.intern(make_demand({.milli = 400}))));
    const Decision why =
        explain(engine.placer_to_explain(), make_class({.milli = 500}), {.runners_up = 1});
    ASSERT_TRUE(why.placed());
    EXPECT_EQ(why.nodes, 3);
    EXPECT_EQ(why.nodes_fitting, 3);
    EXPECT_EQ(why.policy, "binpack");
    ASSERT_EQ(why.candidates.size(), 2U);
    EXPECT_EQ(why.candidates[0].node, NodeIndex(2));  // the least idle GPU
    EXPECT_EQ(why.candidates[0].score, -1600);
    EXPECT_EQ(why.candidates[1].node, NodeIndex(0));
    EXPECT_EQ(why.candidates[1].score, -4000);
    ASSERT_EQ(why.devices.taken.size(), 1U);
    EXPECT_EQ(why.devices.taken[0].idle, MilliGpu(600));
    EXPECT_EQ(why.devices.fitting, 2);
    EXPECT_TRUE(why.devices.tightest);
    EXPECT_FALSE(why.devices.emptiest);
}

TEST(Explain, TellsTheInputs) {
    Engine engine = make_engine("random");
    const Decision before = explain(engine.placer_to_explain(), make_class({}));
    EXPECT_EQ(before.seed, 42U);
    EXPECT_NE(before.draw, 0U);
    // Asking again uses nothing up and changes nothing.
    const Decision again = explain(engine.placer_to_explain(), make_class({}));
    EXPECT_EQ(again.draw, before.draw);
    EXPECT_EQ(again.placement, before.placement);
    EXPECT_EQ(again.sequence, before.sequence);
    ASSERT_TRUE(engine.arrive(PodIndex(0), engine.intern(make_class({}))));
    EXPECT_EQ(*engine.placement(PodIndex(0)), *before.placement);
    EXPECT_GT(explain(engine.placer_to_explain(), make_class({})).sequence, before.sequence);
}

TEST(Explain, ARunningPodIsScoredAsIfItWereNotThere) {
    Engine engine = make_engine("binpack");
    const Demand share = make_demand({.milli = 400});
    // Put where the policy would not put it.
    Placement placement;
    placement.node = NodeIndex(1);
    placement.cpu = share.cpu;
    placement.memory = share.memory;
    placement.grants.push_back({.request = RequestIndex::none(),
                                .gpu = GpuIndex(3),
                                .milli = MilliGpu(400),
                                .memory = MemoryMib(0)});
    ASSERT_TRUE(engine.adopt(PodIndex(7), engine.intern(share), placement));
    const RunningReport report = explain_running(engine.placer_to_explain(), share, placement,
                                                 engine.ledger().find(OwnerId::pod(7))->start);
    EXPECT_EQ(report.here.node, NodeIndex(1));
    EXPECT_EQ(report.here.score, -8000);
    EXPECT_EQ(report.better, 2);
    EXPECT_EQ(report.devices.taken[0].idle, MilliGpu(1000));
    EXPECT_EQ(report.anew.placement->node, NodeIndex(2));
    EXPECT_EQ(engine.placement(PodIndex(7))->node, NodeIndex(1));  // nothing was moved
}

TEST(Explain, ARunningPodMayNotFitOnItsNodeAnyMore) {
    for (const char* name : {"fgd", "tessera", "binpack"}) {
        SCOPED_TRACE(name);
        NodeSpec mixed = make_node("mixed");
        mixed.gpus[1].memory = MemoryMib(8'192);  // two kinds: scores look at each device
        Engine engine({mixed}, *make_policy(name, {}));
        const Demand share = make_demand({.milli = 400});
        const ClassIndex index = engine.intern(share);
        ASSERT_TRUE(engine.arrive(PodIndex(7), index));
        for (std::uint8_t gpu = 0; gpu < 4; ++gpu) {
            ASSERT_TRUE(engine.set_health(NodeIndex(0), GpuIndex(gpu), Health::no_new));
        }
        const RunningReport report =
            explain_running(engine.placer_to_explain(), share, *engine.placement(PodIndex(7)),
                            engine.ledger().find(OwnerId::pod(7))->start);
        EXPECT_FALSE(report.fits_here);
        EXPECT_EQ(report.here.node, NodeIndex(0));
        EXPECT_EQ(report.better, 0);
        EXPECT_FALSE(report.anew.placed());
    }
}

// The engine's choice, its explanation, and the order of what it explains agree.
TEST(Explain, TheSecondBestHasOneNodeBeforeIt) {
    Rng rng(11);
    Engine engine(
        {make_node("a"), make_node("b", {.gpus = 8}), make_node("c", {.gpus = 2}), make_node("d")},
        *make_policy("keti", {.keti = {.avoid_high_score = true}}));
    std::size_t seen = 0;
    std::size_t alone = 0;
    for (std::uint32_t pod = 0; pod < 120; ++pod) {
        const Demand demand = make_demand({.gpus = static_cast<int>(rng.below(2)) + 1,
                                           .milli = static_cast<int>(rng.below(5) + 1) * 100});
        const Decision why =
            explain(engine.placer_to_explain(), demand_class(demand), {.runners_up = 9});
        ASSERT_EQ(engine.arrive(PodIndex(pod), engine.intern(demand)), why.placed());
        if (!why.placed()) {
            continue;
        }
        ASSERT_EQ(engine.placement(PodIndex(pod))->node, why.candidates.front().node);
        const Candidate& chosen = why.candidates.front();
        const auto ahead = std::count_if(
            why.candidates.begin(), why.candidates.end(), [&](const Candidate& other) {
                return other.key > chosen.key ||
                       (other.key == chosen.key && other.node < chosen.node);
            });
        ASSERT_EQ(ahead, why.nodes_fitting > 1 ? 1 : 0);
        ++seen;
        alone += why.nodes_fitting == 1 ? 1 : 0;
    }
    EXPECT_GT(seen, 40U);
    EXPECT_GT(alone, 0U);
}

// The best is what is taken last, so a pod that runs there is told of all the others.
TEST(Explain, ARunningPodAndTheSecondBest) {
    Engine engine(three_nodes(), *make_policy("keti", {.keti = {.avoid_high_score = true}}));
    const Demand share = make_demand({.milli = 400});
    const Decision why = explain(engine.placer_to_explain(), share);
    ASSERT_EQ(why.candidates.size(), 3U);
    const std::int64_t expected[] = {0, 2, 1};  // the second, the best, the third
    for (std::uint32_t i = 0; i < 3; ++i) {
        Placement placement = *why.placement;
        placement.node = why.candidates[i].node;
        placement.grants[0].gpu = GpuIndex(0);
        ASSERT_TRUE(engine.adopt(PodIndex(i), engine.intern(share), placement));
        const RunningReport report = explain_running(engine.placer_to_explain(), share, placement,
                                                     engine.ledger().find(OwnerId::pod(i))->start);
        EXPECT_EQ(report.better, expected[i]);
        engine.depart(PodIndex(i));
    }
}

TEST(Explain, LinksOfSeveralGpusAreTold) {
    std::vector<NodeSpec> nodes{make_node("linked")};
    nodes[0].links = LinkMatrix(4);
    nodes[0].links.set(1, 2, {LinkLevel::nvlink, 4});
    nodes[0].links.set(0, 1, {LinkLevel::pcie_host, 0});
    Engine engine(std::move(nodes), *make_policy("bestfit", {}));
    const Decision why = explain(engine.placer_to_explain(), make_class({.gpus = 2}));
    ASSERT_TRUE(why.placed());
    EXPECT_EQ(why.devices.slowest_link, LinkLevel::nvlink);
}

// What a key says of the sum of terms that it was made from.
std::int64_t score_in_key(std::string_view policy, Key key) {
    if (policy == "tessera") {
        return std::int64_t{key >> 3} - (6 << 10);  // the low bits break ties
    }
    return policy == "fgd" ? std::int64_t{key} - 1 : std::int64_t{key} - (std::int64_t{1} << 31);
}

double terms_in_key_units(std::string_view policy, const Candidate& candidate) {
    return policy == "tessera" ? std::floor(candidate.score / 40) : candidate.score;
}

TEST(Explain, TermsSumToWhatTheKeyWasMadeFrom) {
    Rng rng(5);
    for (std::string_view policy :
         {"tessera", "fgd", "binpack", "spread", "bestfit", "bestfit-memory", "dotprod",
          "clustering", "packing", "gpushare", "exclusive"}) {
        std::vector<NodeSpec> nodes;
        for (int i = 0; i < 12; ++i) {
            nodes.push_back(
                make_node("n" + std::to_string(i), {.gpus = static_cast<int>(rng.below(8)) + 1}));
        }
        Engine engine(std::move(nodes), *make_policy(policy, {}));
        for (std::uint32_t pod = 0; pod < 60; ++pod) {
            const Ask ask{.gpus = static_cast<int>(rng.below(3)),
                          .milli = static_cast<int>(rng.below(10) + 1) * 100,
                          .gpu_mib = static_cast<std::int64_t>(rng.below(4)) * 1024,
                          .cpu_milli = static_cast<std::int64_t>(rng.below(6)) * 1000};
            const Decision why =
                explain(engine.placer_to_explain(), make_class(ask), {.runners_up = 20});
            for (const Candidate& candidate : why.candidates) {
                ASSERT_EQ(static_cast<double>(score_in_key(policy, candidate.key)),
                          terms_in_key_units(policy, candidate))
                    << policy << ", pod " << pod;
            }
            engine.arrive(PodIndex(pod), engine.intern(make_class(ask)));
        }
    }
}

}  // namespace
}  // namespace tessera
