// Preemption: ms to find room among running pods for a pod that fits nowhere, and its victims
//
// Nodes of 8 GPUs, full of shares. "even": four equal shares on each GPU, "tenths": ten, of one
// importance or of many. "mixed": shares and whole GPUs as a policy placed them, of many
// importances, a tenth of the pods under a budget that lets one go, some never preempted. Asked for
// is one guaranteed pod. Every case is asked of several clusters; time is CPU time of the whole
// plan.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/json_writer.h"
#include "base/rng.h"
#include "engine/engine.h"
#include "engine/preemption.h"
#include "policy/registry.h"
#include "rounds.h"

namespace tessera {
namespace {

constexpr int kGpus = 8;

struct Case {
    std::string_view name;
    std::uint32_t nodes = 125;
    std::uint16_t asked_gpus = 8;
    bool mixed = false;
    std::int32_t share = 250;  // of even ones
    bool one_importance = false;
    bool cores = false;  // pods without GPUs; asked are 32 cores
};

constexpr Case kCases[] = {
    {.name = "even_8_gpus"},
    {.name = "even_8_gpus_equal", .one_importance = true},
    {.name = "even_4_gpus", .asked_gpus = 4},
    {.name = "even_4_gpus_equal", .asked_gpus = 4, .one_importance = true},
    {.name = "even_1_gpu", .asked_gpus = 1},
    {.name = "tenths_8_gpus", .share = 100},
    {.name = "tenths_4_gpus", .asked_gpus = 4, .share = 100},
    {.name = "tenths_4_gpus_equal", .asked_gpus = 4, .share = 100, .one_importance = true},
    {.name = "tenths_1_gpu", .asked_gpus = 1, .share = 100},
    {.name = "mixed_8_gpus", .mixed = true},
    {.name = "mixed_4_gpus", .asked_gpus = 4, .mixed = true},
    {.name = "mixed_1_gpu", .asked_gpus = 1, .mixed = true},
    {.name = "cores", .asked_gpus = 0, .cores = true},
    {.name = "mixed_8_gpus_1000_nodes", .nodes = 1'000, .mixed = true},
    {.name = "mixed_1_gpu_1000_nodes", .nodes = 1'000, .asked_gpus = 1, .mixed = true},
};

struct Result {
    Case asked;
    std::size_t pods = 0;
    std::vector<double> ms;
    std::int64_t victims = 0;  // of the last cluster
    std::size_t steps = 0;     // the most
    bool exact = true;
};

double cpu_ms() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

class Door final : public Tenants {
  public:
    Tenant tenant(OwnerId pod) const override { return pods[pod.index()]; }
    std::span<const OwnerId> members(GroupIndex) const override { return {}; }
    std::int32_t disruptions_allowed(BudgetIndex) const override { return 1; }
    bool serves(NodeIndex, std::span<const OwnerId>) const override { return true; }

    std::vector<Tenant> pods;
};

Demand demand_of(std::uint16_t gpus, std::int32_t milli) {
    Demand demand;
    demand.cpu = MilliCpu(1'000);
    demand.memory = MemoryMib(4'096);
    GpuRequest request;
    request.gpus = gpus;
    request.milli = MilliGpu(milli);
    demand.alternatives.push_back({{request}});
    return demand;
}

std::vector<NodeSpec> nodes_of(std::uint32_t count) {
    NodeSpec spec;
    spec.cpu = MilliCpu(128'000);
    spec.memory = MemoryMib(786'432);
    spec.gpus.resize(kGpus);
    for (GpuSpec& gpu : spec.gpus) {
        gpu.model = ModelIndex(0);
        gpu.memory = MemoryMib(40'960);
    }
    std::vector<NodeSpec> nodes(count, spec);
    for (std::uint32_t n = 0; n < count; ++n) {
        nodes[n].name = "n" + std::to_string(n);
    }
    return nodes;
}

Demand small_pod(const Case& asked, Rng& rng) {
    if (asked.cores) {
        Demand demand;
        demand.cpu = MilliCpu(500 + 250 * static_cast<std::int64_t>(rng.below(15)));
        demand.memory = MemoryMib(1'024 * static_cast<std::int64_t>(1 + rng.below(16)));
        return demand;
    }
    using Size = std::pair<std::uint16_t, std::int32_t>;
    static constexpr Size kMixed[] = {{1, 100}, {1, 250}, {1, 250},  {1, 400},
                                      {1, 500}, {1, 700}, {1, 1000}, {2, 1000}};
    const auto [gpus, milli] =
        asked.mixed ? kMixed[rng.below(std::size(kMixed))] : Size{1, asked.share};
    return demand_of(gpus, milli);
}

// Fills the cluster until nothing more fits.
void fill(Engine& engine, Door& door, const Case& asked, Rng& rng) {
    static constexpr BudgetIndex kBudget[] = {BudgetIndex(0)};
    for (int misses = 0; misses < 20;) {
        const Demand demand = small_pod(asked, rng);
        const PodIndex pod(static_cast<std::uint32_t>(door.pods.size()));
        Tenant tenant;
        tenant.priority = asked.one_importance ? 0 : static_cast<std::int32_t>(rng.below(5));
        if (!asked.one_importance && rng.below(4) == 0) {
            tenant.service = ServiceClass::opportunistic;
        }
        if (asked.mixed && rng.below(10) == 0) {
            tenant.budgets = kBudget;
        }
        if (asked.mixed && rng.below(40) == 0) {
            tenant.stay = Stay::never;
        }
        if (engine.arrive(pod, engine.intern(demand))) {
            door.pods.push_back(tenant);
        } else {
            ++misses;
        }
    }
}

Result measure(const Case& asked, const Settings& settings) {
    Result result{.asked = asked, .pods = 0, .ms = {}};
    for (std::uint32_t round = 1; round <= settings.rounds; ++round) {
        Rng rng(round);
        auto policy = make_policy("tessera", {});
        TESSERA_ASSERT(policy.has_value(), "the default policy exists");
        Engine engine(nodes_of(asked.nodes), std::move(*policy), {.seed = round});
        Door door;
        fill(engine, door, asked, rng);
        Demand demand = asked.cores ? Demand() : demand_of(asked.asked_gpus, 1000);
        demand.cpu = MilliCpu(asked.cores ? 32'000 : 1'000);
        demand.priority = 100;
        const double begin = cpu_ms();
        const PreemptionPlan plan = plan_preemption(engine, kFirstPolicy, demand, door);
        result.ms.push_back(cpu_ms() - begin);
        TESSERA_ASSERT(!plan.ways.empty(), "room can be made");
        result.pods = door.pods.size();
        result.victims = plan.ways.front().cost.victims;
        result.steps = std::max(result.steps, plan.tally.steps);
        result.exact = result.exact && plan.tally.exact;
    }
    std::sort(result.ms.begin(), result.ms.end());
    return result;
}

void print(const Settings& settings, const std::vector<Result>& results) {
    if (!settings.json) {
        fmt::print("{:<24} {:>6} {:>6} {:>9} {:>9} {:>8} {:>8} {}\n", "case", "nodes", "pods",
                   "median ms", "most ms", "victims", "steps", "exact");
        for (const Result& one : results) {
            fmt::print("{:<24} {:>6} {:>6} {:>9.2f} {:>9.2f} {:>8} {:>8} {}\n", one.asked.name,
                       one.asked.nodes, one.pods, one.ms[one.ms.size() / 2], one.ms.back(),
                       one.victims, one.steps, one.exact ? "yes" : "no");
        }
        return;
    }
    JsonWriter json;
    json.begin_object();
    json.key("results");
    json.begin_array();
    for (const Result& one : results) {
        json.begin_object();
        json.member("case", one.asked.name);
        json.member("nodes", std::int64_t{one.asked.nodes});
        json.member("pods", static_cast<std::int64_t>(one.pods));
        json.member("median_ms", one.ms[one.ms.size() / 2]);
        json.member("most_ms", one.ms.back());
        json.member("victims", one.victims);
        json.member("steps", static_cast<std::int64_t>(one.steps));
        json.member("exact", one.exact);
        json.end_object();
    }
    json.end_array();
    json.end_object();
    fmt::print("{}\n", json.take());
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
    tessera::Settings settings;
    if (const auto code = tessera::read_settings(argc, argv, "preempt", settings)) {
        return *code;
    }
    std::vector<tessera::Result> results;
    for (const tessera::Case& asked : tessera::kCases) {
        results.push_back(tessera::measure(asked, settings));
    }
    tessera::print(settings, results);
    return 0;
}
