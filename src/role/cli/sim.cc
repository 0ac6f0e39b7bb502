// tessera sim: policies on a trace or a generated workload, in virtual time.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include "base/wording.h"
#include "codec/state_json.h"
#include "role/cli/arguments.h"
#include "role/cli/command.h"
#include "role/cli/inputs.h"
#include "role/cli/progress.h"
#include "role/cli/suite.h"
#include "sim/experiment.h"
#include "sim/file.h"
#include "sim/plot.h"
#include "sim/policy_source.h"
#include "sim/published_results.h"
#include "sim/report.h"

namespace tessera::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  tessera sim
      the default policy on a generated workload like Alibaba's, on its 1,213 nodes
  tessera sim --nodes 64x8g96c768Gi --pods llm --policy tessera,fgd,bestfit --seeds 1-5
  tessera sim --nodes nodes.csv --pods openb_pod_list_default.csv --policy published \
              --seeds 42-51 --html result.html
      the six published policies in the published orders, with the published table beside ours
  tessera sim --protocol churn --load 0.95 --lifetimes logn --policy tessera,fgd
  tessera sim --protocol queue --pods philly --nodes 24x8g96c768Gi --discipline backfill
  tessera sim --nodes 12x8g96c768Gi@80Gi --protocol queue --load 0.9 --state now.json --at 2000
      then tessera explain --state now.json ...
  tessera sim --suite transfer --quick [--policy REFERENCE,CANDIDATE]
      other clusters and other pods, tessera against fgd, losses marked (exit code 1)

Nodes are a CSV file (openb or Alibaba spot columns), a list in one line such as
64x8g96c768Gi@80Gi,12x4g48c384Gi:A100, or the name of a built-in list: openb, spot, spot-quarter.
In a list an item is [COUNTx]GPUSgCOREScMEMORY[:MODEL][@GPUMEMORY]: so many nodes with so many GPUs,
cores and memory each; @80Gi is the memory of each GPU, by default what is usual for its model,
else unknown (also @0Gi). Pods that ask for GPU memory need it known.
Pods are a CSV file (openb, Philly or Alibaba v2025 columns; .gz too) or the name of a workload
that is generated: openb, gpushareNN, multigpuNN, gpuspecNN, cpuNNN, llm, sevenths, notebooks,
philly.
)";

struct SimFlags {
    InputNames inputs;
    std::string policies = "tessera";
    std::string seeds = "42";
    std::string protocol = "inflate";
    double ratio = 1.3;
    double load = 1.0;
    std::size_t arrivals = 40000;
    std::string lifetimes = "exp";
    std::string discipline = "backfill";
    std::string times;
    std::string orders;
    std::size_t threads = 0;
    bool json = false;
    bool csv = false;
    std::string html;
    std::string plot;
    std::string state;
    std::size_t at = SIZE_MAX;
    SuiteFlags suite;
};

void add_input_flags(CLI::App& app, SimFlags& flags) {
    app.add_option("--nodes", flags.inputs.nodes, "FILE, list in one line, or name (openb)")
        ->type_name("NODES");
    app.add_option("--pods", flags.inputs.pods, "FILE or generated workload (openb)")
        ->type_name("PODS");
    app.add_option("--workload", flags.inputs.workload,
                   "name of the workload in results and order files (from --pods)")
        ->type_name("NAME");
    whole_number(app.add_option("--count", flags.inputs.generated_pods,
                                "pods of a generated workload (8152)"),
                 1, kGeneratedPodsMax);
    app.add_flag("--lenient", flags.inputs.lenient, "skip and count broken rows");
    app.add_option("--topology", flags.inputs.topology,
                   "KubeShare's topology: links of GPUs, priorities of models")
        ->type_name("FILE");
    app.add_option("--keti-policy", flags.inputs.keti_policy,
                   "policy keti: its ConfigMap gpu-scheduler-policy")
        ->type_name("FILE");
}

