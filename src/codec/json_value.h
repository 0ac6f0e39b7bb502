// A small JSON document as a tree: for our own annotations, which must be read strictly.
//
// Numbers stay as written, so that nothing is rounded on the way. Reading refuses invalid JSON,
// invalid UTF-8, keys given twice and nesting beyond any real document. For large documents of
// which little is wanted see kube_json.cc.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace tessera {

struct JsonMember;

struct JsonValue {
    enum class Kind : std::uint8_t { null, boolean, number, string, array, object };

    Kind kind = Kind::null;
    bool truth = false;
    std::string text;                 // string, or number as written
    std::vector<JsonValue> items;     // of an array
    std::vector<JsonMember> members;  // of an object, in order
};

struct JsonMember {
    std::string key;
    JsonValue value;
};

Expected<JsonValue> parse_json(std::string_view text);

// Where invalid JSON stops being valid, from 1; nothing in JSON that is valid. Slow: for messages.
struct TextPlace {
    std::int64_t line = 1;
    std::int64_t column = 1;
};
std::optional<TextPlace> json_fault(std::string_view text);

// Reads the members of one object; `where`, unless it is empty, begins every message. All the keys
// that are asked for are accepted, any other is an error: call done() last.
class JsonObject {
  public:
    static Expected<JsonObject> of(const JsonValue& value, std::string where);

    // nullptr when absent.
    const JsonValue* find(std::string_view key);
    Expected<std::string> text(std::string_view key, bool required);
    struct Range {
        std::int64_t min = 0;
        std::int64_t max = 0;
        std::int64_t absent = 0;  // the value when there is no such key
    };
    Expected<std::int64_t> number(std::string_view key, const Range& range, bool required = false);
    Expected<bool> boolean(std::string_view key);
    // One of the words, by position; 0 when absent.
    Expected<std::size_t> word(std::string_view key, std::initializer_list<std::string_view> words);
    // nullptr when absent; an error when it is no array.
    Expected<const std::vector<JsonValue>*> array(std::string_view key);

    Expected<void> done() const;
    const std::string& where() const { return where_; }

  private:
    std::string place(std::string_view key) const;
    tl::unexpected<Error> missing(std::string_view key) const;
    JsonObject(const JsonValue& value, std::string where)
        : members_(&value.members), where_(std::move(where)) {}

    const std::vector<JsonMember>* members_;
    std::string where_;
    std::vector<std::string> asked_;
};

// A value for messages: text in quotes, the rest by its kind.
std::string describe(const JsonValue& value);

Expected<std::int64_t> whole_number(const JsonValue& value, std::string_view where,
                                    std::int64_t min, std::int64_t max);

}  // namespace tessera
