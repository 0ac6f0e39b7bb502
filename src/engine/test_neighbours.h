// A cluster with pods in words, for tests: told to a Neighbourhood, and kept for plain references.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/neighbour_question.h"
#include "engine/test_cluster.h"
#include "model/node_constraints.h"
#include "model/pod_profile.h"
#include "model/pod_rules.h"

namespace tessera::testing_cluster {

inline constexpr auto counted_elsewhere = [](std::string_view name) {
    return name == "nvidia.com/gpu";
};

struct NeighbourWorld {
    struct Resident {
        Pod pod;
        int node = -1;  // nowhere
    };

    // Nodes first: pods look at them by their number.
    int add_node(Node words) {
        NodeSpec spec = make_node(words.name, {.gpus = 0});
        spec.traits = node_traits(words, names);
        const NodeIndex index = cluster.add_node(std::move(spec));
        there.set_offer(index, *node_offer(words, names, counted_elsewhere));
        nodes.push_back(std::move(words));
        return static_cast<int>(index.value());
    }
    void add_space(const std::string& name, StringMap labels) {
        there.set_space(names.spaces.intern(name), label_set(labels, names));
        spaces[name] = std::move(labels);
    }
    PodIndex add_pod(Pod pod, int node = -1) {
        const PodIndex index(static_cast<PodIndex::rep>(pods.size()));
        pods.push_back({std::move(pod), -1});
        learn(index);
        if (node >= 0) {
            put(index, node);
        }
        return index;
    }
    void learn(PodIndex pod) {
        there.learn(pod, *pod_profile(pods[pod.slot()].pod, names, counted_elsewhere));
    }
    void put(PodIndex pod, int node) {
        there.put(pod, NodeIndex(static_cast<NodeIndex::rep>(node)));
        pods[pod.slot()].node = node;
    }
    void lift(PodIndex pod) {
        there.lift(pod);
        pods[pod.slot()].node = -1;
    }
    NodeFilter filter(PodIndex pod) {
        const Pod& words = pods[pod.slot()].pod;
        return node_filter({.node = {},
                            .selector = words.node_selector,
                            .terms = words.node_terms,
                            .tolerations = words.tolerations},
                           names);
    }

    Vocabulary names;
    Cluster cluster;
    Neighbourhood there{cluster};
    std::vector<Node> nodes;
    std::map<std::string, StringMap> spaces;
    std::vector<Resident> pods;
};

inline Node labelled_node(std::string name, StringMap labels) {
    Node node;
    node.name = std::move(name);
    node.labels = std::move(labels);
    node.labels["host"] = node.name;
    return node;
}

inline Pod labelled_pod(StringMap labels, PodRules rules = {}) {
    Pod pod;
    pod.name = "p";
    pod.labels = std::move(labels);
    pod.rules = std::make_shared<const PodRules>(std::move(rules));
    return pod;
}

// {"app": "web"} as a selector.
inline LabelSelector selecting(const StringMap& labels) {
    LabelSelector selector;
    for (const auto& [key, value] : labels) {
        selector.push_back({.key = key, .op = LabelOperator::in, .values = {value}});
    }
    return selector;
}

inline PodTerm term_about(const StringMap& labels, std::string topology) {
    return {.pods = selecting(labels), .topology_key = std::move(topology)};
}

}  // namespace tessera::testing_cluster
