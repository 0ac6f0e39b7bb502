#include "engine/cluster.h"

#include <gtest/gtest.h>

#include "engine/test_cluster.h"

namespace tessera {
namespace {

using testing_cluster::pod_on;

constexpr GpuIndex kGpu0{0};
constexpr GpuIndex kGpu1{1};

NodeSpec node_spec(int gpus, std::int64_t gpu_mib = 16'384) {
    return testing_cluster::make_node("n", {.gpus = gpus, .gpu_mib = gpu_mib});
}

DeviceGrant grant(GpuIndex gpu, int milli, std::int64_t mib = 0) {
    return {
        .request = RequestIndex(0), .gpu = gpu, .milli = MilliGpu(milli), .memory = MemoryMib(mib)};
}

TEST(Cluster, TakesAndGivesBack) {
    Cluster cluster;
    const NodeIndex node = cluster.add_node(node_spec(2));
    const Placement share = pod_on(node, {grant(kGpu1, 300, 4096)});
    cluster.take(share, 7);
    const NodeState& state = cluster.node(node);
    EXPECT_EQ(state.gpus[1].idle_milli, 700);
    EXPECT_EQ(state.gpus[1].free_memory_mib, 12'288);
    EXPECT_EQ(state.idle_value, 1700);
    EXPECT_EQ(state.empty_gpus, 1);
    EXPECT_EQ(state.oldest_start, 7U);
    EXPECT_EQ(state.free_pods, 109);
    EXPECT_TRUE(cluster.consistent());
    cluster.give(share, 7);
    EXPECT_EQ(state.idle_value, 2000);
    EXPECT_EQ(state.oldest_start, kNeverStarted);
    EXPECT_EQ(cluster.gpu_milli_used(), 0);
    EXPECT_TRUE(cluster.consistent());
}

TEST(Cluster, SumsGrantsOfOneDeviceBeforeComparing) {
    Cluster cluster;
    const NodeIndex node = cluster.add_node(node_spec(1));
    EXPECT_TRUE(cluster.fits(pod_on(node, {grant(kGpu0, 600), grant(kGpu0, 400)})));
    EXPECT_FALSE(cluster.fits(pod_on(node, {grant(kGpu0, 600), grant(kGpu0, 401)})));
    EXPECT_FALSE(cluster.fits(pod_on(node, {grant(kGpu0, 1, 9000), grant(kGpu0, 1, 9000)})));
}

TEST(Cluster, AWholeDeviceIsAlone) {
    Cluster cluster;
    const NodeIndex node = cluster.add_node(node_spec(1));
    // A share by memory alone leaves all compute, and still forbids the whole device.
    const Placement by_memory = pod_on(node, {grant(kGpu0, 0, 1024)});
    const Placement whole = pod_on(node, {grant(kGpu0, 1000, 0)});
    cluster.take(by_memory, 1);
    EXPECT_FALSE(cluster.fits(whole));
    cluster.give(by_memory, 1);
    cluster.take(whole, 2);
    EXPECT_FALSE(cluster.fits(by_memory));
    EXPECT_EQ(cluster.node(node).gpus[0].free_memory_mib, 0);
    EXPECT_NE(cluster.misfit(by_memory).find("whole"), std::string::npos);
}

TEST(Cluster, SlotsLimitShares) {
    Cluster cluster;
    NodeSpec spec = node_spec(1);
    spec.gpus[0].slots = 2;
    const NodeIndex node = cluster.add_node(spec);
    const Placement share = pod_on(node, {grant(kGpu0, 100)});
    cluster.take(share, 1);
    EXPECT_EQ(cluster.node(node).gpus[0].idle_milli, 900);
    cluster.take(share, 2);
    EXPECT_EQ(cluster.node(node).gpus[0].idle_milli, 0);  // no slot, nothing left
    EXPECT_FALSE(cluster.fits(share));
    EXPECT_NE(cluster.misfit(share).find("2 of 2 slots"), std::string::npos);
}

TEST(Cluster, SpareDimensionsAreCheckedInTheirOwnUnits) {
    Cluster cluster;
    NodeSpec spec = node_spec(1);
    spec.gpus[0].spare = {7, 0, 0};
    const NodeIndex node = cluster.add_node(spec);
    DeviceGrant slice = grant(kGpu0, 142);  // a seventh, rounded down, for scores alone
    slice.spare = {1, 0, 0};
    for (std::uint64_t start = 0; start < 7; ++start) {
        ASSERT_TRUE(cluster.fits(pod_on(node, {slice})));
        cluster.take(pod_on(node, {slice}), start);
    }
    EXPECT_FALSE(cluster.fits(pod_on(node, {slice})));
    slice.spare = {0, 1, 0};
    EXPECT_FALSE(cluster.fits(pod_on(node, {slice})));  // the device has none of that dimension
}

TEST(Cluster, OverCommitmentIsCountedAndClamped) {
    Cluster cluster;
    const NodeIndex node = cluster.add_node(node_spec(2));
    const Placement foreign = pod_on(node, {grant(kGpu0, 800, 20'000)});
    cluster.take(foreign, 1);
    cluster.take(foreign, 2);
    EXPECT_TRUE(cluster.over_committed(node, kGpu0));
    EXPECT_FALSE(cluster.over_committed(node, kGpu1));
    EXPECT_EQ(cluster.over_committed_gpus(), 1);
    EXPECT_EQ(cluster.node(node).gpus[0].idle_milli, 0);
    EXPECT_EQ(cluster.node(node).gpus[0].free_memory_mib, 0);
    EXPECT_TRUE(cluster.consistent());
    cluster.give(foreign, 1);
    EXPECT_EQ(cluster.node(node).gpus[0].idle_milli, 200);
    EXPECT_TRUE(cluster.over_committed(node, kGpu0));  // memory still
    cluster.give(foreign, 2);
    EXPECT_EQ(cluster.over_committed_gpus(), 0);
}

TEST(Cluster, AResourceThatIsNotAskedForCannotBeShort) {
    Cluster cluster;
    const NodeIndex node = cluster.add_node(node_spec(1));
    Placement hog = pod_on(node, {grant(kGpu0, 900, 0), grant(kGpu0, 900, 0)});
    hog.cpu = MilliCpu(64'000);
    cluster.take(hog, 1);
    EXPECT_EQ(cluster.over_committed_nodes(), 1);
    Placement modest = pod_on(node, {grant(kGpu0, 0, 1024)});
    EXPECT_FALSE(cluster.fits(modest));
    modest.cpu = MilliCpu(0);
    EXPECT_TRUE(cluster.fits(modest));
}

TEST(Cluster, DevicesThatVanishKeepWhatTheyHold) {
    Cluster cluster;
    const NodeIndex node = cluster.add_node(node_spec(4));
    const Placement share = pod_on(node, {grant(GpuIndex(3), 500, 1000)});
    cluster.take(share, 1);
    cluster.update_node(node, node_spec(2));
    EXPECT_EQ(cluster.use(node, GpuIndex(3)).milli, 500);
    EXPECT_TRUE(cluster.over_committed(node, GpuIndex(3)));
    EXPECT_EQ(cluster.node(node).idle_value, 2000);
    EXPECT_TRUE(cluster.consistent());
    cluster.update_node(node, node_spec(3));  // grows again, still without the fourth
    EXPECT_EQ(cluster.use(node, GpuIndex(3)).milli, 500);
    cluster.update_node(node, node_spec(8));
    EXPECT_FALSE(cluster.over_committed(node, GpuIndex(3)));
    EXPECT_EQ(cluster.node(node).gpus[3].idle_milli, 500);
    cluster.update_node(node, node_spec(1));
    cluster.give(share, 1);
    EXPECT_EQ(cluster.over_committed_gpus(), 0);
    EXPECT_EQ(cluster.gpu_milli_used(), 0);
    EXPECT_TRUE(cluster.consistent());
}

TEST(Cluster, ForeignersMayHoldDevicesThatTheNodeDoesNotHave) {
    Cluster cluster;
    const NodeIndex cpu_only = cluster.add_node(node_spec(0));
    const Placement stray = pod_on(cpu_only, {grant(GpuIndex(15), 500)});
    EXPECT_FALSE(cluster.fits(stray));
    EXPECT_NE(cluster.misfit(stray).find("has 0 GPUs"), std::string::npos);
    cluster.take(stray, 1);
    EXPECT_EQ(cluster.over_committed_gpus(), 1);
    EXPECT_TRUE(cluster.consistent());
    cluster.give(stray, 1);
    EXPECT_EQ(cluster.over_committed_gpus(), 0);
}

TEST(Cluster, ARemovedNodeOffersNothingAndRaisesNoAlarm) {
    Cluster cluster;
    const NodeIndex node = cluster.add_node(node_spec(2));
    const Placement share = pod_on(node, {grant(kGpu0, 500)});
    cluster.take(share, 1);
    cluster.remove_node(node);
    EXPECT_FALSE(cluster.node(node).schedulable);
    EXPECT_EQ(cluster.gpu_count(), 0);
    EXPECT_EQ(cluster.cpu_capacity(), MilliCpu(0));
    EXPECT_EQ(cluster.over_committed_gpus() + cluster.over_committed_nodes(), 0);
    EXPECT_FALSE(cluster.fits(share));
    cluster.update_node(node, node_spec(2));
    EXPECT_EQ(cluster.node(node).gpus[0].idle_milli, 500);
    EXPECT_TRUE(cluster.consistent());
}

TEST(Cluster, AdminAccessOccupiesNoDevice) {
    Cluster cluster;
    const NodeIndex node = cluster.add_node(node_spec(1));
    cluster.take(pod_on(node, {grant(kGpu0, 1000)}), 1);
    Placement admin = pod_on(node, {grant(kGpu0, 1000)});
    admin.admin_access = true;
    EXPECT_TRUE(cluster.fits(admin));
    cluster.take(admin, 2);
    EXPECT_EQ(cluster.use(node, kGpu0).shares, 1);
    EXPECT_EQ(cluster.node(node).free_pods, 108);
    admin.grants[0].gpu = kGpu1;
    EXPECT_FALSE(cluster.fits(admin));  // no such device
}

TEST(Cluster, OverCommitFactorStretchesComputeOnly) {
    Cluster cluster({.milli_per_gpu = MilliGpu(1500)});
    const NodeIndex node = cluster.add_node(node_spec(1));
    cluster.take(pod_on(node, {grant(kGpu0, 400)}), 1);
    EXPECT_EQ(cluster.node(node).gpus[0].idle_milli, 1000);  // shown as a device, never as more
    EXPECT_TRUE(cluster.fits(pod_on(node, {grant(kGpu0, 999)})));
    EXPECT_FALSE(cluster.fits(pod_on(node, {grant(kGpu0, 1000)})));  // whole means alone
    EXPECT_FALSE(cluster.fits(pod_on(node, {grant(kGpu0, 10, 16'385)})));
    cluster.take(pod_on(node, {grant(kGpu0, 999)}), 2);
    EXPECT_FALSE(cluster.over_committed(node, kGpu0));
    EXPECT_EQ(cluster.node(node).gpus[0].idle_milli, 101);
    EXPECT_FALSE(cluster.fits(pod_on(node, {grant(kGpu0, 102)})));
}

TEST(Cluster, UnhealthyDevicesDoNotCountAsIdle) {
    Cluster cluster;
    NodeSpec spec = node_spec(2);
    const NodeIndex node = cluster.add_node(spec);
    spec.gpus[0].health = Health::no_new;
    cluster.update_node(node, spec);
    EXPECT_EQ(cluster.node(node).idle_value, 1000);
    EXPECT_EQ(cluster.node(node).empty_gpus, 1);
    cluster.take(pod_on(node, {grant(kGpu0, 500)}), 1);
    EXPECT_TRUE(cluster.consistent());
}

TEST(Cluster, ShapesAreSharedAndCounted) {
    Cluster cluster;
    const NodeIndex a = cluster.add_node(node_spec(2));
    const NodeIndex b = cluster.add_node(node_spec(2));
    const NodeIndex c = cluster.add_node(node_spec(2, 32'768));
    EXPECT_EQ(cluster.node(a).shape, cluster.node(b).shape);
    EXPECT_NE(cluster.node(a).shape, cluster.node(c).shape);
    EXPECT_EQ(cluster.nodes_of(cluster.node(a).shape), 2U);
    cluster.update_node(b, node_spec(2, 32'768));
    EXPECT_EQ(cluster.nodes_of(cluster.node(a).shape), 1U);
    EXPECT_EQ(cluster.shape_count(), 2U);
}

TEST(Cluster, RefusesNodesThatNoMachineIs) {
    const Cluster cluster;
    EXPECT_TRUE(cluster.check(node_spec(16)));
    EXPECT_FALSE(cluster.check(node_spec(17)));
    EXPECT_FALSE(cluster.check(node_spec(1, -1)));
    EXPECT_FALSE(cluster.check(node_spec(1, kMaxGpuMemoryMib + 1)));
    NodeSpec spec = node_spec(2);
    spec.cpu = MilliCpu(-1);
    EXPECT_FALSE(cluster.check(spec));
    spec = node_spec(2);
    spec.links = LinkMatrix(3);
    EXPECT_FALSE(cluster.check(spec));
    spec = node_spec(2);
    spec.gpus[1].spare = {0, 0, kMaxAmount + 1};
    EXPECT_FALSE(cluster.check(spec));
}

TEST(Cluster, RefusesMoreKindsThanItCanNumber) {
    Cluster cluster;
    std::int64_t memory = 1;
    const auto unlike = [&memory] {
        NodeSpec spec = node_spec(16);
        for (GpuSpec& gpu : spec.gpus) {
            gpu.memory = MemoryMib(memory++);
        }
        return spec;
    };
    for (int n = 0; n < 4095; ++n) {
        cluster.add_node(unlike());
    }
    EXPECT_EQ(cluster.kind_count(), 65'520U);
    EXPECT_FALSE(cluster.check(unlike()));
    EXPECT_TRUE(cluster.check(node_spec(16, 1)));  // a known kind
}

}  // namespace
}  // namespace tessera
