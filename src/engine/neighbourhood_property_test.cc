// Random small clusters: every verdict and every preference as the plain reference has it.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "base/rng.h"
#include "engine/neighbour_reference.h"
#include "engine/test_neighbours.h"

namespace tessera::testing_cluster {
namespace {

template <class T>
T any_of(Rng& rng, std::initializer_list<T> values) {
    return *(values.begin() + rng.below(values.size()));
}
bool one_in(Rng& rng, std::uint64_t n) { return rng.below(n) == 0; }

std::string any_space(Rng& rng) { return any_of<const char*>(rng, {"a", "a", "b", "c"}); }
std::string any_topology(Rng& rng) {
    return any_of<const char*>(rng, {"zone", "zone", "host", "rack"});
}

LabelSelector any_selector(Rng& rng) {
    LabelSelector selector;
    for (std::uint64_t i = rng.below(4) / 2 + (one_in(rng, 8) ? 0 : 1); i > 0; --i) {
        NodeRequirement& one = selector.emplace_back();
        one.key = any_of<const char*>(rng, {"app", "app", "tier"});
        one.op = any_of(
            rng, {LabelOperator::in, LabelOperator::in, LabelOperator::in, LabelOperator::not_in,
                  LabelOperator::exists, LabelOperator::does_not_exist});
        if (one.op == LabelOperator::in || one.op == LabelOperator::not_in) {
            one.values = {any_of<const char*>(rng, {"web", "db"})};
            if (one_in(rng, 3)) {
                one.values.emplace_back("cache");
            }
        }
    }
    return selector;
}

PodTerm any_term(Rng& rng) {
    PodTerm term{.topology_key = any_topology(rng)};
    if (!one_in(rng, 12)) {
        term.pods = any_selector(rng);
        if (one_in(rng, 6)) {
            term.match_keys = {"rev"};
        } else if (one_in(rng, 6)) {
            term.mismatch_keys = {"rev"};
        }
    }
    if (one_in(rng, 4)) {
        term.spaces = {any_space(rng)};
    }
    if (one_in(rng, 4)) {
        term.spaces_by = LabelSelector();
        if (one_in(rng, 2)) {
            term.spaces_by->push_back({.key = "team", .op = LabelOperator::in, .values = {"red"}});
        }
    }
    return term;
}

SpreadRule any_spread(Rng& rng) {
    SpreadRule rule{.topology_key = any_topology(rng)};
    if (!one_in(rng, 12)) {
        rule.pods = any_selector(rng);
        rule.match_keys = one_in(rng, 5) ? std::vector<std::string>{"rev"} : rule.match_keys;
    }
    rule.max_skew = static_cast<std::int32_t>(1 + rng.below(3));
    rule.required = one_in(rng, 2);
    rule.min_domains = rule.required ? static_cast<std::int32_t>(1 + rng.below(4)) : 1;
    rule.only_admitting = !one_in(rng, 3);
    rule.only_tolerated = one_in(rng, 3);
    return rule;
}

PodRules any_rules(Rng& rng) {
    PodRules rules;
    for (std::uint64_t i = one_in(rng, 3) ? 1 + rng.below(2) : 0; i > 0; --i) {
        rules.near.push_back(any_term(rng));
    }
    for (std::uint64_t i = one_in(rng, 3) ? 1 + rng.below(2) : 0; i > 0; --i) {
        rules.apart.push_back(any_term(rng));
    }
    for (std::uint64_t i = one_in(rng, 3) ? 1 + rng.below(2) : 0; i > 0; --i) {
        const std::int32_t weight = any_of(rng, {1, 30, 100, -1, -50});
        rules.preferred.push_back({weight, any_term(rng)});
    }
    for (std::uint64_t i = one_in(rng, 3) ? 1 + rng.below(3) : 0; i > 0; --i) {
        rules.spread.push_back(any_spread(rng));
    }
    for (std::uint64_t i = one_in(rng, 4) ? 1 + rng.below(2) : 0; i > 0; --i) {
        WeightedNodeTerm& one = rules.preferred_nodes.emplace_back();
        one.weight = any_of(rng, {1, 7, 100});
        if (!one_in(rng, 5)) {
            one.term.labels.push_back({.key = "zone",
                                       .op = LabelOperator::in,
                                       .values = {any_of<const char*>(rng, {"x", "y"})}});
        }
    }
    return rules;
}

void add_container(Rng& rng, Pod& pod) {
    Container& container = pod.containers.emplace_back();
    if (one_in(rng, 4)) {
        container.host_ports.push_back({any_of<const char*>(rng, {"", "10.0.0.1", "10.0.0.2"}),
                                        any_of(rng, {Protocol::tcp, Protocol::tcp, Protocol::udp}),
                                        any_of(rng, {80, 80, 443})});
    }
    if (one_in(rng, 4)) {
        container.requests["ephemeral-storage"] = Quantity::of(any_of(rng, {0, 10, 60, 200}));
    }
    if (one_in(rng, 4)) {
        container.limits["example.com/fpga"] = Quantity::of(any_of(rng, {1, 2}));
    }
    container.requests["nvidia.com/gpu"] = Quantity::of(1);
}

Pod any_pod(Rng& rng) {
    StringMap labels;
    for (const char* key : {"app", "tier"}) {
        if (!one_in(rng, 3)) {
            labels[key] = any_of<const char*>(rng, {"web", "db", "cache"});
        }
    }
    if (one_in(rng, 2)) {
        labels["rev"] = any_of<const char*>(rng, {"1", "2"});
    }
    Pod pod = labelled_pod(std::move(labels), one_in(rng, 2) ? PodRules() : any_rules(rng));
    pod.space = any_space(rng);
    pod.deleting = one_in(rng, 6);
    add_container(rng, pod);
    if (one_in(rng, 4)) {
        pod.node_selector["zone"] = any_of<const char*>(rng, {"x", "y"});
    }
    if (one_in(rng, 3)) {
        pod.tolerations.push_back({.key = "busy", .value = {}, .effect = {}, .exists = true});
    }
    return pod;
}

Node any_node(Rng& rng, int number) {
    Node node = labelled_node("n" + std::to_string(number), {});
    if (!one_in(rng, 6)) {
        node.labels["zone"] = any_of<const char*>(rng, {"x", "y", "z"});
    }
    if (one_in(rng, 2)) {
        node.labels["rack"] = any_of<const char*>(rng, {"r1", "r2"});
    }
    if (one_in(rng, 3)) {
        node.taints.push_back(
            {any_of<const char*>(rng, {"busy", "old"}), "",
             any_of(rng, {TaintEffect::no_schedule, TaintEffect::prefer_no_schedule,
                          TaintEffect::prefer_no_schedule})});
    }
    if (!one_in(rng, 4)) {
        node.allocatable["ephemeral-storage"] = Quantity::of(100);
        node.allocatable["example.com/fpga"] =
            Quantity::of(static_cast<std::int64_t>(rng.below(4)));
    }
    return node;
}

std::set<std::string> names_of(const NodeVerdict& verdict) {
    std::set<std::string> names;
    for (const RefusalInfo& info : refusal_table()) {
        if (verdict.reasons.has(info.code)) {
            names.emplace(info.name);
        }
    }
    return names;
}

std::set<std::string> codes_of(const NodeVerdict& verdict) {
    return verdict.fits() ? std::set<std::string>()
                          : std::set<std::string>{std::string(refusal_info(verdict.first).name)};
}

void build(Rng& rng, NeighbourWorld& world) {
    world.add_space("a", {{"team", "red"}});
    world.add_space("b", {{"team", "blue"}});
    const int nodes = static_cast<int>(1 + rng.below(6));
    for (int i = 0; i < nodes; ++i) {
        world.add_node(any_node(rng, i));
    }
    for (std::uint64_t i = rng.below(12); i > 0; --i) {
        world.add_pod(any_pod(rng), static_cast<int>(rng.below(world.nodes.size())));
    }
}

// One change that a watch could bring.
void disturb(Rng& rng, NeighbourWorld& world) {
    if (world.pods.empty()) {
        return;
    }
    const PodIndex pod(static_cast<PodIndex::rep>(rng.below(world.pods.size())));
    auto& resident = world.pods[pod.slot()];
    switch (rng.below(4)) {
        case 0:
            resident.pod.deleting = !resident.pod.deleting;
            world.learn(pod);
            break;
        case 1:
            resident.pod.labels["app"] = "db";
            world.learn(pod);
            break;
        case 2:
            world.add_space("c", {{"team", one_in(rng, 2) ? "red" : "blue"}});
            break;
        default:
            if (resident.node >= 0) {
                world.lift(pod);
            } else {
                world.put(pod, static_cast<int>(rng.below(world.nodes.size())));
            }
    }
}

struct Asked {
    NeighbourWorld& world;
    PodIndex pod;
    NodeFilter filter;

