// What policies foresee (policy/assignment.h, apply_devices) is what the cluster becomes.
#include <gtest/gtest.h>

#include <vector>

#include "base/rng.h"
#include "engine/class_placement.h"
#include "engine/cluster.h"
#include "engine/test_cluster.h"
#include "policy/assignment.h"
#include "policy/test_random.h"

namespace tessera {
namespace {

void expect_equal(const NodeState& foreseen, const NodeState& real) {
    EXPECT_EQ(foreseen.free_cpu_milli, real.free_cpu_milli);
    EXPECT_EQ(foreseen.free_memory_mib, real.free_memory_mib);
    EXPECT_EQ(foreseen.free_pods, real.free_pods);
    EXPECT_EQ(foreseen.idle_value, real.idle_value);
    EXPECT_EQ(foreseen.empty_gpus, real.empty_gpus);
    EXPECT_EQ(foreseen.gpu_pods, real.gpu_pods);
    for (std::size_t gpu = 0; gpu < real.gpu_count; ++gpu) {
        EXPECT_EQ(foreseen.gpus[gpu].idle_milli, real.gpus[gpu].idle_milli) << gpu;
        EXPECT_EQ(foreseen.gpus[gpu].free_memory_mib, real.gpus[gpu].free_memory_mib) << gpu;
        EXPECT_EQ(foreseen.gpus[gpu].value, real.gpus[gpu].value) << gpu;
        EXPECT_EQ(foreseen.gpus[gpu].shares, real.gpus[gpu].shares) << gpu;
        EXPECT_EQ(foreseen.gpus[gpu].free_slots, real.gpus[gpu].free_slots) << gpu;
    }
}

TEST(ClusterProperty, PoliciesForeseeWhatAPlacementLeaves) {
    int placed = 0;
    for (std::uint64_t seed = 1; seed <= 60 && !HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        Rng rng(seed);
        Cluster cluster;
        for (int n = 0; n < 6; ++n) {
            cluster.add_node(testing::random_node(rng));
        }
        ClassTable classes;
        for (std::uint64_t step = 0; step < 60 && !HasFailure(); ++step) {
            const DemandClass c = demand_class(testing::random_demand(rng));
            const NodeIndex node(static_cast<std::uint32_t>(rng.below(cluster.size())));
            const Catalog catalog = cluster.catalog(classes);
            DeviceList devices;
            // Policies do not see spare capacities.
            if (c.wants_spare() || !fits(cluster.node(node), c, catalog) ||
                !assign_devices(cluster.node(node), c, catalog, cluster.links(node), devices)) {
                continue;
            }
            NodeState foreseen = cluster.node(node);
            apply_devices(foreseen, c, catalog, devices);
            const Placement placement = placement_of(c, cluster, node, devices);
            EXPECT_TRUE(cluster.fits(placement)) << cluster.misfit(placement);
            cluster.take(placement, step);
            expect_equal(foreseen, cluster.node(node));
            ++placed;
        }
        EXPECT_TRUE(cluster.consistent());
    }
    EXPECT_GT(placed, 400);
}

}  // namespace
}  // namespace tessera