void add_run_flags(CLI::App& app, SimFlags& flags) {
    app.add_option("--policy", flags.policies,
                   "NAME|FILE.yaml[,...]; published = the six of FGD's paper (tessera)")
        ->type_name("POLICIES");
    app.add_option("--seeds", flags.seeds, "42, 42-51 or 1,2,7-9 (42)")->type_name("LIST");
    one_of(app.add_option("--protocol", flags.protocol, "how pods come and go (inflate)"),
           {"inflate", "churn", "queue"});
    real_number(app.add_option("--ratio", flags.ratio, "inflate: demand over GPU capacity (1.3)"),
                0.01, 100);
    app.add_option("--orders", flags.orders,
                   "inflate: read orders from DIR/WORKLOAD-SEED[-nodes].csv[.gz], not drawn")
        ->type_name("DIR");
    real_number(app.add_option("--load", flags.load,
                               "churn, queue: offered GPU-time over capacity (1.0); with the "
                               "trace's own times: stretch them to it"),
                0.01, 100);
    whole_number(
        app.add_option("--arrivals", flags.arrivals, "churn, queue: pods that come (40000)"), 10,
        100'000'000);
    one_of(app.add_option("--lifetimes", flags.lifetimes,
                          "churn, queue: exponential, log-normal, longer for larger pods (exp)"),
           {"exp", "logn", "exp-size", "logn-size"});
    one_of(app.add_option("--discipline", flags.discipline, "queue: who may start (backfill)"),
           {"strict", "backfill", "priority"});
    one_of(app.add_option(
               "--times", flags.times,
               "queue: the list's submit times and durations, or drawn ones (trace for Philly "
               "lists, else draw)"),
           {"trace", "draw"});
    whole_number(app.add_option("--threads", flags.threads, "runs at once (0: one per core)"), 0,
                 1024);
}

void add_output_flags(CLI::App& app, SimFlags& flags) {
    app.add_flag("--json", flags.json, "print JSON instead of the table");
    app.add_flag("--csv", flags.csv, "print CSV instead of the table");
    app.add_option("--html", flags.html, "write a page with the table, and with inflate the plots")
        ->type_name("FILE");
    app.add_option("--plot", flags.plot, "inflate: write the plots as SVG")->type_name("FILE");
    app.add_option("--state", flags.state,
                   "write the cluster for tessera explain, as it is when the last pod has come; "
                   "one policy, one seed")
        ->type_name("FILE");
    whole_number(app.add_option("--at", flags.at, "with --state: when so many pods have come"), 1,
                 100'000'000);
    one_of(app.add_option("--suite", flags.suite.name, "a set of experiments instead"),
           {"transfer"});
    app.add_option("--data", flags.suite.data, "suite: directory with the real lists")
        ->type_name("DIR");
    app.add_option("--cells", flags.suite.cells, "suite: only cells whose name contains this")
        ->type_name("TEXT");
    app.add_flag("--quick", flags.suite.quick, "suite: fewer seeds and arrivals");
}

bool given(const CLI::App& app, const char* flag) { return app.count(flag) > 0; }

// Flags that would be ignored are refused: the user meant something by them.
Expected<void> check_combination(const CLI::App& app, const SimFlags& flags) {
    const auto only_for = [&](std::initializer_list<const char*> names,
                              std::string_view protocols) -> Expected<void> {
        for (const char* name : names) {
            if (given(app, name) && protocols.find(flags.protocol) == std::string_view::npos) {
                return fail(ErrorKind::invalid,
                            "{} has no meaning with --protocol {}; it is for {}", name,
                            flags.protocol, protocols);
            }
        }
        return {};
    };
    TESSERA_CHECK(only_for({"--ratio", "--orders", "--plot"}, "inflate"));
    TESSERA_CHECK(only_for({"--load", "--arrivals", "--lifetimes"}, "churn and queue"));
    TESSERA_CHECK(only_for({"--discipline", "--times"}, "queue"));
    if (flags.json && flags.csv) {
        return fail(ErrorKind::invalid, "--json and --csv exclude each other");
    }
    if (given(app, "--orders") && given(app, "--ratio")) {
        return fail(ErrorKind::invalid,
                    "--ratio has no meaning with --orders: the files say which pods come");
    }
    for (const char* name : {"--data", "--cells", "--quick"}) {
        if (given(app, name)) {
            return fail(ErrorKind::invalid, "{} is for --suite transfer", name);
        }
    }
    if (given(app, "--at") && !given(app, "--state")) {
        return fail(ErrorKind::invalid, "--at says when --state FILE is written, and is for it");
    }
    if (given(app, "--count") && !generates_pods(flags.inputs)) {
        return fail(ErrorKind::invalid, "--count is for generated workloads; {} is a file",
                    flags.inputs.pods);
    }
    return {};
}

Expected<void> check_suite_flags(const CLI::App& app) {
    constexpr std::array<std::string_view, 9> kMeant{"--suite",   "--data",   "--cells",
                                                     "--quick",   "--policy", "--seeds",
                                                     "--threads", "--json",   "--csv"};
    for (const CLI::Option* option : app.get_options()) {
        const std::string name = option->get_name();
        if (option->count() > 0 && std::find(kMeant.begin(), kMeant.end(), name) == kMeant.end()) {
            return fail(ErrorKind::invalid, "{} has no meaning with --suite", name);
        }
    }
    return {};
}

