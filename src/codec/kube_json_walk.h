// The walking half of kube_json.cc, which alone includes it: objects by tables of rules, with a
// stack of keys so that an error knows where it is.
//
// A rule names a key and the function that reads it; a class of readers derives from JsonWalk and
// lists its rules. Every function returns whether it succeeded; the first failure is kept.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "base/text.h"
#include "codec/kube_json.h"
#include "model/pod.h"

namespace tessera {

template <class Reader>
class JsonWalk {
  public:
    KubeError take_error() { return std::move(error_); }

  protected:
    using Value = simdjson::ondemand::value;
    using Object = simdjson::ondemand::object;
    using Type = simdjson::ondemand::json_type;

    template <class T>
    struct Rule {
        std::string_view key;
        bool (Reader::*read)(Value, T&);  // nullptr: only its being there twice matters
    };

    // --- errors

    template <class... Args>
    bool fail_here(fmt::format_string<Args...> format, Args&&... args) {
        error_.path.clear();
        for (const Step& step : path_) {
            error_.path.push_back(step.index < 0 ? std::string(step.key)
                                                 : std::to_string(step.index));
        }
        error_.message = fmt::format(format, std::forward<Args>(args)...);
        return false;
    }

    bool broken(simdjson::error_code error) {
        return fail_here("this is not valid JSON: {}", simdjson::error_message(error));
    }

    bool wrong_type(Value value, std::string_view accepted) {
        Type type{};
        if (auto error = value.type().get(type)) {
            return broken(error);
        }
        if (type == Type::object || type == Type::array) {
            return fail_here("{} is not accepted: {} is",
                             type == Type::object ? "an object" : "a list", accepted);
        }
        return fail_here("{} is not accepted: {} is", in_quotes(token(value)), accepted);
    }

    static std::string_view token(Value value) {
        const std::string_view raw = value.raw_json_token();
        const std::size_t end = raw.find_last_not_of(" \t\r\n");
        return raw.substr(0, end == std::string_view::npos ? 0 : end + 1);
    }

    // --- walking

    template <class Read>
    bool document(std::string_view text, const Read& read) {
        const simdjson::padded_string padded(text);
        simdjson::ondemand::parser parser;
        simdjson::ondemand::document root;
        if (auto error = parser.iterate(padded).get(root)) {
            return broken(error);
        }
        Object object;
        if (auto error = root.get_object().get(object)) {
            return error == simdjson::INCORRECT_TYPE ? fail_here("a JSON object is accepted")
                                                     : broken(error);
        }
        if (!read(object)) {
            return false;
        }
        return root.current_location().error() == simdjson::OUT_OF_BOUNDS ||
               fail_here("something follows the JSON document");
    }

    // Calls read(key, value) for each member that is not null; null is the same as absent.
    template <class Read>
    bool members(Object object, const Read& read) {
        for (auto member : object) {
            std::string_view key;
            Value value;
            Type type{};
            if (auto error = member.unescaped_key().get(key)) {
                return broken(error);
            }
            path_.push_back({key, -1});
            if (auto error = member.value().get(value)) {
                return broken(error);
            }
            if (auto error = value.type().get(type)) {
                return broken(error);
            }
            if (type == Type::null) {
                bool null = false;
                if (value.is_null().get(null) || !null) {
                    return fail_here("this is not valid JSON: a word other than null");
                }
            } else if (!read(key, value)) {
                return false;
            }
            path_.pop_back();
        }
        return true;
    }

    template <class T>
    bool fields(Object object, T& target, std::span<const Rule<T>> rules) {
        std::uint32_t seen = 0;
        return members(object, [&](std::string_view key, Value value) {
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

    template <class T>
    bool object(Value value, T& target, std::span<const Rule<T>> rules) {
        Object found;
        if (auto error = value.get_object().get(found)) {
            return error == simdjson::INCORRECT_TYPE ? wrong_type(value, "an object")
                                                     : broken(error);
        }
        return fields(found, target, rules);
    }

    template <class Read>
    bool list(Value value, const Read& read) {
        simdjson::ondemand::array items;
        if (auto error = value.get_array().get(items)) {
            return error == simdjson::INCORRECT_TYPE ? wrong_type(value, "a list") : broken(error);
        }
        std::int64_t index = 0;
        for (auto item : items) {
            path_.push_back({{}, index++});
            Value content;
            if (auto error = std::move(item).get(content)) {
                return broken(error);
            }
            if (!read(content)) {
                return false;
            }
            path_.pop_back();
        }
        return true;
    }

    // --- scalars

    bool text(Value value, std::string& out) {
        std::string_view found;
        if (auto error = value.get_string().get(found)) {
            return error == simdjson::INCORRECT_TYPE
                       ? wrong_type(value, "text (in YAML a number or truth value needs quotes)")
                       : broken(error);
        }
        out = found;
        return true;
    }

    bool number(Value value, std::int32_t& out) {
        std::int64_t found = 0;
        if (value.get_int64().get(found) || found < std::numeric_limits<std::int32_t>::min() ||
            found > std::numeric_limits<std::int32_t>::max()) {
            return wrong_type(value, "a whole number of 32 bits");
        }
        out = static_cast<std::int32_t>(found);
        return true;
    }

    bool count(Value value, std::int32_t& out) {
        return number(value, out) &&
               (out >= 0 || fail_here("{} is not accepted: 0 or more is", out));
    }

    bool truth(Value value, bool& out) {
        return !value.get_bool().get(out) || wrong_type(value, "true or false");
    }

    bool quantity(Value value, Quantity& out) {
        Type type{};
        if (auto error = value.type().get(type)) {
            return broken(error);
        }
        std::string written;
        if (type == Type::number) {
            written = token(value);
        } else if (type != Type::string) {
            return wrong_type(value, "a quantity");
        } else if (!text(value, written)) {
            return false;
        }
        const auto parsed = Quantity::parse(written);
        if (!parsed) {
            return fail_here("{}", parsed.error().message);
        }
        out = *parsed;
        return true;
    }

    template <class Map, class Read>
    bool map(Value value, Map& out, const Read& read) {
        Object found;
        if (auto error = value.get_object().get(found)) {
            return error == simdjson::INCORRECT_TYPE ? wrong_type(value, "an object")
                                                     : broken(error);
        }
        return members(found, [&](std::string_view key, Value content) {
            const auto [at, fresh] = out.emplace(std::string(key), typename Map::mapped_type());
            return fresh ? read(content, at->second) : fail_here("the key is there twice");
        });
    }
    bool strings(Value value, StringMap& out) {
        return map(value, out,
                   [this](Value content, std::string& entry) { return text(content, entry); });
    }
    bool amounts(Value value, ResourceList& out) {
        return map(value, out,
                   [this](Value content, Quantity& entry) { return quantity(content, entry); });
    }

    template <auto Member, class T>
    bool text_of(Value value, T& target) {
        return text(value, target.*Member);
    }
    template <auto Member, class T>
    bool strings_of(Value value, T& target) {
        return strings(value, target.*Member);
    }
    template <auto Member, class T>
    bool amounts_of(Value value, T& target) {
        return amounts(value, target.*Member);
    }

    // Keys and indices from the top; the keys are the parser's, which lives as long as the walk.
    struct Step {
        std::string_view key;
        std::int64_t index = -1;
    };
    std::vector<Step> path_;

  private:
    KubeError error_;
};

}  // namespace tessera
