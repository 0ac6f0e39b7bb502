#include "codec/constraint_json.h"

#include <utility>

namespace tessera {
namespace {

using Items = std::vector<JsonValue>;

Expected<std::string> text_of(const JsonValue& value, std::string_view where) {
    if (value.kind != JsonValue::Kind::string) {
        return fail(ErrorKind::invalid, "{}: {} is not accepted: text in quotes is", where,
                    describe(value));
    }
    return value.text;
}

Expected<StringMap> read_strings(JsonObject& object, std::string_view key) {
    StringMap strings;
    const JsonValue* value = object.find(key);
    if (value == nullptr) {
        return strings;
    }
    const std::string where = fmt::format("{}.{}", object.where(), key);
    TESSERA_CHECK(JsonObject::of(*value, where));
    for (const JsonMember& member : value->members) {
        TESSERA_TRY(strings[member.key], text_of(member.value, where + '.' + member.key));
    }
    return strings;
}

// Calls read(object) for each entry of a list of objects, if it is there.
template <class Read>
Expected<void> each_object(JsonObject& parent, std::string_view key, Read read) {
    TESSERA_TRY(const Items* items, parent.array(key));
    for (std::size_t i = 0; items != nullptr && i < items->size(); ++i) {
        TESSERA_TRY(JsonObject object,
                    JsonObject::of((*items)[i], fmt::format("{}.{}[{}]", parent.where(), key, i)));
        TESSERA_CHECK(read(object));
        TESSERA_CHECK(object.done());
    }
    return {};
}

// Errors of what was read begin with the field, but do not say where that is.
template <class T>
Expected<void> keep(Expected<T> read, const JsonObject& object, std::vector<T>& out) {
    if (!read) {
        return tl::unexpected<Error>(std::move(read.error()).within(object.where()));
    }
    out.push_back(std::move(*read));
    return {};
}

using MakeRequirement = Expected<NodeRequirement> (*)(RequirementDraft);

Expected<void> read_requirement(JsonObject& object, MakeRequirement make,
                                std::vector<NodeRequirement>& out) {
    RequirementDraft draft;
    TESSERA_TRY(draft.key, object.text("key", false));
    TESSERA_TRY(draft.op, object.text("operator", false));
    TESSERA_TRY(const Items* values, object.array("values"));
    for (std::size_t i = 0; values != nullptr && i < values->size(); ++i) {
        TESSERA_TRY(draft.values.emplace_back(),
                    text_of((*values)[i], fmt::format("{}.values[{}]", object.where(), i)));
    }
    return keep(make(std::move(draft)), object, out);
}

Expected<void> read_term(JsonObject& object, NodeSelectorTerm& term) {
    TESSERA_CHECK(each_object(object, "matchExpressions", [&](JsonObject& inner) {
        return read_requirement(inner, &label_requirement, term.labels);
    }));
    return each_object(object, "matchFields", [&](JsonObject& inner) {
        return read_requirement(inner, &field_requirement, term.fields);
    });
}

Expected<void> read_toleration(JsonObject& object, std::vector<Toleration>& out) {
    TolerationDraft draft;
    TESSERA_TRY(draft.key, object.text("key", false));
    TESSERA_TRY(draft.op, object.text("operator", false));
    TESSERA_TRY(draft.value, object.text("value", false));
    TESSERA_TRY(draft.effect, object.text("effect", false));
    return keep(toleration(std::move(draft)), object, out);
}

Expected<void> read_taint(JsonObject& object, std::vector<Taint>& out) {
    TaintDraft draft;
    TESSERA_TRY(draft.key, object.text("key", false));
    TESSERA_TRY(draft.value, object.text("value", false));
    TESSERA_TRY(draft.effect, object.text("effect", false));
    return keep(taint(std::move(draft)), object, out);
}

void text_unless_empty(std::string_view key, const std::string& value, JsonWriter& json) {
    if (!value.empty()) {
        json.member(key, value);
    }
}

void write_strings(std::string_view key, const StringMap& strings, JsonWriter& json) {
    if (strings.empty()) {
        return;
    }
    json.key(key);
    json.begin_object();
    for (const auto& [name, value] : strings) {
        json.member(name, value);
    }
    json.end_object();
}

// A list of objects, whose members `write` gives; left out when empty.
template <class T, class Write>
void write_list(std::string_view key, const std::vector<T>& items, JsonWriter& json, Write write) {
    if (items.empty()) {
        return;
    }
    json.key(key);
    json.begin_array();
    for (const T& item : items) {
        json.begin_object();
        write(item);
        json.end_object();
    }
    json.end_array();
}

void write_requirement(const NodeRequirement& one, JsonWriter& json) {
    json.member("key", one.key);
    json.member("operator", to_string(one.op));
    if (!one.values.empty()) {
        json.key("values");
        json.begin_array();
        for (const std::string& value : one.values) {
            json.value(value);
        }
        json.end_array();
    }
}

void write_toleration(const Toleration& one, JsonWriter& json) {
    text_unless_empty("key", one.key, json);
    json.member("operator", one.exists ? "Exists" : "Equal");
    text_unless_empty("value", one.value, json);
    if (one.effect) {
        json.member("effect", to_string(*one.effect));
    }
}

}  // namespace

Expected<void> read_traits(JsonObject& object, Node& node) {
    TESSERA_TRY(node.labels, read_strings(object, "labels"));
    return each_object(object, "taints",
                       [&](JsonObject& inner) { return read_taint(inner, node.taints); });
}

Expected<NodeConstraints> read_constraints(JsonObject& object) {
    NodeConstraints constraints;
    const JsonValue* value = object.find("constraints");
    if (value == nullptr) {
        return constraints;
    }
    TESSERA_TRY(JsonObject inner, JsonObject::of(*value, object.where() + ".constraints"));
    TESSERA_TRY(constraints.node, inner.text("nodeName", false));
    TESSERA_TRY(constraints.selector, read_strings(inner, "nodeSelector"));
    TESSERA_CHECK(each_object(inner, "nodeSelectorTerms", [&](JsonObject& term) {
        return read_term(term, constraints.terms.emplace_back());
    }));
    TESSERA_CHECK(each_object(inner, "tolerations", [&](JsonObject& one) {
        return read_toleration(one, constraints.tolerations);
    }));
    TESSERA_CHECK(inner.done());
    return constraints;
}

void write_traits(const NodeTraits& traits, const Vocabulary& names, JsonWriter& json) {
    write_strings("labels", labels_in_words(traits, names), json);
    write_list("taints", taints_in_words(traits, names), json, [&](const Taint& taint) {
        json.member("key", taint.key);
        text_unless_empty("value", taint.value, json);
        json.member("effect", to_string(taint.effect));
    });
}

void write_constraints(const NodeFilter& filter, const Vocabulary& names, JsonWriter& json) {
    const NodeConstraints words = in_words(filter, names);
    if (words == NodeConstraints()) {
        return;
    }
    json.key("constraints");
    json.begin_object();
    text_unless_empty("nodeName", words.node, json);
    write_strings("nodeSelector", words.selector, json);
    write_list("nodeSelectorTerms", words.terms, json, [&](const NodeSelectorTerm& term) {
        write_list("matchExpressions", term.labels, json,
                   [&](const NodeRequirement& one) { write_requirement(one, json); });
        write_list("matchFields", term.fields, json,
                   [&](const NodeRequirement& one) { write_requirement(one, json); });
    });
    write_list("tolerations", words.tolerations, json,
               [&](const Toleration& one) { write_toleration(one, json); });
    json.end_object();
}

}  // namespace tessera
