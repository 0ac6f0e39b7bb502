#include "sim/workload.h"

#include <algorithm>

namespace tessera {

namespace {

Demand demand_of(const TracePod& pod) {
    Demand demand;
    demand.cpu = pod.cpu;
    demand.memory = pod.memory;
    demand.models = pod.models;
    demand.priority = pod.priority;
    if (pod.gpus > 0) {
        GpuRequest request;
        request.gpus = pod.gpus;
        request.milli = pod.gpu_milli;
        demand.alternatives = {{.requests = {request}}};
    }
    return demand;
}

std::uint8_t size_key_of(const TracePod& pod) {
    if (pod.gpus == 0) {
        return 0;
    }
    if (pod.gpu_milli < kWholeGpu) {
        return 1;
    }
    return static_cast<std::uint8_t>(1 + pod.gpus);
}

bool fits_empty(const DemandClass& wanted, const NodeSpec& node) {
    if (wanted.cpu > node.cpu || wanted.memory > node.memory) {
        return false;
    }
    const auto allowed = std::count_if(node.gpus.begin(), node.gpus.end(), [&](const GpuSpec& gpu) {
        return wanted.allows(gpu.model);
    });
    return allowed >= wanted.gpus;
}

void count_pod(Workload& workload, ClassTable& table, const TracePod& pod) {
    const DemandClass demand_class = class_of_pod(pod);
    const ClassIndex index = table.intern(demand_class);
    if (index.slot() == workload.mix.size()) {
        workload.mix.push_back({demand_class, 0});
    }
    ++workload.mix[index.slot()].count;
    workload.class_of.push_back(index.value());
    workload.gpu_milli.push_back(pod.gpu_milli_total());
    workload.size_key.push_back(size_key_of(pod));
    workload.gpu_milli_total += pod.gpu_milli_total();
}

}  // namespace

std::string size_key_name(std::size_t key) {
    return key == 0 ? "0" : key == 1 ? "share" : std::to_string(key - 1);
}

DemandClass class_of_pod(const TracePod& pod) { return demand_class(demand_of(pod)); }

Workload make_workload(std::string name, PodTrace trace) {
    Workload workload;
    workload.name = std::move(name);
    workload.format = trace.format;
    workload.pods = std::move(trace.pods);
    workload.pod_of_row.assign(trace.rows, kNoPod);
    ClassTable table;
    for (std::uint32_t i = 0; i < workload.pods.size(); ++i) {
        const TracePod& pod = workload.pods[i];
        // A row may give several pods (wide jobs); its first one stands for it.
        if (pod.row < trace.rows && workload.pod_of_row[pod.row] == kNoPod) {
            workload.pod_of_row[pod.row] = i;
        }
        count_pod(workload, table, pod);
    }
    return workload;
}

Workload without_misfits(const Workload& workload, const std::vector<NodeSpec>& nodes) {
    std::vector<bool> fits(workload.mix.size());
    for (std::size_t c = 0; c < fits.size(); ++c) {
        fits[c] = std::any_of(nodes.begin(), nodes.end(), [&](const NodeSpec& node) {
            return fits_empty(workload.mix[c].demand_class, node);
        });
    }
    PodTrace trace;
    trace.format = workload.format;
    trace.rows = workload.pod_of_row.size();
    for (std::size_t i = 0; i < workload.pods.size(); ++i) {
        if (fits[workload.class_of[i]]) {
            trace.pods.push_back(workload.pods[i]);
        }
    }
    const std::size_t kept = trace.pods.size();
    Workload fitting = make_workload(workload.name, std::move(trace));
    fitting.dropped = workload.dropped + workload.pods.size() - kept;
    return fitting;
}

std::int64_t gpu_milli_capacity(const std::vector<NodeSpec>& nodes) {
    std::int64_t gpus = 0;
    for (const NodeSpec& node : nodes) {
        gpus += static_cast<std::int64_t>(node.gpus.size());
    }
    return gpus * kWholeGpu.value();
}

std::string workload_name(std::string_view path) {
    std::string_view name = path.substr(path.find_last_of('/') + 1);
    for (const std::string_view suffix : {".gz", ".csv"}) {
        if (name.ends_with(suffix)) {
            name.remove_suffix(suffix.size());
        }
    }
    constexpr std::string_view kPrefix = "openb_pod_list_";
    if (name.starts_with(kPrefix)) {
        name.remove_prefix(kPrefix.size());
    }
    return std::string(name);
}

}  // namespace tessera
