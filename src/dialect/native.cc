#include "dialect/native.h"

#include <algorithm>

#include "base/text.h"
#include "dialect/asking.h"
#include "dialect/own_keys.h"

namespace tessera {
namespace {

constexpr Bounds kMilliBounds{1, 1000, "thousandths of a GPU"};
constexpr std::int32_t kPpmPerMilli = kWholeMemoryPpm / 1000;

// Parts of a device that the keys name, for the pod or for one container.
struct Parts {
    std::optional<std::int64_t> milli;
    std::optional<std::int64_t> limit;
    std::optional<std::int64_t> memory;

    bool any() const { return milli || limit || memory; }
};

Expected<std::optional<std::int64_t>> number(const Pod& pod, std::string_view key,
                                             std::string_view suffix, const Bounds& bounds) {
    const std::string full = fmt::format("{}{}", key, suffix);
    TESSERA_TRY(const auto text, own_value(pod, full));
    if (!text) {
        return std::nullopt;
    }
    TESSERA_TRY(const std::int64_t value, whole_number(full, *text, bounds));
    return value;
}

Expected<Parts> read_parts(const Pod& pod, std::string_view suffix) {
    Parts parts;
    TESSERA_TRY(parts.milli, number(pod, kOwnMilli, suffix, kMilliBounds));
    TESSERA_TRY(parts.limit, number(pod, kOwnLimitMilli, suffix, kMilliBounds));
    TESSERA_TRY(parts.memory, number(pod, kOwnMemoryMib, suffix, {1, kMaxGpuMemoryMib, "MiB"}));
    return parts;
}

// A container's own keys come first, one by one; the pod's stand in for the rest.
Expected<Parts> parts_of(const Pod& pod, const Container& container, const Parts& pod_wide) {
    TESSERA_TRY(Parts parts, read_parts(pod, "." + container.name));
    parts.milli = parts.milli ? parts.milli : pod_wide.milli;
    parts.limit = parts.limit ? parts.limit : pod_wide.limit;
    parts.memory = parts.memory ? parts.memory : pod_wide.memory;
    return parts;
}

// Nothing said: the whole device. Only compute said: memory in proportion. Only memory said:
// compute is time-shared, none reserved.
Expected<GpuRequest> request_of(std::int64_t gpus, const Parts& parts) {
    GpuRequest request;
    request.gpus = static_cast<std::uint16_t>(gpus);
    if (!parts.milli && !parts.memory) {
        if (parts.limit) {
            return fail(ErrorKind::invalid, "{}: {} is not accepted without {} or {}",
                        kOwnLimitMilli, *parts.limit, kOwnMilli, kOwnMemoryMib);
        }
        request.milli = kWholeGpu;
        return request;
    }
    request.milli = MilliGpu(static_cast<std::int32_t>(parts.milli.value_or(0)));
    request.limit = MilliGpu(static_cast<std::int32_t>(parts.limit.value_or(1000)));
    if (request.limit < request.milli) {
        return fail(ErrorKind::invalid, "{}: {} is not accepted: at least {}, which is {}, is",
                    kOwnLimitMilli, request.limit.value(), kOwnMilli, request.milli.value());
    }
    if (parts.memory) {
        set_memory(request, *parts.memory);
    } else if (!request.whole()) {
        request.memory_ppm = request.milli.value() * kPpmPerMilli;
    }
    return request;
}

std::string asks(const Pod& pod) {
    std::string resource = first_asked(pod, {kOwnGpus});
    if (!resource.empty()) {
        return resource;
    }
    for (const StringMap* map : {&pod.annotations, &pod.labels}) {
        for (std::string_view key : {kOwnMilli, kOwnLimitMilli, kOwnMemoryMib}) {
            const auto at = map->lower_bound(key);  // the key itself, or KEY.CONTAINER
            if (at != map->end() &&
                (at->first == key || at->first.starts_with(fmt::format("{}.", key)))) {
                return at->first;
            }
        }
    }
    return {};
}

bool any_container_asks(const Pod& pod) {
    if (!first_asked(pod, {kOwnGpus}).empty()) {
        return true;
    }
    for (const StringMap* map : {&pod.annotations, &pod.labels}) {
        for (const auto& [key, value] : *map) {
            for (std::string_view base : {kOwnMilli, kOwnLimitMilli, kOwnMemoryMib}) {
                if (key.starts_with(fmt::format("{}.", base))) {
                    return true;
                }
            }
        }
    }
    return false;
}

// Containers ask by the resource or by a key with their name. Where none does, keys for the pod
// mean one device that all its containers share.
Expected<PodDemand> demand(const Pod& pod, DialectContext& context) {
    TESSERA_TRY(const Parts pod_wide, read_parts(pod, ""));
    if (!any_container_asks(pod)) {
        TESSERA_TRY(const GpuRequest request, request_of(pod_wide.any() ? 1 : 0, pod_wide));
        return demand_by_pod(pod, context, request);
    }
    return demand_by_container(
        pod, context, [&](const Container& container) -> Expected<GpuRequest> {
            TESSERA_TRY(const std::int64_t gpus,
                        asked_amount(container, kOwnGpus, {0, kMaxGpusPerNode, "GPUs"}));
            TESSERA_TRY(const Parts own, read_parts(pod, "." + container.name));
            TESSERA_TRY(const Parts parts, parts_of(pod, container, pod_wide));
            return request_of(gpus == 0 && own.any() ? 1 : gpus, parts);
        });
}

// tessera.dev/placement is written for every dialect, by the layer that speaks JSON.
Expected<PlacementMarks> marks(const PlacedPod&, const DialectContext&) { return PlacementMarks{}; }

Expected<std::optional<Grants>> read_back(const Pod&, const NodeSpec&, DialectContext&) {
    return std::nullopt;
}

Expected<std::vector<GpuSpec>> node_gpus(const Node& node, DialectContext& context) {
    const Quantity* amount = node.offered(kOwnGpus);
    if (amount == nullptr) {
        return std::vector<GpuSpec>{};
    }
    TESSERA_TRY(const std::int64_t count,
                whole_number(kOwnGpus, *amount, {0, kMaxGpusPerNode, "GPUs"}));
    return even_gpus(node, {kOwnGpus, count, 0, 0}, context);
}

}  // namespace

Dialect native_dialect() {
    return {"native", {"tessera"}, kOwnGpus, asks, demand, marks, read_back, node_gpus};
}

}  // namespace tessera
