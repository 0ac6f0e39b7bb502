#include "engine/diagnosis.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/ledger.h"
#include "engine/test_cluster.h"

namespace tessera {
namespace {

using namespace testing_cluster;

class DiagnosisTest : public ::testing::Test {
  protected:
    NodeIndex add(NodeSpec spec) { return *ledger_.add_node(std::move(spec)); }

    void hold(NodeIndex node, int gpu, int milli, std::int64_t mib = 0) {
        Placement placement;
        placement.node = node;
        placement.grants.push_back({.request = RequestIndex(0),
                                    .gpu = GpuIndex(static_cast<std::uint8_t>(gpu)),
                                    .milli = MilliGpu(milli),
                                    .memory = MemoryMib(mib)});
        ASSERT_TRUE(ledger_.assume(OwnerId::pod(next_pod_++), placement));
    }

    Refusal why(const DemandClass& asked) { return diagnose(ledger_.cluster(), classes_, asked); }
    NodeVerdict verdict(NodeIndex node, const DemandClass& asked) {
        return judge(ledger_.cluster(), ledger_.cluster().catalog(classes_), node, asked);
    }

    static const Fix* find(const Refusal& refusal, FixKind kind) {
        const auto found = std::find_if(refusal.fixes.begin(), refusal.fixes.end(),
                                        [&](const Fix& fix) { return fix.kind == kind; });
        return found == refusal.fixes.end() ? nullptr : &*found;
    }

