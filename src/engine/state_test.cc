#include "engine/state.h"

#include <gtest/gtest.h>

#include "engine/explain.h"
#include "engine/test_cluster.h"
#include "policy/registry.h"

namespace tessera {
namespace {

using namespace testing_cluster;

TEST(EngineState, ARestoredEngineDecidesAsTheOldOne) {
    std::vector<NodeSpec> nodes;
    for (int i = 0; i < 6; ++i) {
        nodes.push_back(make_node("n" + std::to_string(i), {.gpus = 2 + i % 3}));
    }
    const std::vector<Demand> demands{make_demand({.milli = 400, .gpu_mib = 4096}),
                                      make_demand({.gpus = 2}), make_demand({.gpus = 0})};
    Engine engine(nodes, *make_policy("tessera", {}));
    std::vector<PodEntry> pods;
    std::vector<std::int32_t> history;
    for (std::uint32_t i = 0; i < 30; ++i) {
        const std::uint32_t demand = i % 3;
        engine.arrive(PodIndex(i), engine.intern(demands[demand]));
        pods.push_back({PodIndex(i), "pod-" + std::to_string(i), demand});
        history.push_back(static_cast<std::int32_t>(demand));
    }
    engine.depart(PodIndex(0));
    pods.erase(pods.begin());
    history.push_back(-1);
    ClusterState state = capture_state(engine, demands, pods);
    state.history = history;
    EXPECT_EQ(state.nodes.size(), 6U);
    EXPECT_EQ(state.pods.size(), 29U);

    auto restored = restore_engine(state, *make_policy("tessera", {}));
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_EQ((*restored)->cluster().gpu_milli_used(), engine.cluster().gpu_milli_used());
    for (std::uint32_t n = 0; n < 6; ++n) {
        const NodeState& a = engine.cluster().node(NodeIndex(n));
        const NodeState& b = (*restored)->cluster().node(NodeIndex(n));
        EXPECT_EQ(a.idle_value, b.idle_value);
        EXPECT_EQ(a.gpu_pods, b.gpu_pods);
    }
    // Taken again, the state is the same: the order of starts is kept.
    std::vector<PodEntry> again;
    for (std::uint32_t i = 0; i < state.pods.size(); ++i) {
        again.push_back({PodIndex(i), state.pods[i].name, state.pods[i].demand});
    }
    EXPECT_EQ(capture_state(**restored, demands, again).pods, state.pods);
}

// Who of a group is where is part of the state: what is explained is what the old engine would do.
TEST(EngineState, AGroupIsKeptTogetherAfterARestart) {
    Demand member = make_demand({.milli = 200});
    member.gang = Gang{GroupIndex(0), 2, 2};
    const Demand filler = make_demand({.gpus = 4});
    std::vector<NodeSpec> nodes{make_node("a"), make_node("b"), make_node("c")};
    Engine engine(nodes, *make_policy("kubeshare", {}));
    ASSERT_TRUE(engine.place(PodIndex(0), filler));
    ASSERT_TRUE(engine.place(PodIndex(1), member));
    ASSERT_EQ(engine.placement(PodIndex(1))->node, NodeIndex(1));
    engine.depart(PodIndex(0));
    const ClusterState state =
        capture_state(engine, {member}, std::vector<PodEntry>{{PodIndex(1), "first", 0}});
    auto restored = restore_engine(state, *make_policy("kubeshare", {}));
    ASSERT_TRUE(restored) << restored.error().message;
    const Decision why = explain((*restored)->placer_to_explain(), member);
    ASSERT_TRUE(why.placed());
    EXPECT_EQ(why.placement->node, NodeIndex(1)) << "a is idle, and far from the first";
    EXPECT_EQ(why.placement, engine.place(PodIndex(2), member));
}

TEST(EngineState, NodeConstraintsAreTakenAndRestored) {
    constexpr LabelKey kZone{0};
    constexpr LabelValue kNorth{0};
    std::vector<NodeSpec> nodes{make_node("a"), make_node("b")};
    nodes[1].traits.labels = {{kZone, kNorth}};
    const auto filters = std::make_shared<FilterTable>();
    Demand demand = make_demand({});
    demand.filter = filters->intern({.selector = {{kZone, kNorth}}});
    Engine engine(nodes, *make_policy("binpack", {}), {}, {.filters = filters});
    const ClusterState state = capture_state(engine, {demand}, {});
    auto restored = restore_engine(state, *make_policy("binpack", {}));
    ASSERT_TRUE(restored) << restored.error().message;
    for (Engine* one : {&engine, restored->get()}) {
        const auto placed = one->place(PodIndex(0), demand);
        ASSERT_TRUE(placed);
        EXPECT_EQ(placed->node, NodeIndex(1));
        EXPECT_EQ(one->fitting_nodes(one->intern(demand)), 1);
    }
    ClusterState lost = state;
    lost.filters = std::make_shared<FilterTable>();
    EXPECT_FALSE(restore_engine(lost, *make_policy("binpack", {})));
}

TEST(EngineState, ErrorsNameTheNodeOrPod) {
    ClusterState state;
    state.nodes = {make_node("a")};
    state.demands = {make_demand({})};
    state.pods = {{"lost", 1, std::nullopt}};
    EXPECT_NE(restore_engine(state, *make_policy("fgd", {})).error().message.find("\"lost\""),
              std::string::npos);
    state.pods = {{"twice", 0, Placement{}}};
    state.pods[0].placement->node = NodeIndex(3);
    EXPECT_FALSE(restore_engine(state, *make_policy("fgd", {})));
    state.pods[0].placement->node = NodeIndex(0);
    state.pods[0].placement->alternative = 1;
    EXPECT_NE(restore_engine(state, *make_policy("fgd", {})).error().message.find("alternative 1"),
              std::string::npos);
    state.pods.clear();
    state.history = {0, -1, 1};
    EXPECT_FALSE(restore_engine(state, *make_policy("fgd", {})));
    state.history.clear();
    state.nodes[0].cpu = MilliCpu(-5);
    EXPECT_NE(restore_engine(state, *make_policy("fgd", {})).error().message.find("\"a\""),
              std::string::npos);
}

TEST(EngineState, AClassIsWhatItsDemandGives) {
    const DemandClass asked = make_class({.gpus = 2, .milli = 300, .gpu_mib = 77, .models = {kT4}});
    EXPECT_EQ(demand_class(demand_of(asked)), asked);
    EXPECT_EQ(demand_class(demand_of(make_class({.gpus = 0}))), make_class({.gpus = 0}));
}

}  // namespace
}  // namespace tessera
