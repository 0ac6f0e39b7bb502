// Every policy on generated workloads, with pods that come and go: no traces needed.
//
// The indexed engine and one that scans all nodes for every decision must agree placement by
// placement, never give out more than there is, and be as new when all pods have left.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "base/rng.h"
#include "engine/engine.h"
#include "policy/registry.h"
#include "sim/generate.h"
#include "sim/workload.h"

namespace tessera {
namespace {

#ifdef TESSERA_SANITIZED
constexpr std::uint32_t kArrivals = 300;
#else
constexpr std::uint32_t kArrivals = 2000;
#endif
constexpr double kLoad = 0.9;  // of the GPU capacity; above it pods leave

struct Inputs {
    std::vector<NodeSpec> nodes;
    Workload workload;
};

Inputs make_inputs(std::string_view kind) {
    Interner<ModelIndex> models;
    auto nodes = generate_nodes("6x8g96c768Gi:V100M32,3x4g48c256Gi:T4,2x0g64c256Gi", models);
    auto pods = generate_pods({std::string(kind), 600, 7}, models);
    EXPECT_TRUE(nodes && pods);
    return {std::move(*nodes), make_workload(std::string(kind), std::move(*pods))};
}

// One engine that names pods by their order of coming.
class SmallWorld {
  public:
    SmallWorld(const Inputs& inputs, std::string_view policy, bool full_scan)
        : engine_(inputs.nodes, std::move(*make_policy(policy, {inputs.workload.mix})),
                  options(full_scan)) {
        for (const ClassCount& entry : inputs.workload.mix) {
            classes_.push_back(engine_.intern(entry.demand_class));
        }
    }

    Engine& engine() { return engine_; }
    bool arrive(std::uint32_t pod, std::uint32_t class_number) {
        return engine_.arrive(PodIndex(pod), classes_[class_number]);
    }

  private:
    static Engine::Options options(bool full_scan) {
        Engine::Options options;
        options.seed = 11;
        options.full_scan = full_scan;
        return options;
    }

    Engine engine_;
    std::vector<ClassIndex> classes_;
};

// Counted anew from the placements, not from what the engine says is free.
void expect_within_capacity(const Inputs& inputs, const Engine& engine,
                            const std::vector<std::uint32_t>& pods) {
    std::vector<std::int64_t> cpu(inputs.nodes.size());
    std::vector<std::array<std::int64_t, kMaxGpusPerNode>> milli(inputs.nodes.size());
    for (const std::uint32_t pod : pods) {
        const Placement placement = engine.placement(PodIndex(pod)).value();
        cpu[placement.node.slot()] += placement.cpu.value();
        for (const DeviceGrant& grant : placement.grants) {
            milli[placement.node.slot()][grant.gpu.slot()] += grant.milli.value();
        }
    }
    for (std::size_t node = 0; node < inputs.nodes.size(); ++node) {
        EXPECT_LE(cpu[node], inputs.nodes[node].cpu.value());
        EXPECT_LE(*std::max_element(milli[node].begin(), milli[node].end()), kWholeGpu.value());
    }
}

void expect_as_new(const Inputs& inputs, const Engine& engine) {
    const Engine fresh(inputs.nodes, std::move(*make_policy("binpack", {})));
    EXPECT_EQ(engine.cluster().gpu_milli_used(), 0);
    for (std::uint32_t i = 0; i < inputs.nodes.size(); ++i) {
        const NodeState& left = engine.cluster().node(NodeIndex(i));
        const NodeState& start = fresh.cluster().node(NodeIndex(i));
        EXPECT_EQ(left.free_cpu_milli, start.free_cpu_milli);
        EXPECT_EQ(left.free_memory_mib, start.free_memory_mib);
        EXPECT_EQ(left.idle_value, start.idle_value);
        EXPECT_EQ(left.empty_gpus, start.empty_gpus);
    }
}

using Case = std::tuple<std::string, std::string>;
class EveryPolicy : public testing::TestWithParam<Case> {};

TEST_P(EveryPolicy, AgreesWithTheFullScanAndGivesAllBack) {
    const auto& [policy, kind] = GetParam();
    const Inputs inputs = make_inputs(kind);
    SmallWorld indexed(inputs, policy, false);
    SmallWorld scanning(inputs, policy, true);
    const auto limit =
        static_cast<std::int64_t>(kLoad * static_cast<double>(gpu_milli_capacity(inputs.nodes)));
    Rng rng(5);
    std::vector<std::uint32_t> here;
    std::uint32_t placed_pods = 0;
    const auto leave = [&](std::size_t which) {
        indexed.engine().depart(PodIndex(here[which]));
        scanning.engine().depart(PodIndex(here[which]));
        std::swap(here[which], here.back());
        here.pop_back();
    };
    for (std::uint32_t pod = 0; pod < kArrivals; ++pod) {
        const auto& of = inputs.workload.class_of;
        const std::uint32_t class_number = of[rng.below(of.size())];
        const bool placed = indexed.arrive(pod, class_number);
        ASSERT_EQ(placed, scanning.arrive(pod, class_number)) << "pod " << pod;
        if (placed) {
            ASSERT_EQ(indexed.engine().placement(PodIndex(pod)),
                      scanning.engine().placement(PodIndex(pod)))
                << "pod " << pod;
            here.push_back(pod);
            ++placed_pods;
        } else if (!here.empty()) {
            leave(rng.below(here.size()));  // else pods without GPUs would fill the cores for good
        }
        while (indexed.engine().cluster().gpu_milli_used() > limit) {
            leave(rng.below(here.size()));
        }
    }
    EXPECT_GT(placed_pods, kArrivals / 2);
    EXPECT_GT(indexed.engine().cluster().gpu_milli_used(), limit / 2) << "the cluster was in use";
    expect_within_capacity(inputs, indexed.engine(), here);
    EXPECT_TRUE(indexed.engine().placer().consistent());
    while (!here.empty()) {
        leave(here.size() - 1);
    }
    expect_as_new(inputs, indexed.engine());
}

std::vector<Case> cases() {
    std::vector<Case> all;
    for (const PolicyInfo& policy : known_policies()) {
        for (const char* kind : {"openb", "gpuspec33", "sevenths"}) {
            all.emplace_back(policy.name, kind);
        }
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(Generated, EveryPolicy, testing::ValuesIn(cases()), [](const auto& test) {
    std::string name = std::get<0>(test.param) + "_" + std::get<1>(test.param);
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

}  // namespace
}  // namespace tessera
