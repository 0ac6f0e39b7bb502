#include "model/pod_rules.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace tessera {
namespace {

constexpr std::int32_t kMaxWeight = 100;

void add_keys(LabelSelector& selector, const std::vector<std::string>& keys, LabelOperator op,
              const StringMap& labels) {
    for (const std::string& key : keys) {
        const std::string* value = find(labels, key);
        const auto same = [&](const NodeRequirement& one) {
            return one.key == key && one.op == op;
        };
        if (value != nullptr && std::none_of(selector.begin(), selector.end(), same)) {
            selector.push_back({.key = key, .op = op, .values = {*value}});
        }
    }
}

Expected<bool> honours(std::string_view field, const std::string& policy, bool absent) {
    if (policy.empty() || policy == "Honor" || policy == "Ignore") {
        return policy.empty() ? absent : policy == "Honor";
    }
    return fail(ErrorKind::invalid, "{}: {} is not accepted: Honor or Ignore is", field,
                in_quotes(policy));
}

}  // namespace

const PodRules& rules_of(const Pod& pod) {
    static const PodRules kNone;
    return pod.rules == nullptr ? kNone : *pod.rules;
}

Expected<NodeRequirement> selector_requirement(RequirementDraft draft) {
    if (draft.op == "Gt" || draft.op == "Lt") {
        return fail(ErrorKind::invalid,
                    "operator: {} is not accepted in a label selector: In, NotIn, Exists and "
                    "DoesNotExist are",
                    in_quotes(draft.op));
    }
    return label_requirement(std::move(draft));
}

Expected<void> check_term(const PodTerm& term) {
    if (term.topology_key.empty()) {
        return fail(ErrorKind::invalid,
                    "topologyKey is missing: the name of a node's label is accepted");
    }
    return {};
}

Expected<void> check_weight(std::int32_t weight) {
    if (weight < 1 || weight > kMaxWeight) {
        return fail(ErrorKind::invalid, "weight: {} is not accepted: 1 to {} is", weight,
                    kMaxWeight);
    }
    return {};
}

Expected<SpreadRule> spread_rule(SpreadDraft draft) {
    SpreadRule& rule = draft.rule;
    if (rule.topology_key.empty()) {
        return fail(ErrorKind::invalid,
                    "topologyKey is missing: the name of a node's label is accepted");
    }
    if (draft.when != "DoNotSchedule" && draft.when != "ScheduleAnyway") {
        return fail(ErrorKind::invalid,
                    "whenUnsatisfiable: {} is not accepted: DoNotSchedule or ScheduleAnyway is",
                    in_quotes(draft.when));
    }
    rule.required = draft.when == "DoNotSchedule";
    if (rule.max_skew < 1) {
        return fail(ErrorKind::invalid, "maxSkew: {} is not accepted: 1 or more is", rule.max_skew);
    }
    if (rule.min_domains < 1 || (draft.has_min_domains && !rule.required)) {
        return fail(ErrorKind::invalid,
                    "minDomains: {} is not accepted: 1 or more is, with DoNotSchedule only",
                    rule.min_domains);
    }
    TESSERA_TRY(rule.only_admitting, honours("nodeAffinityPolicy", draft.affinity_policy, true));
    TESSERA_TRY(rule.only_tolerated, honours("nodeTaintsPolicy", draft.taints_policy, false));
    return std::move(rule);
}

LabelSelector with_keys(const PodTerm& term, const StringMap& labels) {
    LabelSelector selector = term.pods.value_or(LabelSelector());
    add_keys(selector, term.match_keys, LabelOperator::in, labels);
    add_keys(selector, term.mismatch_keys, LabelOperator::not_in, labels);
    return selector;
}

LabelSelector with_keys(const SpreadRule& rule, const StringMap& labels) {
    LabelSelector selector = rule.pods.value_or(LabelSelector());
    add_keys(selector, rule.match_keys, LabelOperator::in, labels);
    return selector;
}

std::vector<std::string_view> rules_about_pods(const Pod& pod) {
    const PodRules& rules = rules_of(pod);
    std::vector<std::string_view> fields;
    if (std::any_of(rules.spread.begin(), rules.spread.end(),
                    [](const SpreadRule& rule) { return rule.required; })) {
        fields.push_back("topologySpreadConstraints");
    }
    if (!rules.near.empty()) {
        fields.push_back("affinity.podAffinity");
    }
    if (!rules.apart.empty()) {
        fields.push_back("affinity.podAntiAffinity");
    }
    return fields;
}

}  // namespace tessera
