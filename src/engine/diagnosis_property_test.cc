// Verdicts equal the engine's, counts add up, and every fix works and is the smallest.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "base/rng.h"
#include "engine/diagnosis.h"
#include "engine/engine.h"
#include "engine/explain.h"
#include "engine/test_cluster.h"
#include "policy/assignment.h"
#include "policy/registry.h"
#include "policy/test_random.h"

namespace tessera {
namespace {

using namespace testing_cluster;

std::int64_t between(Rng& rng, std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(high - low + 1)));
}

NodeSpec random_node(Rng& rng, int number) {
    NodeSpec spec =
        make_node("n" + std::to_string(number), {.gpus = static_cast<int>(between(rng, 0, 4)),
                                                 .gpu_mib = between(rng, 1, 4) * 4096,
                                                 .model = rng.below(2) == 0 ? kA100 : kT4,
                                                 .cpu_milli = between(rng, 1, 16) * 1000,
                                                 .memory_mib = between(rng, 1, 16) * 4096});
    spec.pods = static_cast<std::int32_t>(between(rng, 1, 12));
    spec.schedulable = rng.below(6) != 0;
    for (GpuSpec& gpu : spec.gpus) {
        gpu.health = rng.below(6) == 0 ? Health::no_new : Health::ok;
        gpu.mode = rng.below(8) == 0 ? AllocatorMode::claim : AllocatorMode::annotation;
        gpu.slots = rng.below(5) == 0 ? 2 : 0;
        gpu.numa = static_cast<std::uint8_t>(rng.below(2));
    }
    if (rng.below(2) == 0) {
        spec.traits = testing::random_traits(rng);
    }
    return spec;
}

