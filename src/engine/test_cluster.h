// Small clusters and demands for the tests of this layer.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/cluster.h"
#include "model/demand.h"
#include "model/demand_class.h"
#include "model/node.h"
#include "model/placement.h"
#include "policy/assignment.h"
#include "policy/scorer.h"

namespace tessera::testing_cluster {

inline constexpr ModelIndex kA100{0};
inline constexpr ModelIndex kT4{1};

struct NodeShapeSpec {
    int gpus = 4;
    std::int64_t gpu_mib = 16'384;
    ModelIndex model = kA100;
    std::int64_t cpu_milli = 32'000;
    std::int64_t memory_mib = 131'072;
};

inline NodeSpec make_node(std::string name, const NodeShapeSpec& shape = {}) {
    NodeSpec spec;
    spec.name = std::move(name);
    spec.cpu = MilliCpu(shape.cpu_milli);
    spec.memory = MemoryMib(shape.memory_mib);
    spec.gpus.resize(static_cast<std::size_t>(shape.gpus));
    for (GpuSpec& gpu : spec.gpus) {
        gpu.model = shape.model;
        gpu.memory = MemoryMib(shape.gpu_mib);
    }
    return spec;
}

struct Ask {
    int gpus = 1;
    int milli = 1000;
    std::int64_t gpu_mib = 0;
    std::int64_t cpu_milli = 1000;
    std::int64_t memory_mib = 1024;
    std::vector<ModelIndex> models{};
};

inline Demand make_demand(const Ask& ask) {
    Demand demand;
    demand.cpu = MilliCpu(ask.cpu_milli);
    demand.memory = MemoryMib(ask.memory_mib);
    demand.models = ask.models;
    if (ask.gpus > 0) {
        GpuRequest request;
        request.gpus = static_cast<std::uint16_t>(ask.gpus);
        request.milli = MilliGpu(ask.milli);
        request.memory = MemoryMib(ask.gpu_mib);
        demand.alternatives.push_back({{request}});
    }
    return demand;
}

inline DemandClass make_class(const Ask& ask) { return demand_class(make_demand(ask)); }

// A pod of a core and a GiB with these devices.
inline Placement pod_on(NodeIndex node, Grants grants) {
    Placement placement;
    placement.node = node;
    placement.cpu = MilliCpu(1000);
    placement.memory = MemoryMib(1024);
    placement.grants = std::move(grants);
    return placement;
}

}  // namespace tessera::testing_cluster
