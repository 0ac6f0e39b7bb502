// Writes JSON by appending to one string.
//
//   JsonWriter json;
//   json.begin_object();
//   json.member("name", "gpu-a");
//   json.key("free");
//   json.begin_array();
//   json.value(12);
//   json.end_array();
//   json.end_object();
//   std::string text = json.take();     // {"name":"gpu-a","free":[12]}
//
// What it writes is always valid: bytes that are not UTF-8 become U+FFFD, doubles have the fewest
// digits that read back equal, and a double that JSON cannot hold (NaN, infinity) becomes null.
// Wrong nesting is a fault of ours and stops the program.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/text.h"

namespace tessera {

class JsonWriter {
  public:
    void begin_object() { open('{', Scope::object); }
    void end_object() { close('}', Scope::object); }
    void begin_array() { open('[', Scope::array); }
    void end_array() { close(']', Scope::array); }

    void key(std::string_view name) {
        TESSERA_ASSERT(!scopes_.empty() && scopes_.back() == Scope::object && !after_key_,
                       "a key stands in an object, before a value");
        separate();
        append_string(name);
        out_ += ':';
        after_key_ = true;
    }

    void value(std::string_view text) {
        before_value();
        append_string(text);
    }
    void value(const char* text) { value(std::string_view(text)); }
    void value(const std::string& text) { value(std::string_view(text)); }
    void value(bool truth) { word(truth ? "true" : "false"); }
    template <std::integral T>
    void value(T number) {
        before_value();
        fmt::format_to(std::back_inserter(out_), "{}", number);
    }
    void value(double number) {
        if (!std::isfinite(number)) {
            null();
            return;
        }
        before_value();
        fmt::format_to(std::back_inserter(out_), "{}", number);
    }
    void null() { word("null"); }
    // A value that is JSON already.
    void raw(std::string_view json) { word(json); }

    template <class T>
    void member(std::string_view name, const T& content) {
        key(name);
        value(content);
    }

    // The whole document. Everything begun must have been ended.
    std::string take() {
        TESSERA_ASSERT(scopes_.empty() && !after_key_ && !out_.empty(),
                       "a JSON document is taken when it is complete");
        std::string result = std::move(out_);
        *this = JsonWriter();
        return result;
    }

  private:
    enum class Scope : std::uint8_t { object, array };

    void open(char bracket, Scope scope) {
        before_value();
        out_ += bracket;
        scopes_.push_back(scope);
        first_ = true;
    }
    void close(char bracket, Scope scope) {
        TESSERA_ASSERT(!scopes_.empty() && scopes_.back() == scope && !after_key_,
                       "the innermost object or array ends first");
        out_ += bracket;
        scopes_.pop_back();
        first_ = false;
    }
    void separate() {
        if (!first_) {
            out_ += ',';
        }
        first_ = false;
    }
    void before_value() {
        if (after_key_) {
            after_key_ = false;
            return;
        }
        TESSERA_ASSERT(scopes_.empty() ? out_.empty() : scopes_.back() == Scope::array,
                       "in an object a value follows a key, and a document is one value");
        separate();
    }
    void word(std::string_view text) {
        before_value();
        out_ += text;
    }

    void append_string(std::string_view text) {
        out_ += '"';
        std::size_t plain = 0;  // start of what needs no change
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t length = utf8_length(text, at);
            const char c = text[at];
            const bool control = static_cast<unsigned char>(c) < 0x20;
            if (length != 0 && !control && c != '"' && c != '\\') {
                at += length;
                continue;
            }
            out_.append(text, plain, at - plain);
            append_escaped(c, length != 0);
            plain = ++at;
        }
        out_.append(text, plain, text.size() - plain);
        out_ += '"';
    }
    void append_escaped(char c, bool valid) {
        if (!valid) {
            out_ += "\xef\xbf\xbd";  // U+FFFD, the replacement character
        } else if (c == '"' || c == '\\') {
            out_ += '\\';
            out_ += c;
        } else if (c == '\n') {
            out_ += "\\n";
        } else if (c == '\t') {
            out_ += "\\t";
        } else if (c == '\r') {
            out_ += "\\r";
        } else {
            fmt::format_to(std::back_inserter(out_), "\\u{:04x}", static_cast<unsigned char>(c));
        }
    }

    std::string out_;
    std::vector<Scope> scopes_;
    bool first_ = true;
    bool after_key_ = false;
};

}  // namespace tessera
