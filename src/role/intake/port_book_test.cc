#include "role/intake/port_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/test_pods.h"
#include "role/intake/intake.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using testing::node_with;
using testing::World;

constexpr const char* kPort = "sharedgpu/gpu_manager_port";

Pod share(const std::string& name, const std::string& request = "0.001",
          const std::string& limit = "1.0") {
    Pod pod = testing::pod({{"cpu", "1"}});
    pod.name = name;
    pod.scheduler_name = "kubeshare-scheduler";
    pod.labels = {{"sharedgpu/gpu_request", request}, {"sharedgpu/gpu_limit", limit}};
    return pod;
}

// A node whose pods are written down one by one.
struct Writer {
    World world;
    NodeSpec node = node_with({8119, 8119});
    PortBook ports;

    Expected<StringMap> write(const Pod& pod) {
        TESSERA_TRY(const PodDemand asked, world.ask(pod));
        Placement placement;
        placement.node = world.names.nodes.intern(node.name);
        const GpuRequest& request = asked.demand.alternatives.front().requests.front();
        for (std::uint8_t gpu = 0; gpu < request.gpus; ++gpu) {
            placement.grants.push_back(
                {request.name, GpuIndex(gpu), request.milli, MemoryMib(1), {}});
        }
        TESSERA_TRY(
            const PlacementMarks marks,
            placement_writes({pod, asked, placement, node, Nanoseconds(1)}, world.context, ports));
        return marks.annotations;
    }
    std::string port(const Pod& pod) {
        const auto annotations = write(pod);
        if (!annotations) {
            return annotations.error().message;
        }
        const std::string* found = find(*annotations, kPort);
        return found == nullptr ? "none" : *found;
    }
};

TEST(PortBook, SharesGetThePortsOfTheirNodeInTurn) {
    Writer writer;
    EXPECT_EQ(writer.port(share("a")), "50051");
    EXPECT_EQ(writer.port(share("b")), "50052");
    EXPECT_EQ(writer.port(share("b")), "50052") << "written again, the same";
    writer.ports.release(share("a").owner());
    EXPECT_EQ(writer.port(share("c")), "50053") << "a freed port rests until its turn comes";
    writer.node.name = "gpu-b";
    EXPECT_EQ(writer.port(share("d")), "50051") << "each node has its own";
    EXPECT_EQ(writer.port(share("c")), "50052") << "moved, it has one port";
    EXPECT_EQ(writer.ports.free(NodeIndex(0)), 510U);
}

TEST(PortBook, WholeGpusAndOtherPodsNeedNone) {
    Writer writer;
    EXPECT_EQ(writer.port(share("several", "2", "2")), "none");
    EXPECT_EQ(writer.port(testing::pod({{"nvidia.com/gpu", "1"}})), "none");
    EXPECT_EQ(writer.ports.free(NodeIndex(0)), 511U);
}

TEST(PortBook, APodThatNoLongerNeedsItsPortGivesItBack) {
    Writer writer;
    EXPECT_EQ(writer.port(share("a")), "50051");
    EXPECT_EQ(writer.port(share("a", "2", "2")), "none");
    EXPECT_EQ(writer.ports.free(NodeIndex(0)), 511U);
}

TEST(PortBook, IsRebuiltFromThePodsThatRun) {
    Writer before;
    std::vector<Pod> bound;
    for (const char* name : {"a", "b", "c"}) {
        bound.push_back(share(name));
        bound.back().annotations = *before.write(bound.back());
        bound.back().node_name = before.node.name;
    }
    Writer after;
    const NodeIndex node = after.world.names.nodes.intern(after.node.name);
    EXPECT_TRUE(after.ports.hold(bound[0], node));
    EXPECT_TRUE(after.ports.hold(bound[2], node));
    EXPECT_TRUE(after.ports.hold(bound[2], node)) << "seen twice, held once";
    EXPECT_EQ(after.ports.free(node), 509U);
    EXPECT_EQ(after.port(bound[0]), "50051");
    EXPECT_EQ(after.port(share("d")), "50052");
    EXPECT_EQ(after.port(share("e")), "50054");
}

TEST(PortBook, TwoPodsOfOthersOnOnePort) {
    Writer writer;
    const NodeIndex node(0);
    Pod first = share("a");
    Pod second = share("b");
    first.annotations[kPort] = second.annotations[kPort] = "50051";
    EXPECT_TRUE(writer.ports.hold(first, node));
    EXPECT_FALSE(writer.ports.hold(second, node));
    writer.ports.release(first.owner());
    EXPECT_EQ(writer.port(share("c")), "50052") << "the other still has it";
    writer.ports.release(second.owner());
    writer.ports.release(second.owner());
    EXPECT_EQ(writer.ports.free(node), 510U);
    Pod none = share("x");
    none.annotations[kPort] = "80";
    EXPECT_TRUE(writer.ports.hold(none, node)) << "not of the pool, not ours to keep";
    EXPECT_EQ(writer.ports.free(node), 510U);
}

TEST(PortBook, AFullNodeIsASentence) {
    Writer writer;
    for (int i = 0; i < PortPool::kCount; ++i) {
        ASSERT_EQ(writer.port(share("pod-" + std::to_string(i))), std::to_string(50051 + i));
    }
    EXPECT_THAT(writer.port(share("late")),
                HasSubstr("pod default/late: node gpu-a: all 511 pod-manager ports from 50051 on"));
    writer.ports.release(share("pod-7").owner());
    EXPECT_EQ(writer.port(share("late")), "50058");
}

}  // namespace
}  // namespace tessera
