// tessera trace: make, convert and look at workloads and node lists.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <map>

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
           "  or a list in one line: [COUNTx]GPUSgCOREScMEMORYGi[:MODEL], joined by commas\n\n"
           "Examples:\n"
           "  tessera trace generate llm --count 20000 --seed 7 -o llm.csv\n"
           "  tessera trace generate --nodes 64x8g96c768Gi:A100,12x4g48c384Gi -o nodes.csv\n";
}

struct TraceFlags {
    InputNames inputs;
    std::string output = "-";
    std::string file;
    bool json = false;
};

// Where the pods and the GPU demand are, by size.
std::string show_pods(const Workload& workload) {
    std::vector<std::int64_t> pods(kSizeKeys, 0);
    std::vector<std::int64_t> milli(kSizeKeys, 0);
    double cores = 0;
    double gib = 0;
    std::size_t timed = 0;
    for (std::size_t i = 0; i < workload.pods.size(); ++i) {
        ++pods[workload.size_key[i]];
        milli[workload.size_key[i]] += workload.gpu_milli[i];
        cores += static_cast<double>(workload.pods[i].cpu.value()) / 1000;
        gib += static_cast<double>(workload.pods[i].memory.value()) / 1024;
        timed += workload.pods[i].submit_s && workload.pods[i].duration_s ? 1 : 0;
    }
    std::vector<std::vector<std::string>> rows{{"GPUs", "pods", "% of pods", "% of GPU demand"}};
    for (std::size_t key = 0; key < kSizeKeys; ++key) {
        if (pods[key] > 0) {
            const auto share = [](std::int64_t part, std::int64_t whole) {
                return whole == 0 ? 0.0
                                  : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
            };
            rows.push_back({size_key_name(key), std::to_string(pods[key]),
                            fmt::format("{:.1f}", share(pods[key], static_cast<std::int64_t>(
                                                                       workload.pods.size()))),
                            fmt::format("{:.1f}", share(milli[key], workload.gpu_milli_total))});
        }
    }
    const double gpus = static_cast<double>(workload.gpu_milli_total) / 1000;
    return fmt::format(
        "{} pods in {} classes ask {:.0f} GPUs, {:.0f} cores and {:.0f} GiB; {} "
        "have times\n{}",
        workload.pods.size(), workload.mix.size(), gpus, cores, gib, timed, aligned(rows));
}

std::string show_nodes(const std::vector<NodeSpec>& nodes, const Interner<ModelIndex>& models) {
    std::map<std::string, std::size_t> shapes;
    double cores = 0;
    double gib = 0;
    for (const NodeSpec& node : nodes) {
        ++shapes[format_node_spec({node}, models)];
        cores += static_cast<double>(node.cpu.value()) / 1000;
        gib += static_cast<double>(node.memory.value()) / 1024;
    }
    std::vector<std::pair<std::size_t, std::string>> sorted;
    for (const auto& [shape, count] : shapes) {
        sorted.emplace_back(count, shape);
    }
    std::sort(sorted.rbegin(), sorted.rend());
    std::vector<std::vector<std::string>> rows{{"shape", "nodes"}};
    for (const auto& [count, shape] : sorted) {
        rows.push_back({shape, std::to_string(count)});
    }
    return fmt::format("{} nodes with {} GPUs, {:.0f} cores and {:.0f} GiB\n{}", nodes.size(),
                       gpu_milli_capacity(nodes) / 1000, cores, gib, aligned(rows));
}

void note_skipped(const SkippedRows& skipped) {
    if (skipped.count > 0) {
        fmt::print(stderr, "tessera: {} broken rows skipped, the first: {}\n", skipped.count,
                   skipped.samples.front());
    }
}

Expected<void> generate(const TraceFlags& flags) {
    Interner<ModelIndex> models;
    if (!flags.inputs.nodes.empty()) {
        TESSERA_TRY(const auto nodes, generate_nodes(flags.inputs.nodes, models));
        return write_file(flags.output, write_node_trace(nodes, models));
    }
    TESSERA_TRY(const PodTrace trace, generate_pods({flags.inputs.pods, flags.inputs.generated_pods,
                                                     flags.inputs.generator_seed},
                                                    models));
    return write_file(flags.output, write_pod_trace(trace.pods, models));
}

// Pods or nodes: whichever the header says.
Expected<void> import_or_show(const TraceFlags& flags, bool show) {
    TESSERA_TRY(const std::string text, read_file(flags.file));
    Interner<ModelIndex> models;
    const TraceReadOptions options{flags.file, flags.inputs.lenient};
    const std::string_view header = std::string_view(text).substr(0, text.find('\n'));
    const bool nodes =
        header.find("sn,") == 0 || header.find("gpu_capacity_num") != std::string::npos;
    if (nodes) {
        TESSERA_TRY(const NodeTrace trace, read_node_trace(text, options, models));
        note_skipped(trace.skipped);
        return write_file(flags.output, show ? show_nodes(trace.nodes, models)
                                             : write_node_trace(trace.nodes, models));
    }
    TESSERA_TRY(PodTrace trace, read_pod_trace(text, options, models));
    note_skipped(trace.skipped);
    if (!show) {
        return write_file(flags.output, write_pod_trace(trace.pods, models));
    }
    return write_file(flags.output,
                      show_pods(make_workload(workload_name(flags.file), std::move(trace))));
}

}  // namespace

int run_trace(const Arguments& arguments) {
    TraceFlags flags;
    flags.inputs.nodes.clear();
    CLI::App app("Makes, converts and shows workloads and node lists.", "tessera trace");
    app.require_subcommand(1);
    CLI::App* make = app.add_subcommand("generate", "write a workload or a node list of any size");
    make->footer(generate_footer());
    make->add_option("workload", flags.inputs.pods, "which workload (openb)");
    make->add_option("--nodes", flags.inputs.nodes, "write nodes instead: a name or a list");
    make->add_option("--count", flags.inputs.generated_pods, "how many pods (8152)");
    make->add_option("--seed", flags.inputs.generator_seed, "seed of the draws (1)");
    make->add_option("-o,--output", flags.output, "FILE; - is standard output (-)");
    CLI::App* import_app = app.add_subcommand("import", "convert a public trace into our columns");
    CLI::App* show = app.add_subcommand("show", "sizes, shares and totals of a file");
    for (CLI::App* reader : {import_app, show}) {
        reader->add_option("file", flags.file, "CSV file of pods or nodes, plain or .gz")
            ->required();
        reader->add_flag("--lenient", flags.inputs.lenient, "skip and count broken rows");
    }
    import_app->add_option("-o,--output", flags.output, "FILE; - is standard output (-)");
    if (const auto done = parse(app, arguments)) {
        return *done;
    }
    const auto done = make->parsed() ? generate(flags) : import_or_show(flags, show->parsed());
    return done ? kExitFine : report_error(done.error());
}

}  // namespace tessera::cli
