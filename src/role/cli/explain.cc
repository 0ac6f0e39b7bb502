// tessera explain: why a pod goes where it goes, why it fits nowhere, and what would help.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "base/text.h"
#include "codec/decision_json.h"
#include "codec/kube_yaml.h"
#include "codec/state_json.h"
#include "dialect/dialect.h"
#include "dialect/gpushare.h"
#include "engine/diagnosis.h"
#include "engine/explain.h"
#include "engine/state.h"
#include "model/model_name.h"
#include "role/cli/arguments.h"
#include "role/cli/command.h"
#include "role/cli/explain_text.h"
#include "role/cli/terminal.h"
#include "sim/file.h"
#include "sim/policy_source.h"

namespace tessera::cli {
namespace {

struct Flags {
    std::string state;
    std::string manifest;
    std::string running;
    std::string policy;
    int gpus = 1;
    int milli = 1000;
    std::string gpu_memory;
    std::string cpu = "0";
    std::string memory = "0";
    std::string models;
    std::int64_t members = 1;
    std::size_t runners_up = 3;
    bool json = false;
};

// What is asked about, in words for the heading of several.
struct Question {
    std::string name;
    Demand demand;
    std::int64_t members = 1;
    std::vector<std::string> notes;
};

struct Opened {
    Vocabulary names;
    ClusterState state;
    std::unique_ptr<Engine> engine;
    std::string_view node_name(NodeIndex node) const { return state.nodes[node.slot()].name; }
};

Expected<Bytes> parse_bytes(std::string_view flag, const std::string& text) {
    auto quantity = Quantity::parse(text);
    if (quantity && quantity->negative()) {
        return fail(ErrorKind::invalid, "{}: {} is negative; 0 or more is accepted", flag, text);
    }
    auto bytes = quantity ? quantity->value_up() : tl::unexpected<Error>(quantity.error());
    if (!bytes) {
        return tl::unexpected<Error>(std::move(bytes.error()).within(flag));
    }
    return Bytes(*bytes);
}

Expected<Demand> demand_of_flags(const Flags& flags, Vocabulary& names) {
    Demand demand;
    auto cpu = Quantity::parse(flags.cpu);
    auto milli = cpu ? cpu->milli_up() : tl::unexpected<Error>(cpu.error());
    if (!milli || *milli < 0) {
        return fail(ErrorKind::invalid, "--cpu: {} is not accepted; cores such as 4 or 500m are",
                    in_quotes(flags.cpu));
    }
    demand.cpu = MilliCpu(*milli);
    TESSERA_TRY(const Bytes memory, parse_bytes("--memory", flags.memory));
    demand.memory = asked_mib(memory);
    if (!flags.models.empty()) {
        TESSERA_TRY(const auto models, parse_list("--model", flags.models));
        for (const std::string& model : models) {
            TESSERA_TRY(const ModelIndex index, intern_model(model, names.models));
            demand.models.push_back(index);
        }
    }
    if (flags.gpus == 0) {
        return demand;
    }
    GpuRequest request;
    request.gpus = static_cast<std::uint16_t>(flags.gpus);
    request.milli = MilliGpu(flags.milli);
    if (!flags.gpu_memory.empty()) {
        TESSERA_TRY(request.memory_bytes, parse_bytes("--gpu-memory", flags.gpu_memory));
        request.memory = asked_mib(request.memory_bytes);
    }
    demand.alternatives.push_back({{request}});
    return demand;
}

Expected<std::vector<Question>> questions_of_manifest(const Flags& flags, Opened& opened) {
    TESSERA_TRY(const std::string text, read_file(flags.manifest));
    auto objects = read_kube_yaml(text);
    if (!objects) {
        return tl::unexpected<Error>(std::move(objects.error()).within(flags.manifest));
    }
    DialectContext context{opened.names, *opened.state.filters, {}};
    std::vector<Question> questions;
    for (const PodSet& set : objects->pods) {
        context.options.gpushare_unit = gpushare_unit(set.pod, opened.state.nodes);
        auto asked = pod_demand(set.pod, context);
        if (!asked) {
            return tl::unexpected<Error>(std::move(asked.error()).within(flags.manifest));
        }
        Question question;
        question.name = set.pod.space + '/' + set.pod.name;
        question.members = set.count;
        question.notes = objects->notes;
        if (context.options.gpushare_unit == MemoryUnit::mib) {
            question.notes.emplace_back(
                "its aliyun.com/gpu-mem is taken in MiB: no GPU here has so many GiB");
        }
        for (const std::string& rule : set.pod.pod_rules) {
            question.notes.push_back(
                fmt::format("its spec.{} is not judged here: it is about other pods", rule));
        }
        if (!set.pod.node_name.empty()) {
            question.notes.push_back(fmt::format(
                "its spec.nodeName {} means that it is bound there already; this is where it would "
                "go if it were not",
                in_quotes(set.pod.node_name)));
        }
        if (const auto& gang = asked->demand.gang) {
            // So many must start together; the others may follow.
            question.members = gang->minimum;
            if (gang->minimum < gang->size) {
                question.notes.push_back(fmt::format(
                    "{} of its group's {} members must start together", gang->minimum, gang->size));
            }
        }
        question.demand = std::move(asked->demand);
        questions.push_back(std::move(question));
    }
    if (questions.empty()) {
        return fail(ErrorKind::invalid, "{}: there is no pod in it{}", flags.manifest,
                    objects->skipped.empty()
                        ? ""
                        : fmt::format("; it has {}", in_quotes(objects->skipped.front())));
    }
    return questions;
}

// Without this the answer would read as if such GPUs were small.
void note_unknown_memory(const ClusterState& state, Question& question) {
    bool asked = false;
    for (const Alternative& alternative : question.demand.alternatives) {
        for (const GpuRequest& request : alternative.requests) {
            asked = asked || request.memory.value() > 0 || request.memory_ppm > 0;
        }
    }
    std::int64_t unknown = 0;
    for (const NodeSpec& node : state.nodes) {
        unknown += std::count_if(node.gpus.begin(), node.gpus.end(),
                                 [](const GpuSpec& gpu) { return gpu.memory.value() == 0; });
    }
    if (asked && unknown > 0) {
        question.notes.push_back(fmt::format(
            "the memory of {} GPU{} is not known, so no demand of GPU memory fits there", unknown,
            unknown == 1 ? "" : "s"));
    }
}

// The mix that arrived, for the policy that must know it beforehand.
std::vector<ClassCount> mix_of(const ClusterState& state) {
    std::vector<ClassCount> mix;
    for (const Demand& demand : state.demands) {
        mix.push_back({demand_class(demand), 0});
    }
    for (const std::int32_t event : state.history) {
        mix[static_cast<std::size_t>(event >= 0 ? event : 0)].count += event >= 0 ? 1 : 0;
    }
    std::erase_if(mix, [](const ClassCount& entry) { return entry.count == 0; });
    return mix;
}

Expected<void> open_state(const Flags& flags, Opened& opened) {
    TESSERA_TRY(const std::string text, read_file(flags.state));
    auto state = read_state_json(text, opened.names);
    if (!state) {
        return tl::unexpected<Error>(std::move(state.error()).within(flags.state));
    }
    opened.state = std::move(*state);
    std::string name = flags.policy.empty() ? opened.state.policy : flags.policy;
    TESSERA_TRY(const PolicySource source, PolicySource::open(name.empty() ? "tessera" : name));
    std::vector<ClassCount> mix;
    if (source.shipped() == "fgd-published") {
        mix = mix_of(opened.state);
    }
    TESSERA_TRY(auto policy, source.make({.mix = mix}));
    Engine::Options options;
    options.seed = opened.state.seed;
    auto engine = restore_engine(opened.state, std::move(policy), options);
    if (!engine) {
        return fail(ErrorKind::invalid, "{}: {}", flags.state, engine.error().message);
    }
    opened.engine = std::move(*engine);
    return {};
}

// The members are equal: all by the alternative that serves the first.
GangVerdict gang_of(Opened& opened, const Question& question, const Decision& decision) {
    const Placer& placer = opened.engine->placer();
    const Cluster& cluster = opened.engine->cluster();
    const std::size_t alternative = decision.placed() ? decision.placement->alternative : 0;
    return judge_gang(cluster, cluster.catalog(placer.classes()),
                      placer.policy().adapt(demand_class(question.demand, alternative)),
                      question.members);
}

void print_json(const Opened& opened, const Question& question, const Decision& decision,
                const GangVerdict& gang) {
    const DecisionNames names{[&](NodeIndex node) { return opened.node_name(node); }, opened.names};
    JsonWriter json;
    json.begin_object();
    json.member("pod", question.name);
    json.member("fits", decision.placed() && gang.fits);
    json.key("notes");
    json.begin_array();
    for (const std::string& note : question.notes) {
        json.value(note);
    }
    json.end_array();
    if (question.members > 1) {
        json.key("group");
        json.begin_object();
        json.member("size", question.members);
        json.member("fits", gang.fits);
        json.member("membersNow", gang.members_now);
        json.member("membersOnEmptyCluster", gang.members_empty);
        if (!gang.fits) {
            json.member("code", refusal_info(gang.code).name);
        }
        json.end_object();
    }
    json.key("decision");
    write_decision(decision, names, json);
    json.end_object();
    fmt::print("{}\n", json.take());
}

int answer(Opened& opened, const Question& question, const Flags& flags) {
    const Decision decision = explain(opened.engine->placer_to_explain(), question.demand,
                                      {.runners_up = flags.runners_up});
    const GangVerdict gang = gang_of(opened, question, decision);
    if (flags.json) {
        print_json(opened, question, decision, gang);
    } else {
        const DecisionNames names{[&](NodeIndex node) { return opened.node_name(node); },
                                  opened.names};
        fmt::print("{}: ", question.name);
        if (decision.placed() && !gang.fits) {
            fmt::print("its group does not fit: {} of {} members do now. One alone ",
                       gang.members_now, question.members);
        }
        fmt::print("{}", decision_text(decision, names, {.colour = colours_wanted()}));
        if (question.members > 1) {
            fmt::print("\n{}", gang_text(gang, question.members));
        }
        for (const std::string& note : question.notes) {
            fmt::print("note: {}\n", note);
        }
    }
    return decision.placed() && gang.fits ? kExitFine : kExitNo;
}

Expected<std::size_t> find_pod(const ClusterState& state, const std::string& name) {
    std::vector<std::string> near;
    for (std::size_t i = 0; i < state.pods.size(); ++i) {
        const std::string& known = state.pods[i].name;
        if (known == name || known.ends_with('/' + name)) {
            return i;
        }
        if (near.size() < 5 && known.find(name) != std::string::npos) {
            near.push_back(known);
        }
    }
    return fail(ErrorKind::not_found, "pod {} is not in the state{}{}", in_quotes(name),
                near.empty() ? "" : "; perhaps ", fmt::join(near, ", "));
}

int answer_running(Opened& opened, const Flags& flags) {
    const auto at = find_pod(opened.state, flags.running);
    if (!at) {
        return report_error(at.error());
    }
    const PodState& pod = opened.state.pods[*at];
    const Demand& demand = opened.state.demands[pod.demand];
    if (!pod.placement) {
        return answer(opened, {pod.name, demand, 1, {}}, flags);
    }
    const auto view = opened.engine->ledger().find(OwnerId::pod(static_cast<std::uint32_t>(*at)));
    const RunningReport report =
        explain_running(opened.engine->placer_to_explain(), demand, *pod.placement, view->start);
    const DecisionNames names{[&](NodeIndex node) { return opened.node_name(node); }, opened.names};
    if (!flags.json) {
        fmt::print("{}", running_text(pod.name, report, names, {.colour = colours_wanted()}));
        return kExitFine;
    }
    JsonWriter json;
    json.begin_object();
    json.member("pod", pod.name);
    write_placement(report.placement, names, json);
    json.member("fitsHereNow", report.fits_here);
    json.member("nodesBetterNow", report.better);
    json.key("here");
    write_candidate(report.here, names, json);
    json.key("devices");
    write_devices(report.devices, json);
    json.key("decidedAnew");
    write_decision(report.anew, names, json);
    json.end_object();
    fmt::print("{}\n", json.take());
    return kExitFine;
}

int run(const Flags& flags) {
    Opened opened;
    if (const auto done = open_state(flags, opened); !done) {
        return report_error(done.error());
    }
    if (!flags.running.empty()) {
        return answer_running(opened, flags);
    }
    std::vector<Question> questions;
    if (!flags.manifest.empty()) {
        auto read = questions_of_manifest(flags, opened);
        if (!read) {
            return report_error(read.error());
        }
        questions = std::move(*read);
    } else {
        auto demand = demand_of_flags(flags, opened.names);
        if (!demand) {
            return report_error(demand.error());
        }
        questions.push_back({"the pod", std::move(*demand), flags.members, {}});
    }
    for (Question& question : questions) {
        note_unknown_memory(opened.state, question);
    }
    int worst = kExitFine;
    for (const Question& question : questions) {
        worst = std::max(worst, answer(opened, question, flags));
    }
    return worst;
}

std::vector<CLI::Option*> demand_options(CLI::App& app, Flags& flags) {
    return {
        whole_number(app.add_option("--gpus", flags.gpus, "GPUs asked for; 0 for none (1)"), 0,
                     kMaxGpusPerNode),
        whole_number(app.add_option("--milli", flags.milli, "thousandths of each GPU (1000)"), 1,
                     1000),
        app.add_option("--gpu-memory", flags.gpu_memory, "memory of each GPU, such as 8Gi")
            ->type_name("SIZE"),
        app.add_option("--cpu", flags.cpu, "cores, such as 4 or 500m (0)")->type_name("CORES"),
        app.add_option("--memory", flags.memory, "node memory, such as 16Gi (0)")
            ->type_name("SIZE"),
        app.add_option("--model", flags.models, "allowed GPU models, best first: A100,V100")
            ->type_name("LIST"),
        whole_number(app.add_option("--members", flags.members, "so many equal pods together (1)"),
                     1, 1'000'000),
    };
}

}  // namespace

int run_explain(const Arguments& arguments) {
    CLI::App app(
        "Explain a placement: why here, why not, and what would make it fit. Nothing is placed.",
        "tessera explain");
    app.footer(
        "examples:\n"
        "  tessera sim --nodes openb --pods openb --state now.json\n"
        "  tessera explain --state now.json --milli 500 --gpu-memory 8Gi --cpu 4 --memory 16Gi\n"
        "  tessera explain --state now.json --gpus 8 --model V100M32 --policy mine.yaml\n"
        "  tessera explain --state now.json --pod train.yaml --json\n"
        "  tessera explain --state now.json --running pod-17\n\n"
        "Exit codes: 0 fits, 1 does not fit, 2 wrong use or a file that is not good,\n"
        "3 a file cannot be read.");
    Flags flags;
    app.add_option("--state", flags.state, "the cluster: a file that sim --state wrote")
        ->type_name("FILE")
        ->required();
    CLI::Option* pod = app.add_option("--pod", flags.manifest, "a pod's manifest, in YAML or JSON")
                           ->type_name("FILE");
    CLI::Option* running =
        app.add_option("--running", flags.running, "a pod of the state, by its name")
            ->type_name("POD");
    pod->excludes(running);
    app.add_option("--policy", flags.policy, "NAME or FILE.yaml (the state's)")
        ->type_name("POLICY");
    for (CLI::Option* option : demand_options(app, flags)) {
        option->excludes(pod)->excludes(running);
    }
    whole_number(app.add_option("--top", flags.runners_up, "how many other nodes to show (3)"), 0,
                 10'000);
    app.add_flag("--json", flags.json, "as JSON, one object per pod");
    if (const auto code = parse(app, arguments)) {
        return *code;
    }
    return run(flags);
}

}  // namespace tessera::cli
