#include "dialect/kubeshare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/test_pods.h"
#include "model/demand_class.h"
#include "model/port_pool.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::node_with;
using testing::pod;
using ::testing::SizeIs;
using testing::World;

Pod labelled(const StringMap& labels) {
    Pod result = pod({{"cpu", "1"}});
    result.scheduler_name = "kubeshare-scheduler";
    result.labels = labels;
    return result;
}

Pod shares(const std::string& request, const std::string& limit) {
    return labelled({{"sharedgpu/gpu_request", request}, {"sharedgpu/gpu_limit", limit}});
}

TEST(Kubeshare, AShareOfOneGpu) {
    World world;
    Pod half = shares("0.5", "1.0");
    half.labels["sharedgpu/gpu_model"] = "Tesla-V100";
    half.labels["sharedgpu/priority"] = "7";
    const auto asked = world.ask(half);
    ASSERT_TRUE(asked.has_value()) << asked.error().message;
    const auto& requests = asked->demand.alternatives.front().requests;
    ASSERT_THAT(requests, SizeIs(1));
    EXPECT_EQ(requests[0].milli, MilliGpu(500));
    EXPECT_EQ(requests[0].limit, MilliGpu(1000));
    EXPECT_EQ(requests[0].memory_ppm, 500'000) << "memory in proportion to the request";
    EXPECT_EQ(requests[0].memory, MemoryMib(0));
    EXPECT_EQ(asked->demand.isolation, Isolation::hook);
    EXPECT_EQ(asked->demand.service, ServiceClass::guaranteed);
    EXPECT_EQ(asked->demand.priority, 7);
    EXPECT_THAT(asked->demand.models, ElementsAre(world.names.models.find("Tesla-V100")));
    EXPECT_EQ(asked->uses.size(), 1U);
}

TEST(Kubeshare, ModelsAreOneHoweverTheyAreSpelt) {
    World world;
    Pod half = shares("0.5", "1.0");
    half.labels["sharedgpu/gpu_model"] = "Tesla-V100-SXM2";
    Node node = testing::node({{"nvidia.com/gpu", "1"}});
    node.labels["nvidia.com/gpu.product"] = " Tesla V100  SXM2";
    EXPECT_THAT(world.ask(half)->demand.models,
                ElementsAre(node_spec(node, world.context)->gpus[0].model));
}

TEST(Kubeshare, TwoHalvesFitOnAnOddCard) {
    World world;
    const auto asked = world.ask(shares("0.5", "1.0"));
    const DemandClass half = demand_class(asked->demand);
    EXPECT_LE(2 * half.memory_on(MemoryMib(8119)).value(), 8119);
}

TEST(Kubeshare, MemoryInBytesIsRoundedUp) {
    World world;
    Pod small = shares("0.25", "0.5");
    small.labels["sharedgpu/gpu_mem"] = "1048577";
    const auto requests = world.requests(small);
    EXPECT_EQ(requests[0].memory, MemoryMib(2));
    EXPECT_EQ(requests[0].memory_bytes, Bytes(1'048'577));
    EXPECT_EQ(requests[0].memory_ppm, 0);
}

TEST(Kubeshare, SeveralWholeGpus) {
    World world;
    Pod two = shares("2.0", "2.0");
    two.labels["sharedgpu/gpu_mem"] = "10737418241";  // of both together
    const auto requests = world.requests(two);
    ASSERT_THAT(requests, SizeIs(1));
    EXPECT_EQ(requests[0].gpus, 2);
    EXPECT_TRUE(requests[0].whole());
    EXPECT_EQ(requests[0].memory, MemoryMib(5121));
    EXPECT_EQ(world.ask(two)->demand.isolation, Isolation::none);
    EXPECT_THAT(world.requests(shares("10", "10")), SizeIs(1));
}

TEST(Kubeshare, RegularPods) {
    World world;
    EXPECT_THAT(world.requests(labelled({})), SizeIs(0));
    EXPECT_THAT(world.requests(shares("0", "0")), SizeIs(0));
    EXPECT_FALSE(world.ask(labelled({}))->demand.gang.has_value())
        << "pods without a group are no group";
}

TEST(Kubeshare, GroupsAreOfANamespace) {
    World world;
    const StringMap labels = {{"sharedgpu/gpu_limit", "0.5"},
                              {"sharedgpu/group_name", "ring"},
                              {"sharedgpu/group_headcount", "5"},
                              {"sharedgpu/group_threshold", "0.5"}};
    Pod one = labelled(labels);
    one.space = "a";
    Pod other = one;
    other.space = "b";
    const auto first = world.ask(one)->demand.gang;
    const auto second = world.ask(other)->demand.gang;
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->size, 5);
    EXPECT_EQ(first->minimum, 3);
    EXPECT_NE(first->group, second->group);
    one.labels["sharedgpu/group_threshold"] = "1.5";
    EXPECT_EQ(world.ask(one)->demand.gang->minimum, 8);
    EXPECT_EQ(world.ask(one)->demand.gang->size, 8);
}

