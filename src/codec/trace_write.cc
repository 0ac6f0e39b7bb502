// Writing traces in the openb form (the other half of trace_csv.h).
#include <algorithm>
#include <array>

#include "codec/csv.h"
#include "codec/trace_csv.h"

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

}  // namespace

std::string write_pod_trace(const std::vector<TracePod>& pods, const Interner<ModelIndex>& models) {
    const bool timed = std::all_of(pods.begin(), pods.end(), [](const TracePod& pod) {
        return pod.submit_s && pod.duration_s;
    });
    std::string text = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos";
    text += timed ? ",creation_time,deletion_time,scheduled_time\n" : "\n";
    for (const TracePod& pod : pods) {
        text += fmt::format("{},{},{},{},{},{},{}", csv_field(pod.name), pod.cpu.value(),
                            pod.memory.value(), pod.gpus, pod.gpu_milli.value(),
                            csv_field(joined_models(pod, models)), qos_of(pod));
        if (timed) {
            text += fmt::format(",{:.12g},{:.12g},{:.12g}", *pod.submit_s,
                                *pod.submit_s + *pod.duration_s, *pod.submit_s);
        }
        text += "\n";
    }
    return text;
}

std::string write_node_trace(const std::vector<NodeSpec>& nodes,
                             const Interner<ModelIndex>& models) {
    std::string text = "sn,cpu_milli,memory_mib,gpu,model\n";
    for (const NodeSpec& node : nodes) {
        const bool known = !node.gpus.empty() && node.gpus.front().model.valid();
        text += fmt::format("{},{},{},{},{}\n", csv_field(node.name), node.cpu.value(),
                            node.memory.value(), node.gpus.size(),
                            known ? csv_field(models.name(node.gpus.front().model)) : "");
    }
    return text;
}

}  // namespace tessera