DemandClass random_class(Rng& rng, int most_gpus) {
    Ask ask{.gpus = static_cast<int>(between(rng, 0, most_gpus)),
            .milli = static_cast<int>(rng.below(3) == 0 ? 1000 : between(rng, 1, 20) * 50),
            .gpu_mib = between(rng, 0, 20) * 1000,
            .cpu_milli = between(rng, 0, 8) * 1500,
            .memory_mib = between(rng, 0, 8) * 5000};
    if (rng.below(3) == 0) {
        ask.models = {rng.below(2) == 0 ? kA100 : kT4};
    }
    Demand demand = make_demand(ask);
    if (demand.wants_gpu() && rng.below(4) == 0) {
        demand.alternatives[0].requests[0].memory = MemoryMib(0);
        demand.alternatives[0].requests[0].memory_ppm =
            static_cast<std::int32_t>(between(rng, 1, 100) * 10'000);
    }
    if (demand.wants_gpu() && rng.below(4) == 0) {
        GpuRequest second;
        second.milli = MilliGpu(static_cast<std::int32_t>(between(rng, 1, 20) * 50));
        second.memory = MemoryMib(between(rng, 0, 8) * 1000);
        demand.alternatives[0].requests.push_back(second);
    }
    return demand_class(demand);
}

// An engine with some nodes and pods on them. Its cluster has these filters.
std::unique_ptr<Engine> random_engine(Rng& rng, std::shared_ptr<const FilterTable> filters) {
    std::vector<NodeSpec> nodes;
    for (int i = static_cast<int>(between(rng, 1, 6)); i > 0; --i) {
        nodes.push_back(random_node(rng, i));
    }
    const auto policies = known_policies();
    std::string_view name = "fgd-published";
    while (name == "fgd-published") {  // needs the mix beforehand
        name = policies[rng.below(policies.size())].name;
    }
    auto engine = std::make_unique<Engine>(std::move(nodes), *make_policy(name, {}),
                                           Engine::Options{.seed = rng.next()},
                                           ClusterOptions{.filters = std::move(filters)});
    for (std::uint32_t pod = 0; pod < 12; ++pod) {
        engine->arrive(PodIndex(pod), engine->intern(random_class(rng, 1)));
    }
    return engine;
}

// What a class is tried with.
struct Wish {
    DemandClass placed;
    NodeFilter filter;
};

std::int64_t hosts(const Cluster& cluster, const ClassTable& classes, const Wish& wish) {
    const Catalog catalog = cluster.catalog(classes);
    std::int64_t count = 0;
    for (std::uint32_t n = 0; n < cluster.size(); ++n) {
        count += admits(wish.filter, cluster.spec(NodeIndex(n)).traits) &&
                         fits(cluster.node(NodeIndex(n)), wish.placed, catalog)
                     ? 1
                     : 0;
    }
    return count;
}

// The cluster as it would be after the wait.
Cluster after_wait(const Cluster& now, FixKind kind) {
    Cluster later = kind == FixKind::others_leave ? Cluster(now.options()) : now;
    for (std::uint32_t n = 0; n < now.size(); ++n) {
        NodeSpec spec = now.spec(NodeIndex(n));
        if (kind == FixKind::open_node) {
            spec.schedulable = true;
            spec.traits = opened(spec.traits);
        }
        for (GpuSpec& gpu : spec.gpus) {
            gpu.health = kind == FixKind::healthy_gpu ? Health::ok : gpu.health;
        }
        if (kind == FixKind::others_leave) {
            later.add_node(std::move(spec));
        } else {
            later.update_node(NodeIndex(n), std::move(spec));
        }
    }
    return later;
}

bool is_wait(FixKind kind) {
    return kind == FixKind::healthy_gpu || kind == FixKind::open_node ||
           kind == FixKind::others_leave;
}

void check_fix(const Engine& engine, const DemandClass& asked, const Fix& fix) {
    const ClassTable& classes = engine.placer().classes();
    const Policy& policy = engine.placer().policy();
    const NodeFilter& filter = engine.cluster().filter(asked.filter);
    const auto tried = [&](const Fix& change) {
        return Wish{policy.adapt(apply_fix(asked, change)), apply_fix(filter, change)};
    };
    if (is_wait(fix.kind)) {
        const Cluster later = after_wait(engine.cluster(), fix.kind);
        RC_ASSERT(hosts(later, classes, tried(fix)) == fix.nodes);
        return;
    }
    RC_ASSERT(hosts(engine.cluster(), classes, tried(fix)) == fix.nodes);
    if (fix.to + 1 < fix.asked) {
        Fix smaller = fix;
        ++smaller.to;
        RC_ASSERT(hosts(engine.cluster(), classes, tried(smaller)) == 0);
    }
}

RC_GTEST_PROP(DiagnosisProperty, ReasonsHoldAndFixesWork, (std::uint64_t seed)) {
    Rng rng(seed);
    const auto filters = std::make_shared<FilterTable>();
    const auto engine = random_engine(rng, filters);
    const Cluster& cluster = engine->cluster();
    const ClassTable& classes = engine->placer().classes();
    DemandClass asked = random_class(rng, 4);
    asked.filter = filters->intern(testing::random_filter(rng));
    const DemandClass placed = engine->placer().policy().adapt(asked);
    const Catalog catalog = cluster.catalog(classes);
    std::int64_t fitting = 0;
    for (std::uint32_t n = 0; n < cluster.size(); ++n) {
        const NodeVerdict verdict = judge(cluster, catalog, NodeIndex(n), placed);
        const bool admitted = admits((*filters)[asked.filter], cluster.spec(NodeIndex(n)).traits);
        RC_ASSERT(verdict.fits() ==
                  (admitted && fits(cluster.node(NodeIndex(n)), placed, catalog)));
        RC_ASSERT(verdict.fits() || verdict.reasons.has(verdict.first));
        fitting += verdict.fits() ? 1 : 0;
    }
    const Refusal refusal =
        diagnose(cluster, classes, asked, {.policy = &engine->placer().policy()});
    std::int64_t refused = 0;
    for (const RefusalCount& count : refusal.counts) {
        RC_ASSERT(count.nodes <= count.nodes_any);
        RC_ASSERT(count.gpus <= count.nodes_any * kMaxGpusPerNode);
        refused += count.nodes;
    }
    RC_ASSERT(refused + fitting == static_cast<std::int64_t>(cluster.size()));
    RC_ASSERT(fitting == 0 || refusal.fixes.empty());
    for (const Fix& fix : refusal.fixes) {
        check_fix(*engine, asked, fix);
    }
}

RC_GTEST_PROP(ExplainProperty, IsWhatTheEngineDoesNext, (std::uint64_t seed)) {
    Rng rng(seed);
    const auto filters = std::make_shared<FilterTable>();
    const auto engine = random_engine(rng, filters);
    for (std::uint32_t pod = 100; pod < 120; ++pod) {
        DemandClass asked = random_class(rng, 4);
        asked.filter = filters->intern(testing::random_filter(rng));
        const Decision why = explain(engine->placer_to_explain(), asked);
        const bool placed = engine->try_place(PodIndex(pod), engine->intern(asked));
        RC_ASSERT(placed == why.placed());
        if (placed) {
            RC_ASSERT(*engine->placement(PodIndex(pod)) == *why.placement);
            RC_ASSERT(why.candidates.front().node == why.placement->node);
        }
    }
}

}  // namespace
}  // namespace tessera
