// The published runs of FGD's experiments (Weng et al., ATC 2023), repeated integer for integer.
//
// Needs the traces: TESSERA_TRACES names a directory with openb/ (the CSV lists) and openb/orders/
// (the authors' arrival and node orders with their end states). Without it nothing is registered.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <tuple>

#include "codec/csv.h"
#include "policy/registry.h"
#include "sim/file.h"
#include "sim/inflate.h"

namespace tessera {
namespace {

struct PublishedPolicy {
    std::string_view theirs;
    std::string_view ours;
};
constexpr auto kPolicies = std::to_array<PublishedPolicy>({{"DotProd", "dotprod"},
                                                           {"GpuClustering", "clustering"},
                                                           {"GpuPacking", "packing"},
                                                           {"BestFit", "bestfit"},
                                                           {"FGD", "fgd-published"}});
constexpr auto kWorkloads =
    std::to_array<std::string_view>({"default", "gpuspec33", "multigpu50", "cpu250"});
constexpr auto kOrderWorkloads = std::to_array<std::string_view>(
    {"default", "gpushare40", "gpushare60", "gpushare80", "gpushare100", "multigpu20", "multigpu30",
     "multigpu40", "multigpu50", "gpuspec10", "gpuspec20", "gpuspec25", "gpuspec33", "cpu050",
     "cpu100", "cpu200", "cpu250"});
constexpr int kFirstSeed = 42;
constexpr int kFirstOtherSeed = 200;  // drawn by the same program, never published
#ifdef TESSERA_DEBUG
constexpr int kSeeds = 1;  // ten times as slow, and the same code for each seed
#else
constexpr int kSeeds = 10;
#endif

std::string openb_directory() {
    const char* traces = std::getenv("TESSERA_TRACES");
    const std::string directory = traces == nullptr ? "" : std::string(traces) + "/openb";
    return file_exists(directory + "/orders/end_states.csv") ? directory : "";
}

// A table by header name: (workload, policy, seed) -> column -> text.
using RunName = std::tuple<std::string, std::string, std::string>;
using Cells = std::map<std::string, std::string>;

std::map<RunName, Cells> read_end_states() {
    std::map<RunName, Cells> states;
    const auto text = read_file(openb_directory() + "/orders/end_states.csv");
    EXPECT_TRUE(text.has_value());
    CsvReader reader(*text);
    CsvRow header;
    CsvRow row;
    std::string error;
    reader.next(header, error);
    while (reader.next(row, error)) {
        Cells cells;
        for (std::size_t i = 0; i < header.fields.size(); ++i) {
            cells[header.fields[i].text] = row.fields.at(i).text;
        }
        states[{cells["workload"], cells["policy"], cells["seed"]}] = cells;
    }
    return states;
}

struct Inputs {
    std::vector<NodeSpec> nodes;
    Workload workload;
};

Inputs read_inputs(std::string_view name) {
    const std::string directory = openb_directory();
    Interner<ModelIndex> models;
    const auto node_text = read_file(directory + "/openb_node_list_gpu_node.csv");
    const auto pod_text = read_file(fmt::format("{}/openb_pod_list_{}.csv", directory, name));
    EXPECT_TRUE(node_text && pod_text);
    auto nodes = read_node_trace(*node_text, {"nodes", false}, models);
    auto pods = read_pod_trace(*pod_text, {"pods", false}, models);
    EXPECT_TRUE(nodes && pods);
    return {std::move(nodes->nodes), make_workload(std::string(name), std::move(*pods))};
}

using Case = std::tuple<std::string_view, PublishedPolicy>;
class Published : public testing::TestWithParam<Case> {};

// In the order that the published run drew.
Expected<InflateRun> run_as_published(const Inputs& inputs, const Case& tried, int seed,
                                      const InflateOptions& options) {
    const auto& [name, policy] = tried;
    const auto number = static_cast<std::uint64_t>(seed);
    TESSERA_TRY(const RunOrder order,
                read_run_order({openb_directory() + "/orders", std::string(name), number},
                               inputs.workload, inputs.nodes.size()));
    TESSERA_TRY(auto made, make_policy(policy.ours, {inputs.workload.mix}));
    return run_inflate({&inputs.workload, &inputs.nodes, number, nullptr}, order, std::move(made),
                       options);
}

void expect_equal(const InflateRun& run, const Cells& expected) {
    const auto number = [&](const char* column) { return std::stoll(expected.at(column)); };
    EXPECT_EQ(run.at_capacity.gpu_milli, number("gpu_milli_at_100"));
    EXPECT_EQ(run.at_capacity.core_milli, number("cpu_milli_at_100"));
    EXPECT_EQ(run.at_capacity.refused, number("refused_at_100"));
    EXPECT_EQ(run.end.gpu_milli, number("gpu_milli_end"));
    EXPECT_EQ(run.gpus_touched, number("gpus_touched_end"));
    EXPECT_EQ(run.end.core_milli, number("cpu_milli_end"));
    EXPECT_EQ(run.end.memory_mib, number("memory_mib_end"));
    EXPECT_EQ(run.end.refused, number("refused_end"));
    EXPECT_EQ(run.arrived_milli, number("gpu_milli_arrived"));
    EXPECT_EQ(run.arrivals, number("arrivals"));
    EXPECT_DOUBLE_EQ(run.allocated.at(100), std::stod(expected.at("alloc_pct_at_100")));
    EXPECT_DOUBLE_EQ(run.allocated.at(130), std::stod(expected.at("alloc_pct_at_130")));
}

TEST_P(Published, EndStatesAreEqual) {
    const auto& [name, policy] = GetParam();
    const Inputs inputs = read_inputs(name);
    const auto states = read_end_states();
    for (int seed = kFirstSeed; seed < kFirstSeed + kSeeds; ++seed) {
        SCOPED_TRACE(fmt::format("{} {} seed {}", name, policy.ours, seed));
        const auto run = run_as_published(inputs, GetParam(), seed, {});
        ASSERT_TRUE(run.has_value()) << run.error().message;
        expect_equal(
            *run, states.at({std::string(name), std::string(policy.theirs), std::to_string(seed)}));
    }
}

// Row of a published result file: values at 0, 1, ... 130 % arrived demand.
std::vector<double> published_curve(const std::string& file, std::string_view workload,
                                    std::string_view policy, std::uint64_t seed) {
    const auto text = read_file(openb_directory() + "/expected_results/" + file);
    EXPECT_TRUE(text.has_value());
    CsvReader reader(*text);
    CsvRow header;
    CsvRow row;
    std::string error;
    reader.next(header, error);
    std::vector<double> values;
    while (reader.next(row, error)) {
        const bool wanted = row.fields[0].text == fmt::format("openb_pod_list_{}", workload) &&
                            row.fields[1].text.ends_with(policy) &&
                            row.fields[3].text == std::to_string(seed);
        for (std::size_t i = 0; wanted && i < row.fields.size(); ++i) {
            if (header.fields[i].text.find_first_not_of("0123456789") == std::string::npos) {
                values.push_back(std::stod(row.fields[i].text));
            }
        }
    }
    return values;
}

// The orders that a seed draws are those of the authors' program, pod by pod and node by node: the
// published runs can be repeated with the lists alone.
class PublishedOrders : public testing::TestWithParam<std::string_view> {};

TEST_P(PublishedOrders, AreDrawn) {
    const Inputs inputs = read_inputs(GetParam());
    for (const int first : {kFirstSeed, kFirstOtherSeed}) {
        for (int seed = first; seed < first + kSeeds; ++seed) {
            const auto number = static_cast<std::uint64_t>(seed);
            const auto read =
                read_run_order({openb_directory() + "/orders", std::string(GetParam()), number},
                               inputs.workload, inputs.nodes.size());
            ASSERT_TRUE(read.has_value()) << read.error().message;
            const RunOrder drawn = draw_order(inputs.workload, inputs.nodes, {number, 1.3});
            EXPECT_EQ(drawn.arrivals, read->arrivals) << seed;
            EXPECT_EQ(drawn.nodes, read->nodes) << seed;
        }
    }
}

// The whole curves of allocated and fragmented GPU, all 131 columns to their two decimals.
TEST_P(Published, CurvesAreEqual) {
    const auto& [name, policy] = GetParam();
    const Inputs inputs = read_inputs(name);
    const auto run = run_as_published(inputs, GetParam(), kFirstSeed, {.fragmentation = true});
    ASSERT_TRUE(run.has_value()) << run.error().message;
    const auto allocated =
        published_curve("analysis_allo_discrete.csv", name, policy.theirs, kFirstSeed);
    const auto fragmented =
        published_curve("analysis_frag_discrete.csv", name, policy.theirs, kFirstSeed);
    ASSERT_EQ(allocated.size(), 131U);
    ASSERT_EQ(fragmented.size(), 131U);
    for (int percent = 0; percent <= 130; ++percent) {
        const auto at = static_cast<std::size_t>(percent);
        EXPECT_DOUBLE_EQ(run->allocated.at(percent), allocated[at]) << percent;
        EXPECT_DOUBLE_EQ(run->fragmented.at(percent), fragmented[at]) << percent;
    }
}

std::vector<Case> cases() {
    std::vector<Case> all;
    if (!openb_directory().empty()) {
        for (const std::string_view workload : kWorkloads) {
            for (const PublishedPolicy& policy : kPolicies) {
                all.emplace_back(workload, policy);
            }
        }
    }
    return all;
}

std::vector<std::string_view> order_cases() {
    return openb_directory().empty()
               ? std::vector<std::string_view>()
               : std::vector<std::string_view>(kOrderWorkloads.begin(), kOrderWorkloads.end());
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PublishedOrders);
INSTANTIATE_TEST_SUITE_P(Openb, PublishedOrders, testing::ValuesIn(order_cases()),
                         [](const auto& test) { return std::string(test.param); });

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Published);
INSTANTIATE_TEST_SUITE_P(Openb, Published, testing::ValuesIn(cases()), [](const auto& test) {
    std::string name = fmt::format("{}_{}", std::get<0>(test.param), std::get<1>(test.param).ours);
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

}  // namespace
}  // namespace tessera
