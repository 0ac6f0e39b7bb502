#include "engine/cluster.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace tessera {
namespace {

bool usable(const DeviceKind& kind) { return kind.health == Health::ok; }

// What is left of a device; one without a free slot has nothing left, whatever its memory.
GpuState left_of(const GpuSpec& spec, const Cluster::GpuUse& used, KindIndex kind) {
    const bool full = spec.slots > 0 && used.shares >= spec.slots;
    const std::int32_t idle = full ? 0 : std::max(0, kWholeGpu.value() - used.milli);
    const std::int64_t memory =
        full ? 0 : std::max<std::int64_t>(0, spec.memory.value() - used.memory_mib);
    GpuState state;
    state.idle_milli = static_cast<std::int16_t>(idle);
    state.free_memory_mib = static_cast<std::int32_t>(memory);
    state.shares = static_cast<std::uint16_t>(used.shares);
    state.value = device_value(idle, memory, spec.memory.value());
    state.kind = kind;
    return state;
}

// 0 for a part of one device, else the number of devices (NodeState::sizes).
std::size_t size_of(const Placement& placement) {
    const bool part = placement.grants.size() == 1 && placement.grants.front().milli < kWholeGpu;
    return part ? 0 : std::min<std::size_t>(placement.grants.size(), kMaxGpusPerNode);
}

}  // namespace

NodeIndex Cluster::add_node(NodeSpec spec) {
    const NodeIndex node(static_cast<std::uint32_t>(states_.size()));
    states_.emplace_back();
    specs_.emplace_back();
    node_use_.emplace_back();
    first_gpu_.push_back(static_cast<std::uint32_t>(gpu_use_.size()));
    gpu_use_.resize(gpu_use_.size() + spec.gpus.size());
    adopt(node, std::move(spec));
    return node;
}

void Cluster::update_node(NodeIndex node, NodeSpec spec) {
    forget_capacity(node);
    const std::size_t before = specs_[node.slot()].gpus.size();
    if (spec.gpus.size() > before) {
        // The devices move to the end of the array; what they hold moves with them.
        const std::size_t from = first_gpu_[node.slot()];
        first_gpu_[node.slot()] = static_cast<std::uint32_t>(gpu_use_.size());
        gpu_use_.resize(gpu_use_.size() + spec.gpus.size());
        for (std::size_t gpu = 0; gpu < before; ++gpu) {
            gpu_use_[first_gpu_[node.slot()] + gpu] = std::exchange(gpu_use_[from + gpu], {});
        }
    }
    adopt(node, std::move(spec));
}

void Cluster::adopt(NodeIndex node, NodeSpec spec) {
    TESSERA_ASSERT(spec.gpus.size() <= kMaxGpusPerNode, "the edge limits GPUs per node");
    NodeShape shape{.cpu = spec.cpu, .memory = spec.memory, .kinds = {}};
    for (const GpuSpec& gpu : spec.gpus) {
        shape.kinds.push_back(intern_kind({gpu.model, gpu.memory, gpu.health, gpu.mode}));
    }
    gpu_count_ += static_cast<std::int64_t>(spec.gpus.size());
    cpu_capacity_ += spec.cpu;
    memory_capacity_ += spec.memory;
    NodeState& state = states_[node.slot()];
    state.shape = intern_shape(shape);
    ++shape_nodes_[state.shape.slot()];
    specs_[node.slot()] = std::move(spec);
    refresh(node);
}

void Cluster::forget_capacity(NodeIndex node) {
    const NodeSpec& spec = specs_[node.slot()];
    gpu_count_ -= static_cast<std::int64_t>(spec.gpus.size());
    cpu_capacity_ -= spec.cpu;
    memory_capacity_ -= spec.memory;
    --shape_nodes_[states_[node.slot()].shape.slot()];
}

KindIndex Cluster::intern_kind(const DeviceKind& kind) {
    auto found = std::find(kinds_.begin(), kinds_.end(), kind);
    if (found == kinds_.end()) {
        kinds_.push_back(kind);
        found = kinds_.end() - 1;
    }
    return KindIndex(static_cast<std::uint16_t>(found - kinds_.begin()));
}

ShapeIndex Cluster::intern_shape(const NodeShape& shape) {
    auto found = std::find(shapes_.begin(), shapes_.end(), shape);
    if (found == shapes_.end()) {
        shapes_.push_back(shape);
        shape_nodes_.push_back(0);
        found = shapes_.end() - 1;
    }
    return ShapeIndex(static_cast<std::uint16_t>(found - shapes_.begin()));
}