// Better before the runs than after them.
Expected<void> check_outputs(const SimFlags& flags) {
    std::set<std::string> paths;
    for (const std::string& path : {flags.html, flags.plot, flags.state}) {
        if (!path.empty()) {
            TESSERA_CHECK(check_writable(path));
            if (!paths.insert(path).second) {
                return fail(ErrorKind::invalid, "{}: two outputs cannot go to one file", path);
            }
        }
    }
    return {};
}

Expected<std::vector<std::string>> policy_names(const std::string& text) {
    TESSERA_TRY(const auto names, parse_list("--policy", text));
    std::vector<std::string> policies;
    // A policy named alone and by "published" runs once.
    const auto named = [&](std::string_view name) {
        return std::find(names.begin(), names.end(), name) != names.end() ||
               std::find(policies.begin(), policies.end(), name) != policies.end();
    };
    for (const std::string& name : names) {
        if (name != "published") {
            policies.push_back(name);
            continue;
        }
        for (const std::string_view one : kPublishedPolicies) {
            if (!named(one)) {
                policies.emplace_back(one);
            }
        }
    }
    return policies;
}

Protocol protocol_of(const std::string& text) {
    return text == "churn"   ? Protocol::churn
           : text == "queue" ? Protocol::queue
                             : Protocol::inflate;
}

Discipline discipline_of(const std::string& text) {
    return text == "strict"     ? Discipline::strict
           : text == "priority" ? Discipline::priority
                                : Discipline::backfill;
}

Expected<Experiment> experiment_of(const CLI::App& app, const SimFlags& flags,
                                   const Workload& workload) {
    Experiment experiment;
    experiment.protocol = protocol_of(flags.protocol);
    TESSERA_TRY(const auto names, policy_names(flags.policies));
    for (const std::string& name : names) {
        TESSERA_TRY(PolicySource source, PolicySource::open(name));
        experiment.policies.push_back(std::move(source));
    }
    TESSERA_CHECK(check_names_differ(experiment.policies));
    TESSERA_TRY(experiment.seeds, parse_seeds(flags.seeds));
    TESSERA_CHECK(check_policies(experiment.policies, workload));
    experiment.threads = flags.threads;
    experiment.ratio = flags.ratio;
    experiment.orders = flags.orders;
    experiment.orders_workload = workload.name;
    experiment.fragmentation = !flags.html.empty() || !flags.plot.empty();
    experiment.load = flags.load;
    experiment.arrivals = flags.arrivals;
    experiment.lifetimes = *parse_lifetimes(flags.lifetimes);
    experiment.discipline = discipline_of(flags.discipline);
    // A job list has times that mean something; the openb lists span months with few pods at once.
    const bool job_list = workload.format == TraceFormat::philly;
    experiment.trace_times = experiment.protocol == Protocol::queue &&
                             (flags.times == "trace" || (flags.times.empty() && job_list));
    if (experiment.trace_times) {
        for (const char* name : {"--arrivals", "--lifetimes"}) {
            if (given(app, name)) {
                return fail(ErrorKind::invalid,
                            "{} has no meaning with the trace's own times; add --times draw", name);
            }
        }
        if (given(app, "--load")) {
            experiment.trace_load = flags.load;
        }
    }
    return experiment;
}

// Files of single policies, whose settings a state file does not hold. A policy file may be based
// on any policy.
Expected<void> check_policy_files(const SimFlags& flags,
                                  const std::vector<PolicySource>& policies) {
    const auto may_run = [&](std::string_view policy) {
        return std::any_of(policies.begin(), policies.end(),
                           [&](const PolicySource& source) { return source.shipped() == policy; });
    };
    if (!flags.inputs.keti_policy.empty() && !may_run("keti")) {
        return fail(ErrorKind::invalid, "--keti-policy is for --policy keti");
    }
    const bool tuned = !flags.inputs.keti_policy.empty() ||
                       (!flags.inputs.topology.empty() && may_run("kubeshare"));
    if (!flags.state.empty() && tuned) {
        return fail(ErrorKind::invalid,
                    "--state does not hold what {} says to the policy, so that tessera explain "
                    "would judge otherwise",
                    flags.inputs.keti_policy.empty() ? "--topology" : "--keti-policy");
    }
    return {};
}

void note(const std::string& text) { fmt::print(stderr, "tessera: {}\n", text); }

// Departing pods and queues need pods that can run at all.
void drop_misfits(ExperimentInputs& inputs) {
    inputs.workload = without_misfits(inputs.workload, inputs.nodes);
    if (inputs.workload.dropped > 0) {
        const auto dropped = static_cast<std::int64_t>(inputs.workload.dropped);
        note(fmt::format("{} no node, even empty, and {} left out",
                         dropped == 1 ? "1 pod fits on" : counted(dropped, "pod") + " fit on",
                         dropped == 1 ? "is" : "are"));
    }
}

