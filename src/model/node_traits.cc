#include "model/node_traits.h"

#include <algorithm>

namespace tessera {
namespace {

template <class Entry>
const Entry* entry_of(const std::vector<Entry>& entries, LabelKey key) {
    const auto at =
        std::lower_bound(entries.begin(), entries.end(), key,
                         [](const Entry& entry, LabelKey wanted) { return entry.key < wanted; });
    return at != entries.end() && at->key == key ? &*at : nullptr;
}

}  // namespace

bool NodeTraits::repels() const {
    return std::any_of(taints.begin(), taints.end(), [](const NodeTaint& t) { return t.repels(); });
}

LabelValue NodeTraits::value_of(LabelKey key) const {
    const NodeLabel* label = entry_of(labels, key);
    return label == nullptr ? LabelValue::none() : label->value;
}

const LabelNumber* NodeTraits::number_of(LabelKey key) const { return entry_of(numbers, key); }

NodeTraits opened(NodeTraits traits) {
    std::erase_if(traits.taints, [](const NodeTaint& taint) { return taint.cordon; });
    return traits;
}

}  // namespace tessera
