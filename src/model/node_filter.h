// Which nodes a pod may use by what they are: a pinned node, labels, taints. Kubernetes' own rules.
//
// Everything is an index (node_constraints.h makes filters of words), so that a judgement compares
// numbers only. Equal filters share a FilterIndex; FilterIndex::none() is the filter of a pod that
// says nothing, which is kept away by taints like any other.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "model/ids.h"
#include "model/node_traits.h"

namespace tessera {

// A condition on a label, or on the node's name when the key is none().
struct LabelRequirement {
    LabelKey key{};
    LabelOperator op = LabelOperator::in;
    std::vector<LabelValue> values{};  // sorted
    std::int64_t bound = 0;            // of Gt and Lt

    friend auto operator<=>(const LabelRequirement&, const LabelRequirement&) = default;
};

// All hold together; none at all matches nothing.
using NodeTerm = std::vector<LabelRequirement>;

struct TaintToleration {
    static constexpr std::uint8_t kEveryEffect = 0b111;

    LabelKey key{};                       // none(): every key
    LabelValue value{};                   // none(): every value
    std::uint8_t effects = kEveryEffect;  // bit per TaintEffect

    friend auto operator<=>(const TaintToleration&, const TaintToleration&) = default;
};

struct NodeFilter {
    LabelValue node{};                           // name of the only one allowed; none(): any
    std::vector<NodeLabel> selector{};           // sorted: all of these labels
    std::vector<NodeTerm> terms{};               // sorted: one of them; empty: any node
    std::vector<TaintToleration> tolerations{};  // sorted

    // Whether it refuses nodes by itself, apart from their taints.
    bool restricts() const { return node.valid() || !selector.empty() || !terms.empty(); }
    friend auto operator<=>(const NodeFilter&, const NodeFilter&) = default;
};

// Sorted, and nothing twice: the order in which things were written does not tell filters apart.
NodeFilter normalised(NodeFilter filter);

// The parts of the judgement, each with what stands in the way.
bool matches_name(const NodeFilter& filter, const NodeTraits& node);
const NodeLabel* missing_label(const NodeFilter& filter, const NodeTraits& node);  // or nullptr
bool matches(const LabelRequirement& requirement, const NodeTraits& node);
bool matches_terms(const NodeFilter& filter, const NodeTraits& node);
bool tolerates(const NodeFilter& filter, const NodeTaint& taint);

bool admits(const NodeFilter& filter, const NodeTraits& node);

// Interns filters. Indices are dense; references stay valid.
class FilterTable {
  public:
    FilterIndex intern(NodeFilter asked);
    const NodeFilter& operator[](FilterIndex index) const;
    // As an Interner's (base/intern.h).
    void keep_only(const std::vector<bool>& kept);
    std::size_t size() const { return filters_.size(); }
    std::size_t used() const { return indices_.size(); }

  private:
    std::map<NodeFilter, FilterIndex> indices_;
    std::deque<NodeFilter> filters_;
    std::vector<FilterIndex> free_;  // the smallest last
};

}  // namespace tessera