Expected<std::vector<PolicyResult>> run_with_progress(const ExperimentInputs& inputs,
                                                      const Experiment& experiment) {
    ExperimentProgress progress;
    const ProgressBar bar(
        counted(std::ssize(experiment.policies) * std::ssize(experiment.seeds), "run"), [&] {
            const auto total = static_cast<double>(progress.arrivals_total.load());
            const auto done = static_cast<double>(progress.arrivals_done.load());
            return total > 0 ? done / total : 0.0;
        });
    return run_experiment(inputs, experiment, progress);
}

Expected<void> write_outputs(const std::vector<PolicyResult>& results, const SimFlags& flags,
                             const ReportContext& context) {
    if (flags.json) {
        fmt::print("{}", report_json(results, context));
    } else if (flags.csv) {
        fmt::print("{}", report_csv(results, context));
    } else {
        fmt::print("{}", report_table(results, context));
    }
    if (!flags.html.empty()) {
        TESSERA_CHECK(write_file(flags.html, render_html(results, context)));
    }
    if (!flags.plot.empty()) {
        TESSERA_CHECK(write_file(flags.plot, render_svg(results, context)));
    }
    return {};
}

Expected<void> write_state(const std::string& path, const ClusterState& state,
                           const Interner<ModelIndex>& models) {
    Vocabulary names;
    for (std::uint16_t i = 0; i < models.size(); ++i) {
        names.models.intern(models.name(ModelIndex(i)));
    }
    return write_file(path, write_state_json(state, names));
}

Expected<void> simulate(const CLI::App& app, const SimFlags& flags) {
    TESSERA_CHECK(check_combination(app, flags));
    TESSERA_CHECK(check_outputs(flags));
    TESSERA_TRY(LoadedInputs loaded, load_inputs(flags.inputs));
    for (const std::string& text : loaded.notes) {
        note(text);
    }
    ExperimentInputs& inputs = loaded.inputs;
    if (protocol_of(flags.protocol) != Protocol::inflate) {
        drop_misfits(inputs);
    }
    if (inputs.workload.pods.empty()) {
        return fail(ErrorKind::invalid, "--pods: no pod is left to run");
    }
    TESSERA_TRY(Experiment experiment, experiment_of(app, flags, inputs.workload));
    TESSERA_CHECK(check_policy_files(flags, experiment.policies));
    experiment.model_priority = std::move(loaded.model_priority);
    experiment.keti = loaded.keti;
    ClusterState state;
    if (!flags.state.empty()) {
        if (experiment.policies.size() * experiment.seeds.size() != 1) {
            return fail(ErrorKind::invalid, "--state is for one policy and one seed");
        }
        experiment.state = {&state, flags.at};
    }
    TESSERA_TRY(const auto results, run_with_progress(inputs, experiment));
    if (!flags.state.empty()) {
        // A file is named as the user named it: explain finds the policy again.
        state.policy = experiment.policies.front().given();
        TESSERA_CHECK(write_state(flags.state, state, loaded.models));
    }
    if (results.front().untimed > 0) {
        const auto untimed = static_cast<std::int64_t>(results.front().untimed);
        note(fmt::format("{} no times in the trace and {} left out",
                         untimed == 1 ? "1 pod has" : counted(untimed, "pod") + " have",
                         untimed == 1 ? "is" : "are"));
    }
    ReportContext context;
    context.protocol = experiment.protocol;
    context.workload = inputs.workload.name;
    context.in_seconds = experiment.trace_times;
    TESSERA_TRY(const auto named, parse_list("--policy", flags.policies));
    context.against_published = std::find(named.begin(), named.end(), "published") != named.end();
    return write_outputs(results, flags, context);
}

}  // namespace

int run_sim(const Arguments& arguments) {
    SimFlags flags;
    CLI::App app("Runs pods through placement policies in virtual time.", "tessera sim");
    app.footer(kExamples);
    add_input_flags(app, flags);
    add_run_flags(app, flags);
    add_output_flags(app, flags);
    if (const auto done = parse(app, arguments)) {
        return *done;
    }
    if (!flags.suite.name.empty()) {
        flags.suite.json = flags.json;
        flags.suite.csv = flags.csv;
        flags.suite.threads = flags.threads;
        flags.suite.seeds = given(app, "--seeds") ? flags.seeds : "";
        flags.suite.policies = given(app, "--policy") ? flags.policies : "";
        if (const auto meant = check_suite_flags(app); !meant) {
            return report_error(meant.error());
        }
        return run_suite(flags.suite);
    }
    const auto done = simulate(app, flags);
    return done ? kExitFine : report_error(done.error());
}

}  // namespace tessera::cli
