#include "sim/inflate.h"

#include <gtest/gtest.h>

#include "sim/fragmentation.h"
#include "sim/sim_fixture.h"

namespace tessera {
namespace {

RunOrder in_order(const Workload& workload, std::size_t nodes) {
    RunOrder order;
    for (std::uint32_t i = 0; i < workload.pods.size(); ++i) {
        order.arrivals.push_back(i);
    }
    for (std::uint32_t i = 0; i < nodes; ++i) {
        order.nodes.push_back(i);
    }
    return order;
}

TEST(Inflate, CountsWhatFitsAndWhatDoesNot) {
    const auto nodes = test_nodes("1x2g8c64Gi");
    const Workload workload =
        test_workload({test_pod(1, 600), test_pod(1, 500), test_pod(1, 500), test_pod(1, 400),
                       test_pod(0, 0, 4), test_pod(0, 0, 1)});
    const InflateRun run = run_inflate({&workload, &nodes, 1, nullptr}, in_order(workload, 1),
                                       test_policy("bestfit", workload), {true});
    // 600 | 500 + 500, then 400 beside the 600; 4 + 4 cores, and none is left for the last pod.
    EXPECT_EQ(run.end.gpu_milli, 2000);
    EXPECT_EQ(run.end.core_milli, 8000);
    EXPECT_EQ(run.end.memory_mib, 5 * 1024);
    EXPECT_EQ(run.end.refused, 1);
    EXPECT_EQ(run.gpus_touched, 2);
    EXPECT_EQ(run.at_capacity.gpu_milli, 2000);
    EXPECT_DOUBLE_EQ(run.first_refusal_percent, 100);
    EXPECT_DOUBLE_EQ(run.allocated.at(30), 30);
    EXPECT_DOUBLE_EQ(run.allocated.at(130), 100);
    EXPECT_DOUBLE_EQ(run.fragmented.at(100), 0);
}

TEST(Inflate, WithoutARefusalTheWholeDemandCounts) {
    const auto nodes = test_nodes("1x2g8c64Gi");
    const Workload workload = test_workload({test_pod(1, 600)});
    const InflateRun run = run_inflate({&workload, &nodes, 1, nullptr}, in_order(workload, 1),
                                       test_policy("random", workload), {});
    EXPECT_DOUBLE_EQ(run.first_refusal_percent, 30);
    EXPECT_DOUBLE_EQ(run.allocated.at(95), 30) << "never nothing";
}

TEST(Fragmentation, FollowsTheCases) {
    Cluster cluster;
    for (NodeSpec& node : test_nodes("1x2g4c64Gi")) {
        cluster.add_node(std::move(node));
    }
    // Half of the pods share 500 milli with 4 cores, half are CPU-only.
    const Workload workload = test_workload({test_pod(1, 500, 4), test_pod(0, 0, 1)});
    Fragmentation fragmentation(cluster, workload.mix);
    EXPECT_DOUBLE_EQ(fragmentation.amount_milli(), 0.5 * 2000) << "CPU-only counts all idle GPU";
    Placement placement;
    placement.node = NodeIndex(0);
    placement.grants = {{.request = {}, .gpu = GpuIndex(0), .milli = MilliGpu(700), .memory = {}}};
    cluster.take(placement, 1);
    fragmentation.changed(NodeIndex(0));
    EXPECT_EQ(fragmentation.idle_milli(), 1300);
    EXPECT_DOUBLE_EQ(fragmentation.amount_milli(), 0.5 * 1300 + 0.5 * 300) << "300 is too small";
    placement.grants.clear();
    placement.cpu = MilliCpu(1000);
    cluster.take(placement, 2);
    fragmentation.changed(NodeIndex(0));
    EXPECT_DOUBLE_EQ(fragmentation.amount_milli(), 1300) << "no cores: all of it";
}

}  // namespace
}  // namespace tessera
