// Steps of a walk through a request of kube-scheduler's, each with its sentence when it fails; for
// extender_json.cc alone.
#pragma once

#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace tessera::extender_walk {

namespace ondemand = simdjson::ondemand;
using ondemand::json_type;
using simdjson::error_code;

inline char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

inline bool same_key(std::string_view written, std::string_view key) {
    return std::equal(written.begin(), written.end(), key.begin(), key.end(),
                      [](char a, char b) { return lower(a) == lower(b); });
}

inline std::string_view trimmed(std::string_view raw) {
    const std::size_t end = raw.find_last_not_of(" \t\r\n");
    return raw.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

inline tl::unexpected<Error> malformed(error_code error) {
    return fail(ErrorKind::invalid, "the request is not valid JSON: {}",
                simdjson::error_message(error));
}

// Where the walk stands, for messages only.
struct Place {
    std::string_view key;
    std::int64_t index = -1;
    std::string_view inner{};

    std::string to_string() const {
        std::string text(key);
        if (index >= 0) {
            text += fmt::format("[{}]", index);
        }
        return inner.empty() ? text : fmt::format("{}.{}", text, inner);
    }
};

inline tl::unexpected<Error> wrong(const Place& place, ondemand::value value,
                                   std::string_view accepted) {
    json_type type{};
    if (const auto error = value.type().get(type)) {
        return malformed(error);
    }
    const std::string found = type == json_type::object ? "an object"
                              : type == json_type::array
                                  ? "a list"
                                  : in_quotes(trimmed(value.raw_json_token()));
    return fail(ErrorKind::invalid, "{}: {} is not accepted: {} is", place.to_string(), found,
                accepted);
}

inline tl::unexpected<Error> refused(error_code error, const Place& place, ondemand::value value,
                                     std::string_view accepted) {
    return error == simdjson::INCORRECT_TYPE ? wrong(place, value, accepted) : malformed(error);
}

inline Expected<bool> is_null(ondemand::value value) {
    json_type type{};
    if (const auto error = value.type().get(type)) {
        return malformed(error);
    }
    if (type != json_type::null) {
        return false;
    }
    bool null = false;
    if (value.is_null().get(null) != simdjson::SUCCESS || !null) {
        return fail(ErrorKind::invalid, "the request is not valid JSON: a word other than null");
    }
    return true;
}

// Calls read(key, value) -> Expected<void> for each member that is not null; cleared(key) for those
// that are.
template <class Read, class Cleared>
Expected<void> each_member(ondemand::object object, const Read& read, const Cleared& cleared) {
    for (auto found : object) {
        ondemand::field field;
        if (const auto error = std::move(found).get(field)) {
            return malformed(error);
        }
        std::string_view key;
        if (const auto error = field.unescaped_key().get(key)) {
            return malformed(error);
        }
        ondemand::value value = field.value();
        TESSERA_TRY(const bool null, is_null(value));
        if (null) {
            cleared(key);
            continue;
        }
        TESSERA_CHECK(read(key, value));
    }
    return {};
}

template <class Read>
Expected<void> each_member(ondemand::object object, const Read& read) {
    return each_member(object, read, [](std::string_view) {});
}

// Calls read(index, value) -> Expected<void> for each element.
template <class Read>
Expected<void> each_element(ondemand::array array, const Read& read) {
    std::int64_t index = 0;
    for (auto found : array) {
        ondemand::value value;
        if (const auto error = std::move(found).get(value)) {
            return malformed(error);
        }
        TESSERA_CHECK(read(index++, value));
    }
    return {};
}

inline Expected<ondemand::object> as_object(ondemand::value value, const Place& place) {
    ondemand::object object;
    if (const auto error = value.get_object().get(object)) {
        return refused(error, place, value, "an object");
    }
    return object;
}

inline Expected<ondemand::array> as_list(ondemand::value value, const Place& place) {
    ondemand::array array;
    if (const auto error = value.get_array().get(array)) {
        return refused(error, place, value, "a list");
    }
    return array;
}

inline Expected<std::string_view> as_text(ondemand::value value, const Place& place) {
    std::string_view text;
    if (const auto error = value.get_string().get(text)) {
        return refused(error, place, value, "a text in quotes");
    }
    return text;
}

// The object's text. simdjson counts brackets without looking at their kind: of a broken document
// it may take "{...]" for one.
inline Expected<std::string_view> raw_object(ondemand::object& object) {
    std::string_view raw;
    if (const auto error = object.raw_json().get(raw)) {
        return malformed(error);
    }
    raw = trimmed(raw);
    if (!raw.ends_with('}')) {
        return malformed(simdjson::TAPE_ERROR);
    }
    return raw;
}

}  // namespace tessera::extender_walk
