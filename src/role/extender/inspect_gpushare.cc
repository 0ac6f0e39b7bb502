// inspect as gpushare-scheduler-extender answers it, and status as elastic-gpu-scheduler does, in
// their units.
#include <algorithm>
#include <map>

#include "base/json_writer.h"
#include "base/text.h"
#include "role/extender/verbs.h"

namespace tessera {
namespace {

// What a pod has of a device; its containers may have several shares.
struct PodUse {
    std::string_view space;
    std::string_view name;
    std::int64_t memory_mib = 0;
};

std::vector<PodUse> uses_of(const std::vector<ShareOnGpu>& shares) {
    std::map<std::string_view, PodUse> by_uid;
    for (const ShareOnGpu& share : shares) {
        PodUse& use = by_uid[share.uid];
        use.space = share.space;
        use.name = share.name;
        use.memory_mib += share.grant.memory.value();
    }
    std::vector<PodUse> result;
    for (const auto& [uid, use] : by_uid) {
        result.push_back(use);
    }
    std::sort(result.begin(), result.end(), [](const PodUse& a, const PodUse& b) {
        return std::tie(a.space, a.name) < std::tie(b.space, b.name);
    });
    return result;
}

// Sizes in the unit of aliyun.com/gpu-mem: what is there rounded down, what is used up.
struct Units {
    std::int64_t mib = 1;

    std::int64_t total(std::int64_t memory) const { return memory / mib; }
    std::int64_t used(std::int64_t memory) const { return (memory + mib - 1) / mib; }
};

void write_device(const NodeReport& report, std::size_t gpu, Units units, JsonWriter& json) {
    const std::vector<PodUse> uses = uses_of(report.gpus[gpu]);
    std::int64_t used = 0;
    for (const PodUse& use : uses) {
        used += units.used(use.memory_mib);
    }
    json.begin_object();
    json.member("id", gpu);
    json.member("totalGPU", units.total(report.spec->gpus[gpu].memory.value()));
    json.member("usedGPU", used);
    json.key("pods");
    json.begin_array();
    for (const PodUse& use : uses) {
        json.begin_object();
        json.member("name", use.name);
        json.member("namespace", use.space);
        json.member("usedGPU", units.used(use.memory_mib));
        json.end_object();
    }
    json.end_array();
    json.end_object();
}

void write_node(const NodeReport& report, Units units, JsonWriter& json) {
    std::int64_t total = 0;
    std::int64_t used = 0;
    for (std::size_t gpu = 0; gpu < report.gpus.size(); ++gpu) {
        total += units.total(report.spec->gpus[gpu].memory.value());
        for (const PodUse& use : uses_of(report.gpus[gpu])) {
            used += units.used(use.memory_mib);
        }
    }
    json.begin_object();
    json.member("name", report.spec->name);
    json.member("totalGPU", total);
    json.member("usedGPU", used);
    json.key("devs");
    json.begin_array();
    for (std::size_t gpu = 0; gpu < report.gpus.size(); ++gpu) {
        write_device(report, gpu, units, json);
    }
    json.end_array();
    json.end_object();
}

void write_cards(const NodeState& left, const NodeSpec& spec, JsonWriter& json) {
    constexpr int kMilliPerCore = 10;  // 100 are one card
    json.begin_array();
    for (std::size_t gpu = 0; gpu < spec.gpus.size(); ++gpu) {
        json.begin_object();
        json.member("CoreAvailable", left.gpus[gpu].idle_milli / kMilliPerCore);
        json.member("MemoryAvailable", left.gpus[gpu].free_memory_mib);
        json.member("CoreTotal", kWholeGpu.value() / kMilliPerCore);
        json.member("MemoryTotal", spec.gpus[gpu].memory.value());
        json.end_object();
    }
    json.end_array();
}

}  // namespace

HttpResponse inspect_gpushare(Desk& desk, Call& call) {
    const Units units{desk.hold()->memory_unit() == MemoryUnit::gib ? 1024 : 1};
    JsonWriter json;
    json.begin_object();
    json.key("nodes");
    json.begin_array();
    const std::size_t found = each_node(desk, call.node, [&](const Mirror& mirror, NodeIndex node) {
        if (!call.node.empty() || !mirror.cluster().spec(node).gpus.empty()) {
            write_node(mirror.report(node), units, json);
        }
    });
    json.end_array();
    const bool unknown = !call.node.empty() && found == 0;
    if (unknown) {
        json.member("error", fmt::format("node {} is not known", in_quotes(call.node)));
    }
    json.end_object();
    return {.status = unknown ? 404 : 200, .body = json.take()};
}

HttpResponse status_elastic(Desk& desk, Call&) {
    JsonWriter nodes;
    nodes.begin_object();
    each_node(desk, "", [&](const Mirror& mirror, NodeIndex node) {
        const NodeSpec& spec = mirror.cluster().spec(node);
        if (!spec.gpus.empty()) {
            nodes.key(spec.name);
            write_cards(mirror.cluster().node(node), spec, nodes);
        }
    });
    nodes.end_object();
    const std::string text = nodes.take();
    JsonWriter json;
    json.begin_object();
    json.member("elasticgpu.io/gpu-core", text);
    json.member("elasticgpu.io/gpu-memory", text);
    json.end_object();
    return {.body = json.take()};
}

}  // namespace tessera
