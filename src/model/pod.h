// Kubernetes objects as far as scheduling reads them, in no encoding: codec fills these from JSON
// or YAML, dialects map them to demands and devices. Maps are ordered, so that whatever walks them
// does so in the same order everywhere.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "model/node_traits.h"

namespace tessera {

struct PodRules;

using StringMap = std::map<std::string, std::string, std::less<>>;
using ResourceList = std::map<std::string, Quantity, std::less<>>;

template <class Map>
const typename Map::mapped_type* find(const Map& map, std::string_view key) {
    const auto found = map.find(key);
    return found == map.end() ? nullptr : &found->second;
}

enum class ContainerState : std::uint8_t { waiting, running, ended };

enum class Protocol : std::uint8_t { tcp, udp, sctp };

// A port of the node itself; an empty address is every address of it.
struct HostPort {
    std::string address{};
    Protocol protocol = Protocol::tcp;
    std::int32_t port = 0;

    friend auto operator<=>(const HostPort&, const HostPort&) = default;
};

struct Container {
    std::string name;
    ResourceList requests;
    ResourceList limits;
    std::vector<HostPort> host_ports;
    bool restartable = false;  // an init container with restartPolicy Always: a side-car
    ContainerState state = ContainerState::waiting;

    // What the API server would make the request: the limit stands in where none is written.
    const Quantity* asked(std::string_view resource) const {
        const Quantity* request = find(requests, resource);
        return request != nullptr ? request : find(limits, resource);
    }
};

struct Toleration {
    std::string key;                    // empty with `exists`: every taint
    std::string value;                  // compared unless `exists`
    std::optional<TaintEffect> effect;  // nothing: every effect
    bool exists = false;

    friend auto operator<=>(const Toleration&, const Toleration&) = default;
};

struct Taint {
    std::string key;
    std::string value;
    TaintEffect effect = TaintEffect::no_schedule;

    friend auto operator<=>(const Taint&, const Taint&) = default;
};

// One condition of a node selector term. Gt and Lt have one value, a whole number.
struct NodeRequirement {
    std::string key{};
    LabelOperator op = LabelOperator::in;
    std::vector<std::string> values{};

    friend auto operator<=>(const NodeRequirement&, const NodeRequirement&) = default;
};

// All of them must hold; a term without any matches no node.
struct NodeSelectorTerm {
    std::vector<NodeRequirement> labels{};
    std::vector<NodeRequirement> fields{};  // metadata.name only

    friend auto operator<=>(const NodeSelectorTerm&, const NodeSelectorTerm&) = default;
};

enum class PodPhase : std::uint8_t { pending, running, succeeded, failed, unknown };

struct Pod {
    std::string space = "default";  // metadata.namespace
    std::string name;
    std::string uid;
    StringMap labels;
    StringMap annotations;
    std::vector<Container> init_containers;  // in order: side-cars among them
    std::vector<Container> containers;
    ResourceList overhead;
    // Pod-level resources: where given, they replace the sum over containers.
    ResourceList requests;
    ResourceList limits;
    std::string scheduler_name = "default-scheduler";
    std::string node_name;
    std::optional<std::int32_t> priority;
    std::string priority_class;
    StringMap node_selector;
    std::vector<NodeSelectorTerm> node_terms;  // required node affinity: one must match; or empty
    // Its rules about other pods, volumes and more (model/pod_rules.h); null: it has none.
    std::shared_ptr<const PodRules> rules;
    std::vector<Toleration> tolerations;
    std::vector<std::string> resource_claims;  // names in spec.resourceClaims
    PodPhase phase = PodPhase::pending;
    std::int64_t created_s = 0;  // creationTimestamp, seconds since 1970; 0: not told
    bool preempts = true;        // preemptionPolicy: false when Never
    bool deleting = false;       // deletionTimestamp is set: asked to end, not ended

    // "namespace/name/uid": a pod that was deleted and made anew is another owner.
    std::string owner() const { return space + '/' + name + '/' + uid; }

    // Whether its containers have really ended. Deletion asked for is not deletion: a container
    // in its grace period still uses its GPU.
    bool ended() const {
        const auto running = [](const Container& c) { return c.state == ContainerState::running; };
        return (phase == PodPhase::succeeded || phase == PodPhase::failed) &&
               std::none_of(containers.begin(), containers.end(), running) &&
               std::none_of(init_containers.begin(), init_containers.end(), running);
    }
};

struct Node {
    std::string name;
    std::string address;  // InternalIP; empty when it has none
    StringMap labels;
    StringMap annotations;
    ResourceList capacity;
    ResourceList allocatable;
    std::vector<Taint> taints;
    bool unschedulable = false;
    bool ready = true;

    // What the kubelet would admit; the capacity where it says nothing.
    const Quantity* offered(std::string_view resource) const {
        const Quantity* amount = find(allocatable, resource);
        return amount != nullptr ? amount : find(capacity, resource);
    }
};

struct ConfigMap {
    std::string space = "default";
    std::string name;
    StringMap data;
};

// A pod, or a controller's template for `count` equal ones.
struct PodSet {
    Pod pod;
    std::int32_t count = 1;
    std::string kind = "Pod";
};

// What a file or a list held.
struct KubeObjects {
    std::vector<PodSet> pods;
    std::vector<Node> nodes;
    std::vector<ConfigMap> config_maps;
    std::vector<std::string> skipped;  // kinds that hold no pods and no nodes, each once
    std::vector<std::string> notes{};  // what was read in another way than others read it
};

}  // namespace tessera
