#include "codec/json_value.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/text.h"
#include "base/wording.h"

namespace tessera {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr int kDepthMax = 64;

auto not_json(std::string_view reason) {
    return fail(ErrorKind::invalid, "this is not valid JSON: {}", reason);
}
auto not_json(simdjson::error_code error) { return not_json(simdjson::error_message(error)); }

class TreeReader {
  public:
    Expected<JsonValue> read(std::string_view text) {
        simdjson::padded_string padded(without_byte_order_mark(text));
        ondemand::parser parser;
        ondemand::document document;
        if (auto error = parser.iterate(padded).get(document)) {
            return not_json(error);
        }
        // A scalar at the top is no annotation of ours, and simdjson reads it by other calls.
        ondemand::json_type type{};
        if (auto error = document.type().get(type)) {
            return not_json(error);
        }
        if (type != ondemand::json_type::object && type != ondemand::json_type::array) {
            return fail(ErrorKind::invalid, "{} is not accepted: a JSON object is",
                        in_quotes(text));
        }
        ondemand::value root;
        if (auto error = document.get_value().get(root)) {
            return not_json(error);
        }
        TESSERA_TRY(JsonValue result, value(root, 0));
        if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
            return not_json("something follows the document");
        }
        return result;
    }

  private:
    Expected<JsonValue> value(ondemand::value from, int depth) {
        if (depth > kDepthMax) {
            return not_json(fmt::format("it is nested deeper than {}", kDepthMax));
        }
        ondemand::json_type type{};
        if (auto error = from.type().get(type)) {
            return not_json(error);
        }
        switch (type) {
            case ondemand::json_type::array:
                return array(from, depth);
            case ondemand::json_type::object:
                return object(from, depth);
            default:
                return scalar(from, type);
        }
    }

    Expected<JsonValue> array(ondemand::value from, int depth) {
        JsonValue result;
        result.kind = JsonValue::Kind::array;
        ondemand::array items;
        if (auto error = from.get_array().get(items)) {
            return not_json(error);
        }
        for (auto item : items) {
            ondemand::value content;
            if (auto error = std::move(item).get(content)) {
                return not_json(error);
            }
            TESSERA_TRY(JsonValue child, value(content, depth + 1));
            result.items.push_back(std::move(child));
        }
        return result;
    }

    Expected<JsonValue> object(ondemand::value from, int depth) {
        JsonValue result;
        result.kind = JsonValue::Kind::object;
        ondemand::object members;
        if (auto error = from.get_object().get(members)) {
            return not_json(error);
        }
        std::set<std::string> seen;
        for (auto member : members) {
            std::string_view key;
            if (auto error = member.unescaped_key().get(key)) {
                return not_json(error);
            }
            std::string name(key);
            if (!seen.insert(name).second) {
                return fail(ErrorKind::invalid, "{} is there twice", in_quotes(name));
            }
            ondemand::value content;
            if (auto error = member.value().get(content)) {
                return not_json(error);
            }
            TESSERA_TRY(JsonValue child, value(content, depth + 1));
            result.members.push_back({std::move(name), std::move(child)});
        }
        return result;
    }

    Expected<JsonValue> scalar(ondemand::value from, ondemand::json_type type) {
        JsonValue result;
        if (type == ondemand::json_type::string) {
            result.kind = JsonValue::Kind::string;
            std::string_view text;
            if (auto error = from.get_string().get(text)) {
                return not_json(error);
            }
            result.text = text;
        } else if (type == ondemand::json_type::boolean) {
            result.kind = JsonValue::Kind::boolean;
            if (auto error = from.get_bool().get(result.truth)) {
                return not_json(error);
            }
        } else if (type == ondemand::json_type::number) {
            result.kind = JsonValue::Kind::number;
            std::string_view token = from.raw_json_token();
            const std::size_t end = token.find_last_not_of(" \t\r\n");
            result.text = token.substr(0, end == std::string_view::npos ? 0 : end + 1);
            double number = 0;  // checks the grammar; the text keeps the digits
            if (auto error = from.get_double().get(number)) {
                return not_json(error);
            }
        } else {
            bool null = false;
            if (from.is_null().get(null) || !null) {
                return not_json("a word other than null, true and false");
            }
        }
        return result;
    }
};

}  // namespace

Expected<JsonValue> parse_json(std::string_view text) { return TreeReader().read(text); }

