// The bit rows say what the plain rule says (policy/assignment.h), for any node and class.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "base/rng.h"
#include "engine/class_placement.h"
#include "engine/cluster.h"
#include "engine/feasibility.h"
#include "engine/test_cluster.h"
#include "policy/assignment.h"
#include "policy/test_random.h"

namespace tessera {
namespace {

bool bit(const std::vector<std::uint64_t>& words, std::size_t column) {
    return ((words[column / 64] >> (column % 64)) & 1) != 0;
}

// Puts random classes on random nodes by the plain rule, so that states are ones that occur.
void fill(Cluster& cluster, const ClassTable& classes, Rng& rng) {
    std::uint64_t start = 0;
    for (int i = 0; i < 60; ++i) {
        const NodeIndex node(static_cast<std::uint32_t>(rng.below(cluster.size())));
        const DemandClass& c =
            classes[ClassIndex(static_cast<std::uint32_t>(rng.below(classes.size())))];
        DeviceList devices;
        const Catalog catalog = cluster.catalog(classes);
        if (!fits(cluster.node(node), c, catalog) ||
            !assign_devices(cluster.node(node), c, catalog, LinkMatrix(), devices)) {
            continue;
        }
        cluster.take(placement_of(c, cluster, node, devices), start++);
    }
}

TEST(FeasibilityProperty, RowsEqualThePlainRule) {
    std::size_t fitting = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        Rng rng(seed);
        Cluster cluster;
        for (int n = 0; n < 12; ++n) {
            cluster.add_node(testing::random_node(rng));
        }
        ClassTable classes;
        for (int i = 0; i < 80; ++i) {
            classes.intern(demand_class(testing::random_demand(rng)));
        }
        fill(cluster, classes, rng);
        // Columns in another order than classes, some of them free.
        std::vector<ClassIndex> columns;
        for (std::uint32_t c = static_cast<std::uint32_t>(classes.size()); c-- > 0;) {
            columns.push_back(ClassIndex(c));
            if (testing::one_in(rng, 4)) {
                columns.emplace_back();
            }
        }
        Feasibility feasibility;
        feasibility.rebuild(cluster.catalog(classes), columns);
        std::vector<std::uint64_t> row(feasibility.words());
        for (const NodeState& node : cluster.nodes()) {
            feasibility.evaluate(node, row.data());
            for (std::size_t column = 0; column < row.size() * 64; ++column) {
                const bool known = column < columns.size() && columns[column].valid();
                const bool plain =
                    known && fits(node, classes[columns[column]], cluster.catalog(classes));
                ASSERT_EQ(bit(row, column), plain) << "seed " << seed << ", column " << column;
                fitting += plain ? 1 : 0;
            }
        }
    }
    EXPECT_GT(fitting, 1000U);
}

// What is exactly enough fits, and one less does not: cores, memory, device milli, device memory.
TEST(FeasibilityProperty, ThresholdsAreInclusive) {
    Cluster cluster;
    NodeSpec spec = testing::node_spec(1, 8'000, 4'096);
    spec.gpus[0].memory = MemoryMib(16'384);
    const NodeIndex node = cluster.add_node(spec);
    ClassTable classes;
    Demand demand = testing::demand_of(8'000, {testing::gpu_request(1, 400, 8'192)});
    demand.memory = MemoryMib(4'096);
    const ClassIndex exact = classes.intern(demand_class(demand));
    Feasibility feasibility;
    feasibility.rebuild(cluster.catalog(classes), std::vector{exact});
    std::uint64_t row = 0;
    NodeState state = cluster.node(node);
    state.gpus[0].idle_milli = 400;
    state.gpus[0].free_memory_mib = 8'192;
    state.gpus[0].shares = 1;
    feasibility.evaluate(state, &row);
    EXPECT_EQ(row, 1U);
    const auto without = [&](auto change) {
        NodeState less = state;
        change(less);
        feasibility.evaluate(less, &row);
        return row;
    };
    EXPECT_EQ(without([](NodeState& s) { --s.free_cpu_milli; }), 0U);
    EXPECT_EQ(without([](NodeState& s) { --s.free_memory_mib; }), 0U);
    EXPECT_EQ(without([](NodeState& s) { --s.gpus[0].idle_milli; }), 0U);
    EXPECT_EQ(without([](NodeState& s) { --s.gpus[0].free_memory_mib; }), 0U);
    EXPECT_EQ(without([](NodeState& s) { s.gpus[0].free_slots = 0; }), 0U);
    EXPECT_EQ(without([](NodeState& s) { s.free_pods = 0; }), 0U);
    EXPECT_EQ(without([](NodeState& s) { s.schedulable = false; }), 0U);
}

}  // namespace
}  // namespace tessera
