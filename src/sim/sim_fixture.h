// Small clusters and workloads for the tests of this folder.
#pragma once

#include <string_view>
#include <vector>

#include "base/assert.h"
#include "codec/node_spec.h"
#include "policy/registry.h"
#include "sim/workload.h"

namespace tessera {

inline std::vector<NodeSpec> test_nodes(std::string_view spec) {
    Interner<ModelIndex> models;
    auto nodes = parse_node_spec(spec, models);
    TESSERA_ASSERT(nodes.has_value(), "a test's node list is well formed");
    return std::move(*nodes);
}

inline TracePod test_pod(std::uint16_t gpus, std::int32_t milli, std::int64_t cores = 1) {
    TracePod pod;
    pod.name = "pod";
    pod.cpu = MilliCpu(cores * 1000);
    pod.memory = MemoryMib(1024);
    pod.gpus = gpus;
    pod.gpu_milli = MilliGpu(milli);
    return pod;
}

inline Workload test_workload(std::vector<TracePod> pods) {
    PodTrace trace;
    trace.rows = pods.size();
    for (std::uint32_t i = 0; i < pods.size(); ++i) {
        pods[i].row = i;
    }
    trace.pods = std::move(pods);
    return make_workload("test", std::move(trace));
}

inline std::unique_ptr<Policy> test_policy(std::string_view name, const Workload& workload) {
    auto policy = make_policy(name, {workload.mix});
    TESSERA_ASSERT(policy.has_value(), "a test names a known policy");
    return std::move(*policy);
}

}  // namespace tessera