TEST(Kubeshare, RefusalsNameThePodAndTheKey) {
    World world;
    EXPECT_EQ(world.refusal(shares("0.5", "half")),
              "pod default/train: sharedgpu/gpu_limit: \"half\" is not accepted: a plain decimal "
              "such as 0.5 or 2 is");
    Pod forced = pod({{"cpu", "1"}});
    forced.annotations = {{"kubeshare/gpu_request", "0.5"},
                          {"kubeshare/gpu_limit", "0.5"},
                          {"kubeshare/gpu_mem", "0"},
                          {"kubeshare/GPUID", "abcde"}};
    EXPECT_THAT(world.refusal(forced), HasSubstr("which GPU a pod gets is decided here"));
}

struct Placed {
    World world;
    NodeSpec node = node_with({8119, 16384, 16384});
    Pod pod;
    PodDemand asked;
    Placement placement;

    Placed(Pod what, const std::vector<int>& gpus) : pod(std::move(what)) {
        node.gpus[0].model = world.names.models.intern("GTX-1080");
        node.gpus[1].model = node.gpus[2].model = world.names.models.intern("Tesla-V100");
        asked = *world.ask(pod);
        const GpuRequest& request = asked.demand.alternatives.front().requests.front();
        const DemandClass wanted = demand_class(asked.demand);
        for (const int gpu : gpus) {
            const MemoryMib size = node.gpus[static_cast<std::size_t>(gpu)].memory;
            placement.grants.push_back({request.name,
                                        GpuIndex(static_cast<std::uint8_t>(gpu)),
                                        request.milli,
                                        request.whole() ? size : wanted.memory_on(size),
                                        {}});
        }
    }

    bool needs_port() { return kubeshare_needs_port({pod, asked, placement, node, {}}); }
    StringMap annotations(std::optional<std::uint16_t> port = std::nullopt) {
        const auto marks = placement_marks({pod, asked, placement, node, {}, port}, world.context);
        return marks ? marks->annotations : StringMap{{"error", marks.error().message}};
    }
};

TEST(Kubeshare, WritesTheShare) {
    Placed placed(shares("0.5", "1.0"), {0});
    PortPool ports;
    EXPECT_TRUE(placed.needs_port());
    const StringMap expected = {{"sharedgpu/cell_id", "gpu-a/1"},
                                {"sharedgpu/gpu_manager_port", "50051"},
                                {"sharedgpu/gpu_mem", std::to_string((8119LL << 20) / 2)},
                                {"sharedgpu/gpu_model", "GTX-1080"},
                                {"sharedgpu/gpu_uuid", "GPU-0"}};
    EXPECT_EQ(placed.annotations(ports.take()), expected);
    Pod exact = shares("0.5", "1.0");
    exact.labels["sharedgpu/gpu_mem"] = "1000000001";
    EXPECT_EQ(Placed(exact, {0}).annotations()["sharedgpu/gpu_mem"], "1000000001");
}

TEST(Kubeshare, AShareThatIsAloneOnItsGpuHasNoHookAndNoPort) {
    Pod alone = shares("0.5", "1.0");
    alone.annotations["tessera.dev/isolation"] = "exclusive";
    Placed placed(alone, {0});
    EXPECT_FALSE(placed.needs_port());
    EXPECT_EQ(placed.annotations()["sharedgpu/gpu_uuid"], "GPU-0") << "one GPU is no list";
}

