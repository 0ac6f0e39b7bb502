#include "codec/constraint_walk.h"

#include <array>
#include <utility>

namespace tessera {

bool ConstraintWalk::tolerations(JsonItem value, std::vector<Toleration>& out) {
    static constexpr std::array<ConstraintRule<TolerationDraft>, 4> kRules{
        {{"key", &ConstraintWalk::text_of<&TolerationDraft::key>},
         {"operator", &ConstraintWalk::text_of<&TolerationDraft::op>},
         {"value", &ConstraintWalk::text_of<&TolerationDraft::value>},
         {"effect", &ConstraintWalk::text_of<&TolerationDraft::effect>}}};
    return list(value, [&](JsonItem item) {
        TolerationDraft draft;
        return object<ConstraintWalk, TolerationDraft>(item, draft, kRules) &&
               keep(toleration(std::move(draft)), out);
    });
}

bool ConstraintWalk::taints(JsonItem value, std::vector<Taint>& out) {
    static constexpr std::array<ConstraintRule<TaintDraft>, 3> kRules{
        {{"key", &ConstraintWalk::text_of<&TaintDraft::key>},
         {"value", &ConstraintWalk::text_of<&TaintDraft::value>},
         {"effect", &ConstraintWalk::text_of<&TaintDraft::effect>}}};
    return list(value, [&](JsonItem item) {
        TaintDraft draft;
        return object<ConstraintWalk, TaintDraft>(item, draft, kRules) &&
               keep(taint(std::move(draft)), out);
    });
}

bool ConstraintWalk::node_selector(JsonItem value, Terms& out) {
    static constexpr std::array<ConstraintRule<Terms>, 1> kRules{
        {{"nodeSelectorTerms", &ConstraintWalk::selector_terms}}};
    return object<ConstraintWalk, Terms>(value, out, kRules) &&
           (!out.empty() ||
            fail_here("nodeSelectorTerms: an empty list is not accepted: one term or more is"));
}

bool ConstraintWalk::selector_terms(JsonItem value, Terms& out) {
    return list(value, [&](JsonItem item) { return selector_term(item, out.emplace_back()); });
}

bool ConstraintWalk::selector_term(JsonItem value, NodeSelectorTerm& out) {
    static constexpr std::array<ConstraintRule<NodeSelectorTerm>, 2> kRules{
        {{"matchExpressions", &ConstraintWalk::expressions},
         {"matchFields", &ConstraintWalk::fields}}};
    return object<ConstraintWalk, NodeSelectorTerm>(value, out, kRules);
}

bool ConstraintWalk::texts(JsonItem value, std::vector<std::string>& out) {
    return list(value, [&](JsonItem item) { return text(item, out.emplace_back()); });
}

bool ConstraintWalk::requirement(JsonItem value, RequirementDraft& draft) {
    static constexpr std::array<ConstraintRule<RequirementDraft>, 3> kRules{
        {{"key", &ConstraintWalk::text_of<&RequirementDraft::key>},
         {"operator", &ConstraintWalk::text_of<&RequirementDraft::op>},
         {"values", &ConstraintWalk::texts_of<&RequirementDraft::values>}}};
    return object<ConstraintWalk, RequirementDraft>(value, draft, kRules);
}

bool ConstraintWalk::expressions(JsonItem value, NodeSelectorTerm& term) {
    return list(value, [&](JsonItem item) {
        RequirementDraft draft;
        return requirement(item, draft) && keep(label_requirement(std::move(draft)), term.labels);
    });
}

bool ConstraintWalk::fields(JsonItem value, NodeSelectorTerm& term) {
    return list(value, [&](JsonItem item) {
        RequirementDraft draft;
        return requirement(item, draft) && keep(field_requirement(std::move(draft)), term.fields);
    });
}

bool ConstraintWalk::label_selector(JsonItem value, std::optional<LabelSelector>& out) {
    static constexpr std::array<ConstraintRule<LabelSelector>, 2> kRules{
        {{"matchLabels", &ConstraintWalk::match_labels},
         {"matchExpressions", &ConstraintWalk::match_expressions}}};
    return object<ConstraintWalk, LabelSelector>(value, out.emplace(), kRules);
}

bool ConstraintWalk::match_labels(JsonItem value, LabelSelector& selector) {
    StringMap labels;
    if (!strings(value, labels)) {
        return false;
    }
    for (auto& [key, wanted] : labels) {
        selector.push_back({.key = key, .op = LabelOperator::in, .values = {std::move(wanted)}});
    }
    return true;
}

bool ConstraintWalk::match_expressions(JsonItem value, LabelSelector& selector) {
    return list(value, [&](JsonItem item) {
        RequirementDraft draft;
        return requirement(item, draft) && keep(selector_requirement(std::move(draft)), selector);
    });
}

}  // namespace tessera
