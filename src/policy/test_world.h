// Nodes and classes for tests of policies: a catalog without the engine behind it.
//
// What is left of a node is computed here once more, plainly: by hand from what was taken.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "model/demand_class.h"
#include "model/node.h"
#include "policy/catalog.h"
#include "policy/scorer.h"

namespace tessera::testing {

inline GpuSpec gpu_spec(ModelIndex model = ModelIndex(0), std::int64_t memory_mib = 16'384) {
    GpuSpec spec;
    spec.model = model;
    spec.memory = MemoryMib(memory_mib);
    return spec;
}

inline NodeSpec node_spec(int gpus, std::int64_t cpu_milli, std::int64_t memory_mib = 1 << 20) {
    NodeSpec spec;
    spec.cpu = MilliCpu(cpu_milli);
    spec.memory = MemoryMib(memory_mib);
    spec.gpus.assign(static_cast<std::size_t>(gpus), gpu_spec());
    return spec;
}

inline GpuRequest gpu_request(int gpus, int milli, std::int64_t memory_mib = 0) {
    GpuRequest request;
    request.gpus = static_cast<std::uint16_t>(gpus);
    request.milli = MilliGpu(milli);
    request.memory = MemoryMib(memory_mib);
    return request;
}

inline Demand demand_of(std::int64_t cpu_milli, std::vector<GpuRequest> requests = {}) {
    Demand demand;
    demand.cpu = MilliCpu(cpu_milli);
    if (!requests.empty()) {
        demand.alternatives.push_back({std::move(requests)});
    }
    return demand;
}

class TestWorld {
  public:
    // An empty node. References to nodes stay valid.
    NodeState& add(const NodeSpec& spec) {
        NodeShape shape{spec.cpu, spec.memory, {}, parents_of(spec.gpus)};
        NodeState state;
        state.free_cpu_milli = spec.cpu.value();
        state.free_memory_mib = spec.memory.value();
        state.free_pods = spec.pods;
        state.schedulable = spec.schedulable;
        state.gpu_count = static_cast<std::uint8_t>(spec.gpus.size());
        for (std::size_t gpu = 0; gpu < spec.gpus.size(); ++gpu) {
            const GpuSpec& from = spec.gpus[gpu];
            shape.kinds.push_back(kind(from));
            GpuState& device = state.gpus[gpu];
            device.kind = shape.kinds.back();
            device.idle_milli = 1000;
            device.free_memory_mib = static_cast<std::int32_t>(from.memory.value());
            device.numa = from.numa;
            device.link_domain = static_cast<std::uint8_t>(gpu);
            device.free_slots = from.slots > 0 ? from.slots : kSlotsUnlimited;
        }
        state.shape = shape_index(std::move(shape));
        ++nodes_of_shape_[state.shape.slot()];
        gpus_ += static_cast<std::int64_t>(spec.gpus.size());
        cpu_ += spec.cpu;
        memory_ += spec.memory;
        nodes_.push_back(state);
        sum_up(nodes_.back());
        return nodes_.back();
    }

    // A share of a device, of a pod of its own; a whole device for 1000 milli.
    void take(NodeState& node, int gpu, int milli, std::int64_t memory_mib = 0) {
        GpuState& device = node.gpus[static_cast<std::size_t>(gpu)];
        const bool whole = milli >= 1000;
        const bool last = whole || device.free_slots == 1;
        device.idle_milli = static_cast<std::int16_t>(last ? 0 : device.idle_milli - milli);
        device.free_memory_mib = static_cast<std::int32_t>(
            last ? 0 : std::max<std::int64_t>(0, device.free_memory_mib - memory_mib));
        ++device.shares;
        if (last) {
            device.free_slots = 0;
        } else if (device.free_slots != kSlotsUnlimited) {
            --device.free_slots;
        }
        node.oldest_start = std::min(node.oldest_start, next_start_++);
        ++node.gpu_pods;
        node.sizes |= whole ? 2U : 1U;
        sum_up(node);
    }

    ClassIndex intern(const DemandClass& wanted) { return classes_.intern(wanted); }
    ClassIndex intern(const Demand& demand) { return classes_.intern(demand_class(demand)); }
    const DemandClass& operator[](ClassIndex index) const { return classes_[index]; }
    ClassTable& classes() { return classes_; }

    // Valid until a node is added.
    Catalog catalog() const {
        return {.kinds = kinds_,
                .shapes = shapes_,
                .nodes_of_shape = nodes_of_shape_,
                .classes = &classes_,
                .nodes = nodes_.size(),
                .gpus = gpus_,
                .cpu = cpu_,
                .memory = memory_};
    }

    static Key key(const Scorer& scorer, const NodeState& node, ClassIndex demand_class) {
        Key key = 0;
        scorer.score(node, std::span(&demand_class, 1), std::span(&key, 1));
        return key;
    }
    static DeviceList chosen(const Scorer& scorer, const NodeState& node, ClassIndex demand_class) {
        DeviceList devices;
        scorer.choose(node, demand_class, LinkMatrix(), 0, devices);
        return devices;
    }

  private:
    KindIndex kind(const GpuSpec& spec) {
        const DeviceKind wanted{spec.model, spec.memory, spec.health, spec.mode};
        const auto at = std::find(kinds_.begin(), kinds_.end(), wanted);
        const KindIndex index(static_cast<std::uint16_t>(at - kinds_.begin()));
        if (at == kinds_.end()) {
            kinds_.push_back(wanted);
        }
        return index;
    }

    ShapeIndex shape_index(NodeShape shape) {
        const auto at = std::find(shapes_.begin(), shapes_.end(), shape);
        const ShapeIndex index(static_cast<std::uint32_t>(at - shapes_.begin()));
        if (at == shapes_.end()) {
            shapes_.push_back(std::move(shape));
            nodes_of_shape_.push_back(0);
        }
        return index;
    }

    void sum_up(NodeState& node) const {
        node.idle_value = 0;
        node.empty_gpus = 0;
        for (std::size_t gpu = 0; gpu < node.gpu_count; ++gpu) {
            GpuState& device = node.gpus[gpu];
            const DeviceKind& kind = kinds_[device.kind.slot()];
            const std::int64_t total = kind.memory.value();
            const std::int64_t by_memory =
                total > 0 ? device.free_memory_mib * std::int64_t{1000} / total : 1000;
            device.value =
                static_cast<std::int16_t>(std::min<std::int64_t>(device.idle_milli, by_memory));
            if (kind.health == Health::ok) {
                node.idle_value += device.value;
                node.empty_gpus =
                    static_cast<std::uint8_t>(node.empty_gpus + (device.shares == 0 ? 1 : 0));
            }
        }
    }

    std::vector<DeviceKind> kinds_;
    std::vector<NodeShape> shapes_;
    std::vector<std::size_t> nodes_of_shape_;
    std::deque<NodeState> nodes_;
    ClassTable classes_;
    std::int64_t gpus_ = 0;
    MilliCpu cpu_;
    MemoryMib memory_;
    std::uint64_t next_start_ = 0;
};

}  // namespace tessera::testing