    const Pod& words() const { return world.pods[pod.slot()].pod; }
    int nodes() const { return static_cast<int>(world.nodes.size()); }
};

void expect_verdicts(const Asked& asked, const NeighbourQuestion& ask, std::set<std::size_t> gone) {
    const NeighbourReference reference(asked.world, asked.words(), std::move(gone));
    for (int node = 0; node < asked.nodes(); ++node) {
        const auto verdict = ask.verdict(NodeIndex(static_cast<NodeIndex::rep>(node)));
        RC_ASSERT(names_of(verdict) == reference.reasons(node));
        RC_ASSERT(verdict.fits() || names_of(verdict).contains(*codes_of(verdict).begin()));
    }
}

void expect_preferences(Rng& rng, const Asked& asked, const NeighbourQuestion& ask) {
    std::vector<int> numbers;
    std::vector<NodeIndex> nodes;
    for (int node = 0; node < asked.nodes(); ++node) {
        if (!one_in(rng, 4)) {
            numbers.push_back(node);
            nodes.emplace_back(static_cast<NodeIndex::rep>(node));
        }
    }
    const NeighbourReference reference(asked.world, asked.words());
    const auto points = ask.preferences(nodes);
    RC_ASSERT(points == reference.preferences(numbers));
    const Concern concern = asked.world.there.concern(asked.pod, asked.filter);
    const bool differ =
        std::adjacent_find(points.begin(), points.end(), std::not_equal_to<>()) != points.end();
    RC_ASSERT(concern.prefers || !differ);
}

RC_GTEST_PROP(Neighbourhood, JudgesAsTheReferenceDoes, ()) {
    Rng rng(*rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 40));
    NeighbourWorld world;
    build(rng, world);
    for (int round = 0; round < 12; ++round) {
        const PodIndex pod = world.add_pod(any_pod(rng));
        const Asked asked{world, pod, world.filter(pod)};
        NeighbourQuestion ask(world.there, pod, asked.filter);
        expect_verdicts(asked, ask, {});
        expect_preferences(rng, asked, ask);
        bool refused = false;
        for (int node = 0; node < asked.nodes(); ++node) {
            refused = refused || !ask.verdict(NodeIndex(static_cast<NodeIndex::rep>(node))).fits();
        }
        RC_ASSERT(world.there.concern(pod, asked.filter).refuses || !refused);
        for (std::uint64_t i = rng.below(4); i > 0; --i) {
            disturb(rng, world);
        }
    }
}

RC_GTEST_PROP(Neighbourhood, JudgesWithoutVictims, ()) {
    Rng rng(*rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 40));
    NeighbourWorld world;
    build(rng, world);
    const PodIndex pod = world.add_pod(any_pod(rng));
    const Asked asked{world, pod, world.filter(pod)};
    NeighbourQuestion ask(world.there, pod, asked.filter);
    std::set<std::size_t> gone;
    for (std::size_t i = 0; i < world.pods.size(); ++i) {
        if (world.pods[i].node >= 0 && one_in(rng, 3)) {
            gone.insert(i);
            ask.lift(PodIndex(static_cast<PodIndex::rep>(i)));
            expect_verdicts(asked, ask, gone);
        }
    }
    for (const std::size_t i : gone) {
        ask.put_back(PodIndex(static_cast<PodIndex::rep>(i)));
    }
    expect_verdicts(asked, ask, {});
}

RC_GTEST_PROP(Neighbourhood, KeepsNoProfileOfPodsThatAreForgotten, ()) {
    Rng rng(*rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 40));
    NeighbourWorld world;
    build(rng, world);
    for (int i = 0; i < 8; ++i) {
        disturb(rng, world);
    }
    for (std::size_t i = 0; i < world.pods.size(); ++i) {
        const PodIndex pod(static_cast<PodIndex::rep>(i));
        if (world.pods[i].node >= 0) {
            world.lift(pod);
        }
        world.there.forget(pod);
        RC_ASSERT(!world.there.knows(pod));
    }
    RC_ASSERT(world.there.profiles() == 0U);
    world.pods.clear();
    const PodIndex pod = world.add_pod(labelled_pod({{"app", "web"}}));
    const NodeFilter tolerant = node_filter(
        {.tolerations = {{.key = {}, .value = {}, .effect = {}, .exists = true}}}, world.names);
    RC_ASSERT(!world.there.concern(pod, tolerant));
}

}  // namespace
}  // namespace tessera::testing_cluster
