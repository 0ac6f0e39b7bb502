// Text from outside: valid UTF-8 or not, and quoting it in a message.
//
// A label may be ten megabytes of anything. Messages show its beginning, printable, so that one
// sentence stays one sentence:
//   fail(ErrorKind::invalid, "{}: {} is not a number", key, in_quotes(value));
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera {

// Length in bytes of the UTF-8 character at text[at], or 0 when the bytes there are not one
// (overlong forms, surrogates and values above U+10FFFF included).
std::size_t utf8_length(std::string_view text, std::size_t at);

bool valid_utf8(std::string_view text);

// In double quotes, control characters and invalid bytes as \xNN, shortened to some 80 characters
// with the length told.
std::string in_quotes(std::string_view text);

// Text of others as a terminal or an event may show it: control characters, which a terminal would
// obey, and what is not UTF-8 become \xNN.
std::string printable(std::string_view text);

// Without the mark that some editors put before UTF-8.
std::string_view without_byte_order_mark(std::string_view text);

}  // namespace tessera
