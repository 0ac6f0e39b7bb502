#include "engine/obstacles.h"

#include <algorithm>

namespace tessera {
namespace {

// The label that the only term asks about and the node does not have so. With several terms no
// single one is to blame.
Obstacle affinity_obstacle(const NodeFilter& filter, const NodeTraits& node) {
    if (filter.terms.size() == 1) {
        for (const LabelRequirement& requirement : filter.terms.front()) {
            if (!matches(requirement, node)) {
                return {.key = requirement.key};
            }
        }
    }
    return {};
}

}  // namespace

void each_obstacle(const NodeFilter& filter, const NodeTraits& node,
                   FunctionRef<void(RefusalCode, const Obstacle&)> visit) {
    if (!matches_name(filter, node)) {
        visit(RefusalCode::node_name_mismatch, {.value = filter.node});
    }
    if (const NodeLabel* missing = missing_label(filter, node); missing != nullptr) {
        visit(RefusalCode::node_selector_mismatch, {missing->key, missing->value});
    }
    if (!matches_terms(filter, node)) {
        visit(RefusalCode::node_affinity_mismatch, affinity_obstacle(filter, node));
    }
    for (const bool cordon : {true, false}) {
        const auto met =
            std::find_if(node.taints.begin(), node.taints.end(), [&](const NodeTaint& taint) {
                return taint.cordon == cordon && taint.repels() && !tolerates(filter, taint);
            });
        if (met != node.taints.end()) {
            visit(cordon ? RefusalCode::node_unschedulable : RefusalCode::node_tainted,
                  {met->key, met->value, met->effect});
        }
    }
}

void ObstacleTally::add(const NodeFilter& filter, const NodeTraits& node) {
    each_obstacle(filter, node, [&](RefusalCode code, const Obstacle& obstacle) {
        ++seen_[static_cast<std::size_t>(code)][obstacle];
    });
}

void ObstacleTally::name_most_common(RefusalCount& count) const {
    const auto& seen = seen_[static_cast<std::size_t>(count.code)];
    const auto most = std::max_element(
        seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const bool told = most != seen.end() && most->first != Obstacle{} &&
                      count.code != RefusalCode::node_unschedulable;
    if (told && most->second * 2 > count.nodes_any) {
        count.obstacle = most->first;
        count.obstacle_nodes = most->second;
    }
}

}  // namespace tessera
