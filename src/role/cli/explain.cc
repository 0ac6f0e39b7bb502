// tessera explain: why a pod goes where it goes, why it fits nowhere, and what would help.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file_error.h"
#include "base/text.h"
#include "codec/decision_json.h"
#include "codec/state_json.h"
#include "engine/diagnosis.h"
#include "engine/explain.h"
#include "role/cli/arguments.h"
#include "role/cli/command.h"
#include "role/cli/demand_text.h"
#include "role/cli/explain_question.h"
#include "role/cli/explain_text.h"
#include "role/cli/terminal.h"
#include "sim/file.h"
#include "sim/policy_source.h"
#include "sim/resume.h"

namespace tessera::cli {
namespace {

struct Flags {
    std::string state;
    std::string manifest;
    std::string running;
    std::string policy;
    DemandFlags demand;
    std::size_t runners_up = 3;
    bool json = false;
};

struct Opened {
    Vocabulary names;
    ClusterState state;
    std::optional<PolicySource> policy{};
    std::unique_ptr<Engine> engine{};
    std::string_view node_name(NodeIndex node) const { return state.nodes[node.slot()].name; }
};

Expected<void> open_state(const Flags& flags, Opened& opened) {
    TESSERA_TRY(const std::string text, read_file(flags.state));
    auto state = read_state_json(text, opened.names);
    if (!state) {
        return tl::unexpected<Error>(in_file(flags.state, std::move(state.error())));
    }
    opened.state = std::move(*state);
    auto source = policy_of_state(opened.state, flags.policy);
    if (!source) {
        return tl::unexpected<Error>(flags.policy.empty()
                                         ? in_file(flags.state, std::move(source.error()))
                                         : std::move(source.error()));
    }
    opened.policy = std::move(*source);
    return {};
}

// Each question meets the state as it was: the policy learns of the pod that is asked about.
Expected<void> open_engine(const Flags& flags, Opened& opened) {
    auto engine = resume(opened.state, *opened.policy);
    if (!engine) {
        return tl::unexpected<Error>(engine.error().message.starts_with("policy ") &&
                                             !flags.policy.empty()
                                         ? std::move(engine.error())
                                         : in_file(flags.state, std::move(engine.error())));
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

void write_notes(std::string_view key, const std::vector<std::string>& notes, JsonWriter& json) {
    json.key(key);
    json.begin_array();
    for (const std::string& note : notes) {
        json.value(note);
    }
    json.end_array();
}

struct Answer {
    const Question& question;
    const Decision& decision;
    const GangVerdict& gang;
};

// `shared` are the notes about all pods, for the first object; none are written for the others.
void print_json(const Opened& opened, const Answer& answer,
                const std::vector<std::string>* shared) {
    const auto& [question, decision, gang] = answer;
    const DecisionNames names{[&](NodeIndex node) { return opened.node_name(node); }, opened.names};
    JsonWriter json;
    json.begin_object();
    json.member("pod", question.name);
    json.member("fits", decision.placed() && gang.fits);
    if (!question.dialect.empty()) {
        json.member("dialect", question.dialect);
    }
    json.key("demand");
    json.raw(write_demand_json(question.demand, opened.names, *opened.state.filters));
    write_notes("notes", question.notes, json);
    if (shared != nullptr) {
        write_notes("sharedNotes", *shared, json);
    }
    if (question.members > 1) {
        json.key(question.together ? "group" : "replicas");
        json.begin_object();
        json.member("size", question.members);
        json.member("fits", gang.fits);
        json.member("membersNow", gang.members_now);
        json.member("membersOnEmptyCluster", gang.members_empty);
        if (!gang.fits && question.together) {
            json.member("code", refusal_info(gang.code).name);
        }
        json.end_object();
    }
    json.key("decision");
    write_decision(decision, names, json);
    json.end_object();
    fmt::print("{}\n", json.take());
}

void print_notes(const std::vector<std::string>& notes) {
    for (const std::string& note : notes) {
        fmt::print("note: {}\n", printable(note));
    }
}

void print_text(const Opened& opened, const Answer& answer) {
    const auto& [question, decision, gang] = answer;
    const DecisionNames names{[&](NodeIndex node) { return opened.node_name(node); }, opened.names};
    const bool several = question.members > 1;
    fmt::print("{}: ", printable(question.name));
    if (decision.placed() && !gang.fits && question.together) {
        fmt::print("its group does not fit: {} of {} members do now. One alone ", gang.members_now,
                   question.members);
    }
    fmt::print(
        "{}", decision_text(decision, names, {.colour = colours_wanted(), .one_of_many = several}));
    if (several) {
        fmt::print("\n{}", question.together ? gang_text(gang, question.members)
                                             : replicas_text(gang, question.members));
    }
    if (!question.dialect.empty()) {
        fmt::print("understood as {}: {}\n", question.dialect,
                   printable(demand_text(question.demand, opened.names)));
    }
    print_notes(question.notes);
}

int answer(Opened& opened, const Question& question, const Flags& flags,
           const std::vector<std::string>* shared) {
    if (const auto done = open_engine(flags, opened); !done) {
        return report_error(done.error());
    }
    const Decision decision =
        explain_arrival(*opened.engine, question.demand, {.runners_up = flags.runners_up});
    const GangVerdict gang = gang_of(opened, question, decision);
    if (flags.json) {
        print_json(opened, {question, decision, gang}, shared);
    } else {
        print_text(opened, {question, decision, gang});
    }
    return decision.placed() && gang.fits ? kExitFine : kExitNo;
}

// What concerns all pods is told once: behind them, or in the first object.
int answer_all(Opened& opened, Questions questions, const Flags& flags) {
    note_unknown_memory(opened.state, questions);
    int worst = kExitFine;
    const std::vector<std::string>* shared = &questions.notes;
    for (const Question& question : questions.asked) {
        worst = std::max(worst, answer(opened, question, flags, std::exchange(shared, nullptr)));
    }
    if (!flags.json) {
        print_notes(questions.notes);
    }
    return worst;
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
    return fail(ErrorKind::invalid, "--running: pod {} is not in the state{}{}", in_quotes(name),
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
        return answer_all(opened, {{{pod.name, demand}}, {}}, flags);
    }
    if (const auto done = open_engine(flags, opened); !done) {
        return report_error(done.error());
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
    auto questions = flags.manifest.empty()
                         ? questions_of_flags(flags.demand, opened.names)
                         : questions_of_manifest(flags.manifest, opened.state, opened.names);
    return questions ? answer_all(opened, std::move(*questions), flags)
                     : report_error(questions.error());
}

// The library could refuse these as well, but would list them all behind each flag of the help.
Expected<void> check_one_question(const CLI::App& app) {
    const bool pod = app.count("--pod") > 0;
    const bool running = app.count("--running") > 0;
    const char* asked = pod ? "--pod" : "--running";
    if (pod && running) {
        return fail(ErrorKind::invalid, "--pod and --running are two questions; ask one");
    }
    for (const char* flag :
         {"--gpus", "--milli", "--gpu-memory", "--cpu", "--memory", "--model", "--members"}) {
        if ((pod || running) && app.count(flag) > 0) {
            return fail(ErrorKind::invalid,
                        "{} describes a pod, and {} names one; leave one of the two out", flag,
                        asked);
        }
    }
    return {};
}

void add_demand_flags(CLI::App& app, DemandFlags& flags) {
    whole_number(app.add_option("--gpus", flags.gpus, "GPUs asked for; 0 for none (1)"), 0,
                 kMaxGpusPerNode);
    whole_number(app.add_option("--milli", flags.milli, "thousandths of each GPU (1000)"), 1, 1000);
    app.add_option("--gpu-memory", flags.gpu_memory, "memory of each GPU, such as 8Gi")
        ->type_name("SIZE");
    app.add_option("--cpu", flags.cpu, "cores, such as 4 or 500m (0)")->type_name("CORES");
    app.add_option("--memory", flags.memory, "node memory, such as 16Gi (0)")->type_name("SIZE");
    app.add_option("--model", flags.models, "allowed GPU models, best first: A100,V100")
        ->type_name("LIST")
        ->check([](const std::string& text) {
            return text.empty() ? "\"\" is not accepted; names such as A100 or A100,V100 are" : "";
        });
    whole_number(app.add_option("--members", flags.members, "so many equal pods together (1)"), 1,
                 1'000'000);
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
    app.add_option("--pod", flags.manifest,
                   "a pod's manifest, in YAML or JSON; - reads it from "
                   "standard input")
        ->type_name("FILE");
    app.add_option("--running", flags.running, "a pod of the state, by its name")->type_name("POD");
    app.add_option("--policy", flags.policy, "NAME or FILE.yaml (the state's)")
        ->type_name("POLICY");
    add_demand_flags(app, flags.demand);
    whole_number(app.add_option("--top", flags.runners_up, "how many other nodes to show (3)"), 0,
                 10'000);
    app.add_flag("--json", flags.json, "as JSON, one object per pod");
    if (const auto code = parse(app, arguments)) {
        return *code;
    }
    if (const auto meant = check_one_question(app); !meant) {
        return report_error(meant.error());
    }
    return run(flags);
}

}  // namespace tessera::cli
