#include "dialect/kube_knots.h"

#include "dialect/asking.h"

namespace tessera {
namespace {

constexpr std::string_view kMemory = "GPU_MEM_REQ";

std::string asks(const Pod& pod) {
    const std::string* text = find(pod.labels, kMemory);
    return text == nullptr || trimmed(*text) == "0" ? std::string() : std::string(kMemory);
}

// Memory of one device for the whole pod; compute is time-shared. The original takes a number that
// it cannot read for 0 and lets the pod in for free: here it is an error.
Expected<PodDemand> demand(const Pod& pod, DialectContext& context) {
    GpuRequest request;
    request.gpus = 0;
    if (const std::string* text = find(pod.labels, kMemory)) {
        TESSERA_TRY(const std::int64_t mib,
                    whole_number(kMemory, *text, {0, kMaxGpuMemoryMib, "MiB"}));
        request.gpus = mib > 0 ? 1 : 0;
        set_memory(request, mib);
    }
    return demand_by_pod(pod, context, request);
}

// The original tells the container nothing; our own record says all.
Expected<PlacementMarks> marks(const PlacedPod&, const DialectContext&) { return PlacementMarks{}; }

Expected<std::optional<Grants>> read_back(const Pod&, const NodeSpec&, DialectContext&) {
    return std::nullopt;
}

Expected<std::vector<GpuSpec>> node_gpus(const Node&, DialectContext&) {
    return std::vector<GpuSpec>{};  // it knows one node by name, and asks Prometheus for the rest
}

}  // namespace

Dialect kube_knots_dialect() {
    return {"kube-knots",
            {"custom-scheduler", "improved-custom-scheduler"},
            "the label GPU_MEM_REQ",
            asks,
            demand,
            marks,
            read_back,
            node_gpus};
}

}  // namespace tessera