const Cluster::GpuUse& Cluster::use(NodeIndex node, GpuIndex gpu) const {
    return gpu_use_[gpu_slot(node, gpu)];
}

bool Cluster::over_committed(NodeIndex node, GpuIndex gpu) const {
    const GpuUse& used = use(node, gpu);
    const GpuSpec& spec = specs_[node.slot()].gpus[gpu.slot()];
    bool over = used.milli > kWholeGpu.value() || used.memory_mib > spec.memory.value() ||
                (spec.slots > 0 && used.shares > spec.slots);
    for (int d = 0; d < kSpareDimensions; ++d) {
        over = over ||
               used.spare[static_cast<std::size_t>(d)] > spec.spare[static_cast<std::size_t>(d)];
    }
    return over;
}

bool Cluster::fits(const Placement& placement) const {
    const NodeSpec& spec = specs_[placement.node.slot()];
    const NodeUse& used = node_use_[placement.node.slot()];
    if (used.cpu_milli + placement.cpu.value() > spec.cpu.value() ||
        used.memory_mib + placement.memory.value() > spec.memory.value() ||
        used.pods + placement.pods > spec.pods) {
        return false;
    }
    if (placement.admin_access) {
        return true;
    }
    // Several grants may name one device: they are summed before they are compared.
    for (const DeviceGrant& grant : placement.grants) {
        if (grant.gpu.slot() >= spec.gpus.size()) {
            return false;
        }
        const GpuSpec& gpu = spec.gpus[grant.gpu.slot()];
        GpuUse sum = use(placement.node, grant.gpu);
        for (const DeviceGrant& other : placement.grants) {
            if (other.gpu == grant.gpu) {
                sum.milli += other.milli.value();
                sum.memory_mib += other.memory.value();
                ++sum.shares;
                for (std::size_t d = 0; d < kSpareDimensions; ++d) {
                    sum.spare[d] += other.spare[d];
                }
            }
        }
        bool over = sum.milli > kWholeGpu.value() || sum.memory_mib > gpu.memory.value() ||
                    (gpu.slots > 0 && sum.shares > gpu.slots);
        for (std::size_t d = 0; d < kSpareDimensions; ++d) {
            over = over || sum.spare[d] > gpu.spare[d];
        }
        if (over) {
            return false;
        }
    }
    return true;
}

void Cluster::take(const Placement& placement, std::uint64_t start) { apply(placement, start, 1); }
void Cluster::give(const Placement& placement, std::uint64_t start) { apply(placement, start, -1); }

void Cluster::apply(const Placement& placement, std::uint64_t start, int sign) {
    NodeUse& used = node_use_[placement.node.slot()];
    NodeState& state = states_[placement.node.slot()];
    const NodeSpec& spec = specs_[placement.node.slot()];
    used.cpu_milli += sign * placement.cpu.value();
    used.memory_mib += sign * placement.memory.value();
    used.pods += sign * placement.pods;
    TESSERA_ASSERT(used.cpu_milli >= 0 && used.memory_mib >= 0 && used.pods >= 0,
                   "a node gives back no more than it lent");
    if (!placement.grants.empty() && !placement.admin_access) {
        for (const DeviceGrant& grant : placement.grants) {
            GpuUse& gpu = gpu_use_[gpu_slot(placement.node, grant.gpu)];
            gpu.milli += sign * grant.milli.value();
            gpu.memory_mib += sign * grant.memory.value();
            gpu.shares += sign;
            for (std::size_t d = 0; d < kSpareDimensions; ++d) {
                gpu.spare[d] += sign * grant.spare[d];
            }
            TESSERA_ASSERT(gpu.milli >= 0 && gpu.memory_mib >= 0 && gpu.shares >= 0,
                           "a device gives back no more than it lent");
            gpu_milli_used_ += sign * grant.milli.value();
            refresh_gpu(placement.node, grant.gpu.slot());
        }
        auto& starts = used.gpu_pod_starts;
        const auto at = std::lower_bound(starts.begin(), starts.end(), start);
        if (sign > 0) {
            starts.insert(at, start);
        } else {
            TESSERA_ASSERT(at != starts.end() && *at == start, "a pod leaves with its own start");
            starts.erase(at);
        }
        const std::size_t size = size_of(placement);
        std::uint16_t& pods = used.pods_of_size[size];
        pods = static_cast<std::uint16_t>(pods + sign);
        state.sizes = (state.sizes & ~(1U << size)) | (pods > 0 ? 1U << size : 0U);
        state.gpu_pods = static_cast<std::int32_t>(starts.size());
        state.oldest_start = starts.empty() ? kNeverStarted : starts.front();
        summarise(state);
    }
    state.free_cpu_milli = std::max<std::int64_t>(0, spec.cpu.value() - used.cpu_milli);
    state.free_memory_mib = std::max<std::int64_t>(0, spec.memory.value() - used.memory_mib);
    state.free_pods = std::max(0, spec.pods - used.pods);
}

