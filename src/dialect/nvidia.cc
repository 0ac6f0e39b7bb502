#include "dialect/nvidia.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "dialect/asking.h"

namespace tessera {
namespace {

constexpr std::string_view kPrefix = "nvidia.com/";
constexpr std::string_view kGpus = "nvidia.com/gpu";
constexpr std::string_view kMemory = "nvidia.com/gpumem";
constexpr std::string_view kMemoryPercent = "nvidia.com/gpumem-percentage";
constexpr std::string_view kCores = "nvidia.com/gpucores";
constexpr std::array kResources{kGpus, kMemory, kMemoryPercent, kCores};
constexpr std::int32_t kPpmPerPercent = kWholeMemoryPpm / 100;

std::string asks(const Pod& pod) {
    std::vector<std::string_view> resources(kResources.begin(), kResources.end());
    for (const auto* containers : {&pod.init_containers, &pod.containers}) {
        for (const Container& container : *containers) {
            for (const auto* list : {&container.requests, &container.limits}) {
                for (const auto& [resource, amount] : *list) {
                    if (std::string_view(resource).starts_with(kPrefix)) {
                        resources.push_back(resource);
                    }
                }
            }
        }
    }
    return first_asked(pod, resources);
}

// Asking for a kind of device that we would silently not give is worse than a refusal.
Expected<void> check_known(const Container& container) {
    for (const auto* list : {&container.requests, &container.limits}) {
        for (const auto& [resource, amount] : *list) {
            const bool known =
                std::find(kResources.begin(), kResources.end(), resource) != kResources.end();
            if (std::string_view(resource).starts_with(kPrefix) && !known && !amount.zero()) {
                return fail(ErrorKind::invalid, "container {}: resource {} is not accepted: {} are",
                            shown(container.name), in_quotes(resource),
                            fmt::join(kResources, ", "));
            }
        }
    }
    return {};
}

Expected<void> check_annotations(const Pod& pod) {
    for (std::string_view key : {"nvidia.com/use-gputype", "nvidia.com/nouse-gputype",
                                 "nvidia.com/use-gpuuuid", "nvidia.com/nouse-gpuuuid"}) {
        if (find(pod.annotations, key) != nullptr) {
            return fail(ErrorKind::invalid,
                        "annotation {} is not accepted: tessera.dev/gpu-model chooses models", key);
        }
    }
    return {};
}

// nvidia.com/gpu alone: whole devices. With HAMi's additions: parts of so many devices; what is
// not said is all of the memory, and no reserved compute.
Expected<GpuRequest> container_ask(const Container& container) {
    TESSERA_CHECK(check_known(container));
    TESSERA_TRY(const std::int64_t gpus,
                asked_amount(container, kGpus, {0, kMaxGpusPerNode, "GPUs"}));
    TESSERA_TRY(const std::int64_t memory,
                asked_amount(container, kMemory, {0, kMaxGpuMemoryMib, "MiB"}));
    TESSERA_TRY(const std::int64_t percent,
                asked_amount(container, kMemoryPercent, {0, 100, "percent"}));
    TESSERA_TRY(const std::int64_t cores, asked_amount(container, kCores, {0, 100, "percent"}));
    const bool parts = memory > 0 || percent > 0 || cores > 0;
    GpuRequest request;
    request.gpus = static_cast<std::uint16_t>(gpus == 0 && parts ? 1 : gpus);
    if (!parts || cores == 100) {
        request.milli = kWholeGpu;
        return request;
    }
    request.milli = MilliGpu(static_cast<std::int32_t>(cores * 10));
    request.limit = cores > 0 ? request.milli : kWholeGpu;
    if (memory > 0) {
        set_memory(request, memory);
    } else {
        request.memory_ppm =
            static_cast<std::int32_t>(percent > 0 ? percent : 100) * kPpmPerPercent;
    }
    return request;
}

Expected<PodDemand> demand(const Pod& pod, DialectContext& context) {
    TESSERA_CHECK(check_annotations(pod));
    return demand_by_container(pod, context, container_ask);
}

Expected<PlacementMarks> marks(const PlacedPod&, const DialectContext&) { return PlacementMarks{}; }

Expected<std::optional<Grants>> read_back(const Pod&, const NodeSpec&, DialectContext&) {
    return std::nullopt;  // the plugin chooses on the node and writes nothing on the pod
}

// HAMi and time-slicing advertise a card several times; feature discovery labels tell the truth.
Expected<std::vector<GpuSpec>> node_gpus(const Node& node, DialectContext& context) {
    const Quantity* amount = node.offered(kGpus);
    if (amount == nullptr || amount->zero()) {
        return std::vector<GpuSpec>{};
    }
    if (const std::string* label = find(node.labels, "nvidia.com/gpu.count")) {
        TESSERA_TRY(const std::int64_t count,
                    whole_number("nvidia.com/gpu.count", *label, {0, kMaxGpusPerNode, "GPUs"}));
        return even_gpus(node, {kGpus, count, 0, 0}, context);
    }
    TESSERA_TRY(const std::int64_t count,
                whole_number(kGpus, *amount, {0, kMaxGpusPerNode, "GPUs"}));
    return even_gpus(node, {kGpus, count, 0, 0}, context);
}

}  // namespace

Dialect nvidia_dialect() {
    return {"nvidia", {}, "nvidia.com/gpu", asks, demand, marks, read_back, node_gpus};
}

}  // namespace tessera
