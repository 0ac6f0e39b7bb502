// Writing traces in the openb form (the other half of trace_csv.h).
#include <algorithm>
#include <array>

#include "codec/csv.h"
#include "codec/trace_csv.h"
#include "model/gpu_models.h"

namespace tessera {

namespace {

std::string joined_models(const TracePod& pod, const Interner<ModelIndex>& models) {
    std::string text;
    for (const ModelIndex model : pod.models) {
        text += text.empty() ? "" : "|";
        text += models.name(model);
    }
    return text;
}

std::string_view qos_of(const TracePod& pod) {
    constexpr std::array<std::string_view, 3> kByPriority{"BE", "Burstable", "LS"};
    return kByPriority[static_cast<std::size_t>(std::clamp(pod.priority, 0, 2))];
}

// Whether the pod waited before it ran is not kept: it starts when it was submitted.
std::string times_of(const TracePod& pod) {
    const double start = pod.submit_s.value_or(0);
    std::string text = pod.submit_s ? fmt::format(",{:.12g}", *pod.submit_s) : ",";
    return text + (pod.duration_s ? fmt::format(",{:.12g},{:.12g}", start + *pod.duration_s, start)
                                  : ",,");
}

}  // namespace

std::string write_pod_trace(const std::vector<TracePod>& pods, const Interner<ModelIndex>& models) {
    const bool timed = std::any_of(pods.begin(), pods.end(), [](const TracePod& pod) {
        return pod.submit_s || pod.duration_s;
    });
    std::string text = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos";
    text += timed ? ",creation_time,deletion_time,scheduled_time\n" : "\n";
    for (const TracePod& pod : pods) {
        text += fmt::format("{},{},{},{},{},{},{}", csv_field(pod.name), pod.cpu.value(),
                            pod.memory.value(), pod.gpus, pod.gpu_milli.value(),
                            csv_field(joined_models(pod, models)), qos_of(pod));
        if (timed) {
            text += times_of(pod);
        }
        text += "\n";
    }
    return text;
}

std::string write_node_trace(const std::vector<NodeSpec>& nodes,
                             const Interner<ModelIndex>& models) {
    const auto model_of = [&](const NodeSpec& node) -> std::string_view {
        const bool known = !node.gpus.empty() && node.gpus.front().model.valid();
        return known ? models.name(node.gpus.front().model) : std::string_view();
    };
    // A column for the memory of GPUs only where their models do not tell it.
    const bool with_memory = std::any_of(nodes.begin(), nodes.end(), [&](const NodeSpec& node) {
        return !node.gpus.empty() &&
               node.gpus.front().memory != usual_memory(model_of(node)).value_or(MemoryMib(0));
    });
    std::string text = "sn,cpu_milli,memory_mib,gpu,model";
    text += with_memory ? ",gpu_memory_mib\n" : "\n";
    for (const NodeSpec& node : nodes) {
        text += fmt::format("{},{},{},{},{}", csv_field(node.name), node.cpu.value(),
                            node.memory.value(), node.gpus.size(), csv_field(model_of(node)));
        if (with_memory) {
            text += node.gpus.empty() ? "," : fmt::format(",{}", node.gpus.front().memory.value());
        }
        text += "\n";
    }
    return text;
}

}  // namespace tessera
