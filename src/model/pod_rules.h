// What a pod asks of its neighbourhood, in words: other pods, spreading, preferred nodes, volumes.
//
// Most pods ask for nothing of this, so that Pod keeps it behind one pointer. The rules that need
// only the node (node selector, required node affinity, tolerations) are in pod.h. Readers make
// parts of it by the checked functions below, whose messages begin with the field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/node_constraints.h"
#include "model/pod.h"

namespace tessera {

// All must hold; none at all is held by everything. matchLabels are conditions of one value.
using LabelSelector = std::vector<NodeRequirement>;

struct PodTerm {
    std::optional<LabelSelector> pods{};       // nothing: no pod
    std::vector<std::string> spaces{};         // namespaces; none and no selector: the pod's own
    std::optional<LabelSelector> spaces_by{};  // namespaces with these labels as well
    std::string topology_key{};
    std::vector<std::string> match_keys{};     // of the pod's own labels: the same value
    std::vector<std::string> mismatch_keys{};  // another value

    friend bool operator==(const PodTerm&, const PodTerm&) = default;
};

struct WeightedPodTerm {
    std::int32_t weight = 0;  // below 0: of anti-affinity
    PodTerm term{};

    friend bool operator==(const WeightedPodTerm&, const WeightedPodTerm&) = default;
};

struct WeightedNodeTerm {
    std::int32_t weight = 0;
    NodeSelectorTerm term{};

    friend bool operator==(const WeightedNodeTerm&, const WeightedNodeTerm&) = default;
};

struct SpreadRule {
    std::string topology_key{};
    std::optional<LabelSelector> pods{};
    std::int32_t max_skew = 1;
    std::int32_t min_domains = 1;
    bool required = true;  // whenUnsatisfiable is DoNotSchedule
    // Which nodes count: those that its node selector and affinity admit (nodeAffinityPolicy),
    // those whose taints it tolerates (nodeTaintsPolicy).
    bool only_admitting = true;
    bool only_tolerated = false;
    std::vector<std::string> match_keys{};

    friend bool operator==(const SpreadRule&, const SpreadRule&) = default;
};

// A claim that a volume names, or that is made for it ("POD-VOLUME") and must then be the pod's.
struct VolumeClaimUse {
    std::string claim{};
    bool ephemeral = false;

    friend bool operator==(const VolumeClaimUse&, const VolumeClaimUse&) = default;
};

struct PodCondition {
    std::string status{};
    std::string reason{};
    std::string message{};

    friend bool operator==(const PodCondition&, const PodCondition&) = default;
};

struct PodRules {
    std::vector<PodTerm> near{};   // required pod affinity: all of them
    std::vector<PodTerm> apart{};  // required anti-affinity: none of them
    std::vector<WeightedPodTerm> preferred{};
    std::vector<WeightedNodeTerm> preferred_nodes{};
    std::vector<SpreadRule> spread{};
    std::vector<VolumeClaimUse> claims{};
    std::vector<std::string> gates{};           // schedulingGates: it waits while there are any
    std::string nominated_node{};               // status: where room is being made for it
    std::string group{};                        // spec.schedulingGroup.podGroupName
    std::optional<PodCondition> unscheduled{};  // condition PodScheduled, unless it is True

    friend bool operator==(const PodRules&, const PodRules&) = default;
};

// The rules of a pod that has none, too.
const PodRules& rules_of(const Pod& pod);

// A condition of a label selector: In, NotIn, Exists and DoesNotExist.
Expected<NodeRequirement> selector_requirement(RequirementDraft draft);

Expected<void> check_term(const PodTerm& term);
// Of 1 to 100, as Kubernetes accepts it.
Expected<void> check_weight(std::int32_t weight);

// As written, before it is checked.
struct SpreadDraft {
    SpreadRule rule{};
    std::string when{};
    std::string affinity_policy{};
    std::string taints_policy{};
    bool has_min_domains = false;
};
Expected<SpreadRule> spread_rule(SpreadDraft draft);

// The selector with what matchLabelKeys and mismatchLabelKeys add to it by the pod's own labels.
// The API server writes that there itself when it makes a pod: a condition on such a key stays
// alone.
LabelSelector with_keys(const PodTerm& term, const StringMap& labels);
LabelSelector with_keys(const SpreadRule& rule, const StringMap& labels);

// The fields of the spec that may refuse a node because of other pods, for messages.
std::vector<std::string_view> rules_about_pods(const Pod& pod);

}  // namespace tessera
