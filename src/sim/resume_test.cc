// A state file is the run's own memory: what is explained from it is what the run does next.
#include "sim/resume.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "codec/state_json.h"
#include "sim/churn.h"
#include "sim/generate.h"
#include "sim/inflate.h"
#include "sim/sim_fixture.h"

namespace tessera {
namespace {

struct Setting {
    std::vector<NodeSpec> nodes;
    Workload workload;
    Interner<ModelIndex> models;
    RunOrder order;
    Stream stream;
};

Setting setting() {
    Setting all;
    auto nodes = parse_node_spec("3x8g96c768Gi:A100,4x4g32c128Gi:T4,2x2g64c256Gi:V100", all.models);
    all.nodes = std::move(*nodes);
    auto pods = generate_pods({"openb", 400, 7}, all.models);
    all.workload = without_misfits(make_workload("openb", std::move(*pods)), all.nodes);
    all.order = draw_order(all.workload, all.nodes, {.seed = 5, .ratio = 1.3});
    all.stream = std::move(*draw_stream(all.workload, all.nodes, {5, 1.0, 600, Lifetimes::exp}));
    return all;
}

// The state after so many arrivals, by way of the file.
ClusterState state_at(const Setting& all, const std::string& policy, bool churn,
                      std::size_t after) {
    ClusterState state;
    const RunSetup setup{&all.workload, &all.nodes, 5, nullptr, {&state, after}};
    if (churn) {
        run_churn(setup, all.stream, test_policy(policy, all.workload));
    } else {
        run_inflate(setup, all.order, test_policy(policy, all.workload), {});
    }
    state.policy = policy;
    Vocabulary names;
    names.models = all.models;
    Vocabulary fresh;
    auto read = read_state_json(write_state_json(state, names), fresh);
    EXPECT_TRUE(read.has_value()) << read.error().message;
    return std::move(*read);
}

// The pod of the last arrival: the only one that was not there before.
const PodState* newest(const ClusterState& before, const ClusterState& after) {
    std::set<std::string> known;
    for (const PodState& pod : before.pods) {
        known.insert(pod.name);
    }
    const auto found = std::ranges::find_if(
        after.pods, [&](const PodState& pod) { return !known.contains(pod.name); });
    return found == after.pods.end() ? nullptr : &*found;
}

void check_next(const Setting& all, const std::string& policy, bool churn, std::size_t at) {
    const ClusterState now = state_at(all, policy, churn, at);
    const ClusterState next = state_at(all, policy, churn, at + 1);
    const auto source = policy_of_state(now, "");
    ASSERT_TRUE(source.has_value()) << source.error().message;
    auto engine = resume(now, *source);
    ASSERT_TRUE(engine.has_value()) << engine.error().message;
    // Those that left in between leave here too.
    std::set<std::string> staying;
    for (const PodState& pod : next.pods) {
        staying.insert(pod.name);
    }
    for (std::uint32_t i = 0; i < now.pods.size(); ++i) {
        if (now.pods[i].placement && !staying.contains(now.pods[i].name)) {
            (*engine)->depart(PodIndex(i));
        }
    }
    const PodState* pod = newest(now, next);
    ASSERT_NE(pod, nullptr);
    const Decision decision = explain_arrival(**engine, next.demands[pod->demand]);
    ASSERT_EQ(decision.placed(), pod->placement.has_value());
    if (decision.placed()) {
        EXPECT_EQ(decision.placement->node, pod->placement->node);
        EXPECT_EQ(decision.placement->grants, pod->placement->grants);
    }
}

class Resume : public testing::TestWithParam<std::string> {};

TEST_P(Resume, ExplainsWhatTheRunDoesNext) {
    const Setting all = setting();
    const std::size_t arrivals = all.order.arrivals.size();
    for (const std::size_t at : {std::size_t{0}, std::size_t{3}, std::size_t{12}, std::size_t{49},
                                 arrivals / 2, arrivals - 8}) {
        SCOPED_TRACE(fmt::format("inflate at {}", at));
        check_next(all, GetParam(), false, at);
    }
    for (const std::size_t at : {0U, 40U, 255U, 511U, 590U}) {
        SCOPED_TRACE(fmt::format("churn at {}", at));
        check_next(all, GetParam(), true, at);
    }
}

std::vector<std::string> every_policy() {
    std::vector<std::string> names;
    for (const PolicyInfo& info : known_policies()) {
        names.emplace_back(info.name);
    }
    return names;
}

INSTANTIATE_TEST_SUITE_P(EveryPolicy, Resume, testing::ValuesIn(every_policy()), [](const auto& p) {
    std::string name = p.param;
    std::ranges::replace(name, '-', '_');
    return name;
});

TEST(ResumedState, AnotherPolicyDoesNotKnowTheMix) {
    const Setting all = setting();
    const ClusterState state = state_at(all, "binpack", false, 40);
    const auto published = policy_of_state(state, "fgd-published");
    ASSERT_TRUE(published.has_value());
    const auto refused = resume(state, *published);
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().message.find("in the simulator only; use fgd"), std::string::npos);
    EXPECT_TRUE(resume(state, *policy_of_state(state, "fgd")).has_value());
}

}  // namespace
}  // namespace tessera
