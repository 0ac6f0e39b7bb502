// What a node is, besides its capacity: name, labels and taints, as indices.
//
// Names are behind them in the Vocabulary; node_constraints.h makes traits of a Node in words.
// Which pods a node's traits admit is judged in node_filter.h.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/ids.h"

namespace tessera {

enum class TaintEffect : std::uint8_t { no_schedule, prefer_no_schedule, no_execute };
inline constexpr std::array<std::string_view, 3> kTaintEffects{"NoSchedule", "PreferNoSchedule",
                                                               "NoExecute"};
constexpr std::string_view to_string(TaintEffect effect) {
    return kTaintEffects[static_cast<std::size_t>(effect)];
}

enum class LabelOperator : std::uint8_t { in, not_in, exists, does_not_exist, gt, lt };
inline constexpr std::array<std::string_view, 6> kLabelOperators{"In",           "NotIn", "Exists",
                                                                 "DoesNotExist", "Gt",    "Lt"};
constexpr std::string_view to_string(LabelOperator op) {
    return kLabelOperators[static_cast<std::size_t>(op)];
}

struct NodeLabel {
    LabelKey key;
    LabelValue value;

    friend auto operator<=>(const NodeLabel&, const NodeLabel&) = default;
};

// A label whose value is a whole number.
struct LabelNumber {
    LabelKey key;
    std::int64_t number = 0;

    friend auto operator<=>(const LabelNumber&, const LabelNumber&) = default;
};

struct NodeTaint {
    LabelKey key;
    LabelValue value;
    TaintEffect effect = TaintEffect::no_schedule;
    bool cordon = false;  // node.kubernetes.io/unschedulable: it passes when the node is opened

    bool repels() const { return effect != TaintEffect::prefer_no_schedule; }
    friend auto operator<=>(const NodeTaint&, const NodeTaint&) = default;
};

struct NodeTraits {
    LabelValue name{};
    std::vector<NodeLabel> labels{};     // by key
    std::vector<LabelNumber> numbers{};  // of the labels, by key: for Gt and Lt
    std::vector<NodeTaint> taints{};     // sorted, none twice

    // Whether there is a taint that keeps away whoever does not tolerate it.
    bool repels() const;
    LabelValue value_of(LabelKey key) const;           // none() when there is no such label
    const LabelNumber* number_of(LabelKey key) const;  // nullptr when it is no number

    friend bool operator==(const NodeTraits&, const NodeTraits&) = default;
};

// The same node with its cordon taken off.
NodeTraits opened(NodeTraits traits);

}  // namespace tessera
