// A pod's way through every dialect: manifest, demand, the engine's placement, annotations, and
// back. Whatever the policy, each container is told the devices that the ledger has for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "codec/kube_yaml.h"
#include "codec/placement_annotation.h"
#include "dialect/own_keys.h"
#include "dialect/test_pods.h"
#include "engine/engine.h"
#include "policy/registry.h"
#include "role/intake/intake.h"

namespace tessera {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::World;

using Devices = std::set<int>;
using ByContainer = std::map<std::string, Devices>;

struct Case {
    std::string dialect;
    std::string metadata;  // labels or annotations by which the pod asks
    std::string init;      // limits of the container that starts first
    std::string first;
    std::string second;
    // How many devices each is told of: where containers ask, "logs", which does not, of none. One
    // that runs before the others uses theirs, request by request.
    std::map<std::string, std::size_t> devices;
    bool own_keys_tell = false;  // the dialect's own annotations alone tell the devices, too
};

std::vector<Case> cases() {
    const std::map<std::string, std::size_t> asking{{"warm", 1}, {"train", 1}, {"serve", 1}};
    const std::map<std::string, std::size_t> all{
        {"warm", 1}, {"train", 1}, {"logs", 1}, {"serve", 1}};
    return {
        {"gpushare", "", "aliyun.com/gpu-mem: 2", "aliyun.com/gpu-mem: 3", "aliyun.com/gpu-mem: 4",
         asking, true},
        {"kubeshare", R"(labels: {"sharedgpu/gpu_request": "0.5", "sharedgpu/gpu_limit": "1.0"})",
         "cpu: 100m", "cpu: 100m", "cpu: 100m", all, true},
        {"kubeshare",
         R"(labels: {"sharedgpu/gpu_request": "2.0", "sharedgpu/gpu_limit": "2.0"})",
         "cpu: 100m",
         "cpu: 100m",
         "cpu: 100m",
         {{"warm", 2}, {"train", 2}, {"logs", 2}, {"serve", 2}},
         true},
        {"elastic",
         "",
         "elasticgpu.io/gpu-core: 30",
         "elasticgpu.io/gpu-core: 200",
         "elasticgpu.io/gpu-core: 40, elasticgpu.io/gpu-memory: 512",
         {{"warm", 2}, {"train", 2}, {"serve", 1}},
         true},
        {"elastic",
         "",
         "nano-gpu/gpu-percent: 400",
         "nano-gpu/gpu-percent: 100",
         "nano-gpu/gpu-percent: 20",
         {{"warm", 4}, {"train", 1}, {"serve", 1}},
         true},
        {"keti",
         "annotations: {GPUlimits: 1Gi}",
         "keti.com/mpsgpu: 1",
         "keti.com/mpsgpu: 2",
         "keti.com/mpsgpu: 1",
         {{"warm", 2}, {"train", 2}, {"serve", 1}}},
        {"kube-knots", "labels: {GPU_MEM_REQ: '3000'}", "cpu: 100m", "cpu: 100m", "cpu: 100m", all},
        {"nvidia",
         "",
         "nvidia.com/gpu: 3",
         "nvidia.com/gpu: 1",
         "nvidia.com/gpu: 2",
         {{"warm", 3}, {"train", 1}, {"serve", 2}}},
        {"nvidia",
         "",
         "cpu: 100m",
         "nvidia.com/gpu: 2, nvidia.com/gpumem: 4000",
         "nvidia.com/gpucores: 30",
         {{"train", 2}, {"serve", 1}}},
        {"native",
         R"(annotations: {tessera.dev/gpu-milli.serve: "250"})",
         "tessera.dev/gpu: 1",
         "tessera.dev/gpu: 2",
         "tessera.dev/gpu: 1",
         {{"warm", 2}, {"train", 2}, {"serve", 1}}},
        {"native", R"(annotations: {tessera.dev/gpu-milli: "250"})", "cpu: 100m", "cpu: 100m",
         "cpu: 100m", all},
    };
}

std::string manifest(const Case& tried) {
    return fmt::format(R"(
apiVersion: v1
kind: Pod
metadata:
  name: round
  namespace: trips
  {}
spec:
  initContainers:
    - name: warm
      resources: {{limits: {{{}}}}}
  containers:
    - name: train
      resources: {{limits: {{{}}}}}
    - name: logs
    - name: serve
      resources: {{limits: {{{}}}}}
)",
                       tried.metadata, tried.init, tried.first, tried.second);
}

