#include "model/node_filter.h"

#include <algorithm>

namespace tessera {
namespace {

bool tolerates(const Toleration& toleration, const Taint& taint) {
    if (!toleration.effect.empty() && toleration.effect != taint.effect) {
        return false;
    }
    if (toleration.exists && toleration.key.empty()) {
        return true;
    }
    return toleration.key == taint.key && (toleration.exists || toleration.value == taint.value);
}

}  // namespace

bool admits(const NodeFilter& filter, const Node& node) {
    if (!filter.node.empty() && filter.node != node.name) {
        return false;
    }
    for (const auto& [key, value] : filter.selector) {
        const std::string* label = find(node.labels, key);
        if (label == nullptr || *label != value) {
            return false;
        }
    }
    return std::all_of(node.taints.begin(), node.taints.end(), [&](const Taint& taint) {
        return taint.effect == "PreferNoSchedule" ||
               std::any_of(filter.tolerations.begin(), filter.tolerations.end(),
                           [&](const Toleration& one) { return tolerates(one, taint); });
    });
}

FilterIndex FilterTable::intern(NodeFilter filter) {
    std::sort(filter.tolerations.begin(), filter.tolerations.end());
    const FilterIndex next(static_cast<FilterIndex::rep>(filters_.size()));
    const auto [at, fresh] = indices_.emplace(std::move(filter), next);
    if (fresh) {
        filters_.push_back(&at->first);
    }
    return at->second;
}

}  // namespace tessera
