// A whole simulated run, openb default with FGD: CPU time, and against FGD by plain loops
//
// Reads the published pods, nodes and order where the traces are (TESSERA_TRACES, or --data DIR),
// else generates a workload like them. The rival is policy fgd-published: the same decisions in
// the authors' floating-point loops, per changed node.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "policy/registry.h"
#include "sim/file.h"
#include "sim/generate.h"
#include "sim/inflate.h"
#include "sim/orders.h"
#include "sim/workload.h"

namespace tessera {
namespace {

struct Input {
    std::string source;
    std::vector<NodeSpec> nodes;
    Workload workload;
    RunOrder order;
};

Expected<Input> published(const std::string& directory) {
    Interner<ModelIndex> models;
    Input input;
    input.source = "published order, seed 42";
    const std::string base = directory + "/openb/";
    TESSERA_TRY(const std::string node_text, read_file(base + "openb_node_list_gpu_node.csv"));
    TESSERA_TRY(NodeTrace nodes, read_node_trace(node_text, {"nodes"}, models));
    TESSERA_TRY(const std::string pod_text, read_file(base + "openb_pod_list_default.csv"));
    TESSERA_TRY(PodTrace pods, read_pod_trace(pod_text, {"pods"}, models));
    input.nodes = std::move(nodes.nodes);
    input.workload = make_workload("default", std::move(pods));
    TESSERA_TRY(input.order, read_run_order({base + "orders", "default", 42}, input.workload,
                                            input.nodes.size()));
    return input;
}

Expected<Input> generated() {
    Interner<ModelIndex> models;
    Input input;
    input.source = "generated workload, seed 42";
    TESSERA_TRY(input.nodes, generate_nodes("openb", models));
    TESSERA_TRY(PodTrace pods, generate_pods({"openb", kGeneratedPods, 42}, models));
    input.workload = make_workload("openb", std::move(pods));
    input.order = draw_order(input.workload, input.nodes, {42, 1.3});
    return input;
}

struct Timing {
    double seconds = 0;
    std::int64_t arrivals = 0;
    std::int64_t gpu_milli = 0;
};

Timing time_run(const Input& input, std::string_view policy) {
    const double begin = thread_cpu_seconds();
    auto made = make_policy(policy, {.mix = input.workload.mix});
    const InflateRun run = run_inflate({&input.workload, &input.nodes, 42, nullptr}, input.order,
                                       std::move(*made), {});
    return {thread_cpu_seconds() - begin, run.arrivals, run.end.gpu_milli};
}

int usage(int code) {
    std::fputs("usage: bench/run sim [--json] [--data DIR]\n", code == 0 ? stdout : stderr);
    return code;
}

int run(int argc, char** argv) {
    const char* traces = std::getenv("TESSERA_TRACES");
    std::string directory = traces == nullptr ? "" : traces;
    bool json = false;
    for (int i = 1; i < argc; ++i) {
        const std::string_view flag = argv[i];
        if (flag == "--help" || flag == "-h") {
            return usage(0);
        }
        if (flag == "--json") {
            json = true;
        } else if (flag == "--data" && i + 1 < argc) {
            directory = argv[++i];
        } else {
            return usage(2);
        }
    }
    const Expected<Input> input = directory.empty() ? generated() : published(directory);
    if (!input) {
        fmt::print(stderr, "bench sim: {}\n", input.error().message);
        return 3;
    }
    const Timing ours = time_run(*input, "fgd");
    const Timing tessera = time_run(*input, "tessera");
    const Timing plain = time_run(*input, "fgd-published");
    if (json) {
        JsonWriter out;
        out.begin_object();
        out.member("source", input->source);
        out.member("arrivals", ours.arrivals);
        out.member("fgd_cpu_seconds", ours.seconds);
        out.member("tessera_cpu_seconds", tessera.seconds);
        out.member("fgd_published_cpu_seconds", plain.seconds);
        out.member("ratio_to_published_arithmetic", plain.seconds / ours.seconds);
        out.end_object();
        std::puts(out.take().c_str());
        return 0;
    }
    fmt::print("{}: {} arrivals\n", input->source, ours.arrivals);
    fmt::print("{:<14} {:>8} {:>12} {:>15}\n", "policy", "CPU s", "decisions/s", "GPU milli");
    const auto row = [](std::string_view name, const Timing& t) {
        fmt::print("{:<14} {:>8.3f} {:>12.0f} {:>15}\n", name, t.seconds,
                   static_cast<double>(t.arrivals) / t.seconds, t.gpu_milli);
    };
    row("fgd", ours);
    row("tessera", tessera);
    row("fgd-published", plain);
    fmt::print("fgd takes 1/{:.0f} of the time of fgd-published\n", plain.seconds / ours.seconds);
    return 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::run(argc, argv); }
