#include "engine/admission.h"

#include <gtest/gtest.h>

#include <memory>

#include "engine/diagnosis.h"
#include "engine/obstacles.h"
#include "engine/test_cluster.h"

namespace tessera {
namespace {

using namespace testing_cluster;

constexpr LabelKey kZone{0};
constexpr LabelKey kGpu{1};
constexpr LabelValue kX{0};
constexpr LabelValue kY{1};

class AdmissionTest : public ::testing::Test {
  protected:
    NodeIndex add(const NodeTraits& traits) {
        NodeSpec spec = make_node("n");
        spec.traits = traits;
        return cluster_.add_node(std::move(spec));
    }
    void change(NodeIndex node, const NodeTraits& traits) {
        NodeSpec spec = cluster_.spec(node);
        spec.traits = traits;
        cluster_.update_node(node, std::move(spec));
    }
    ClassIndex intern(const NodeFilter& filter) {
        DemandClass wanted = make_class({});
        wanted.filter = filters_->intern(filter);
        return classes_.intern(wanted);
    }
    std::uint64_t admitted(Admission& admission, NodeIndex node) {
        std::uint64_t set = ~std::uint64_t{0};
        admission.restrict(node, std::span(&set, 1));
        return set;
    }

    std::shared_ptr<FilterTable> filters_ = std::make_shared<FilterTable>();
    Cluster cluster_{{.filters = filters_}};
    ClassTable classes_;
};

TEST_F(AdmissionTest, CostsNothingUntilItCanMatter) {
    const NodeIndex node = add({.labels = {{kZone, kX}}});
    const ClassIndex any = intern({});
    const ClassIndex tolerant = intern({.tolerations = {{}}});
    Admission admission(cluster_, classes_);
    admission.reset(std::vector{any, tolerant}, 8);
    EXPECT_EQ(admitted(admission, node), ~std::uint64_t{0});
    EXPECT_FALSE(admission.in_use());

    change(node, {.labels = {{kZone, kX}}, .taints = {{kGpu, kX}}});
    EXPECT_EQ(admitted(admission, node), 0b10U);
    EXPECT_TRUE(admission.in_use());
    change(node,
           {.labels = {{kZone, kX}}, .taints = {{kGpu, kX, TaintEffect::prefer_no_schedule}}});
    EXPECT_EQ(admitted(admission, node), ~std::uint64_t{0});
    EXPECT_FALSE(admission.in_use());
}

TEST_F(AdmissionTest, NodesJoinWhileRowsAreInUse) {
    const NodeIndex first = add({.taints = {{kGpu, kX}}});
    Admission admission(cluster_, classes_);
    admission.reset(std::vector{intern({}), intern({.tolerations = {{}}})}, 8);
    const NodeIndex plain = add({});  // like any before it, but for the taint
    EXPECT_EQ(admitted(admission, plain), 0b11U);
    const NodeIndex tainted = add({.taints = {{kGpu, kY}}});
    // A column that is given before anybody asked about the new node.
    admission.set_column(0, intern({.tolerations = {{.key = kGpu, .value = kY}}}));
    EXPECT_EQ(admitted(admission, tainted), 0b11U);
    EXPECT_EQ(admitted(admission, plain), 0b11U);
    EXPECT_EQ(admitted(admission, first), 0b10U);
}

TEST_F(AdmissionTest, ColumnsComeAndGo) {
    const NodeIndex here = add({.labels = {{kZone, kX}}});
    const NodeIndex there = add({.labels = {{kZone, kY}}});
    const ClassIndex any = intern({});
    Admission admission(cluster_, classes_);
    admission.reset(std::vector{any, ClassIndex()}, 8);
    admission.set_column(1, intern({.selector = {{kZone, kX}}}));
    EXPECT_EQ(admitted(admission, here), 0b11U);
    EXPECT_EQ(admitted(admission, there), 0b01U);
    admission.set_column(0, intern({.selector = {{kZone, kY}}}));
    EXPECT_EQ(admitted(admission, here), 0b10U);
    EXPECT_EQ(admitted(admission, there), 0b01U);
    change(there, {.labels = {{kZone, kX}}});
    EXPECT_EQ(admitted(admission, there), 0b10U);
    EXPECT_EQ(admitted(admission, here), 0b10U);
}

TEST_F(AdmissionTest, RefusalsNameWhatStandsInTheWayOnMostNodes) {
    const NodeTaint only{kGpu, kX};
    for (int i = 0; i < 3; ++i) {
        add({.labels = {{kZone, kX}}, .taints = {only}});
    }
    add({.labels = {{kZone, kX}}, .taints = {{kGpu, kY}}});
    add({.labels = {{kZone, kY}}});
    DemandClass asked = make_class({});
    asked.filter = filters_->intern({.selector = {{kZone, kX}}});
    const Refusal why = diagnose(cluster_, classes_, asked);
    ASSERT_EQ(why.counts.size(), 2U);
    EXPECT_EQ(why.counts[0].code, RefusalCode::node_tainted);
    EXPECT_EQ(why.counts[0].nodes, 4);
    EXPECT_EQ(why.counts[0].obstacle, (Obstacle{kGpu, kX, TaintEffect::no_schedule}));
    EXPECT_EQ(why.counts[0].obstacle_nodes, 3);
    EXPECT_EQ(why.counts[1].code, RefusalCode::node_selector_mismatch);
    EXPECT_EQ(why.counts[1].obstacle, (Obstacle{kZone, kX}));
    EXPECT_EQ(why.kind, RefusalKind::never_here);
    ASSERT_EQ(why.fixes.size(), 3U);
    EXPECT_EQ(why.fixes[0].kind, FixKind::without_selector);
    EXPECT_EQ(why.fixes[0].nodes, 1);
    EXPECT_EQ(why.fixes[1].kind, FixKind::tolerate_taint);
    EXPECT_EQ(why.fixes[1].value, kX);
    EXPECT_EQ(why.fixes[1].nodes, 3);
    EXPECT_EQ(why.fixes[2].nodes, 1);
}

// A taint on half of the nodes is not the reason for most of them.
TEST_F(AdmissionTest, NoObstacleIsNamedWhereTheyDiffer) {
    add({.taints = {{kGpu, kX}}});
    add({.taints = {{kGpu, kY}}});
    const Refusal why = diagnose(cluster_, classes_, make_class({}));
    EXPECT_EQ(why.counts.at(0).obstacle, std::nullopt);
}

TEST_F(AdmissionTest, ACordonPassesAndIsNoTaintToTolerate) {
    add({.taints = {{kGpu, kX, TaintEffect::no_schedule, true}}});
    const Refusal why = diagnose(cluster_, classes_, make_class({}));
    EXPECT_EQ(why.counts.at(0).code, RefusalCode::node_unschedulable);
    EXPECT_EQ(why.kind, RefusalKind::not_now);
    ASSERT_EQ(why.fixes.size(), 1U);
    EXPECT_EQ(why.fixes[0].kind, FixKind::open_node);
}

TEST_F(AdmissionTest, PinsAndAffinityAreToldApart) {
    add({.name = kX});
    DemandClass pinned = make_class({});
    pinned.filter = filters_->intern({.node = kY});
    Refusal why = diagnose(cluster_, classes_, pinned);
    EXPECT_EQ(why.counts.at(0).code, RefusalCode::node_name_mismatch);
    EXPECT_EQ(why.counts[0].obstacle, (Obstacle{.value = kY}));
    EXPECT_EQ(why.fixes.at(0).kind, FixKind::without_pin);
    pinned.filter = filters_->intern({.terms = {{{.key = kZone, .op = LabelOperator::exists}}}});
    why = diagnose(cluster_, classes_, pinned);
    EXPECT_EQ(why.counts.at(0).code, RefusalCode::node_affinity_mismatch);
    EXPECT_EQ(why.counts[0].obstacle, (Obstacle{.key = kZone}));
    EXPECT_EQ(why.fixes.at(0).kind, FixKind::without_affinity);
}

}  // namespace
}  // namespace tessera
