#include "role/cli/inputs.h"

#include <fmt/ranges.h>

#include "base/file_error.h"
#include "base/wording.h"
#include "codec/node_spec.h"
#include "engine/cluster.h"
#include "role/intake/policy_files.h"
#include "sim/file.h"

namespace tessera::cli {

namespace {

void note_skipped(const std::string& file, const SkippedRows& skipped,
                  std::vector<std::string>& notes) {
    if (skipped.count == 0) {
        return;
    }
    notes.push_back(fmt::format("{}: {} broken {} skipped, the first: {}", file, skipped.count,
                                skipped.count == 1 ? "row" : "rows", skipped.samples.front()));
}

Expected<void> check_nodes(const std::vector<NodeSpec>& nodes) {
    const Cluster empty;
    for (const NodeSpec& node : nodes) {
        TESSERA_CHECK(empty.check(node));
    }
    if (gpu_milli_capacity(nodes) == 0) {
        return fail(ErrorKind::invalid, "{} a GPU",
                    nodes.size() == 1 ? "the one node has not"
                                      : fmt::format("none of the {} nodes has", nodes.size()));
    }
    return {};
}

Expected<void> not_empty(std::string_view flag, const std::string& value) {
    return value.empty() ? fail(ErrorKind::invalid, "{}: a file or a name is expected", flag)
                         : Expected<void>();
}

void add_notes(const std::string& file, const std::vector<std::string>& from,
               std::vector<std::string>& notes) {
    for (const std::string& note : from) {
        notes.push_back(in_file(file, note));
    }
}

Expected<void> load_policy_files(const InputNames& names, LoadedInputs& loaded) {
    if (!names.topology.empty()) {
        TESSERA_TRY(const std::string text, read_file(names.topology));
        TESSERA_TRY(const CellTree tree, read_topology(text, names.topology));
        auto use = use_topology(tree, loaded.inputs.nodes, loaded.models);
        if (!use) {
            return tl::unexpected(in_file(names.topology, std::move(use.error())));
        }
        loaded.model_priority = std::move(use->model_priority);
        add_notes(names.topology, use->notes, loaded.notes);
    }
    if (!names.keti_policy.empty()) {
        TESSERA_TRY(const std::string text, read_file(names.keti_policy));
        TESSERA_TRY(const KetiConfig config, read_keti_config(text, names.keti_policy));
        loaded.keti = config.policy;
        add_notes(names.keti_policy, config.notes, loaded.notes);
    }
    return {};
}

}  // namespace

bool generates_pods(const InputNames& names) {
    return !file_exists(names.pods) && is_workload_kind(names.pods);
}

Expected<PodTrace> load_pods(const InputNames& names, Interner<ModelIndex>& models) {
    if (generates_pods(names)) {
        return generate_pods({names.pods, names.generated_pods, names.generator_seed}, models);
    }
    auto text = read_file(names.pods);
    if (!text && !path_exists(names.pods)) {
        std::vector<std::string_view> kinds;
        for (const WorkloadKind& kind : workload_kinds()) {
            kinds.push_back(kind.name);
        }
        return fail(text.error().kind,
                    "{} (nor is it a workload that --pods can generate;{} tessera trace generate "
                    "--help lists those)",
                    text.error().message, did_you_mean(names.pods, kinds));
    }
    if (!text) {
        return tl::unexpected(std::move(text.error()));
    }
    return read_pod_trace(*text, {names.pods, names.lenient}, models);
}

Expected<NodeTrace> load_nodes(const InputNames& names, Interner<ModelIndex>& models) {
    if (!file_exists(names.nodes) &&
        (is_node_list_name(names.nodes) || looks_like_node_spec(names.nodes))) {
        NodeTrace trace;
        TESSERA_TRY(trace.nodes, generate_nodes(names.nodes, models));
        trace.rows = trace.nodes.size();
        return trace;
    }
    auto text = read_file(names.nodes);
    if (!text && !path_exists(names.nodes)) {
        const auto lists = node_list_names();
        return fail(text.error().kind,
                    "{} (for --nodes, a list in one line looks like 64x8g96c768Gi:A100@80Gi, and "
                    "the lists by name are {})",
                    text.error().message, fmt::join(lists, ", "));
    }
    if (!text) {
        return tl::unexpected(std::move(text.error()));
    }
    return read_node_trace(*text, {names.nodes, names.lenient}, models);
}

Expected<LoadedInputs> load_inputs(const InputNames& names) {
    LoadedInputs loaded;
    TESSERA_CHECK(not_empty("--nodes", names.nodes));
    TESSERA_CHECK(not_empty("--pods", names.pods));
    TESSERA_TRY(NodeTrace nodes, load_nodes(names, loaded.models));
    TESSERA_TRY(PodTrace pods, load_pods(names, loaded.models));
    note_skipped(names.nodes, nodes.skipped, loaded.notes);
    note_skipped(names.pods, pods.skipped, loaded.notes);
    if (auto good = check_nodes(nodes.nodes); !good) {
        const bool file = file_exists(names.nodes);
        return tl::unexpected<Error>(in_file(file ? names.nodes : "--nodes", good.error()));
    }
    loaded.inputs.nodes = std::move(nodes.nodes);
    const std::string name = names.workload.empty() ? workload_name(names.pods) : names.workload;
    loaded.inputs.workload = make_workload(name, std::move(pods));
    TESSERA_CHECK(load_policy_files(names, loaded));
    return loaded;
}

}  // namespace tessera::cli
