// tessera trace: make, convert and look at workloads and node lists.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>

#include "base/json_writer.h"
#include "base/wording.h"
#include "codec/node_spec.h"
#include "role/cli/arguments.h"
#include "role/cli/command.h"
#include "role/cli/inputs.h"
#include "sim/file.h"
#include "sim/generate_tables.h"
#include "sim/report.h"

namespace tessera::cli {

namespace {

std::string generate_footer() {
    std::string text = "Workloads:\n";
    for (const WorkloadKind& kind : workload_kinds()) {
        text += fmt::format("  {:<12}{}\n", kind.name, kind.about);
    }
    text += "Node lists (--nodes):\n";
    for (const NamedNodes& list : named_node_lists()) {
        text += fmt::format("  {:<14}{}\n", list.name, list.about);
    }
    return text +
           "  or a list in one line, joined by commas: [COUNTx]GPUSgCOREScMEMORY[:MODEL]"
           "[@GPUMEMORY]\n"
           "  MEMORY is a node's, GPUMEMORY that of each of its GPUs, in Mi, Gi or Ti; without it\n"
           "  a GPU has what is usual for its model, and of an unknown model unknown memory\n\n"
           "Examples:\n"
           "  tessera trace generate llm --count 20000 --seed 7 -o llm.csv\n"
           "  tessera trace generate --nodes 64x8g96c768Gi:A100,12x4g48c384Gi@80Gi -o nodes.csv\n";
}

// By the sizes of pods, CPU-only ones first.
struct SizeCounts {
    std::array<std::int64_t, kSizeKeys> pods{};
    std::array<std::int64_t, kSizeKeys> milli{};
    double cores = 0;
    double gib = 0;
    std::size_t timed = 0;
};

struct TraceFlags {
    InputNames inputs;
    std::string output = "-";
    std::string file;
    bool json = false;
};

SizeCounts count_sizes(const Workload& workload) {
    SizeCounts counts;
    for (std::size_t i = 0; i < workload.pods.size(); ++i) {
        ++counts.pods[workload.size_key[i]];
        counts.milli[workload.size_key[i]] += workload.gpu_milli[i];
        counts.cores += static_cast<double>(workload.pods[i].cpu.value()) / 1000;
        counts.gib += static_cast<double>(workload.pods[i].memory.value()) / 1024;
        counts.timed += workload.pods[i].submit_s && workload.pods[i].duration_s ? 1 : 0;
    }
    return counts;
}

std::string percent(std::int64_t part, std::int64_t whole) {
    return fmt::format(
        "{:.1f}",
        whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

// Where the pods and the GPU demand are, by size.
std::string show_pods(const Workload& workload) {
    const SizeCounts counts = count_sizes(workload);
    std::vector<std::vector<std::string>> rows{{"GPUs", "pods", "% of pods", "% of GPU demand"}};
    for (std::size_t key = 0; key < kSizeKeys; ++key) {
        if (counts.pods[key] > 0) {
            rows.push_back(
                {size_key_name(key), std::to_string(counts.pods[key]),
                 percent(counts.pods[key], static_cast<std::int64_t>(workload.pods.size())),
                 percent(counts.milli[key], workload.gpu_milli_total)});
        }
    }
    return fmt::format("{} in {} ask {:.0f} GPUs, {:.0f} cores and {:.0f} GiB; {} with times\n{}",
                       counted(std::ssize(workload.pods), "pod"),
                       counted(std::ssize(workload.mix), "class", "es"),
                       static_cast<double>(workload.gpu_milli_total) / 1000, counts.cores,
                       counts.gib, counts.timed, aligned(rows));
}

std::string show_pods_json(const Workload& workload) {
    const SizeCounts counts = count_sizes(workload);
    JsonWriter json;
    json.begin_object();
    json.member("kind", "pods");
    json.member("format", to_string(workload.format));
    json.member("pods", workload.pods.size());
    json.member("classes", workload.mix.size());
    json.member("gpu_milli", workload.gpu_milli_total);
    json.member("cores", counts.cores);
    json.member("memory_gib", counts.gib);
    json.member("timed", counts.timed);
    json.key("by_gpus");
    json.begin_object();
    for (std::size_t key = 0; key < kSizeKeys; ++key) {
        if (counts.pods[key] > 0) {
            json.key(size_key_name(key));
            json.begin_object();
            json.member("pods", counts.pods[key]);
            json.member("gpu_milli", counts.milli[key]);
            json.end_object();
        }
    }
    json.end_object();
    json.end_object();
    return json.take() + "\n";
}

// Shapes with how many nodes have each, the most frequent first.
std::vector<std::pair<std::size_t, std::string>> node_shapes(const std::vector<NodeSpec>& nodes,
                                                             const Interner<ModelIndex>& models) {
    std::map<std::string, std::size_t> shapes;
    for (const NodeSpec& node : nodes) {
        ++shapes[format_node_spec({node}, models)];
    }
    std::vector<std::pair<std::size_t, std::string>> sorted;
    for (const auto& [shape, count] : shapes) {
        sorted.emplace_back(count, shape);
    }
    std::sort(sorted.rbegin(), sorted.rend());
    return sorted;
}

struct NodeSums {
    double cores = 0;
    double gib = 0;
};

NodeSums sum_nodes(const std::vector<NodeSpec>& nodes) {
    NodeSums sums;
    for (const NodeSpec& node : nodes) {
        sums.cores += static_cast<double>(node.cpu.value()) / 1000;
        sums.gib += static_cast<double>(node.memory.value()) / 1024;
    }
    return sums;
}

std::string show_nodes(const std::vector<NodeSpec>& nodes, const Interner<ModelIndex>& models) {
    const NodeSums sums = sum_nodes(nodes);
    std::vector<std::vector<std::string>> rows{{"shape", "nodes"}};
    for (const auto& [count, shape] : node_shapes(nodes, models)) {
        rows.push_back({shape, std::to_string(count)});
    }
    return fmt::format(
        "{} with {}, {:.0f} cores and {:.0f} GiB\n{}", counted(std::ssize(nodes), "node"),
        counted(gpu_milli_capacity(nodes) / 1000, "GPU"), sums.cores, sums.gib, aligned(rows));
}

std::string show_nodes_json(const std::vector<NodeSpec>& nodes,
                            const Interner<ModelIndex>& models) {
    const NodeSums sums = sum_nodes(nodes);
    JsonWriter json;
    json.begin_object();
    json.member("kind", "nodes");
    json.member("nodes", nodes.size());
    json.member("gpus", gpu_milli_capacity(nodes) / 1000);
    json.member("cores", sums.cores);
    json.member("memory_gib", sums.gib);
    json.key("shapes");
    json.begin_object();
    for (const auto& [count, shape] : node_shapes(nodes, models)) {
        json.member(shape, count);
    }
    json.end_object();
    json.end_object();
    return json.take() + "\n";
}

void note_skipped(const SkippedRows& skipped) {
    if (skipped.count > 0) {
        fmt::print(stderr, "tessera: {} skipped, the first: {}\n",
                   counted(static_cast<std::int64_t>(skipped.count), "broken row"),
                   skipped.samples.front());
    }
}

Expected<void> generate(const CLI::App& app, const TraceFlags& flags) {
    Interner<ModelIndex> models;
    if (app.count("--nodes") == 0) {
        TESSERA_TRY(const PodTrace trace,
                    generate_pods({flags.inputs.pods, flags.inputs.generated_pods,
                                   flags.inputs.generator_seed},
                                  models));
        return write_file(flags.output, write_pod_trace(trace.pods, models));
    }
    for (const char* name : {"workload", "--count", "--seed"}) {
        if (app.count(name) > 0) {
            return fail(ErrorKind::invalid, "{} has no meaning with --nodes: either pods or nodes",
                        name);
        }
    }
    TESSERA_TRY(const auto nodes, generate_nodes(flags.inputs.nodes, models));
    return write_file(flags.output, write_node_trace(nodes, models));
}

// A file of either kind.
struct AnyTrace {
    std::optional<NodeTrace> nodes;  // else pods
    PodTrace pods;
    Interner<ModelIndex> models;
};

Expected<AnyTrace> read_trace(const TraceFlags& flags) {
    TESSERA_TRY(const std::string text, read_file(flags.file));
    const TraceReadOptions options{flags.file, flags.inputs.lenient};
    AnyTrace trace;
    if (is_node_trace(text)) {
        TESSERA_TRY(trace.nodes, read_node_trace(text, options, trace.models));
        note_skipped(trace.nodes->skipped);
    } else {
        TESSERA_TRY(trace.pods, read_pod_trace(text, options, trace.models));
        note_skipped(trace.pods.skipped);
    }
    return trace;
}

Expected<void> import_trace(const TraceFlags& flags) {
    TESSERA_TRY(const AnyTrace trace, read_trace(flags));
    return write_file(flags.output, trace.nodes ? write_node_trace(trace.nodes->nodes, trace.models)
                                                : write_pod_trace(trace.pods.pods, trace.models));
}

Expected<void> show_trace(const TraceFlags& flags) {
    TESSERA_TRY(AnyTrace trace, read_trace(flags));
    if (trace.nodes) {
        return write_file("-", flags.json ? show_nodes_json(trace.nodes->nodes, trace.models)
                                          : show_nodes(trace.nodes->nodes, trace.models));
    }
    const Workload workload = make_workload(workload_name(flags.file), std::move(trace.pods));
    return write_file("-", flags.json ? show_pods_json(workload) : show_pods(workload));
}

}  // namespace

int run_trace(const Arguments& arguments) {
    TraceFlags flags;
    flags.inputs.nodes.clear();
    CLI::App app("Makes, converts and shows workloads and node lists.", "tessera trace");
    app.require_subcommand(1);
    CLI::App* make = app.add_subcommand("generate", "write a workload or a node list of any size");
    make->footer(generate_footer());
    make->add_option("workload", flags.inputs.pods, "which workload (openb)")->type_name("NAME");
    make->add_option("--nodes", flags.inputs.nodes, "write nodes instead: a name or a list")
        ->type_name("NODES");
    whole_number(make->add_option("--count", flags.inputs.generated_pods, "how many pods (8152)"),
                 1, kGeneratedPodsMax);
    whole_number(make->add_option("--seed", flags.inputs.generator_seed, "seed of the draws (1)"),
                 0, UINT64_MAX);
    CLI::App* import_app = app.add_subcommand("import", "convert a public trace into our columns");
    CLI::App* show = app.add_subcommand("show", "sizes, shares and totals of a file");
    for (CLI::App* reader : {import_app, show}) {
        reader->add_option("file", flags.file, "CSV file of pods or nodes, plain or .gz")
            ->type_name("FILE")
            ->required();
        reader->add_flag("--lenient", flags.inputs.lenient, "skip and count broken rows");
    }
    show->add_flag("--json", flags.json, "as JSON");
    for (CLI::App* writer : {make, import_app}) {
        writer->add_option("-o,--output", flags.output, "- is standard output (-)")
            ->type_name("FILE");
    }
    if (const auto done = parse(app, arguments)) {
        return *done;
    }
    const auto done = make->parsed()         ? generate(*make, flags)
                      : import_app->parsed() ? import_trace(flags)
                                             : show_trace(flags);
    return done ? kExitFine : report_error(done.error());
}

}  // namespace tessera::cli
