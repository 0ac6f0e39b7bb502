// Why a pod does not fit: each kind of refusal on a cluster from a state file. The reason is true,
// and with the fix that is suggested the pod fits.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "codec/policy_yaml.h"
#include "codec/state_json.h"
#include "engine/diagnosis.h"
#include "engine/explain.h"
#include "engine/state.h"
#include "policy/composed_policy.h"

namespace tessera {
namespace {

struct Case {
    std::string name;
    // One node of 2 GPUs, and what is on it; demand 0 is what is asked for.
    std::string node;
    std::string demand;
    std::string pods;
    RefusalCode code;
    FixKind fix;
    RefusalKind kind = RefusalKind::preemption_may_help;
};

constexpr const char* kNode =
    R"("name":"n","cpuMilli":16000,"memoryMib":65536,"gpus":[{"count":2,"model":"A100","memoryMib":40960}])";

// A pod on GPU `gpu` with these amounts.
std::string pod(int gpu, int milli, int mib, int cpu = 1000, int memory = 1024) {
    return fmt::format(
        R"({{"name":"on-{}","demand":0,"placement":{{"node":0,"cpuMilli":{},"memoryMib":{},)"
        R"("grants":[{{"gpu":{},"milli":{},"memoryMib":{}}}]}}}})",
        gpu, cpu, memory, gpu, milli, mib);
}

std::string share(int milli, int mib, int gpus = 1) {
    return fmt::format(
        R"({{"cpuMilli":4000,"memoryMib":8192,"alternatives":[[{{"gpus":{},"milli":{},"memoryMib":{}}}]]}})",
        gpus, milli, mib);
}

// A node with labels and taints, and a demand with constraints.
std::string node_with(std::string_view traits) {
    return fmt::format(
        R"("name":"n","cpuMilli":16000,"memoryMib":65536,"gpus":[{{"count":2,"model":"A100"}}],{})",
        traits);
}

std::string constrained(std::string_view constraints) {
    return fmt::format(R"({{"alternatives":[[{{"milli":500}}]],"constraints":{{{}}}}})",
                       constraints);
}

std::vector<Case> constraint_cases() {
    const std::string zone = node_with(R"("labels":{"zone":"x"})");
    return {
        {"NodeNameMismatch", zone, constrained(R"("nodeName":"other")"), "",
         RefusalCode::node_name_mismatch, FixKind::without_pin, RefusalKind::never_here},
        {"NodeSelectorMismatch", zone, constrained(R"("nodeSelector":{"zone":"y"})"), "",
         RefusalCode::node_selector_mismatch, FixKind::without_selector, RefusalKind::never_here},
        {"NodeAffinityMismatch", zone, constrained(R"("nodeSelectorTerms":[{"matchExpressions":[
                         {"key":"zone","operator":"NotIn","values":["x"]}]}])"),
         "", RefusalCode::node_affinity_mismatch, FixKind::without_affinity,
         RefusalKind::never_here},
        {"NodeTainted", node_with(R"("taints":[{"key":"gpu","value":"only","effect":"NoSchedule"},
                                {"key":"gpu","value":"only","effect":"NoExecute"}])"),
         constrained(R"("tolerations":[{"key":"gpu","value":"other"}])"), "",
         RefusalCode::node_tainted, FixKind::tolerate_taint, RefusalKind::never_here},
        {"NodeUnschedulable",
         node_with(
             R"("taints":[{"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"}])"),
         share(100, 0), "", RefusalCode::node_unschedulable, FixKind::open_node,
         RefusalKind::not_now},
    };
}

