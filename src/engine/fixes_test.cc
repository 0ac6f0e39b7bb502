#include "engine/fixes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/ledger.h"
#include "engine/test_cluster.h"

namespace tessera {
namespace {

using namespace testing_cluster;

class FixesTest : public ::testing::Test {
  protected:
    std::vector<Fix> fixes(const Ask& ask, const DiagnosisOptions& options = {}) {
        const Cluster& cluster = ledger_.cluster();
        return find_fixes(cluster, cluster.catalog(classes_), make_class(ask), options);
    }
    static const Fix* find(const std::vector<Fix>& fixes, FixKind kind) {
        const auto found = std::ranges::find(fixes, kind, &Fix::kind);
        return found == fixes.end() ? nullptr : &*found;
    }
    void hold(NodeIndex node, int gpu, int milli) {
        ASSERT_TRUE(ledger_.assume(OwnerId::pod(next_++),
                                   pod_on(node, {{.request = RequestIndex(0),
                                                  .gpu = GpuIndex(static_cast<std::uint8_t>(gpu)),
                                                  .milli = MilliGpu(milli),
                                                  .memory = MemoryMib(0)}})));
    }

    Ledger ledger_;
    ClassTable classes_;
    std::uint32_t next_ = 0;
};

TEST_F(FixesTest, TheLargestAmountThatFits) {
    ASSERT_TRUE(ledger_.add_node(make_node("a", {.gpus = 2})));
    ASSERT_TRUE(ledger_.add_node(make_node("b", {.gpus = 3, .cpu_milli = 8000})));
    struct Case {
        Ask ask;
        FixKind kind;
        std::int64_t to;
        std::int64_t nodes;
    };
    for (const Case& one : std::vector<Case>{
             {{.cpu_milli = 40'000}, FixKind::less_cpu, 32'000, 1},
             {{.memory_mib = 200'000}, FixKind::less_memory, 131'072, 2},
             {{.milli = 500, .gpu_mib = 20'000}, FixKind::less_gpu_memory, 16'384, 2},
             {{.gpus = 4}, FixKind::fewer_gpus, 3, 1},
         }) {
        const std::vector<Fix> found = fixes(one.ask);
        const Fix* fix = find(found, one.kind);
        ASSERT_NE(fix, nullptr) << to_string(one.kind);
        EXPECT_EQ(fix->to, one.to) << to_string(one.kind);
        EXPECT_EQ(fix->nodes, one.nodes) << to_string(one.kind);
    }
}

TEST_F(FixesTest, SharesModelsAndWaiting) {
    const NodeIndex a = *ledger_.add_node(make_node("a", {.gpus = 1}));
    ASSERT_TRUE(ledger_.add_node(make_node("b", {.gpus = 1, .model = kT4})));
    hold(a, 0, 300);
    const std::vector<Fix> found = fixes({.models = {kA100}});
    ASSERT_NE(find(found, FixKind::less_gpu_compute), nullptr);
    EXPECT_EQ(find(found, FixKind::less_gpu_compute)->to, 700);
    ASSERT_NE(find(found, FixKind::other_model), nullptr);
    EXPECT_EQ(find(found, FixKind::other_model)->model, kT4);
    ASSERT_NE(find(found, FixKind::others_leave), nullptr);
    const std::vector<Fix> whole = fixes({.models = {kA100}}, {.keep_whole = true});
    EXPECT_EQ(find(whole, FixKind::less_gpu_compute), nullptr);
}

TEST_F(FixesTest, WhatNeverFitsNeverDoes) {
    ASSERT_TRUE(ledger_.add_node(make_node("a", {.gpus = 2})));
    const Cluster& cluster = ledger_.cluster();
    EXPECT_TRUE(fits_ever(cluster, cluster.catalog(classes_), make_class({.gpus = 2})));
    EXPECT_FALSE(fits_ever(cluster, cluster.catalog(classes_), make_class({.gpus = 3})));
    EXPECT_TRUE(fixes({.gpus = 3, .cpu_milli = 40'000}).empty()) << "two changes are no single one";
}

TEST_F(FixesTest, AFixIsAppliedToWhatWasAsked) {
    const DemandClass asked = make_class({.gpus = 2, .milli = 500, .gpu_mib = 1000});
    EXPECT_EQ(apply_fix(asked, {.kind = FixKind::less_cpu, .to = 7}).cpu, MilliCpu(7));
    EXPECT_EQ(apply_fix(asked, {.kind = FixKind::less_memory, .to = 7}).memory, MemoryMib(7));
    EXPECT_EQ(apply_fix(asked, {.kind = FixKind::fewer_gpus, .to = 1}).gpus, 1);
    EXPECT_EQ(apply_fix(asked, {.kind = FixKind::less_gpu_compute, .to = 9}).milli, MilliGpu(9));
    EXPECT_EQ(apply_fix(asked, {.kind = FixKind::less_gpu_memory, .to = 9}).gpu_memory,
              MemoryMib(9));
    EXPECT_EQ(apply_fix(asked, {.kind = FixKind::others_leave}), asked);
}

}  // namespace
}  // namespace tessera
