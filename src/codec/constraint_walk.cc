#include "codec/constraint_walk.h"

#include <array>
#include <utility>

namespace tessera {

template <class T>
bool ConstraintWalk::keep(Expected<T> read, std::vector<T>& out) {
    if (!read) {
        return fail_with(std::move(read.error().message));
    }
    out.push_back(std::move(*read));
    return true;
}

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

bool ConstraintWalk::affinity(JsonItem value, Pod& pod) {
    static constexpr std::array<ConstraintRule<Pod>, 3> kRules{
        {{"nodeAffinity", &ConstraintWalk::node_affinity},
         {"podAffinity", &ConstraintWalk::pod_affinity},
         {"podAntiAffinity", &ConstraintWalk::pod_anti_affinity}}};
    return object<ConstraintWalk, Pod>(value, pod, kRules);
}

bool ConstraintWalk::node_affinity(JsonItem value, Pod& pod) {
    static constexpr std::array<ConstraintRule<Terms>, 1> kRules{
        {{"requiredDuringSchedulingIgnoredDuringExecution", &ConstraintWalk::required}}};
    return object<ConstraintWalk, Terms>(value, pod.node_terms, kRules);
}

bool ConstraintWalk::pod_affinity(JsonItem value, Pod& pod) {
    bool required = false;
    const bool read = required_of_pods(value, required);
    if (required) {
        pod.pod_rules.emplace_back("affinity.podAffinity");
    }
    return read;
}

bool ConstraintWalk::pod_anti_affinity(JsonItem value, Pod& pod) {
    bool required = false;
    const bool read = required_of_pods(value, required);
    if (required) {
        pod.pod_rules.emplace_back("affinity.podAntiAffinity");
    }
    return read;
}

bool ConstraintWalk::required_of_pods(JsonItem value, bool& required) {
    static constexpr std::array<ConstraintRule<bool>, 1> kRules{
        {{"requiredDuringSchedulingIgnoredDuringExecution", &ConstraintWalk::not_empty}}};
    return object<ConstraintWalk, bool>(value, required, kRules);
}

bool ConstraintWalk::required(JsonItem value, Terms& out) {
    static constexpr std::array<ConstraintRule<Terms>, 1> kRules{
        {{"nodeSelectorTerms", &ConstraintWalk::selector_terms}}};
    return object<ConstraintWalk, Terms>(value, out, kRules) &&
           (!out.empty() ||
            fail_here("nodeSelectorTerms: an empty list is not accepted: one term or more is"));
}

bool ConstraintWalk::selector_terms(JsonItem value, Terms& out) {
    static constexpr std::array<ConstraintRule<NodeSelectorTerm>, 2> kRules{
        {{"matchExpressions", &ConstraintWalk::expressions},
         {"matchFields", &ConstraintWalk::fields}}};
    return list(value, [&](JsonItem item) {
        return object<ConstraintWalk, NodeSelectorTerm>(item, out.emplace_back(), kRules);
    });
}

bool ConstraintWalk::values(JsonItem value, RequirementDraft& draft) {
    return list(value, [&](JsonItem item) { return text(item, draft.values.emplace_back()); });
}

bool ConstraintWalk::requirement(JsonItem value, RequirementDraft& draft) {
    static constexpr std::array<ConstraintRule<RequirementDraft>, 3> kRules{
        {{"key", &ConstraintWalk::text_of<&RequirementDraft::key>},
         {"operator", &ConstraintWalk::text_of<&RequirementDraft::op>},
         {"values", &ConstraintWalk::values}}};
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

}  // namespace tessera