std::vector<Case> cases() {
    const std::string both = pod(0, 300, 30'000) + "," + pod(1, 700, 10'000);
    const std::string node(kNode);
    return {
        {"GpuMemoryInsufficient", node, share(200, 32'000), both,
         RefusalCode::gpu_memory_insufficient, FixKind::less_gpu_memory},
        {"GpuComputeInsufficient", node, share(800, 1'000), both,
         RefusalCode::gpu_compute_insufficient, FixKind::less_gpu_compute},
        {"GpuNotEmpty", node, share(1000, 0), both, RefusalCode::gpu_not_empty,
         FixKind::less_gpu_compute},
        {"GpuHeldWhole", node, share(100, 100), pod(0, 1000, 0) + "," + pod(1, 1000, 0),
         RefusalCode::gpu_held_whole, FixKind::others_leave},
        {"GpuModelMismatch", node, R"({"models":["T4"],"alternatives":[[{"milli":500}]]})", "",
         RefusalCode::gpu_model_mismatch, FixKind::other_model, RefusalKind::never_here},
        {"GpuMemoryTooSmall", node, share(500, 50'000), "", RefusalCode::gpu_memory_too_small,
         FixKind::less_gpu_memory, RefusalKind::never_here},
        {"GpuMemoryUnknown",
         R"("name":"n","cpuMilli":16000,"memoryMib":65536,"gpus":[{"count":2}])", share(500, 1000),
         "", RefusalCode::gpu_memory_unknown, FixKind::less_gpu_memory, RefusalKind::never_here},
        {"GpuUnhealthy",
         R"("name":"n","cpuMilli":16000,"memoryMib":65536,"gpus":[{"memoryMib":40960,"health":"no-new"}])",
         share(500, 1000), "", RefusalCode::gpu_unhealthy, FixKind::healthy_gpu,
         RefusalKind::not_now},
        {"GpuSlotsFull",
         R"("name":"n","cpuMilli":16000,"memoryMib":65536,"gpus":[{"memoryMib":40960,"slots":1}])",
         share(100, 1000), pod(0, 100, 100), RefusalCode::gpu_slots_full, FixKind::others_leave},
        {"GpuCountInsufficient", node, share(1000, 0, 4), "", RefusalCode::gpu_count_insufficient,
         FixKind::fewer_gpus, RefusalKind::never_here},
        {"GpuTopologyUnsatisfied",
         R"("name":"n","cpuMilli":16000,"memoryMib":65536,"gpus":[{"numa":0},{"numa":1}])",
         R"({"alternatives":[[{"gpus":2,"milli":1000,"rule":"same","ruleAttribute":"numa"}]]})", "",
         RefusalCode::gpu_topology_unsatisfied, FixKind::fewer_gpus, RefusalKind::never_here},
        {"NodeCpuInsufficient", node, share(100, 100), pod(0, 100, 100, 14'000),
         RefusalCode::node_cpu_insufficient, FixKind::less_cpu},
        {"NodeCpuTooSmall", node, R"({"cpuMilli":20000})", "", RefusalCode::node_cpu_too_small,
         FixKind::less_cpu, RefusalKind::never_here},
        {"NodeMemoryInsufficient", node, share(100, 100), pod(0, 100, 100, 1000, 60'000),
         RefusalCode::node_memory_insufficient, FixKind::less_memory},
        {"NodePodsFull",
         R"("name":"n","cpuMilli":16000,"memoryMib":65536,"pods":1,"gpus":[{"memoryMib":40960}])",
         share(100, 100), pod(0, 100, 100), RefusalCode::node_pods_full, FixKind::others_leave},
        {"NodeUnschedulable",
         R"("name":"n","cpuMilli":16000,"memoryMib":65536,"unschedulable":true,"gpus":[{}])",
         share(100, 0), "", RefusalCode::node_unschedulable, FixKind::open_node,
         RefusalKind::not_now},
        {"AllocatorMismatch",
         R"("name":"n","cpuMilli":16000,"memoryMib":65536,"gpus":[{"allocator":"claim"}])",
         share(100, 0), "", RefusalCode::allocator_mismatch, FixKind::others_leave,
         RefusalKind::never_here},
        {"NodeHasNoGpu", R"("name":"n","cpuMilli":16000,"memoryMib":65536)", share(100, 0), "",
         RefusalCode::node_has_no_gpu, FixKind::others_leave, RefusalKind::never_here},
    };
}

ClusterState state_of(const Case& c, Vocabulary& names) {
    const std::string text = fmt::format(
        R"({{"version":1,"nodes":[{{{}}}],"demands":[{}],"pods":[{}]}})", c.node, c.demand, c.pods);
    auto state = read_state_json(text, names);
    EXPECT_TRUE(state) << c.name << ": " << state.error().message;
    return state ? *state : ClusterState();
}

std::unique_ptr<Engine> engine_of(const ClusterState& state) {
    auto engine = restore_engine(state, *make_policy("tessera", {}));
    EXPECT_TRUE(engine) << engine.error().message;
    return std::move(*engine);
}

// The cluster after a wait.
ClusterState waited(ClusterState state, FixKind kind) {
    state.nodes[0].schedulable = true;
    state.nodes[0].traits = opened(state.nodes[0].traits);
    for (GpuSpec& gpu : state.nodes[0].gpus) {
        gpu.health = Health::ok;
    }
    if (kind == FixKind::others_leave) {
        state.pods.clear();
    }
    return state;
}

TEST(ExplainScenario, EveryReasonIsTrueAndEveryFixWorks) {
    std::vector<Case> all = cases();
    const std::vector<Case> more = constraint_cases();
    all.insert(all.end(), more.begin(), more.end());
    for (const Case& c : all) {
        SCOPED_TRACE(c.name);
        Vocabulary names;
        const ClusterState state = state_of(c, names);
        ASSERT_FALSE(state.nodes.empty());
        const auto engine = engine_of(state);
        const DemandClass asked = demand_class(state.demands[0]);
        const Decision why = explain(engine->placer_to_explain(), asked);
        ASSERT_FALSE(why.placed());
        ASSERT_FALSE(why.refusal.counts.empty());
        EXPECT_EQ(refusal_info(why.refusal.counts[0].code).name, refusal_info(c.code).name);
        EXPECT_EQ(refusal_info(c.code).name, c.name);
        EXPECT_EQ(why.refusal.counts[0].nodes, 1);
        EXPECT_EQ(to_string(why.refusal.kind), to_string(c.kind));
        const auto fix = std::find_if(why.refusal.fixes.begin(), why.refusal.fixes.end(),
                                      [&](const Fix& f) { return f.kind == c.fix; });
        const bool hopeless =
            c.code == RefusalCode::allocator_mismatch || c.code == RefusalCode::node_has_no_gpu;
        ASSERT_EQ(fix == why.refusal.fixes.end(), hopeless);
        if (hopeless) {
            EXPECT_TRUE(why.refusal.fixes.empty());
            continue;
        }
        const auto later = engine_of(waited(state, c.fix));
        DemandClass changed = apply_fix(asked, *fix);
        changed.filter = state.filters->intern(apply_fix((*state.filters)[asked.filter], *fix));
        Engine& there = changed == asked ? *later : *engine;
        EXPECT_TRUE(explain(there.placer_to_explain(), changed).placed());
    }
}

TEST(ExplainScenario, APolicyFileDecidesAndIsNamed) {
    Vocabulary names;
    const auto state = read_state_json(
        R"({"version":1,"nodes":[
            {"name":"empty","cpuMilli":16000,"memoryMib":65536,"gpus":[{"count":2,"memoryMib":40960}]},
            {"name":"used","cpuMilli":16000,"memoryMib":65536,"gpus":[{"count":2,"memoryMib":40960}]}],
            "demands":[{"alternatives":[[{"milli":300,"memoryMib":1000}]]}],
            "pods":[{"name":"p","demand":0,
                     "placement":{"node":1,"grants":[{"gpu":0,"milli":300,"memoryMib":1000}]}}]})",
        names);
    ASSERT_TRUE(state) << state.error().message;
    const auto choose = [&](std::string_view yaml) {
        const auto spec = parse_policy_yaml(yaml, "p.yaml");
        EXPECT_TRUE(spec) << spec.error().message;
        auto engine = restore_engine(*state, *build_policy(*spec, {}));
        return explain((*engine)->placer_to_explain(), demand_class(state->demands[0]));
    };
    const Decision pack = choose("name: tight\nscores: [{name: binpack}]\n");
    EXPECT_EQ(pack.policy, "tight");
    EXPECT_EQ(pack.placement->node, NodeIndex(1));
    EXPECT_EQ(pack.placement->grants.begin()->gpu, GpuIndex(0));
    const Decision apart = choose("name: loose\nscores: [{name: binpack, weight: -1}]\n");
    EXPECT_EQ(apart.placement->node, NodeIndex(0));
    const Decision emptier = choose("name: e\nscores: [{name: binpack}]\ndevices: emptiest\n");
    EXPECT_EQ(emptier.placement->grants.begin()->gpu, GpuIndex(1));
    // Steps so wide that all nodes are equal: ties decide.
    const Decision tie =
        choose("name: t\nscores: [{name: binpack}]\nstep: 1000000\nties: [most-idle]\n");
    EXPECT_EQ(tie.placement->node, NodeIndex(0));
    const Decision old =
        choose("name: t\nscores: [{name: binpack}]\nstep: 1000000\nties: [oldest]\n");
    EXPECT_EQ(old.placement->node, NodeIndex(1));
    const Decision whole = choose("name: w\nscores: [{name: binpack}]\nwhole-devices: true\n");
    EXPECT_EQ(whole.placement->grants.begin()->milli, kWholeGpu);
}

}  // namespace
}  // namespace tessera
