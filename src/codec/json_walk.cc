#include "codec/json_walk.h"

#include <simdjson.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/assert.h"
#include "base/text.h"

namespace tessera {
namespace {

namespace ondemand = simdjson::ondemand;
using ondemand::json_type;

bool is_index(std::string_view step) {
    return !step.empty() && std::all_of(step.begin(), step.end(),
                                        [](unsigned char c) { return std::isdigit(c) != 0; });
}

// A plain word is written as it is, anything else (a label's name) in quotes and brackets.
bool is_word(std::string_view step) {
    return !step.empty() && step.size() <= 64 &&
           std::all_of(step.begin(), step.end(),
                       [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

std::string_view token(ondemand::value value) {
    const std::string_view raw = value.raw_json_token();
    const std::size_t end = raw.find_last_not_of(" \t\r\n");
    return raw.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

}  // namespace

// An item holds one of simdjson's values, which are plain positions in the document.
struct JsonWalk::Inner {
    template <class T>
    static void put(JsonItem& item, const T& content) {
        static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(item.storage_) &&
                      alignof(T) <= alignof(void*));
        std::memcpy(item.storage_.data(), &content, sizeof(T));
        item.opened_ = std::is_same_v<T, ondemand::object>;
    }
    template <class T>
    static T get(const JsonItem& item) {
        TESSERA_ASSERT(item.opened_ == (std::is_same_v<T, ondemand::object>),
                       "an opened object is walked, nothing else");
        T content;
        std::memcpy(static_cast<void*>(&content), item.storage_.data(), sizeof(T));
        return content;
    }
    static ondemand::value value(const JsonItem& item) { return get<ondemand::value>(item); }

    static bool broken(JsonWalk& walk, simdjson::error_code error) {
        return walk.fail_here("this is not valid JSON: {}", simdjson::error_message(error));
    }

    static bool open(JsonWalk& walk, JsonItem& item) {
        if (item.opened_) {
            return true;
        }
        ondemand::object object;
        if (auto error = value(item).get_object().get(object)) {
            return error == simdjson::INCORRECT_TYPE ? walk.wrong_type(item, "an object")
                                                     : broken(walk, error);
        }
        put(item, object);
        return true;
    }

    // One member; null is checked and left out.
    static bool member(JsonWalk& walk, simdjson::simdjson_result<ondemand::field>& field,
                       const ReadMember& read) {
        std::string_view key;
        ondemand::value content;
        json_type type{};
        if (auto error = field.unescaped_key().get(key)) {
            return broken(walk, error);
        }
        walk.path_.push_back({key, -1});
        if (auto error = field.value().get(content)) {
            return broken(walk, error);
        }
        if (auto error = content.type().get(type)) {
            return broken(walk, error);
        }
        if (type == json_type::null) {
            bool null = false;
            if (content.is_null().get(null) || !null) {
                return walk.fail_here("this is not valid JSON: a word other than null");
            }
        } else {
            JsonItem item;
            put(item, content);
            if (!read(key, item)) {
                return false;
            }
        }
        walk.path_.pop_back();
        return true;
    }

    template <class Map, class ReadEntry>
    static bool map(JsonWalk& walk, JsonItem item, Map& out, const ReadEntry& read) {
        return walk.members(item, [&](std::string_view key, JsonItem content) {
            const auto [at, fresh] = out.emplace(std::string(key), typename Map::mapped_type());
            return fresh ? read(content, at->second) : walk.fail_here("the key is there twice");
        });
    }
};

std::string JsonError::to_string() const {
    std::string where;
    for (const std::string& step : path) {
        if (is_index(step)) {
            where += fmt::format("[{}]", step);
        } else if (is_word(step)) {
            where += (where.empty() ? "" : ".") + step;
        } else {
            where += fmt::format("[{}]", in_quotes(step));
        }
    }
    return where.empty() ? message : fmt::format("{}: {}", where, message);
}

bool JsonWalk::fail_with(std::string message) {
    error_.path.clear();
    for (const Step& step : path_) {
        error_.path.push_back(step.index < 0 ? std::string(step.key) : std::to_string(step.index));
    }
    error_.message = std::move(message);
    return false;
}

bool JsonWalk::wrong_type(JsonItem item, std::string_view accepted) {
    ondemand::value value = Inner::value(item);
    json_type type{};
    if (auto error = value.type().get(type)) {
        return Inner::broken(*this, error);
    }
    if (type == json_type::object || type == json_type::array) {
        return fail_here("{} is not accepted: {} is",
                         type == json_type::object ? "an object" : "a list", accepted);
    }
    return fail_here("{} is not accepted: {} is", in_quotes(token(value)), accepted);
}

bool JsonWalk::document(std::string_view text, Read read) {
    const simdjson::padded_string padded(without_byte_order_mark(text));
    ondemand::parser parser;
    ondemand::document root;
    if (auto error = parser.iterate(padded).get(root)) {
        return Inner::broken(*this, error);
    }
    ondemand::object object;
    if (auto error = root.get_object().get(object)) {
        return error == simdjson::INCORRECT_TYPE ? fail_here("a JSON object is accepted")
                                                 : Inner::broken(*this, error);
    }
    JsonItem item;
    Inner::put(item, object);
    if (!read(item)) {
        return false;
    }
    return root.current_location().error() == simdjson::OUT_OF_BOUNDS ||
           fail_here("something follows the JSON document");
}

bool JsonWalk::members(JsonItem item, ReadMember read) {
    if (!Inner::open(*this, item)) {
        return false;
    }
    auto object = Inner::get<ondemand::object>(item);
    for (auto field : object) {
        if (!Inner::member(*this, field, read)) {
            return false;
        }
    }
    return true;
}

bool JsonWalk::list(JsonItem item, Read read) {
    ondemand::array items;
    if (auto error = Inner::value(item).get_array().get(items)) {
        return error == simdjson::INCORRECT_TYPE ? wrong_type(item, "a list")
                                                 : Inner::broken(*this, error);
    }
    std::int64_t index = 0;
    for (auto element : items) {
        path_.push_back({{}, index++});
        ondemand::value content;
        if (auto error = std::move(element).get(content)) {
            return Inner::broken(*this, error);
        }
        JsonItem inner;
        Inner::put(inner, content);
        if (!read(inner)) {
            return false;
        }
        path_.pop_back();
    }
    return true;
}

bool JsonWalk::peek_text(JsonItem& object, std::string_view key, std::string& out) {
    if (!Inner::open(*this, object)) {
        return false;
    }
    auto opened = Inner::get<ondemand::object>(object);
    ondemand::value value;
    const auto error = opened.find_field_unordered(key).get(value);
    if (error != simdjson::SUCCESS && error != simdjson::NO_SUCH_FIELD) {
        return Inner::broken(*this, error);
    }
    if (error == simdjson::SUCCESS) {
        JsonItem item;
        Inner::put(item, value);
        path_.push_back({key, -1});
        if (!text(item, out)) {
            return false;
        }
        path_.pop_back();
    }
    bool more = false;
    if (auto reset = opened.reset().get(more)) {
        return Inner::broken(*this, reset);
    }
    Inner::put(object, opened);
    return true;
}

bool JsonWalk::text(JsonItem item, std::string& out) {
    std::string_view found;
    if (auto error = Inner::value(item).get_string().get(found)) {
        return error == simdjson::INCORRECT_TYPE
                   ? wrong_type(item, "text (in YAML a number or truth value needs quotes)")
                   : Inner::broken(*this, error);
    }
    out = found;
    return true;
}

bool JsonWalk::number(JsonItem item, std::int32_t& out) {
    std::int64_t found = 0;
    if (Inner::value(item).get_int64().get(found) ||
        found < std::numeric_limits<std::int32_t>::min() ||
        found > std::numeric_limits<std::int32_t>::max()) {
        return wrong_type(item, "a whole number of 32 bits");
    }
    out = static_cast<std::int32_t>(found);
    return true;
}

bool JsonWalk::count(JsonItem item, std::int32_t& out) {
    return number(item, out) && (out >= 0 || fail_here("{} is not accepted: 0 or more is", out));
}

bool JsonWalk::truth(JsonItem item, bool& out) {
    return !Inner::value(item).get_bool().get(out) || wrong_type(item, "true or false");
}

bool JsonWalk::quantity(JsonItem item, Quantity& out) {
    ondemand::value value = Inner::value(item);
    json_type type{};
    if (auto error = value.type().get(type)) {
        return Inner::broken(*this, error);
    }
    std::string written;
    if (type == json_type::number) {
        written = token(value);  // as written: nothing is rounded
    } else if (type != json_type::string) {
        return wrong_type(item, "a quantity");
    } else if (!text(item, written)) {
        return false;
    }
    const auto parsed = Quantity::parse(written);
    if (!parsed) {
        return fail_here("{}", parsed.error().message);
    }
    out = *parsed;
    return true;
}

bool JsonWalk::strings(JsonItem item, StringMap& out) {
    return Inner::map(*this, item, out, [this](JsonItem content, std::string& entry) {
        return text(content, entry);
    });
}

bool JsonWalk::amounts(JsonItem item, ResourceList& out) {
    return Inner::map(*this, item, out, [this](JsonItem content, Quantity& entry) {
        return quantity(content, entry);
    });
}

}  // namespace tessera