std::string describe(const JsonValue& value) {
    switch (value.kind) {
        case JsonValue::Kind::null:
            return "null";
        case JsonValue::Kind::boolean:
            return value.truth ? "true" : "false";
        case JsonValue::Kind::number:
            return value.text.size() <= 40 ? value.text : in_quotes(value.text);
        case JsonValue::Kind::string:
            return in_quotes(value.text);
        case JsonValue::Kind::array:
            return "a list";
        case JsonValue::Kind::object:
            return "an object";
    }
    return {};
}

Expected<std::int64_t> whole_number(const JsonValue& value, std::string_view where,
                                    std::int64_t min, std::int64_t max) {
    std::int64_t number = 0;
    const char* end = value.text.data() + value.text.size();
    const auto [at, error] = std::from_chars(value.text.data(), end, number);
    if (value.kind != JsonValue::Kind::number || error != std::errc() || at != end ||
        number < min || number > max) {
        return fail(ErrorKind::invalid, "{}: {} is not accepted: {}{} is", where, describe(value),
                    min == max ? "" : "a whole number ", range_text(min, max));
    }
    return number;
}

Expected<JsonObject> JsonObject::of(const JsonValue& value, std::string where) {
    if (value.kind != JsonValue::Kind::object) {
        return fail(ErrorKind::invalid, "{}{} is not accepted: an object is",
                    where.empty() ? "" : where + ": ", describe(value));
    }
    return JsonObject(value, std::move(where));
}

std::string JsonObject::place(std::string_view key) const {
    return where_.empty() ? std::string(key) : fmt::format("{}.{}", where_, key);
}

tl::unexpected<Error> JsonObject::missing(std::string_view key) const {
    return fail(ErrorKind::invalid, "{}{} is missing", where_.empty() ? "" : where_ + ": ", key);
}

const JsonValue* JsonObject::find(std::string_view key) {
    asked_.emplace_back(key);
    const auto found = std::find_if(members_->begin(), members_->end(),
                                    [&](const auto& member) { return member.key == key; });
    return found == members_->end() ? nullptr : &found->value;
}

Expected<std::string> JsonObject::text(std::string_view key, bool required) {
    const JsonValue* value = find(key);
    if (value == nullptr && !required) {
        return std::string();
    }
    if (value == nullptr) {
        return missing(key);
    }
    if (value->kind != JsonValue::Kind::string) {
        return fail(ErrorKind::invalid, "{}: {} is not accepted: text in quotes is", place(key),
                    describe(*value));
    }
    return value->text;
}

Expected<std::int64_t> JsonObject::number(std::string_view key, const Range& range, bool required) {
    const JsonValue* value = find(key);
    if (value != nullptr) {
        return whole_number(*value, place(key), range.min, range.max);
    }
    if (required) {
        return missing(key);
    }
    return range.absent;
}

Expected<bool> JsonObject::boolean(std::string_view key) {
    const JsonValue* value = find(key);
    if (value == nullptr) {
        return false;
    }
    if (value->kind != JsonValue::Kind::boolean) {
        return fail(ErrorKind::invalid, "{}: {} is not accepted: true or false is", place(key),
                    describe(*value));
    }
    return value->truth;
}

Expected<std::size_t> JsonObject::word(std::string_view key,
                                       std::initializer_list<std::string_view> words) {
    const JsonValue* value = find(key);
    if (value == nullptr) {
        return 0;
    }
    const auto found = std::find(words.begin(), words.end(), value->text);
    if (value->kind != JsonValue::Kind::string || found == words.end()) {
        return fail(ErrorKind::invalid, "{}: {} is not accepted: one of {} is", place(key),
                    describe(*value), fmt::join(words, ", "));
    }
    return static_cast<std::size_t>(found - words.begin());
}

Expected<const std::vector<JsonValue>*> JsonObject::array(std::string_view key) {
    const JsonValue* value = find(key);
    if (value == nullptr) {
        return nullptr;
    }
    if (value->kind != JsonValue::Kind::array) {
        return fail(ErrorKind::invalid, "{}: {} is not accepted: a list is", place(key),
                    describe(*value));
    }
    return &value->items;
}

Expected<void> JsonObject::done() const {
    for (const auto& [key, value] : *members_) {
        if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) {
            return fail(ErrorKind::invalid, "{}key {} is not accepted: {} are",
                        where_.empty() ? "" : where_ + ": ", in_quotes(key),
                        fmt::join(asked_, ", "));
        }
    }
    return {};
}

}  // namespace tessera