    Ledger ledger_;
    ClassTable classes_;
    std::uint32_t next_pod_ = 0;
};

TEST_F(DiagnosisTest, CountsEveryNodeWhereAReasonHolds) {
    const NodeIndex a = add(make_node("a", {.gpus = 2}));
    const NodeIndex b = add(make_node("b", {.gpus = 2}));
    hold(a, 0, 1000);
    hold(a, 1, 300);
    hold(b, 0, 1000);
    hold(b, 1, 1000);
    const Refusal refusal = why(make_class({}));
    ASSERT_EQ(refusal.counts.size(), 2U);
    // On a the GPU in part use is nearest to fitting, but the other is held whole there too.
    for (const RefusalCount& count : refusal.counts) {
        EXPECT_EQ(count.nodes, 1);
        const bool held = count.code == RefusalCode::gpu_held_whole;
        EXPECT_EQ(count.nodes_any, held ? 2 : 1);
        EXPECT_EQ(count.gpus, held ? 3 : 1);
    }
}

TEST_F(DiagnosisTest, SaysByHowMuchMemoryIsShortAndWhere) {
    const NodeIndex a = add(make_node("a", {.gpus = 2}));
    const NodeIndex b = add(make_node("b", {.gpus = 2}));
    hold(a, 0, 100, 10'384);
    hold(a, 1, 100, 10'384);
    hold(b, 0, 100, 10'384);
    hold(b, 1, 100, 12'384);
    const Refusal refusal = why(make_class({.milli = 200, .gpu_mib = 8'048}));
    ASSERT_EQ(refusal.counts.size(), 1U);
    EXPECT_EQ(refusal.counts[0], (RefusalCount{RefusalCode::gpu_memory_insufficient, 2, 2, 4}));
    EXPECT_EQ(refusal.kind, RefusalKind::preemption_may_help);
    ASSERT_NE(find(refusal, FixKind::less_gpu_memory), nullptr);
    const Fix& fix = *find(refusal, FixKind::less_gpu_memory);
    EXPECT_EQ(fix.asked - fix.to, 2'048);
    EXPECT_EQ(fix.nodes, 2);
    EXPECT_EQ(fix.gpus, 3);
    EXPECT_EQ(refusal.fixes.front(), fix);  // the smallest change comes first
}

TEST_F(DiagnosisTest, ANodeIsRefusedForTheGpusNearestToFitting) {
    NodeSpec spec = make_node("mixed", {.gpus = 3});
    spec.gpus[0].model = kT4;
    spec.gpus[1].model = kT4;
    const NodeIndex node = add(std::move(spec));
    hold(node, 2, 900);
    const DemandClass one = make_class({.milli = 500, .models = {kA100}});
    EXPECT_EQ(verdict(node, one).first, RefusalCode::gpu_compute_insufficient);
    // Two need one of the T4s as well, which can never serve.
    const DemandClass two = make_class({.gpus = 2, .milli = 500, .models = {kA100}});
    EXPECT_EQ(verdict(node, two).first, RefusalCode::gpu_model_mismatch);
}

TEST_F(DiagnosisTest, NeverComesBeforeNotNow) {
    const NodeIndex node = add(make_node("small", {.cpu_milli = 4'000}));
    const NodeVerdict judged = verdict(node, make_class({.gpus = 8, .cpu_milli = 8'000}));
    EXPECT_TRUE(judged.reasons.has(RefusalCode::node_cpu_too_small));
    EXPECT_TRUE(judged.reasons.has(RefusalCode::gpu_count_insufficient));
    EXPECT_EQ(refusal_info(judged.first).kind, RefusalKind::never_here);
    EXPECT_EQ(why(make_class({.gpus = 8, .cpu_milli = 8'000})).kind, RefusalKind::never_here);
}

TEST_F(DiagnosisTest, AWholeGpuAmongPartUsedOnes) {
    const NodeIndex node = add(make_node("n", {.gpus = 2}));
    hold(node, 0, 300, 1'024);
    hold(node, 1, 1000);
    const Refusal refusal = why(make_class({.milli = 1000}));
    EXPECT_EQ(refusal.counts[0].code, RefusalCode::gpu_not_empty);
    const auto held = std::find_if(
        refusal.counts.begin(), refusal.counts.end(),
        [](const RefusalCount& count) { return count.code == RefusalCode::gpu_held_whole; });
    ASSERT_NE(held, refusal.counts.end());
    EXPECT_EQ(held->gpus, 1);
    const Fix* share = find(refusal, FixKind::less_gpu_compute);
    ASSERT_NE(share, nullptr);
    EXPECT_EQ(share->to, 700);
    // A pod that must be alone is not told to share.
    const Refusal alone =
        diagnose(ledger_.cluster(), classes_, make_class({.milli = 1000}), {.keep_whole = true});
    EXPECT_EQ(find(alone, FixKind::less_gpu_compute), nullptr);
}

TEST_F(DiagnosisTest, WaitingIsAnAnswerOnlyWhereItHelps) {
    const NodeIndex sick = add(make_node("sick", {.gpus = 1}));
    ASSERT_TRUE(ledger_.set_health(sick, GpuIndex(0), Health::no_new));
    NodeSpec cordoned = make_node("cordoned", {.gpus = 1});
    cordoned.schedulable = false;
    add(std::move(cordoned));
    const Refusal refusal = why(make_class({}));
    ASSERT_NE(find(refusal, FixKind::healthy_gpu), nullptr);
    EXPECT_EQ(find(refusal, FixKind::healthy_gpu)->nodes, 1);
    ASSERT_NE(find(refusal, FixKind::open_node), nullptr);
    EXPECT_EQ(find(refusal, FixKind::others_leave), nullptr);
    EXPECT_EQ(refusal.kind, RefusalKind::not_now);
    // A pod larger than any GPU waits in vain.
    const Refusal large = why(make_class({.milli = 500, .gpu_mib = 80'000}));
    EXPECT_EQ(large.kind, RefusalKind::never_here);
    EXPECT_EQ(find(large, FixKind::healthy_gpu), nullptr);
}

TEST_F(DiagnosisTest, SlotsAndClaimsAndGroups) {
    NodeSpec spec = make_node("n", {.gpus = 3});
    spec.gpus[0].slots = 1;
    spec.gpus[1].mode = AllocatorMode::claim;
    spec.gpus[2].numa = 1;
    const NodeIndex node = add(std::move(spec));
    hold(node, 0, 100, 100);
    hold(node, 2, 950, 100);
    const DemandClass share = make_class({.milli = 100, .gpu_mib = 100});
    const Refusal refusal = why(share);
    EXPECT_EQ(refusal.counts[0].code, RefusalCode::gpu_compute_insufficient);
    EXPECT_EQ(refusal.counts.size(), 3U);

    const NodeIndex apart = add([] {
        NodeSpec two = make_node("apart", {.gpus = 2});
        two.gpus[1].numa = 1;
        return two;
    }());
    Demand together = make_demand({.gpus = 2});
    together.alternatives[0].requests[0].rule = GroupRule::same;
    together.alternatives[0].requests[0].rule_attribute = kAttributeNuma;
    EXPECT_EQ(verdict(apart, demand_class(together)).first, RefusalCode::gpu_topology_unsatisfied);
}

TEST_F(DiagnosisTest, GroupsAreJudgedTogether) {
    const NodeIndex a = add(make_node("a", {.gpus = 2}));
    add(make_node("b", {.gpus = 2}));
    hold(a, 0, 500);
    const Catalog catalog = ledger_.cluster().catalog(classes_);
    const DemandClass whole = make_class({});
    EXPECT_TRUE(judge_gang(ledger_.cluster(), catalog, whole, 3).fits);
    const GangVerdict four = judge_gang(ledger_.cluster(), catalog, whole, 4);
    EXPECT_FALSE(four.fits);
    EXPECT_EQ(four.members_now, 3);
    EXPECT_EQ(four.code, RefusalCode::gang_incomplete);
    EXPECT_EQ(judge_gang(ledger_.cluster(), catalog, whole, 5).code, RefusalCode::gang_too_large);
}

TEST_F(DiagnosisTest, ACordonedNodeHoldsNoMemberNowAndOneWhenItIsOpened) {
    add(make_node("a", {.gpus = 2}));
    NodeSpec cordoned = make_node("cordoned", {.gpus = 2});
    NodeTaint closed;
    closed.cordon = true;
    cordoned.traits.taints = {closed};
    add(std::move(cordoned));
    const Catalog catalog = ledger_.cluster().catalog(classes_);
    const GangVerdict four = judge_gang(ledger_.cluster(), catalog, make_class({}), 4);
    EXPECT_EQ(four.members_now, 2);
    EXPECT_EQ(four.members_empty, 4);
    EXPECT_EQ(four.code, RefusalCode::gang_incomplete);
}

TEST(RefusalTable, NamesAndSentencesAreThereOnce) {
    std::vector<std::string_view> names;
    for (const RefusalInfo& info : refusal_table()) {
        EXPECT_FALSE(info.sentence.empty());
        names.push_back(info.name);
    }
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
    EXPECT_EQ(refusal_info(RefusalCode::gpu_unhealthy).name, "GpuUnhealthy");
}

}  // namespace
}  // namespace tessera
