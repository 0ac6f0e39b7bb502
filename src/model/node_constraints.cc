#include "model/node_constraints.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace tessera {
namespace {

Expected<LabelOperator> parse_operator(const std::string& word) {
    const auto found = std::find(kLabelOperators.begin(), kLabelOperators.end(), word);
    if (found == kLabelOperators.end()) {
        return fail(ErrorKind::invalid, "operator: {} is not accepted: {} are", in_quotes(word),
                    fmt::join(kLabelOperators, ", "));
    }
    return static_cast<LabelOperator>(found - kLabelOperators.begin());
}

Expected<void> check_values(const NodeRequirement& one) {
    const std::size_t count = one.values.size();
    switch (one.op) {
        case LabelOperator::in:
        case LabelOperator::not_in:
            if (count == 0) {
                return fail(ErrorKind::invalid,
                            "values: an empty list is not accepted with {}: one value or more is",
                            to_string(one.op));
            }
            return {};
        case LabelOperator::exists:
        case LabelOperator::does_not_exist:
            if (count != 0) {
                return fail(ErrorKind::invalid, "values: {} is not accepted with {}: none is",
                            in_quotes(one.values[0]), to_string(one.op));
            }
            return {};
        case LabelOperator::gt:
        case LabelOperator::lt:
            break;
    }
    if (count != 1 || !label_number(one.values[0])) {
        return fail(ErrorKind::invalid, "values: {} is not accepted with {}: one whole number is",
                    count == 1 ? in_quotes(one.values[0]) : fmt::format("a list of {}", count),
                    to_string(one.op));
    }
    return {};
}

LabelRequirement requirement_of(const NodeRequirement& one, LabelKey key, Vocabulary& names) {
    LabelRequirement result{.key = key, .op = one.op, .values = {}};
    if (one.op == LabelOperator::gt || one.op == LabelOperator::lt) {
        result.bound = label_number(one.values.at(0)).value_or(0);
        return result;
    }
    for (const std::string& value : one.values) {
        result.values.push_back(names.label_values.intern(value));
    }
    return result;
}

NodeRequirement requirement_in_words(const LabelRequirement& one, const Vocabulary& names) {
    NodeRequirement result{.key = std::string(kNameField), .op = one.op, .values = {}};
    if (one.key.valid()) {
        result.key = names.label_keys.name(one.key);
    }
    for (const LabelValue value : one.values) {
        result.values.emplace_back(names.label_values.name(value));
    }
    if (one.op == LabelOperator::gt || one.op == LabelOperator::lt) {
        result.values.push_back(fmt::format("{}", one.bound));
    }
    std::sort(result.values.begin(), result.values.end());
    return result;
}

TaintToleration toleration_of(const Toleration& one, Vocabulary& names) {
    TaintToleration result;
    if (!one.key.empty()) {
        result.key = names.label_keys.intern(one.key);
    }
    if (!one.exists) {
        result.value = names.label_values.intern(one.value);
    }
    if (one.effect) {
        result.effects = static_cast<std::uint8_t>(1U << static_cast<unsigned>(*one.effect));
    }
    return result;
}

Toleration toleration_in_words(const TaintToleration& one, const Vocabulary& names) {
    Toleration result;
    if (one.key.valid()) {
        result.key = names.label_keys.name(one.key);
    }
    result.exists = !one.value.valid();
    if (one.value.valid()) {
        result.value = names.label_values.name(one.value);
    }
    for (unsigned effect = 0; effect < kTaintEffects.size(); ++effect) {
        if (one.effects == 1U << effect) {
            result.effect = static_cast<TaintEffect>(effect);
        }
    }
    return result;
}

}  // namespace

Expected<TaintEffect> parse_effect(std::string_view word) {
    if (word.empty()) {
        return fail(ErrorKind::invalid, "effect is missing: {} are accepted",
                    fmt::join(kTaintEffects, ", "));
    }
    const auto found = std::find(kTaintEffects.begin(), kTaintEffects.end(), word);
    if (found == kTaintEffects.end()) {
        return fail(ErrorKind::invalid, "effect: {} is not accepted: {} are", in_quotes(word),
                    fmt::join(kTaintEffects, ", "));
    }
    return static_cast<TaintEffect>(found - kTaintEffects.begin());
}

Expected<NodeRequirement> label_requirement(RequirementDraft draft) {
    if (draft.key.empty()) {
        return fail(ErrorKind::invalid, "key is missing: the name of a label is accepted");
    }
    NodeRequirement result{.key = std::move(draft.key)};
    TESSERA_TRY(result.op, parse_operator(draft.op));
    result.values = std::move(draft.values);
    TESSERA_CHECK(check_values(result));
    return result;
}

Expected<NodeRequirement> field_requirement(RequirementDraft draft) {
    if (draft.key != kNameField) {
        return fail(ErrorKind::invalid, "key: {} is not accepted: {} is", in_quotes(draft.key),
                    kNameField);
    }
    if (draft.op != "In" && draft.op != "NotIn") {
        return fail(ErrorKind::invalid, "operator: {} is not accepted with {}: In and NotIn are",
                    in_quotes(draft.op), kNameField);
    }
    if (draft.values.size() != 1) {
        return fail(ErrorKind::invalid,
                    "values: a list of {} is not accepted with {}: the name of one node is",
                    draft.values.size(), kNameField);
    }
    return NodeRequirement{.key = std::move(draft.key),
                           .op = draft.op == "In" ? LabelOperator::in : LabelOperator::not_in,
                           .values = std::move(draft.values)};
}

