#include "sim/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

namespace tessera {
namespace {

using testing::HasSubstr;

std::vector<TracePod> pods_of(const std::string& kind, std::size_t count = 40000) {
    Interner<ModelIndex> models;
    auto trace = generate_pods({kind, count, 7}, models);
    EXPECT_TRUE(trace.has_value()) << trace.error().message;
    return trace->pods;
}

struct Totals {
    double gpus = 0, cores = 0, gib = 0, share_gpus = 0, multi_gpus = 0;
    double cpu_only = 0, restricted = 0, pods = 0;
};

Totals totals(const std::vector<TracePod>& pods) {
    Totals sum;
    for (const TracePod& pod : pods) {
        const double gpus = static_cast<double>(pod.gpu_milli_total()) / 1000;
        sum.pods += 1;
        sum.gpus += gpus;
        sum.cores += static_cast<double>(pod.cpu.value()) / 1000;
        sum.gib += static_cast<double>(pod.memory.value()) / 1024;
        sum.share_gpus += pod.gpu_milli < kWholeGpu ? gpus : 0;
        sum.multi_gpus += pod.gpus > 1 ? gpus : 0;
        sum.cpu_only += pod.gpus == 0 ? 1 : 0;
        sum.restricted += pod.models.empty() ? 0 : 1;
    }
    return sum;
}

// The published list: 6,087 GPUs in 8,152 pods, 28.5 % of the demand in shares, 7.3 % in pods of
// several GPUs, 13.3 % of the pods CPU-only, 14.0 cores and 48.7 GiB per GPU.
TEST(Generate, OpenbMatchesThePublishedFigures) {
    const Totals sum = totals(pods_of("openb"));
    EXPECT_NEAR(sum.gpus / sum.pods, 6087.0 / 8152, 0.02);
    EXPECT_NEAR(sum.share_gpus / sum.gpus, 0.285, 0.01);
    EXPECT_NEAR(sum.multi_gpus / sum.gpus, 0.073, 0.015);
    EXPECT_NEAR(sum.cpu_only / sum.pods, 0.133, 0.01);
    EXPECT_NEAR(sum.cores / sum.gpus, 14.0, 0.3);
    EXPECT_NEAR(sum.gib / sum.gpus, 48.7, 1.5);
}

TEST(Generate, VariantsHitTheirShares) {
    for (const int percent : {40, 100}) {
        const Totals sum = totals(pods_of(fmt::format("gpushare{}", percent)));
        EXPECT_NEAR(sum.share_gpus / sum.gpus, percent / 100.0, 0.01) << percent;
        EXPECT_NEAR(sum.cpu_only / sum.pods, 0.133, 0.01);
    }
    for (const int percent : {20, 50}) {
        const Totals sum = totals(pods_of(fmt::format("multigpu{}", percent)));
        EXPECT_NEAR(sum.multi_gpus / sum.gpus, percent / 100.0, 0.02) << percent;
    }
    const Totals cpu = totals(pods_of("cpu250"));
    EXPECT_NEAR(cpu.cpu_only / cpu.pods, 0.25, 0.01);
    const Totals spec = totals(pods_of("gpuspec33"));
    EXPECT_NEAR(spec.restricted / (spec.pods - spec.cpu_only), 0.33, 0.01);
}

TEST(Generate, SizesFollowTheirTables) {
    std::map<std::int64_t, double> llm;
    for (const TracePod& pod : pods_of("llm")) {
        llm[pod.gpu_milli_total()] += 1.0 / 40000;
    }
    EXPECT_NEAR(llm[250], 0.20, 0.01);
    EXPECT_NEAR(llm[8000], 0.08, 0.01);
    double eights = 0;
    double small = 0;
    for (const TracePod& pod : pods_of("notebooks")) {
        eights += pod.gpus == 8 ? 1.0 / 40000 : 0;
        small += pod.gpu_milli <= MilliGpu(200) ? 1.0 / 40000 : 0;
    }
    EXPECT_NEAR(eights, 0.005, 0.002);
    EXPECT_NEAR(small, 0.80, 0.01);
    for (const TracePod& pod : pods_of("sevenths", 1000)) {
        EXPECT_TRUE(pod.gpu_milli.value() % 142 == 0 || pod.gpu_milli == kWholeGpu);
    }
}

TEST(Generate, PhillyHasTimesInOrder) {
    double before = 0;
    for (const TracePod& pod : pods_of("philly", 1000)) {
        ASSERT_TRUE(pod.submit_s && pod.duration_s);
        EXPECT_GE(*pod.submit_s, before);
        EXPECT_GT(*pod.duration_s, 0);
        before = *pod.submit_s;
    }
}

TEST(Generate, SameSeedSamePods) {
    EXPECT_EQ(pods_of("gpuspec20", 500), pods_of("gpuspec20", 500));
    Interner<ModelIndex> models;
    EXPECT_NE(generate_pods({"openb", 500, 1}, models)->pods,
              generate_pods({"openb", 500, 2}, models)->pods);
}

TEST(Generate, RefusesUnknownKindsAndSizes) {
    Interner<ModelIndex> models;
    for (const char* kind : {"", "openb2", "gpushare", "gpushare101", "gpushare-5", "cpu1000"}) {
        EXPECT_FALSE(is_workload_kind(kind)) << kind;
        EXPECT_THAT(generate_pods({kind, 10, 1}, models).error().message, HasSubstr("llm"));
    }
    EXPECT_FALSE(generate_pods({"openb", 0, 1}, models).has_value());
}

TEST(Generate, NodeListsHaveThePublishedTotals) {
    Interner<ModelIndex> models;
    const auto count = [&](std::string_view name) {
        const auto nodes = generate_nodes(name, models);
        EXPECT_TRUE(nodes.has_value());
        const auto gpus = std::accumulate(
            nodes->begin(), nodes->end(), std::size_t{0},
            [](std::size_t sum, const NodeSpec& node) { return sum + node.gpus.size(); });
        return std::pair(nodes->size(), gpus);
    };
    EXPECT_EQ(count("openb"), std::pair(std::size_t{1213}, std::size_t{6212}));
    EXPECT_EQ(count("spot"), std::pair(std::size_t{4278}, std::size_t{10412}));
    EXPECT_EQ(count("spot-quarter").first, 1069U);
    EXPECT_EQ(count("3x4g48c384Gi"), std::pair(std::size_t{3}, std::size_t{12}));
}

}  // namespace
}  // namespace tessera
