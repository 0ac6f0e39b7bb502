#include "role/cli/explain_question.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/file_error.h"
#include "base/quantity.h"
#include "base/text.h"
#include "base/wording.h"
#include "codec/kube_json.h"
#include "codec/kube_yaml.h"
#include "dialect/dialect.h"
#include "dialect/gpushare.h"
#include "dialect/near_keys.h"
#include "dialect/unplaced.h"
#include "model/model_name.h"
#include "model/pod_rules.h"
#include "role/cli/arguments.h"
#include "sim/file.h"

namespace tessera::cli {
namespace {

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

// What is about a GPU is refused where none is asked for: the user meant something by it.
Expected<void> check_no_gpu(const DemandFlags& flags) {
    const char* about = flags.milli != 0            ? "--milli"
                        : !flags.gpu_memory.empty() ? "--gpu-memory"
                        : !flags.models.empty()     ? "--model"
                                                    : nullptr;
    if (about != nullptr) {
        return fail(ErrorKind::invalid,
                    "{} is about a GPU, and --gpus 0 asks for none; leave one of the two out",
                    about);
    }
    return {};
}

Expected<Demand> demand_of_flags(const DemandFlags& flags, Vocabulary& names) {
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
    if (flags.gpus == 0) {
        TESSERA_CHECK(check_no_gpu(flags));
        return demand;
    }
    if (!flags.models.empty()) {
        TESSERA_TRY(const auto models, parse_list("--model", flags.models));
        for (const std::string& model : models) {
            TESSERA_TRY(const ModelIndex index, intern_model(model, names.models));
            if (std::find(demand.models.begin(), demand.models.end(), index) ==
                demand.models.end()) {
                demand.models.push_back(index);
            }
        }
    }
    GpuRequest request;
    request.gpus = static_cast<std::uint16_t>(flags.gpus);
    request.milli = flags.milli == 0 ? kWholeGpu : MilliGpu(flags.milli);
    if (!flags.gpu_memory.empty()) {
        TESSERA_TRY(request.memory_bytes, parse_bytes("--gpu-memory", flags.gpu_memory));
        request.memory = asked_mib(request.memory_bytes);
    }
    demand.alternatives.push_back({{request}});
    return demand;
}

// What the manifest says and the answer does not heed.
std::vector<std::string> notes_of(const Pod& pod) {
    std::vector<std::string> notes;
    for (const std::string_view rule : rules_about_pods(pod)) {
        notes.push_back(
            fmt::format("its spec.{} is not judged here: it is about other pods", rule));
    }
    if (!pod.node_name.empty()) {
        notes.push_back(fmt::format(
            "its spec.nodeName {} means that it is bound there already; this is where it would "
            "go if it were not",
            in_quotes(pod.node_name)));
    }
    for (const std::string& resource : unplaced_resources(pod)) {
        notes.push_back(fmt::format(
            "its {} is not a resource that Tessera places, and was passed over; those are {}",
            in_quotes(resource), placed_resources()));
    }
    for (std::string& note : unknown_key_notes(pod)) {
        notes.push_back(std::move(note));
    }
    return notes;
}

Expected<std::string> read_standard_input() {
    std::string text;
    std::array<char, 1 << 16> part{};
    while (const std::size_t size = std::fread(part.data(), 1, part.size(), stdin)) {
        text.append(part.data(), size);
    }
    if (std::ferror(stdin) != 0) {
        return fail(ErrorKind::environment, "standard input cannot be read");
    }
    return text;
}

Expected<Question> question_of(const PodSet& set, DialectContext& context) {
    TESSERA_TRY(PodDemand asked, pod_demand(set.pod, context));
    Question question;
    question.name = set.pod.space + '/' + set.pod.name;
    question.members = set.count;
    question.together = false;
    TESSERA_TRY(const Dialect* dialect, dialect_of(set.pod));
    question.dialect = dialect->name;
    if (set.kind == "DaemonSet") {
        question.notes.emplace_back(
            "a DaemonSet puts one pod on every node that admits it; this is about the first");
    }
    if (context.options.gpushare_unit == MemoryUnit::mib) {
        question.notes.emplace_back(
            "its aliyun.com/gpu-mem is taken in MiB: no GPU here has so many GiB");
    }
    for (std::string& note : notes_of(set.pod)) {
        question.notes.push_back(std::move(note));
    }
    if (const auto& gang = asked.demand.gang) {
        // So many must start together; the others may follow.
        question.members = gang->minimum;
        question.together = true;
        if (gang->minimum < gang->size) {
            question.notes.push_back(fmt::format("{} of its group's {} members must start together",
                                                 gang->minimum, gang->size));
        }
    }
    question.demand = std::move(asked.demand);
    return question;
}

bool asks_gpu_memory(const Demand& demand) {
    return std::ranges::any_of(demand.alternatives, [](const Alternative& alternative) {
        return std::ranges::any_of(alternative.requests, [](const GpuRequest& request) {
            return request.memory.value() > 0 || request.memory_ppm > 0;
        });
    });
}

}  // namespace

Expected<Questions> questions_of_flags(const DemandFlags& flags, Vocabulary& names) {
    TESSERA_TRY(Demand demand, demand_of_flags(flags, names));
    Questions questions;
    questions.asked.push_back({"the pod", std::move(demand), flags.members});
    return questions;
}

Expected<Questions> questions_of_manifest(const std::string& path, const ClusterState& state,
                                          Vocabulary& names) {
    TESSERA_TRY(const std::string text, path == "-" ? read_standard_input() : read_file(path));
    const std::string file = path == "-" ? "standard input" : path;
    auto objects = read_kube_yaml(text);
    if (!objects) {
        return tl::unexpected<Error>(in_file(file, std::move(objects.error())));
    }
    Questions questions;
    for (std::string& note : objects->notes) {
        questions.notes.push_back(in_file(file, std::move(note)));
    }
    DialectContext context{names, *state.filters, {}};
    for (const PodSet& set : objects->pods) {
        context.options.gpushare_unit = gpushare_unit(set.pod, state.nodes);
        auto question = question_of(set, context);
        if (!question) {
            return tl::unexpected<Error>(in_file(file, std::move(question.error())));
        }
        questions.asked.push_back(std::move(*question));
    }
    if (questions.asked.empty()) {
        return fail(ErrorKind::invalid, "{}: there is no pod in it{}; accepted are {}", file,
                    objects->skipped.empty()
                        ? ""
                        : fmt::format("; it has {}", in_quotes(objects->skipped.front())),
                    kinds_with_pods());
    }
    if (!objects->skipped.empty()) {
        std::vector<std::string> kinds;
        for (const std::string& kind : objects->skipped) {
            kinds.push_back(in_quotes(kind));
        }
        questions.notes.push_back(
            in_file(file, fmt::format("{} has no pods that are read here, and was passed over",
                                      fmt::join(kinds, ", "))));
    }
    return questions;
}

void note_unknown_memory(const ClusterState& state, Questions& questions) {
    std::int64_t unknown = 0;
    for (const NodeSpec& node : state.nodes) {
        unknown += std::count_if(node.gpus.begin(), node.gpus.end(),
                                 [](const GpuSpec& gpu) { return gpu.memory.value() == 0; });
    }
    const bool asked = std::ranges::any_of(
        questions.asked, [](const Question& question) { return asks_gpu_memory(question.demand); });
    if (asked && unknown > 0) {
        questions.notes.push_back(fmt::format(
            "the memory of {} is not known, so no demand of GPU memory fits there; it is given by "
            "@80Gi in a list of nodes (sim --nodes 4x8g96c768Gi@80Gi), by the column "
            "gpu_memory_mib, by memoryMib in the state, or by a node's annotation tessera.dev/gpus",
            counted(unknown, "GPU")));
    }
}

}  // namespace tessera::cli