NodeSpec node(std::string name, int gpus) {
    NodeSpec spec = testing::node_with(std::vector(static_cast<std::size_t>(gpus), 16'384));
    for (GpuSpec& gpu : spec.gpus) {
        gpu.uuid = fmt::format("GPU-{}-{}", name, gpu.uuid);
    }
    spec.name = std::move(name);
    spec.cpu = MilliCpu(16'000);
    spec.memory = MemoryMib(65'536);
    return spec;
}

// What the ledger, asked container by container, has for the pod.
ByContainer in_ledger(const Ledger& ledger, PodIndex pod, const PodDemand& asked,
                      const Vocabulary& names) {
    ByContainer result;
    for (const ContainerUse& use : asked.uses) {
        for (const DeviceGrant& grant : ledger.grants(OwnerId::pod(pod.value()), use.request)) {
            result[std::string(names.requests.name(use.container))].insert(grant.gpu.value());
        }
    }
    return result;
}

// What the annotation tells whoever starts the containers.
ByContainer in_record(const PlacementRecord& record) {
    ByContainer result;
    for (const auto& [container, requests] : record.containers) {
        for (const std::string& request : requests) {
            for (const GrantRecord& grant : record.grants) {
                if (grant.request == request) {
                    result[container].insert(grant.gpu);
                }
            }
        }
    }
    return result;
}

ByContainer of_grants(const Grants& grants, const PodDemand& asked, const Vocabulary& names) {
    ByContainer result;
    for (const ContainerUse& use : asked.uses) {
        for (const DeviceGrant& grant : grants) {
            if (grant.request == use.request) {
                result[std::string(names.requests.name(use.container))].insert(grant.gpu.value());
            }
        }
    }
    return result;
}

struct Trip {
    World world;
    std::vector<NodeSpec> nodes{node("a", 1), node("b", 4), node("c", 8)};
    std::unique_ptr<Engine> engine;
    PortBook ports;

    explicit Trip(std::string_view policy) {
        for (const NodeSpec& one : nodes) {
            world.names.nodes.intern(one.name);  // indices as the engine's
        }
        Demand before;  // somebody is there already: device 0 is no answer to everything
        GpuRequest most;
        most.milli = MilliGpu(900);
        before.alternatives.push_back({{most}});
        const std::vector<ClassCount> mix{{demand_class(before), 1}};
        engine = std::make_unique<Engine>(nodes, *make_policy(policy, {.mix = mix}));
        EXPECT_TRUE(engine->place(PodIndex(0), before).has_value());
        EXPECT_TRUE(engine->place(PodIndex(1), before).has_value());
    }

    // Places the pod and checks each station of its way.
    void run(const Case& tried, PodIndex index) {
        const auto objects = read_kube_yaml(manifest(tried));
        ASSERT_TRUE(objects) << objects.error().message;
        Pod pod = objects->pods.at(0).pod;
        ASSERT_EQ((*dialect_of(pod))->name, tried.dialect);
        const auto asked = world.ask(pod);
        ASSERT_TRUE(asked) << asked.error().message;
        const auto placement = engine->place(index, asked->demand);
        ASSERT_TRUE(placement.has_value());
        const NodeSpec& there = nodes[placement->node.slot()];
        const ByContainer devices = in_ledger(engine->ledger(), index, *asked, world.names);
        std::map<std::string, std::size_t> counts;
        for (const auto& [container, held] : devices) {
            counts[container] = held.size();
        }
        EXPECT_EQ(counts, tried.devices);

        const auto marks = placement_writes({pod, *asked, *placement, there, Nanoseconds(1)},
                                            world.context, ports);
        ASSERT_TRUE(marks) << marks.error().message;
        EXPECT_EQ(marks->annotations.contains("sharedgpu/gpu_manager_port"),
                  asked->demand.isolation == Isolation::hook);
        pod.annotations.insert(marks->annotations.begin(), marks->annotations.end());
        pod.labels.insert(marks->labels.begin(), marks->labels.end());
        pod.node_name = there.name;
        const auto record =
            read_placement_annotation(pod.annotations.at(std::string(kOwnPlacement)));
        ASSERT_TRUE(record) << record.error().message;
        EXPECT_EQ(in_record(*record), devices);

        const auto held = read_held(pod, there, world.context);
        ASSERT_TRUE(held) << held.error().message;
        EXPECT_TRUE(held->ours);
        EXPECT_EQ(held->placement, *placement);
        EXPECT_EQ(of_grants(held->placement.grants, *asked, world.names), devices);
        if (tried.own_keys_tell) {
            pod.annotations.erase(std::string(kOwnPlacement));
            const auto theirs = read_held(pod, there, world.context);
            ASSERT_TRUE(theirs) << theirs.error().message;
            EXPECT_FALSE(theirs->ours);
            EXPECT_EQ(of_grants(theirs->placement.grants, *asked, world.names), devices);
        }
    }
};

TEST(RoundTrip, EveryDialectUnderEveryPolicy) {
    std::set<std::string_view> spoken;
    for (const PolicyInfo& info : known_policies()) {
        for (const Case& tried : cases()) {
            SCOPED_TRACE(fmt::format("{} under {}", manifest(tried), info.name));
            Trip trip(info.name);
            trip.run(tried, PodIndex(2));
            spoken.insert(find_dialect(tried.dialect)->name);
        }
    }
    EXPECT_EQ(spoken.size(), dialects().size());
}

// A container's devices, not the pod's: the second asks for a part, and gets no card of the first.
TEST(RoundTrip, ContainersAreToldTheirOwnDevices) {
    Trip trip("binpack");
    const Case tried = cases().at(9);
    const auto objects = read_kube_yaml(manifest(tried));
    const PodDemand asked = *trip.world.ask(objects->pods.at(0).pod);
    ASSERT_TRUE(trip.engine->place(PodIndex(2), asked.demand).has_value());
    const ByContainer devices =
        in_ledger(trip.engine->ledger(), PodIndex(2), asked, trip.world.names);
    EXPECT_THAT(devices.at("train"), SizeIs(2));
    EXPECT_THAT(devices.at("serve"), SizeIs(1));
    EXPECT_FALSE(devices.at("train").contains(*devices.at("serve").begin()));
    EXPECT_FALSE(devices.contains("logs"));
    EXPECT_THAT(trip.engine->ledger().grants(OwnerId::pod(2), RequestIndex::none()), IsEmpty());
}

}  // namespace
}  // namespace tessera
