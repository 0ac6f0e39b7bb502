// Node constraints in words, and as indices: what pods ask of nodes, and what nodes say of
// themselves.
//
// The readers of manifests and of state files both make requirements here, so that what is refused,
// and how that is said, is the same. Messages begin with the field ("operator: ...").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/node_filter.h"
#include "model/node_traits.h"
#include "model/pod.h"

namespace tessera {

inline constexpr std::string_view kCordonTaint = "node.kubernetes.io/unschedulable";
inline constexpr std::string_view kNameField = "metadata.name";

struct NodeConstraints {
    std::string node{};  // the only one allowed; empty: any
    StringMap selector{};
    std::vector<NodeSelectorTerm> terms{};
    std::vector<Toleration> tolerations{};

    friend bool operator==(const NodeConstraints&, const NodeConstraints&) = default;
};

Expected<TaintEffect> parse_effect(std::string_view word);

// As written, before it is checked.
struct RequirementDraft {
    std::string key;
    std::string op;
    std::vector<std::string> values;
};
Expected<NodeRequirement> label_requirement(RequirementDraft draft);  // matchExpressions
Expected<NodeRequirement> field_requirement(RequirementDraft draft);  // matchFields

struct TolerationDraft {
    std::string key;
    std::string op;
    std::string value;
    std::string effect;
};
Expected<Toleration> toleration(TolerationDraft draft);

struct TaintDraft {
    std::string key;
    std::string value;
    std::string effect;
};
Expected<Taint> taint(TaintDraft draft);

// A whole number as labels are compared by: decimal, with or without a sign, of 64 bits.
std::optional<std::int64_t> label_number(std::string_view text);

NodeFilter node_filter(const NodeConstraints& constraints, Vocabulary& names);
// In an order that does not depend on the indices; likewise below.
NodeConstraints in_words(const NodeFilter& filter, const Vocabulary& names);

// A cordon (spec.unschedulable) becomes the taint that Kubernetes makes of it.
NodeTraits node_traits(const Node& node, Vocabulary& names);
StringMap labels_in_words(const NodeTraits& traits, const Vocabulary& names);
std::vector<Taint> taints_in_words(const NodeTraits& traits, const Vocabulary& names);

}  // namespace tessera
