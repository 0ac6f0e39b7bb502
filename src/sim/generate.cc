#include "sim/generate.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <optional>

#include "base/rng.h"
#include "codec/node_spec.h"
#include "sim/generate_tables.h"

namespace tessera {

namespace {

constexpr WorkloadKind kKinds[] = {
    {"openb", "the production mix of Alibaba's GPU-sharing cluster"},
    {"gpushareNN", "openb with NN % of the GPU demand in shares of a GPU (gpushare40)"},
    {"multigpuNN", "openb with NN % of the GPU demand in pods of 2, 4 or 8 GPUs (multigpu50)"},
    {"gpuspecNN", "openb with NN % of the GPU pods restricted to GPU models (gpuspec33)"},
    {"cpuNNN", "openb with NNN tenths of a percent of the pods CPU-only (cpu250)"},
    {"llm", "model serving: 0.25, 0.5, 1, 2, 4 or 8 GPUs, 1 to 3 cores per GPU"},
    {"sevenths", "slices of one to seven sevenths of a GPU"},
    {"notebooks", "80 % of the pods take 0.1 to 0.2 GPU, 0.5 % take 8"},
    {"philly", "job sizes, durations and arrival rate of Microsoft's Philly clusters"},
};

// Draws from a table by weight.
template <class Recipe>
const Recipe& draw(std::span<const Recipe> table, Rng& rng) {
    std::uint64_t total = 0;
    for (const Recipe& recipe : table) {
        total += static_cast<std::uint64_t>(recipe.weight);
    }
    std::uint64_t left = rng.below(total);
    for (const Recipe& recipe : table) {
        if (left < static_cast<std::uint64_t>(recipe.weight)) {
            return recipe;
        }
        left -= static_cast<std::uint64_t>(recipe.weight);
    }
    return table.back();
}

TracePod pod_of(const PodRecipe& recipe) {
    TracePod pod;
    pod.cpu = MilliCpu(recipe.cpu_milli);
    pod.memory = MemoryMib(std::int64_t{recipe.memory_gib} * 1024);
    pod.gpus = recipe.gpus;
    pod.gpu_milli = MilliGpu(recipe.gpu_milli);
    return pod;
}

double mean_gpus(std::span<const PodRecipe> table) {
    double pods = 0;
    double gpus = 0;
    for (const PodRecipe& recipe : table) {
        pods += recipe.weight;
        gpus += recipe.weight * recipe.gpus * recipe.gpu_milli / 1000.0;
    }
    return gpus / pods;
}

// How often each group of the openb population is drawn.
struct OpenbMix {
    double cpu_only = kOpenbCpuOnly;
    double share = kOpenbShare;
    double single = kOpenbSingle;
    double multi = kOpenbMulti;
    double restricted = 0;  // of the GPU pods