Expected<Toleration> toleration(TolerationDraft draft) {
    Toleration result;
    if (draft.op != "Exists" && draft.op != "Equal" && !draft.op.empty()) {
        return fail(ErrorKind::invalid, "operator: {} is not accepted: Exists or Equal is",
                    in_quotes(draft.op));
    }
    result.exists = draft.op == "Exists";
    if (draft.key.empty() && !result.exists) {
        return fail(ErrorKind::invalid,
                    "key is missing: without one, Exists is the only operator that is accepted");
    }
    if (result.exists && !draft.value.empty()) {
        return fail(ErrorKind::invalid, "value: {} is not accepted with Exists: none is",
                    in_quotes(draft.value));
    }
    if (!draft.effect.empty()) {
        TESSERA_TRY(result.effect, parse_effect(draft.effect));
    }
    result.key = std::move(draft.key);
    result.value = std::move(draft.value);
    return result;
}

Expected<Taint> taint(TaintDraft draft) {
    if (draft.key.empty()) {
        return fail(ErrorKind::invalid, "key is missing: the name of a taint is accepted");
    }
    Taint result;
    TESSERA_TRY(result.effect, parse_effect(draft.effect));
    result.key = std::move(draft.key);
    result.value = std::move(draft.value);
    return result;
}

std::optional<std::int64_t> label_number(std::string_view text) {
    if (text.size() > 1 && text[0] == '+' && text[1] != '-') {
        text.remove_prefix(1);
    }
    std::int64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

NodeFilter node_filter(const NodeConstraints& constraints, Vocabulary& names) {
    NodeFilter filter;
    if (!constraints.node.empty()) {
        filter.node = names.label_values.intern(constraints.node);
    }
    for (const auto& [key, value] : constraints.selector) {
        filter.selector.push_back({names.label_keys.intern(key), names.label_values.intern(value)});
    }
    for (const NodeSelectorTerm& term : constraints.terms) {
        NodeTerm& result = filter.terms.emplace_back();
        for (const NodeRequirement& one : term.labels) {
            result.push_back(requirement_of(one, names.label_keys.intern(one.key), names));
        }
        for (const NodeRequirement& one : term.fields) {
            result.push_back(requirement_of(one, LabelKey::none(), names));
        }
    }
    for (const Toleration& one : constraints.tolerations) {
        filter.tolerations.push_back(toleration_of(one, names));
    }
    return normalised(std::move(filter));
}

NodeConstraints in_words(const NodeFilter& filter, const Vocabulary& names) {
    NodeConstraints result;
    if (filter.node.valid()) {
        result.node = names.label_values.name(filter.node);
    }
    for (const NodeLabel& label : filter.selector) {
        result.selector.emplace(names.label_keys.name(label.key),
                                names.label_values.name(label.value));
    }
    for (const NodeTerm& term : filter.terms) {
        NodeSelectorTerm& words = result.terms.emplace_back();
        for (const LabelRequirement& one : term) {
            (one.key.valid() ? words.labels : words.fields)
                .push_back(requirement_in_words(one, names));
        }
        std::sort(words.labels.begin(), words.labels.end());
        std::sort(words.fields.begin(), words.fields.end());
    }
    for (const TaintToleration& one : filter.tolerations) {
        result.tolerations.push_back(toleration_in_words(one, names));
    }
    std::sort(result.terms.begin(), result.terms.end());
    std::sort(result.tolerations.begin(), result.tolerations.end());
    return result;
}

NodeTraits node_traits(const Node& node, Vocabulary& names) {
    NodeTraits traits;
    traits.name = names.label_values.intern(node.name);
    for (const auto& [key, value] : node.labels) {
        const LabelKey label = names.label_keys.intern(key);
        traits.labels.push_back({label, names.label_values.intern(value)});
        if (const auto number = label_number(value)) {
            traits.numbers.push_back({label, *number});
        }
    }
    std::sort(traits.labels.begin(), traits.labels.end());
    std::sort(traits.numbers.begin(), traits.numbers.end());
    const auto add = [&](std::string_view key, std::string_view value, TaintEffect effect) {
        traits.taints.push_back({names.label_keys.intern(key), names.label_values.intern(value),
                                 effect, key == kCordonTaint});
    };
    for (const Taint& taint : node.taints) {
        add(taint.key, taint.value, taint.effect);
    }
    if (node.unschedulable) {
        add(kCordonTaint, "", TaintEffect::no_schedule);
    }
    std::sort(traits.taints.begin(), traits.taints.end());
    traits.taints.erase(std::unique(traits.taints.begin(), traits.taints.end()),
                        traits.taints.end());
    return traits;
}

StringMap labels_in_words(const NodeTraits& traits, const Vocabulary& names) {
    StringMap labels;
    for (const NodeLabel& label : traits.labels) {
        labels.emplace(names.label_keys.name(label.key), names.label_values.name(label.value));
    }
    return labels;
}

std::vector<Taint> taints_in_words(const NodeTraits& traits, const Vocabulary& names) {
    std::vector<Taint> taints;
    for (const NodeTaint& taint : traits.taints) {
        taints.push_back({std::string(names.label_keys.name(taint.key)),
                          std::string(names.label_values.name(taint.value)), taint.effect});
    }
    std::sort(taints.begin(), taints.end());
    return taints;
}

}  // namespace tessera
