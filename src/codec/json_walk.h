// Walks a JSON document from front to back, for readers that want little of much.
//
// A reader derives from JsonWalk, names keys and the functions that read them in tables of rules,
// and skips the rest at the speed of memory. The walk keeps a stack of keys, so that an error knows
// where it is. Every function returns whether it succeeded; the first failure is kept. Values must
// be read in order and once. (simdjson's On-Demand interface, kept out of this header.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/function_ref.h"
#include "base/quantity.h"
#include "model/pod.h"

namespace tessera {

// Where in the document an error is: keys and indices from the top, so that a reader of another
// encoding can find the line.
struct JsonError {
    std::vector<std::string> path;  // an index is written as a number
    std::string message;            // without the path

    // "spec.containers[0].name: ..."
    std::string to_string() const;
};

// A value at which the walk stands.
class JsonItem {
  private:
    friend class JsonWalk;
    alignas(void*) std::array<std::byte, 32> storage_{};
    bool opened_ = false;  // an object whose members can be walked
};

class JsonWalk {
  public:
    JsonError take_error() { return std::move(error_); }

  protected:
    using Read = FunctionRef<bool(JsonItem)>;
    using ReadMember = FunctionRef<bool(std::string_view, JsonItem)>;

    template <class Reader, class T>
    struct Rule {
        std::string_view key;
        bool (Reader::*read)(JsonItem, T&);  // nullptr: only its being there twice matters
    };

    bool fail_with(std::string message);
    template <class... Args>
    bool fail_here(fmt::format_string<Args...> format, Args&&... args) {
        return fail_with(fmt::format(format, std::forward<Args>(args)...));
    }
    bool wrong_type(JsonItem item, std::string_view accepted);

    // The document's one object.
    bool document(std::string_view text, Read read);

    // Members that are not null, which is the same as absent.
    bool members(JsonItem item, ReadMember read);
    bool list(JsonItem item, Read read);

    // A text member wherever it stands in an object, empty when absent; the walk over the members
    // begins after it, with the same item.
    bool peek_text(JsonItem& object, std::string_view key, std::string& out);

    template <class Reader, class T>
    bool object(JsonItem item, T& target, std::span<const Rule<Reader, T>> rules) {
        std::uint32_t seen = 0;
        return members(item, [&](std::string_view key, JsonItem value) {
            for (std::size_t i = 0; i < rules.size(); ++i) {
                if (rules[i].key != key) {
                    continue;
                }
                if ((seen & (1U << i)) != 0) {
                    return fail_here("the key is there twice");
                }
                seen |= 1U << i;
                return rules[i].read == nullptr ||
                       (static_cast<Reader*>(this)->*rules[i].read)(value, target);
            }
            return true;
        });
    }

    bool text(JsonItem item, std::string& out);
    bool number(JsonItem item, std::int32_t& out);
    bool count(JsonItem item, std::int32_t& out);  // 0 or more
    bool truth(JsonItem item, bool& out);
    bool quantity(JsonItem item, Quantity& out);
    bool strings(JsonItem item, StringMap& out);
    bool amounts(JsonItem item, ResourceList& out);

    template <auto Member, class T>
    bool text_of(JsonItem item, T& target) {
        return text(item, target.*Member);
    }
    template <auto Member, class T>
    bool strings_of(JsonItem item, T& target) {
        return strings(item, target.*Member);
    }
    template <auto Member, class T>
    bool amounts_of(JsonItem item, T& target) {
        return amounts(item, target.*Member);
    }

  private:
    struct Inner;  // what needs simdjson's types

    // The keys are the parser's, which lives as long as the walk.
    struct Step {
        std::string_view key;
        std::int64_t index = -1;
    };
    std::vector<Step> path_;
    JsonError error_;
};

}  // namespace tessera