    double gpu_pods() const { return share + single + multi; }
};

// Weights under which `part` of the GPU demand comes from sharing pods; CPU-only pods keep their
// share of all pods.
OpenbMix gpushare_mix(double part) {
    const OpenbTables tables = openb_tables();
    OpenbMix mix;
    const double rest_pods = mix.single + mix.multi;
    const double rest_gpus =
        (mix.single * mean_gpus(tables.single) + mix.multi * mean_gpus(tables.multi)) / rest_pods;
    const double pods = mix.gpu_pods();
    // share pods : other pods, so that their demand is part : 1 - part
    const double share = part * rest_gpus;
    const double rest = (1 - part) * mean_gpus(tables.share);
    mix.share = pods * share / (share + rest);
    const double scale = pods * rest / (share + rest) / rest_pods;
    mix.single *= scale;
    mix.multi *= scale;
    return mix;
}

OpenbMix multigpu_mix(double part) {
    const OpenbTables tables = openb_tables();
    OpenbMix mix;
    const double others =
        mix.share * mean_gpus(tables.share) + mix.single * mean_gpus(tables.single);
    if (part < 1) {
        mix.multi = others * part / (1 - part) / mean_gpus(tables.multi);
    } else {
        mix.multi = mix.gpu_pods();
        mix.share = 0;
        mix.single = 0;
    }
    return mix;
}

// The number after a family's name, in percent; nothing when the name is another's.
std::optional<double> family_percent(std::string_view kind, std::string_view family, double scale) {
    if (!kind.starts_with(family) || kind.size() == family.size()) {
        return std::nullopt;
    }
    const std::string_view digits = kind.substr(family.size());
    int value = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (parsed.ec != std::errc{} || parsed.ptr != digits.data() + digits.size() || value < 0 ||
        value > 100 * scale || digits.front() == '-') {
        return std::nullopt;
    }
    return value / scale;
}

std::optional<OpenbMix> openb_mix(std::string_view kind) {
    if (kind == "openb") {
        return OpenbMix{};
    }
    if (const auto percent = family_percent(kind, "gpushare", 1)) {
        return gpushare_mix(*percent / 100);
    }
    if (const auto percent = family_percent(kind, "multigpu", 1)) {
        return multigpu_mix(*percent / 100);
    }
    if (const auto percent = family_percent(kind, "gpuspec", 1)) {
        OpenbMix mix;
        mix.restricted = *percent / 100;
        return mix;
    }
    if (const auto percent = family_percent(kind, "cpu", 10); percent && *percent < 100) {
        OpenbMix mix;
        mix.cpu_only = mix.gpu_pods() * *percent / (100 - *percent);
        return mix;
    }
    return std::nullopt;
}

std::vector<ModelIndex> draw_models(Rng& rng, Interner<ModelIndex>& models) {
    std::vector<ModelIndex> allowed;
    std::string_view rest = draw(openb_tables().models, rng).models;
    while (!rest.empty()) {
        const std::size_t bar = rest.find('|');
        allowed.push_back(models.intern(rest.substr(0, bar)));
        rest.remove_prefix(bar == std::string_view::npos ? rest.size() : bar + 1);
    }
    return allowed;
}

TracePod openb_pod(const OpenbMix& mix, Rng& rng, Interner<ModelIndex>& models) {
    const OpenbTables tables = openb_tables();
    double at = rng.uniform() * (mix.cpu_only + mix.gpu_pods());
    if (at < mix.cpu_only) {
        return pod_of(draw(tables.cpu_only, rng));
    }
    at -= mix.cpu_only;
    const auto& group = at < mix.share                ? tables.share
                        : at < mix.share + mix.single ? tables.single
                                                      : tables.multi;
    TracePod pod = pod_of(draw(group, rng));
    if (rng.uniform() < mix.restricted) {
        pod.models = draw_models(rng, models);
    }
    // More than half of the trace is latency sensitive, nearly all else best effort.
    pod.priority = rng.uniform() < 0.57 ? 2 : 0;
    return pod;
}

// A pod that asks cores and memory in proportion to its GPUs.
TracePod proportional_pod(std::uint16_t gpus, std::int32_t milli, double cores_per_gpu,
                          double gib_per_gpu) {
    const double amount = gpus * milli / 1000.0;
    TracePod pod;
    pod.gpus = gpus;
    pod.gpu_milli = MilliGpu(milli);
    pod.cpu = MilliCpu(std::max<std::int64_t>(100, std::lround(amount * cores_per_gpu * 10) * 100));
    pod.memory = MemoryMib(std::max<std::int64_t>(512, std::lround(amount * gib_per_gpu) * 1024));
    return pod;
}

TracePod llm_pod(Rng& rng) {
    constexpr PodRecipe kSizes[] = {{20, 1, 250},  {20, 1, 500},  {30, 1, 1000},
                                    {12, 2, 1000}, {10, 4, 1000}, {8, 8, 1000}};
    const PodRecipe& size = draw(std::span<const PodRecipe>(kSizes), rng);
    return proportional_pod(size.gpus, size.gpu_milli, 1 + 2 * rng.uniform(), 32);
}

TracePod sevenths_pod(Rng& rng) {
    constexpr PodRecipe kSizes[] = {{35, 1, 142}, {20, 1, 284}, {15, 1, 426}, {10, 1, 568},
                                    {3, 1, 710},  {2, 1, 852},  {15, 1, 1000}};
    const PodRecipe& size = draw(std::span<const PodRecipe>(kSizes), rng);
    return proportional_pod(size.gpus, size.gpu_milli, 7, 42);
}

TracePod notebook_pod(Rng& rng) {
    if (rng.uniform() < 0.80) {
        const auto milli = static_cast<std::int32_t>(100 + 10 * rng.below(11));
        return proportional_pod(1, milli, 8, 32);
    }
    constexpr PodRecipe kSizes[] = {
        {70, 1, 500}, {105, 1, 1000}, {10, 2, 1000}, {5, 4, 1000}, {5, 8, 1000}};
    const PodRecipe& size = draw(std::span<const PodRecipe>(kSizes), rng);
    return proportional_pod(size.gpus, size.gpu_milli, 8, 32);
}

TracePod philly_pod(Rng& rng, double& clock_s) {
    const PhillySize& size = draw(philly_sizes(), rng);
    TracePod pod =
        proportional_pod(size.gpus, kWholeGpu.value(), kPhillyCoresPerGpu, kPhillyGibPerGpu);
    clock_s += rng.exponential() * 86400 / kPhillyJobsPerDay;
    constexpr double kSigma = kPhillyDurationSigma;
    pod.submit_s = std::floor(clock_s);
    pod.duration_s =
        std::ceil(size.mean_duration_s * std::exp(kSigma * rng.normal() - kSigma * kSigma / 2));
    return pod;
}

using Draw = std::function<TracePod(Rng&)>;

Draw drawing(const std::string& kind, Interner<ModelIndex>& models) {
    if (const auto mix = openb_mix(kind)) {
        return [mix = *mix, &models](Rng& rng) { return openb_pod(mix, rng, models); };
    }
    if (kind == "llm") {
        return llm_pod;
    }
    if (kind == "sevenths") {
        return sevenths_pod;
    }
    if (kind == "notebooks") {
        return notebook_pod;
    }
    if (kind == "philly") {
        return [clock_s = 0.0](Rng& rng) mutable { return philly_pod(rng, clock_s); };
    }
    return nullptr;
}

std::string kind_names() {
    std::string names;
    for (const WorkloadKind& kind : kKinds) {
        names += names.empty() ? "" : ", ";
        names += kind.name;
    }
    return names;
}

}  // namespace

std::span<const WorkloadKind> workload_kinds() { return kKinds; }

bool is_workload_kind(std::string_view name) {
    Interner<ModelIndex> unused;
    return drawing(std::string(name), unused) != nullptr;
}

Expected<PodTrace> generate_pods(const GenerateOptions& options, Interner<ModelIndex>& models) {
    const Draw draw_pod = drawing(options.kind, models);
    if (!draw_pod) {
        return fail(ErrorKind::invalid, "workload: \"{}\" is not known; there are {}", options.kind,
                    kind_names());
    }
    if (options.pods < 1 || options.pods > kGeneratedPodsMax) {
        return fail(ErrorKind::invalid, "pods: {} is not from 1 to {}", options.pods,
                    kGeneratedPodsMax);
    }
    PodTrace trace;
    trace.format = options.kind == "philly" ? TraceFormat::philly : TraceFormat::openb;
    trace.rows = options.pods;
    trace.pods.reserve(options.pods);
    Rng rng(options.seed);
    for (std::size_t i = 0; i < options.pods; ++i) {
        TracePod pod = draw_pod(rng);
        pod.name = fmt::format("{}-{:05}", options.kind, i);
        pod.row = static_cast<std::uint32_t>(i);
        trace.pods.push_back(std::move(pod));
    }
    return trace;
}

bool is_node_list_name(std::string_view name) {
    const auto lists = named_node_lists();
    return std::any_of(lists.begin(), lists.end(),
                       [&](const NamedNodes& list) { return list.name == name; });
}

std::vector<std::string_view> node_list_names() {
    std::vector<std::string_view> names;
    for (const NamedNodes& list : named_node_lists()) {
        names.push_back(list.name);
    }
    return names;
}

Expected<std::vector<NodeSpec>> generate_nodes(std::string_view name_or_spec,
                                               Interner<ModelIndex>& models) {
    for (const NamedNodes& list : named_node_lists()) {
        if (list.name == name_or_spec) {
            return parse_node_spec(list.spec, models);
        }
    }
    return parse_node_spec(name_or_spec, models);
}

}  // namespace tessera