TEST(Kubeshare, WritesListsWithACommaBehindEach) {
    Placed placed(shares("2", "2"), {1, 2});
    EXPECT_FALSE(placed.needs_port());
    const StringMap expected = {{"sharedgpu/cell_id", "gpu-a/2,gpu-a/3,"},
                                {"sharedgpu/gpu_mem", std::to_string(32768LL << 20)},
                                {"sharedgpu/gpu_model", "Tesla-V100,Tesla-V100,"},
                                {"sharedgpu/gpu_uuid", "GPU-1,GPU-2,"}};
    EXPECT_EQ(placed.annotations(), expected);
}

TEST(Kubeshare, CellsComeFromTheTopologyFile) {
    CellConfig config;
    config.types = {{.name = "v", .child = "Tesla-V100", .child_count = 2, .node_level = true},
                    {.name = "pair", .child = "v", .child_count = 1}};
    config.cells = {
        {.type = "pair", .id = "", .children = {{.type = "", .id = "gpu-a", .children = {}}}}};
    const auto tree = CellTree::build(config);
    ASSERT_TRUE(tree.has_value()) << tree.error().message;
    Placed placed(shares("0.5", "0.5"), {2});
    placed.world.context.options.cells = &*tree;
    add_cells(placed.node, placed.world.context);
    EXPECT_EQ(placed.annotations()["sharedgpu/cell_id"], "1/gpu-a/2");
    EXPECT_EQ(placed.node.links.at(1, 2).level, LinkLevel::pcie_switch);
    EXPECT_EQ(placed.node.links.at(0, 1).level, LinkLevel::unknown) << "not in the file";
}

TEST(Kubeshare, ReadsBackWhatItWrote) {
    for (const auto& [request, gpus] :
         {std::pair(std::string("0.5"), std::vector{0}), {std::string("2"), std::vector{2, 1}}}) {
        Placed placed(shares(request, request), gpus);
        placed.pod.annotations = placed.annotations();
        placed.pod.node_name = "gpu-a";
        const auto back = read_back(placed.pod, placed.node, placed.world.context);
        ASSERT_TRUE(back.has_value()) << back.error().message;
        ASSERT_TRUE(back->has_value());
        EXPECT_EQ((*back)->grants, placed.placement.grants);
    }
    Placed placed(shares("0.5", "0.5"), {0});
    EXPECT_FALSE(read_back(placed.pod, placed.node, placed.world.context)->has_value());
    placed.pod.annotations["sharedgpu/gpu_uuid"] = "GPU-9";
    EXPECT_THAT(read_back(placed.pod, placed.node, placed.world.context).error().message,
                HasSubstr("\"GPU-9\" is not a GPU of node gpu-a"));
}

TEST(Kubeshare, PortOfAPlacedPod) {
    Pod placed = shares("0.5", "0.5");
    EXPECT_FALSE(kubeshare_port(placed).has_value());
    for (const auto& [text, port] : {std::pair("50051", 50051),
                                     {"50561", 50561},
                                     {"50050", 0},
                                     {"50562", 0},
                                     {"x", 0},
                                     {"", 0},
                                     {"99999999999999999999", 0}}) {
        placed.annotations["sharedgpu/gpu_manager_port"] = text;
        EXPECT_EQ(kubeshare_port(placed).value_or(0), port) << text;
    }
}

TEST(Kubeshare, NodesOfTheFirstVersion) {
    World world;
    Node node = testing::node({{"cpu", "8"}});
    node.annotations["kubeshare/gpu_info"] = "GPU-a:8119,GPU-b:16384,";
    const auto spec = node_spec(node, world.context);
    ASSERT_TRUE(spec.has_value()) << spec.error().message;
    ASSERT_THAT(spec->gpus, SizeIs(2));
    EXPECT_EQ(spec->gpus[1].uuid, "GPU-b");
    EXPECT_EQ(spec->gpus[0].memory, MemoryMib(8119));
    EXPECT_EQ(spec->gpus[1].memory, MemoryMib(16384)) << "each card has its own size";
    for (const char* bad : {"GPU-a", ":5", "GPU-a:x", "GPU-a:-1", "GPU-a:8119,GPU-b"}) {
        node.annotations["kubeshare/gpu_info"] = bad;
        const auto refused = node_spec(node, world.context);
        ASSERT_FALSE(refused.has_value()) << bad;
        EXPECT_THAT(refused.error().message, HasSubstr("kubeshare/gpu_info")) << bad;
    }
}

}  // namespace
}  // namespace tessera
