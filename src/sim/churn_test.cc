#include "sim/churn.h"

#include <gtest/gtest.h>

#include "sim/sim_fixture.h"

namespace tessera {
namespace {

TEST(Churn, IntegratesAllocationAndCountsRefusals) {
    const auto nodes = test_nodes("1x1g96c768Gi");
    const Workload workload = test_workload({test_pod(1, 1000)});
    Stream stream;
    stream.nodes = {0};
    // Measured from the second arrival (60 % of 4 rounded down leaves out one).
    stream.arrivals = {{1, 2, 0}, {2, 5, 0}, {4, 3, 0}, {6, 1, 0}};
    const ChurnRun run =
        run_churn({&workload, &nodes, 1, nullptr}, stream, test_policy("bestfit", workload));
    // From 2 to 6: busy until 3, idle until 4, busy until 6. The second and the last are refused.
    EXPECT_DOUBLE_EQ(run.alloc_percent, 75);
    EXPECT_EQ(run.by_size[2].offered, 3);
    EXPECT_EQ(run.by_size[2].refused, 2);
    EXPECT_DOUBLE_EQ(run.refused_gpu_percent, 200.0 / 3);
}

TEST(Churn, ErlangLossOnOneNode) {
    // 8 servers offered 8 Erlang: Erlang's formula gives 23.56 % blocked.
    const auto nodes = test_nodes("1x8g96c768Gi");
    const Workload workload = test_workload({test_pod(1, 1000)});
    const auto stream = draw_stream(workload, nodes, {5, 1.0, 60000, Lifetimes::exp});
    const ChurnRun run =
        run_churn({&workload, &nodes, 5, nullptr}, *stream, test_policy("bestfit", workload));
    EXPECT_NEAR(run.refused_gpu_percent, 23.56, 0.8);
    EXPECT_NEAR(run.alloc_percent, 100 - 23.56, 0.8);
}

}  // namespace
}  // namespace tessera