void Cluster::refresh(NodeIndex node) { states_[node.slot()] = state_of(node); }

void Cluster::refresh_gpu(NodeIndex node, std::size_t gpu) {
    const GpuSpec& spec = specs_[node.slot()].gpus[gpu];
    const GpuUse& used = gpu_use_[first_gpu_[node.slot()] + gpu];
    GpuState& state = states_[node.slot()].gpus[gpu];
    state = left_of(spec, used, state.kind);
}

void Cluster::summarise(NodeState& state) const {
    std::int32_t idle = 0;
    int empty = 0;
    for (int gpu = 0; gpu < state.gpu_count; ++gpu) {
        const GpuState& device = state.gpus[static_cast<std::size_t>(gpu)];
        if (usable(kinds_[device.kind.slot()])) {
            idle += device.value;
            empty += device.empty() ? 1 : 0;
        }
    }
    state.idle_value = idle;
    state.empty_gpus = static_cast<std::uint8_t>(empty);
}

NodeState Cluster::state_of(NodeIndex node) const {
    const NodeSpec& spec = specs_[node.slot()];
    const NodeUse& used = node_use_[node.slot()];
    NodeState state;
    state.shape = states_[node.slot()].shape;
    state.schedulable = spec.schedulable;
    state.gpu_count = static_cast<std::uint8_t>(spec.gpus.size());
    state.free_cpu_milli = std::max<std::int64_t>(0, spec.cpu.value() - used.cpu_milli);
    state.free_memory_mib = std::max<std::int64_t>(0, spec.memory.value() - used.memory_mib);
    state.free_pods = std::max(0, spec.pods - used.pods);
    state.gpu_pods = static_cast<std::int32_t>(used.gpu_pod_starts.size());
    state.oldest_start = used.gpu_pod_starts.empty() ? kNeverStarted : used.gpu_pod_starts.front();
    for (std::size_t size = 0; size < used.pods_of_size.size(); ++size) {
        state.sizes |= used.pods_of_size[size] > 0 ? 1U << size : 0U;
    }
    const NodeShape& shape = shapes_[state.shape.slot()];
    for (std::size_t gpu = 0; gpu < spec.gpus.size(); ++gpu) {
        state.gpus[gpu] =
            left_of(spec.gpus[gpu], gpu_use_[first_gpu_[node.slot()] + gpu], shape.kinds[gpu]);
    }
    summarise(state);
    return state;
}

bool Cluster::consistent() const {
    for (std::uint32_t n = 0; n < states_.size(); ++n) {
        const NodeState fresh = state_of(NodeIndex(n));
        const NodeState& kept = states_[n];
        bool same = fresh.free_cpu_milli == kept.free_cpu_milli &&
                    fresh.free_memory_mib == kept.free_memory_mib &&
                    fresh.free_pods == kept.free_pods && fresh.idle_value == kept.idle_value &&
                    fresh.gpu_pods == kept.gpu_pods && fresh.oldest_start == kept.oldest_start &&
                    fresh.empty_gpus == kept.empty_gpus && fresh.sizes == kept.sizes;
        for (std::size_t gpu = 0; same && gpu < kept.gpu_count; ++gpu) {
            const GpuState& a = fresh.gpus[gpu];
            const GpuState& b = kept.gpus[gpu];
            same = a.idle_milli == b.idle_milli && a.free_memory_mib == b.free_memory_mib &&
                   a.value == b.value && a.shares == b.shares && a.kind == b.kind;
        }
        if (!same) {
            return false;
        }
    }
    return true;
}

std::size_t Cluster::memory_bytes() const {
    std::size_t bytes = states_.capacity() * sizeof(NodeState) +
                        node_use_.capacity() * sizeof(NodeUse) +
                        gpu_use_.capacity() * sizeof(GpuUse) + first_gpu_.capacity() * 4;
    for (const NodeUse& use : node_use_) {
        bytes += use.gpu_pod_starts.capacity() * sizeof(std::uint64_t);
    }
    for (const NodeSpec& spec : specs_) {
        bytes += sizeof(NodeSpec) + spec.gpus.capacity() * sizeof(GpuSpec);
    }
    return bytes;
}

}  // namespace tessera
