#include "model/node_filter.h"

#include <algorithm>

#include "base/assert.h"

namespace tessera {
namespace {

template <class T>
void sort_once(std::vector<T>& items) {
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
}

}  // namespace

NodeFilter normalised(NodeFilter filter) {
    for (NodeTerm& term : filter.terms) {
        for (LabelRequirement& requirement : term) {
            sort_once(requirement.values);
        }
        sort_once(term);
    }
    sort_once(filter.selector);
    sort_once(filter.terms);
    sort_once(filter.tolerations);
    return filter;
}

bool matches_name(const NodeFilter& filter, const NodeTraits& node) {
    return !filter.node.valid() || filter.node == node.name;
}

const NodeLabel* missing_label(const NodeFilter& filter, const NodeTraits& node) {
    const auto missing = std::find_if(
        filter.selector.begin(), filter.selector.end(),
        [&](const NodeLabel& wanted) { return node.value_of(wanted.key) != wanted.value; });
    return missing == filter.selector.end() ? nullptr : &*missing;
}

bool matches(const LabelRequirement& requirement, const NodeTraits& node) {
    const LabelValue value = requirement.key.valid() ? node.value_of(requirement.key) : node.name;
    const auto listed = [&] {
        return std::binary_search(requirement.values.begin(), requirement.values.end(), value);
    };
    switch (requirement.op) {
        case LabelOperator::in:
            return value.valid() && listed();
        case LabelOperator::not_in:
            return !value.valid() || !listed();
        case LabelOperator::exists:
            return value.valid();
        case LabelOperator::does_not_exist:
            return !value.valid();
        case LabelOperator::gt:
        case LabelOperator::lt:
            break;
    }
    const LabelNumber* known = node.number_of(requirement.key);
    return known != nullptr &&
           (requirement.op == LabelOperator::gt ? known->number > requirement.bound
                                                : known->number < requirement.bound);
}

bool matches_terms(const NodeFilter& filter, const NodeTraits& node) {
    const auto matched = [&](const NodeTerm& term) {
        return !term.empty() &&
               std::all_of(term.begin(), term.end(), [&](const LabelRequirement& requirement) {
                   return matches(requirement, node);
               });
    };
    return filter.terms.empty() || std::any_of(filter.terms.begin(), filter.terms.end(), matched);
}

bool tolerates(const NodeFilter& filter, const NodeTaint& taint) {
    return std::any_of(filter.tolerations.begin(), filter.tolerations.end(),
                       [&](const TaintToleration& one) {
                           return (!one.key.valid() || one.key == taint.key) &&
                                  (!one.value.valid() || one.value == taint.value) &&
                                  (one.effects >> static_cast<unsigned>(taint.effect) & 1U) != 0;
                       });
}

bool admits(const NodeFilter& filter, const NodeTraits& node) {
    return matches_name(filter, node) && missing_label(filter, node) == nullptr &&
           matches_terms(filter, node) &&
           std::all_of(node.taints.begin(), node.taints.end(), [&](const NodeTaint& taint) {
               return !taint.repels() || tolerates(filter, taint);
           });
}

FilterIndex FilterTable::intern(NodeFilter asked) {
    NodeFilter filter = normalised(std::move(asked));
    if (filter == NodeFilter()) {
        return FilterIndex::none();
    }
    const FilterIndex next =
        free_.empty() ? FilterIndex(static_cast<FilterIndex::rep>(filters_.size())) : free_.back();
    const auto [at, fresh] = indices_.emplace(std::move(filter), next);
    if (!fresh) {
        return at->second;
    }
    if (free_.empty()) {
        filters_.push_back(at->first);
    } else {
        free_.pop_back();
        filters_[next.slot()] = at->first;
    }
    return next;
}

void FilterTable::keep_only(const std::vector<bool>& kept) {
    free_.clear();
    for (std::size_t slot = filters_.size(); slot-- > 0;) {
        if (slot >= kept.size() || !kept[slot]) {
            indices_.erase(filters_[slot]);
            filters_[slot] = NodeFilter();
            free_.emplace_back(static_cast<FilterIndex::rep>(slot));
        }
    }
}

const NodeFilter& FilterTable::operator[](FilterIndex index) const {
    static const NodeFilter kSaysNothing;
    TESSERA_ASSERT(!index.valid() || index.slot() < filters_.size(),
                   "a filter is of the table that it is looked up in");
    return index.valid() ? filters_[index.slot()] : kSaysNothing;
}

}  // namespace tessera
