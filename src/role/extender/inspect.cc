// inspect: nodes, GPUs and who has what of them, in our own units.
//
//   {"nodes":[{"name":"gpu-a","address":"10.0.0.1","schedulable":true,
//     "cpuMilli":{"total":32000,"free":31000},"memoryMib":{...},"pods":{...},
//     "gpus":[{"index":0,"uuid":"GPU-1","model":"A100","health":"ok","overCommitted":false,
//              "milli":{"total":1000,"free":500},"memoryMib":{"total":81920,"free":40960},
//              "shares":[{"namespace":"default","name":"p","uid":"u","container":"main",
//                         "milli":500,"memoryMib":40960,"state":"confirmed"}]}]}]}
#include "role/extender/inspect_json.h"

#include "base/json_writer.h"
#include "base/text.h"
#include "role/extender/verbs.h"

namespace tessera {
namespace {

std::string_view health_word(Health health) {
    switch (health) {
        case Health::ok:
            return "ok";
        case Health::no_new:
            return "takes nothing new";
        case Health::evict:
            break;
    }
    return "to be emptied";
}

template <class T, class U>
void write_amount(std::string_view key, T total, U left, JsonWriter& json) {
    json.key(key);
    json.begin_object();
    json.member("total", total);
    json.member("free", left);
    json.end_object();
}

void write_share(const ShareOnGpu& share, const Vocabulary& names, JsonWriter& json) {
    json.begin_object();
    json.member("namespace", share.space);
    json.member("name", share.name);
    json.member("uid", share.uid);
    if (share.grant.request.valid()) {
        json.member("container", names.requests.name(share.grant.request));
    }
    json.member("milli", share.grant.milli.value());
    json.member("memoryMib", share.grant.memory.value());
    json.member("state", share.state);
    json.end_object();
}

void write_gpu(const Mirror& mirror, const NodeReport& report, std::size_t gpu, JsonWriter& json) {
    const GpuSpec& spec = report.spec->gpus[gpu];
    const GpuState& left = report.left->gpus[gpu];
    json.begin_object();
    json.member("index", gpu);
    json.member("uuid", spec.uuid);
    json.member("model", spec.model.valid() ? mirror.names().models.name(spec.model) : "");
    json.member("health", health_word(spec.health));
    json.member("overCommitted", mirror.cluster().over_committed(
                                     report.index, GpuIndex(static_cast<GpuIndex::rep>(gpu))));
    write_amount("milli", kWholeGpu.value(), left.idle_milli, json);
    write_amount("memoryMib", spec.memory.value(), left.free_memory_mib, json);
    json.key("shares");
    json.begin_array();
    for (const ShareOnGpu& share : report.gpus[gpu]) {
        write_share(share, mirror.names(), json);
    }
    json.end_array();
    json.end_object();
}

void write_node(const Mirror& mirror, NodeIndex node, JsonWriter& json) {
    const NodeReport report = mirror.report(node);
    json.begin_object();
    json.member("name", report.spec->name);
    json.member("address", report.address);
    json.member("schedulable", report.left->schedulable);
    write_amount("cpuMilli", report.spec->cpu.value(), report.left->free_cpu_milli, json);
    write_amount("memoryMib", report.spec->memory.value(), report.left->free_memory_mib, json);
    write_amount("pods", report.spec->pods, report.left->free_pods, json);
    json.key("gpus");
    json.begin_array();
    for (std::size_t gpu = 0; gpu < report.gpus.size(); ++gpu) {
        write_gpu(mirror, report, gpu, json);
    }
    json.end_array();
    json.end_object();
}

// {"nodes":[...]}, where write_nodes(json) writes what is in the list.
template <class WriteNodes>
std::string document(WriteNodes write_nodes) {
    JsonWriter json;
    json.begin_object();
    json.key("nodes");
    json.begin_array();
    write_nodes(json);
    json.end_array();
    json.end_object();
    return json.take();
}

}  // namespace

std::string inspect_json(const Mirror& mirror, std::span<const NodeIndex> nodes) {
    return document([&](JsonWriter& json) {
        for (NodeIndex node : nodes) {
            write_node(mirror, node, json);
        }
    });
}

HttpResponse inspect(Desk& desk, Call& call) {
    std::size_t found = 0;
    std::string body = document([&](JsonWriter& json) {
        found = each_node(desk, call.node, [&](const Mirror& mirror, NodeIndex node) {
            write_node(mirror, node, json);
        });
    });
    if (found == 0 && !call.node.empty()) {
        return error_answer(404, fmt::format("node {} is not known", in_quotes(call.node)));
    }
    return {.body = std::move(body)};
}

}  // namespace tessera
