#include "dialect/gpushare.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "dialect/asking.h"

namespace tessera {
namespace {

constexpr std::string_view kMemory = "aliyun.com/gpu-mem";
constexpr std::string_view kCount = "aliyun.com/gpu-count";
constexpr std::string_view kIndex = "ALIYUN_COM_GPU_MEM_IDX";
constexpr std::string_view kPodUnits = "ALIYUN_COM_GPU_MEM_POD";
constexpr std::string_view kDeviceUnits = "ALIYUN_COM_GPU_MEM_DEV";
constexpr std::string_view kAssigned = "ALIYUN_COM_GPU_MEM_ASSIGNED";
constexpr std::string_view kAssumeTime = "ALIYUN_COM_GPU_MEM_ASSUME_TIME";
constexpr std::int64_t kUnitsMax = kMaxGpuMemoryMib / 1024;
constexpr std::int64_t kGibUnitsMax = 100;  // per device: more is MiB

std::int64_t mib_per(MemoryUnit unit) { return unit == MemoryUnit::gib ? 1024 : 1; }

Bounds units_bounds(MemoryUnit unit) {
    return {0, unit == MemoryUnit::gib ? kUnitsMax : kMaxGpuMemoryMib,
            unit == MemoryUnit::gib ? "GiB" : "MiB"};
}

std::string asks(const Pod& pod) { return first_asked(pod, {kMemory}); }

// Each container's amount is checked, so that a negative one cannot hide in the sum.
Expected<std::int64_t> pod_units(const Pod& pod, MemoryUnit unit) {
    for (const auto* containers : {&pod.init_containers, &pod.containers}) {
        for (const Container& container : *containers) {
            TESSERA_CHECK(asked_amount(container, kMemory, units_bounds(unit)));
        }
    }
    return whole_number(kMemory, effective_request(pod, kMemory), units_bounds(unit));
}

Expected<PodDemand> demand(const Pod& pod, DialectContext& context) {
    const MemoryUnit unit = context.options.gpushare_unit;
    TESSERA_TRY(const std::int64_t units, pod_units(pod, unit));
    GpuRequest request;
    request.gpus = units > 0 ? 1 : 0;
    set_memory(request, units * mib_per(unit));
    return demand_by_pod(pod, context, request, kMemory);
}

Expected<PlacementMarks> marks(const PlacedPod& placed, const DialectContext& context) {
    PlacementMarks result;
    if (placed.placement.grants.empty()) {
        return result;
    }
    if (placed.placement.grants.size() != 1) {
        return fail(ErrorKind::internal, "a {} pod has one device, not {}", kMemory,
                    placed.placement.grants.size());
    }
    const MemoryUnit unit = context.options.gpushare_unit;
    TESSERA_TRY(const std::int64_t units, pod_units(placed.pod, unit));
    const GpuIndex gpu = placed.placement.grants[0].gpu;
    const MemoryMib size = placed.node.gpus[gpu.slot()].memory;
    const auto put = [&](std::string_view key, std::string value) {
        result.annotations.emplace(key, std::move(value));
    };
    put(kIndex, std::to_string(gpu.value()));
    put(kPodUnits, std::to_string(units));
    put(kDeviceUnits, std::to_string(size.value() / mib_per(unit)));
    put(kAssigned, "false");
    put(kAssumeTime, std::to_string(placed.now.value()));
    return result;
}

Expected<std::optional<Grants>> read_back(const Pod& pod, const NodeSpec& node,
                                          DialectContext& context) {
    const std::string* index = find(pod.annotations, kIndex);
    if (index == nullptr || trimmed(*index) == "-1") {  // -1: the device plugin found none
        return std::nullopt;
    }
    TESSERA_TRY(const auto gpus, gpu_indices(kIndex, *index, node));
    if (gpus.size() != 1) {
        return fail(ErrorKind::invalid, "{}: {} is not accepted: one GPU's index is", kIndex,
                    in_quotes(*index));
    }
    const MemoryUnit unit = context.options.gpushare_unit;
    std::int64_t units = 0;
    if (const std::string* text = find(pod.annotations, kPodUnits)) {
        TESSERA_TRY(units, whole_number(kPodUnits, *text, units_bounds(unit)));
    } else {
        TESSERA_TRY(units, pod_units(pod, unit));
    }
    return gpushare_grants({{gpus.front().value(), units}}, node, context);
}

// Per-device units; nothing when the node has no count or no memory.
struct Inventory {
    std::int64_t count = 0;
    std::int64_t units = 0;
};
Expected<Inventory> inventory(const Node& node) {
    const Quantity* memory = node.offered(kMemory);
    const Quantity* count = node.offered(kCount);
    if (memory == nullptr || count == nullptr) {
        return Inventory{};
    }
    Inventory result;
    TESSERA_TRY(result.count, whole_number(kCount, *count, {0, kMaxGpusPerNode, "GPUs"}));
    TESSERA_TRY(const std::int64_t total,
                whole_number(kMemory, *memory, {0, kMaxGpusPerNode * kMaxGpuMemoryMib, "units"}));
    if (result.count == 0 || total == 0) {
        return Inventory{};
    }
    result.units = total / result.count;
    return result;
}

Expected<std::vector<GpuSpec>> node_gpus(const Node& node, DialectContext& context) {
    TESSERA_TRY(const Inventory found, inventory(node));
    const std::int64_t mib = found.units * mib_per(gpushare_unit(node));
    return even_gpus(node, {kCount, found.count, mib, 0}, context);
}

}  // namespace

Dialect gpushare_dialect() {
    return {"gpushare", {}, kMemory, asks, demand, marks, read_back, node_gpus};
}

MemoryUnit gpushare_unit(const Node& node) {
    const auto found = inventory(node);
    return found && found->units > kGibUnitsMax ? MemoryUnit::mib : MemoryUnit::gib;
}

MemoryUnit gpushare_unit(const Pod& pod, std::span<const NodeSpec> nodes) {
    std::int64_t largest = 0;
    for (const NodeSpec& node : nodes) {
        for (const GpuSpec& gpu : node.gpus) {
            largest = std::max(largest, gpu.memory.value());
        }
    }
    const auto units = pod_units(pod, MemoryUnit::mib);
    const std::int64_t most = largest / mib_per(MemoryUnit::gib);
    return largest > 0 && units && *units > most ? MemoryUnit::mib : MemoryUnit::gib;
}

Expected<Grants> gpushare_grants(const std::vector<GpusharePiece>& pieces, const NodeSpec& node,
                                 DialectContext& context) {
    std::map<std::int64_t, std::int64_t> by_gpu;
    for (const GpusharePiece& piece : pieces) {
        if (piece.gpu < 0 || piece.gpu >= static_cast<std::int64_t>(node.gpus.size())) {
            return fail(ErrorKind::invalid, "GPU {} is not accepted: node {} has {}", piece.gpu,
                        shown(node.name), node.gpus.size());
        }
        const Bounds bounds = units_bounds(context.options.gpushare_unit);
        TESSERA_CHECK(whole_number("units of GPU memory", Quantity::of(piece.units), bounds));
        by_gpu[piece.gpu] += piece.units;
    }
    Grants grants;
    for (const auto& [gpu, units] : by_gpu) {
        grants.push_back({context.names.requests.intern(kPodRequest),
                          GpuIndex(static_cast<GpuIndex::rep>(gpu)),
                          MilliGpu(0),
                          MemoryMib(units * mib_per(context.options.gpushare_unit)),
                          {}});
    }
    return grants;
}

UnhealthyGpus read_unhealthy_gpus(std::string_view text) {
    UnhealthyGpus result;
    for (std::string_view part : split(text, ',')) {
        if (part.empty()) {
            continue;  // "", "1," and "1,,2" name no device
        }
        const auto index = whole_number("gpus", part, {0, kMaxGpusPerNode - 1, "a GPU's index"});
        if (index) {
            result.gpus.push_back(*index);
        } else {
            result.ignored.push_back(index.error().message);
        }
    }
    std::sort(result.gpus.begin(), result.gpus.end());
    result.gpus.erase(std::unique(result.gpus.begin(), result.gpus.end()), result.gpus.end());
    return result;
}

std::vector<std::string> mark_unhealthy(NodeSpec& node, const UnhealthyGpus& unhealthy) {
    std::vector<std::string> unknown;
    for (std::int64_t gpu : unhealthy.gpus) {
        if (gpu < static_cast<std::int64_t>(node.gpus.size())) {
            Health& health = node.gpus[static_cast<std::size_t>(gpu)].health;
            health = std::max(health, Health::no_new);
        } else {
            unknown.push_back(fmt::format("gpus: GPU {} is not accepted: node {} has {}", gpu,
                                          shown(node.name), node.gpus.size()));
        }
    }
    return unknown;
}

}  // namespace tessera
