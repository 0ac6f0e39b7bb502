#include "engine/cluster.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "base/hash.h"

namespace tessera {
namespace {

bool usable(const DeviceKind& kind) { return kind.health == Health::ok; }

bool within(std::int64_t value, std::int64_t most) { return value >= 0 && value <= most; }

// 0 for a part of one device, else the number of devices (NodeState::sizes).
std::size_t size_of(const Placement& placement) {
    const bool part = placement.grants.size() == 1 && placement.grants.front().milli < kWholeGpu;
    return part ? 0 : std::min<std::size_t>(placement.grants.size(), kMaxGpusPerNode);
}

bool holds_devices(const Placement& placement) {
    return !placement.grants.empty() && !placement.admin_access;
}

DeviceKind kind_of(const GpuSpec& gpu) { return {gpu.model, gpu.memory, gpu.health, gpu.mode}; }

// The domain of the first earlier device that is joined by NVLink, else one of its own. NVLink
// joins all or pairs of a node's devices in the machines there are, so one look suffices.
std::uint8_t link_domain(const NodeState& state, std::size_t gpu, const LinkMatrix& links) {
    for (std::size_t other = 0; other < gpu && !links.empty(); ++other) {
        if (links.at(static_cast<int>(other), static_cast<int>(gpu)).level == LinkLevel::nvlink) {
            return state.gpus[other].link_domain;
        }
    }
    return static_cast<std::uint8_t>(gpu);
}

}  // namespace

Cluster::Cluster(ClusterOptions options) : options_(std::move(options)) {
    TESSERA_ASSERT(options_.milli_per_gpu >= kWholeGpu && options_.milli_per_gpu <= kMaxMilliPerGpu,
                   "the over-commit factor is checked where it is read");
}

Expected<void> Cluster::check(const NodeSpec& spec) const {
    if (spec.gpus.size() > kMaxGpusPerNode) {
        return fail(ErrorKind::invalid, "node \"{}\": {} GPUs, at most {} are supported", spec.name,
                    spec.gpus.size(), kMaxGpusPerNode);
    }
    if (!within(spec.cpu.value(), kMaxAmount) || !within(spec.memory.value(), kMaxAmount) ||
        spec.pods < 0) {
        return fail(ErrorKind::invalid,
                    "node \"{}\": {} milli-cores, {} MiB and {} pods are no capacity", spec.name,
                    spec.cpu.value(), spec.memory.value(), spec.pods);
    }
    if (!spec.links.empty() && static_cast<std::size_t>(spec.links.gpus()) != spec.gpus.size()) {
        return fail(ErrorKind::invalid, "node \"{}\": links of {} GPUs given, the node has {}",
                    spec.name, spec.links.gpus(), spec.gpus.size());
    }
    std::size_t new_kinds = 0;
    for (std::size_t gpu = 0; gpu < spec.gpus.size(); ++gpu) {
        const GpuSpec& device = spec.gpus[gpu];
        bool good = within(device.memory.value(), kMaxGpuMemoryMib);
        for (std::int64_t amount : device.spare) {
            good = good && within(amount, kMaxAmount);
        }
        if (!good) {
            return fail(ErrorKind::invalid,
                        "node \"{}\": GPU {} has {} MiB, 0 to {} are accepted (other capacities 0 "
                        "to {})",
                        spec.name, gpu, device.memory.value(), kMaxGpuMemoryMib, kMaxAmount);
        }
        new_kinds += kind_of_.contains(kind_of(device)) ? 0 : 1;
    }
    if (kinds_.size() + new_kinds > std::numeric_limits<KindIndex::rep>::max()) {
        return fail(ErrorKind::conflict, "node \"{}\": more than {} unlike kinds of GPU", spec.name,
                    std::numeric_limits<KindIndex::rep>::max());
    }
    return {};
}

NodeIndex Cluster::add_node(NodeSpec spec) {
    const NodeIndex node(static_cast<std::uint32_t>(states_.size()));
    states_.emplace_back();
    specs_.emplace_back();
    numa_links_.emplace_back();
    trait_stamps_.emplace_back();
    node_use_.emplace_back();
    adopt(node, std::move(spec));
    return node;
}

void Cluster::update_node(NodeIndex node, NodeSpec spec) {
    forget_capacity(node);
    adopt(node, std::move(spec));
}

void Cluster::remove_node(NodeIndex node) {
    NodeSpec gone;
    gone.name = specs_[node.slot()].name;
    gone.pods = 0;
    gone.schedulable = false;
    forget_capacity(node);
    adopt(node, std::move(gone));
    node_use_[node.slot()].present = false;
    refresh(node);
}

void Cluster::adopt(NodeIndex node, NodeSpec spec) {
    TESSERA_ASSERT(check(spec).has_value(), "a node is checked before it is taken in");
    NodeShape shape{spec.cpu, spec.memory, {}, parents_of(spec.gpus)};
    for (const GpuSpec& gpu : spec.gpus) {
        shape.kinds.push_back(intern_kind(kind_of(gpu)));
    }
    gpu_count_ += static_cast<std::int64_t>(spec.gpus.size());
    cpu_capacity_ += spec.cpu;
    memory_capacity_ += spec.memory;
    adopt_devices(node, spec.gpus);
    NodeUse& used = node_use_[node.slot()];
    used.cpu_capacity_milli = spec.cpu.value();
    used.memory_capacity_mib = spec.memory.value();
    used.pods_capacity = spec.pods;
    used.present = true;
    NodeState& state = states_[node.slot()];
    state.shape = intern_shape(std::move(shape));
    ++shape_nodes_[state.shape.slot()];
    note_traits(node, spec.traits);
    LinkMatrix links = with_numa(spec.links, spec.gpus);
    numa_links_[node.slot()] = links == spec.links ? LinkMatrix() : std::move(links);
    specs_[node.slot()] = std::move(spec);
    refresh(node);
}

void Cluster::note_traits(NodeIndex node, const NodeTraits& traits) {
    const NodeTraits& before = specs_[node.slot()].traits;
    const bool known = trait_stamps_[node.slot()] != 0;  // a new node is news, whatever it is
    if (known && traits == before) {
        return;
    }
    trait_stamps_[node.slot()] = ++trait_changes_;
    repelling_nodes_ += traits.repels() ? 1 : 0;
    repelling_nodes_ -= before.repels() ? 1 : 0;
}

const NodeFilter& Cluster::filter(FilterIndex filter) const {
    static const FilterTable kNone;
    return options_.filters == nullptr ? kNone[filter] : (*options_.filters)[filter];
}

void Cluster::adopt_devices(NodeIndex node, const std::vector<GpuSpec>& gpus) {
    reserve_gpus(node, gpus.size());
    const NodeUse& used = node_use_[node.slot()];
    const GpuSpec none;
    for (std::size_t gpu = 0; gpu < used.gpu_slots; ++gpu) {
        Device& device = devices_[used.first_gpu + gpu];
        const bool absent = gpu >= gpus.size();
        const GpuSpec& spec = absent ? none : gpus[gpu];
        device.memory_size_mib =
            absent ? Device::kAbsent : static_cast<std::int32_t>(spec.memory.value());
        device.slots = spec.slots;
        device.health = spec.health;
        device.mode = spec.mode;
        if (any(spec.spare) || device.spare != kNoSlot) {
            spare_of(device).capacity = spec.spare;
        }
    }
}

SpareUse& Cluster::spare_of(Device& device) {
    if (device.spare == kNoSlot) {
        device.spare = static_cast<std::uint32_t>(spares_.size());
        spares_.emplace_back();
    }
    return spares_[device.spare];
}

void Cluster::forget_capacity(NodeIndex node) {
    const NodeSpec& spec = specs_[node.slot()];
    gpu_count_ -= static_cast<std::int64_t>(spec.gpus.size());
    cpu_capacity_ -= spec.cpu;
    memory_capacity_ -= spec.memory;
    --shape_nodes_[states_[node.slot()].shape.slot()];
}

// The devices' use moves to the end of the array when a node gets more of them. A node has at most
// kMaxGpusPerNode, so it moves a few times in its life, and the holes are not worth filling.
void Cluster::reserve_gpus(NodeIndex node, std::size_t count) {
    NodeUse& used = node_use_[node.slot()];
    if (count <= used.gpu_slots) {
        return;
    }
    const std::size_t to = devices_.size();
    devices_.resize(to + count);
    for (std::size_t gpu = 0; gpu < used.gpu_slots; ++gpu) {
        devices_[to + gpu] = std::exchange(devices_[used.first_gpu + gpu], {});
    }
    used.first_gpu = static_cast<std::uint32_t>(to);
    used.gpu_slots = static_cast<std::uint16_t>(count);
}

KindIndex Cluster::intern_kind(const DeviceKind& kind) {
    const auto [found, added] =
        kind_of_.try_emplace(kind, static_cast<std::uint16_t>(kinds_.size()));
    if (added) {
        kinds_.push_back(kind);
    }
    return found->second;
}

std::size_t Cluster::KindHash::operator()(const DeviceKind& kind) const {
    Hash hash;
    hash.add(kind.model.value());
    hash.add(static_cast<std::uint64_t>(kind.memory.value()));
    hash.add(static_cast<std::uint64_t>(kind.health) << 8 | static_cast<std::uint64_t>(kind.mode));
    return hash.value();
}

std::size_t Cluster::ShapeHash::operator()(const NodeShape& shape) const {
    Hash hash;
    hash.add(static_cast<std::uint64_t>(shape.cpu.value()));
    hash.add(static_cast<std::uint64_t>(shape.memory.value()));
    for (KindIndex kind : shape.kinds) {
        hash.add(kind.value());
    }
    for (const std::uint8_t parent : shape.parents) {
        hash.add(parent);
    }
    return hash.value();
}

ShapeIndex Cluster::intern_shape(NodeShape shape) {
    if (auto found = shape_of_.find(shape); found != shape_of_.end()) {
        return found->second;
    }
    const ShapeIndex index(static_cast<std::uint32_t>(shapes_.size()));
    shapes_.push_back(shape);
    shape_nodes_.push_back(0);
    shape_of_.emplace(std::move(shape), index);
    return index;
}

Catalog Cluster::catalog(const ClassTable& classes) const {
    return {.kinds = kinds_,
            .shapes = shapes_,
            .nodes_of_shape = shape_nodes_,
            .classes = &classes,
            .nodes = states_.size(),
            .gpus = gpu_count_,
            .cpu = cpu_capacity_,
            .memory = memory_capacity_};
}

GpuUse Cluster::use(NodeIndex node, GpuIndex gpu) const {
    GpuUse use;
    if (const Device* held = device(node, gpu); held != nullptr) {
        use.memory_mib = held->memory_mib;
        use.milli = held->milli;
        use.shares = held->shares;
        use.exclusive = held->exclusive;
        use.spare = held->spare == kNoSlot ? SpareAmounts{} : spares_[held->spare].used;
    }
    return use;
}

bool Cluster::exceeded(const Device& device) const {
    bool over = device.exceeded(options_.milli_per_gpu.value());
    if (device.spare != kNoSlot) {
        const SpareUse& spare = spares_[device.spare];
        for (std::size_t d = 0; d < kSpareDimensions; ++d) {
            over = over || spare.used[d] > spare.capacity[d];
        }
    }
    return over;
}

bool Cluster::has_room(const Device& device, const GpuUse& asked) const {
    bool fits = device.has_room(asked, options_.milli_per_gpu.value());
    if (any(asked.spare)) {
        const SpareUse spare = device.spare == kNoSlot ? SpareUse{} : spares_[device.spare];
        for (std::size_t d = 0; d < kSpareDimensions; ++d) {
            fits = fits &&
                   (asked.spare[d] == 0 || spare.used[d] + asked.spare[d] <= spare.capacity[d]);
        }
    }
    return fits;
}

bool Cluster::fits(const Placement& placement) const {
    const NodeState& left = states_[placement.node.slot()];
    const NodeUse& used = node_use_[placement.node.slot()];
    if (placement.cpu.value() > left.free_cpu_milli ||
        placement.memory.value() > left.free_memory_mib || placement.pods > left.free_pods) {
        return false;
    }
    // Several grants may name one device: they are summed before they are compared.
    std::uint32_t seen = 0;
    for (const DeviceGrant& grant : placement.grants) {
        const std::size_t gpu = grant.gpu.slot();
        if (gpu >= left.gpu_count) {
            return false;
        }
        if (placement.admin_access || (seen >> gpu & 1U) != 0) {
            continue;
        }
        seen |= 1U << gpu;
        GpuUse asked;
        for (const DeviceGrant* other = &grant; other != placement.grants.end(); ++other) {
            if (other->gpu == grant.gpu) {
                asked.add(*other, 1);
            }
        }
        if (!has_room(devices_[used.first_gpu + gpu], asked)) {
            return false;
        }
    }
    return true;
}

void Cluster::apply(const Placement& placement, std::uint64_t start, int sign) {
    NodeUse& used = node_use_[placement.node.slot()];
    NodeState& state = states_[placement.node.slot()];
    used.cpu_milli += sign * placement.cpu.value();
    used.memory_mib += sign * placement.memory.value();
    used.pods += sign * placement.pods;
    TESSERA_ASSERT(used.cpu_milli >= 0 && used.memory_mib >= 0 && used.pods >= 0,
                   "a node gives back no more than it lent");
    state.free_cpu_milli = std::max<std::int64_t>(0, used.cpu_capacity_milli - used.cpu_milli);
    state.free_memory_mib = std::max<std::int64_t>(0, used.memory_capacity_mib - used.memory_mib);
    state.free_pods = std::max(0, used.pods_capacity - used.pods);
    mark_node(used);
    if (holds_devices(placement)) {
        apply_grants(placement, sign);
        apply_start(placement, start, sign);
    }
}

void Cluster::apply_grants(const Placement& placement, int sign) {
    NodeUse& used = node_use_[placement.node.slot()];
    NodeState& state = states_[placement.node.slot()];
    for (const DeviceGrant& grant : placement.grants) {
        const std::size_t gpu = grant.gpu.slot();
        TESSERA_ASSERT(gpu < kMaxGpusPerNode, "a device's number is checked before it is used");
        if (gpu >= used.gpu_slots) {
            reserve_gpus(placement.node, gpu + 1);
        }
        Device& device = devices_[used.first_gpu + gpu];
        device.add(grant, sign);
        if (any(grant.spare)) {
            SpareUse& spare = spare_of(device);
            for (std::size_t d = 0; d < kSpareDimensions; ++d) {
                spare.used[d] += sign * grant.spare[d];
            }
        }
        TESSERA_ASSERT(device.milli >= 0 && device.memory_mib >= 0 && device.shares >= 0,
                       "a device gives back no more than it lent");
        gpu_milli_used_ += sign * grant.milli.value();
        if (!device.absent()) {  // else it is one that the node lost, or never had
            refresh_gpu(device, state, state.gpus[gpu]);
        }
        mark_gpu(device, used, gpu);
    }
}

void Cluster::apply_start(const Placement& placement, std::uint64_t start, int sign) {
    NodeUse& used = node_use_[placement.node.slot()];
    NodeState& state = states_[placement.node.slot()];
    auto& starts = used.gpu_pod_starts;
    const auto at = std::lower_bound(starts.begin(), starts.end(), start);
    if (sign > 0) {
        starts.insert(at, start);
    } else {
        TESSERA_ASSERT(at != starts.end() && *at == start, "a pod leaves with its own start");
        starts.erase(at);
    }
    const std::size_t size = size_of(placement);
    std::int32_t& pods = used.pods_of_size[size];
    pods += sign;
    state.sizes = (state.sizes & ~(1U << size)) | (pods > 0 ? 1U << size : 0U);
    state.gpu_pods = static_cast<std::int32_t>(starts.size());
    state.oldest_start = starts.empty() ? kNeverStarted : starts.front();
}

void Cluster::refresh(NodeIndex node) {
    states_[node.slot()] = state_of(node);
    NodeUse& used = node_use_[node.slot()];
    for (std::size_t gpu = 0; gpu < used.gpu_slots; ++gpu) {
        mark_gpu(devices_[used.first_gpu + gpu], used, gpu);
    }
    mark_node(used);
}

// What is left of a device; one without a free slot has nothing left, whatever its memory, nor has
// one that is a single owner's. Over-commitment never shows as more than a whole device.
void Cluster::show_left(const Device& device, GpuState& state) const {
    const bool full = device.exclusive > 0 || (device.slots > 0 && device.shares >= device.slots);
    const std::int32_t idle =
        std::clamp(options_.milli_per_gpu.value() - device.milli, 0, full ? 0 : kWholeGpu.value());
    const std::int64_t memory =
        full ? 0 : std::max<std::int64_t>(0, device.memory_size_mib - device.memory_mib);
    state.idle_milli = static_cast<std::int16_t>(idle);
    state.free_memory_mib = static_cast<std::int32_t>(memory);
    state.shares = static_cast<std::uint16_t>(
        std::min<std::int32_t>(device.shares, std::numeric_limits<std::uint16_t>::max()));
    state.value = device_value(idle, memory, device.memory_size_mib);
    state.free_slots = full ? std::uint16_t{0}
                       : device.slots == 0
                           ? kSlotsUnlimited
                           : static_cast<std::uint16_t>(device.slots - device.shares);
}

void Cluster::refresh_gpu(const Device& device, NodeState& node, GpuState& state) const {
    const std::int32_t value = state.value;
    const bool empty = state.empty();
    show_left(device, state);
    if (device.health == Health::ok) {
        node.idle_value += state.value - value;
        const int emptied = (state.empty() ? 1 : 0) - (empty ? 1 : 0);
        node.empty_gpus = static_cast<std::uint8_t>(node.empty_gpus + emptied);
    }
}

void Cluster::mark_gpu(const Device& device, NodeUse& used, std::size_t gpu) {
    const bool over = used.present && exceeded(device);
    const bool before = (used.over_gpus >> gpu & 1U) != 0;
    if (over != before) {
        used.over_gpus = static_cast<std::uint16_t>(used.over_gpus ^ (1U << gpu));
        over_gpus_ += over ? 1 : -1;
    }
}

void Cluster::mark_node(NodeUse& used) {
    const bool over = used.present && exceeded(used);
    if (over != used.over_node) {
        used.over_node = over;
        over_nodes_ += over ? 1 : -1;
    }
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
        state.gpus[gpu].kind = shape.kinds[gpu];
        show_left(devices_[used.first_gpu + gpu], state.gpus[gpu]);
        state.gpus[gpu].numa = spec.gpus[gpu].numa;
        state.gpus[gpu].link_domain = link_domain(state, gpu, spec.links);
    }
    summarise(state);
    return state;
}

}  // namespace tessera
