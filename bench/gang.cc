// Gangs: ms to decide where all members go, and to hold their shares, with and without a topology
//
// Nodes of 8 GPUs, 16 to a rack, 4 racks to a row, 2 rows to a zone. "whole" members take a node
// each, "shares" a quarter of a GPU, "unlike" ones are all of different sizes. In "half" cases
// every other node has a pod. Times are CPU time of the plan, and of the plan with holding every
// seat; the index is up to date afterwards. A gang that does not fit costs its plan alone.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/json_writer.h"
#include "engine/engine.h"
#include "engine/gang_placement.h"
#include "policy/registry.h"
#include "rounds.h"

namespace tessera {
namespace {

constexpr int kGpus = 8;

enum class Members : std::uint8_t { whole, shares, unlike };

struct Case {
    std::string_view name;
    std::uint32_t nodes = 512;
    std::uint32_t members = 512;
    Members kind = Members::whole;
    bool topology = true;
    bool half = false;  // every other node is in use
    bool fits = true;
};

constexpr Case kCases[] = {
    {.name = "whole_512"},
    {.name = "whole_512_plain", .topology = false},
    {.name = "whole_512_of_5000", .nodes = 5'000},
    {.name = "whole_512_of_5000_half", .nodes = 5'000, .half = true},
    {.name = "whole_512_no_room", .half = true, .fits = false},
    {.name = "shares_4096", .members = 4'096, .kind = Members::shares},
    {.name = "shares_512_half", .members = 512, .kind = Members::shares, .half = true},
    {.name = "unlike_512", .kind = Members::unlike},
};

struct Result {
    Case asked;
    std::vector<double> plan_ms;
    std::vector<double> held_ms;
    std::size_t level = 0;
    std::size_t seats = 0;
};

double cpu_ms() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

Demand demand_of(Members kind, std::uint32_t member) {
    Demand demand;
    demand.cpu = MilliCpu(1'000);
    demand.memory = MemoryMib(4'096);
    GpuRequest request;
    request.gpus = kind == Members::shares ? 1 : kGpus;
    request.milli = kind == Members::shares ? MilliGpu(250) : kWholeGpu;
    if (kind == Members::unlike) {
        demand.memory = MemoryMib(4'096 + member);
    }
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

NodeDomains neighbours(std::uint32_t nodes, std::uint32_t size) {
    NodeDomains domains;
    for (std::uint32_t n = 0; n < nodes; ++n) {
        domains.of_node.emplace_back(n / size);
    }
    domains.count = (nodes + size - 1) / size;
    return domains;
}

void measure_once(const Case& asked, std::uint32_t round, Result& result) {
    auto policy = make_policy("tessera", {});
    TESSERA_ASSERT(policy.has_value(), "the default policy exists");
    Engine engine(nodes_of(asked.nodes), std::move(*policy), {.seed = round});
    std::uint32_t next = asked.members;
    for (std::uint32_t n = round % 2; asked.half && n < asked.nodes; n += 2) {
        Placement placement;
        placement.node = NodeIndex(n);
        DeviceGrant grant;
        grant.gpu = GpuIndex(0);
        grant.milli = MilliGpu(500);
        placement.grants.push_back(grant);
        const auto placed = engine.confirm(PodIndex(next++), {kFirstPolicy, {}, placement});
        TESSERA_ASSERT(placed.has_value(), "the API's word is never refused");
    }
    std::vector<Demand> demands;
    for (std::uint32_t i = 0; i < asked.members; ++i) {
        demands.push_back(demand_of(asked.kind, i));
        engine.observe(engine.intern(demands.back()));
    }
    std::vector<GangMember> members;
    for (std::uint32_t i = 0; i < asked.members; ++i) {
        members.push_back({PodIndex(i), &demands[i]});
    }
    const NodeDomains racks = neighbours(asked.nodes, 16);
    const NodeDomains rows = neighbours(asked.nodes, 64);
    GangAsk ask{.group = GroupIndex(0), .members = members, .minimum = asked.members};
    if (asked.topology) {
        ask.topology.preferred = {&racks, &rows};
    }
    const double begin = cpu_ms();
    const GangPlan plan = plan_gang(engine, kFirstPolicy, ask);
    result.plan_ms.push_back(cpu_ms() - begin);
    TESSERA_ASSERT(plan.placed() == asked.fits, "a gang is placed where it fits");
    if (plan.placed()) {
        const auto held = hold_gang(engine, kFirstPolicy, plan, kNoDeadline);
        TESSERA_ASSERT(held.has_value(), "a fresh plan can be held");
    }
    result.held_ms.push_back(cpu_ms() - begin);
    result.level = plan.level;
    result.seats = plan.seats.size();
}

Result measure(const Case& asked, const Settings& settings) {
    Result result{.asked = asked, .plan_ms = {}, .held_ms = {}};
    for (std::uint32_t round = 1; round <= settings.rounds; ++round) {
        measure_once(asked, round, result);
    }
    std::sort(result.plan_ms.begin(), result.plan_ms.end());
    std::sort(result.held_ms.begin(), result.held_ms.end());
    return result;
}

void print(const Settings& settings, const std::vector<Result>& results) {
    const std::size_t middle = settings.rounds / 2;
    if (!settings.json) {
        fmt::print("{:<24} {:>6} {:>8} {:>8} {:>10} {:>10} {:>6}\n", "case", "nodes", "members",
                   "plan ms", "+ hold ms", "most ms", "seats");
        for (const Result& one : results) {
            fmt::print("{:<24} {:>6} {:>8} {:>8.2f} {:>10.2f} {:>10.2f} {:>6}\n", one.asked.name,
                       one.asked.nodes, one.asked.members, one.plan_ms[middle], one.held_ms[middle],
                       one.held_ms.back(), one.seats);
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
        json.member("members", std::int64_t{one.asked.members});
        json.member("plan_ms", one.plan_ms[middle]);
        json.member("plan_and_hold_ms", one.held_ms[middle]);
        json.member("most_ms", one.held_ms.back());
        json.member("seats", static_cast<std::int64_t>(one.seats));
        json.member("level", static_cast<std::int64_t>(one.level));
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
    if (const auto code = tessera::read_settings(argc, argv, "gang", settings)) {
        return *code;
    }
    std::vector<tessera::Result> results;
    for (const tessera::Case& asked : tessera::kCases) {
        results.push_back(tessera::measure(asked, settings));
    }
    tessera::print(settings, results);
    return 0;
}
