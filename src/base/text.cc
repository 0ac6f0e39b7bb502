#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace tessera {
namespace {

constexpr std::size_t kQuotedMax = 80;

std::uint8_t byte_at(std::string_view text, std::size_t at) {
    return static_cast<std::uint8_t>(text[at]);
}

// The second byte's range excludes overlong forms, surrogates and what lies above U+10FFFF.
bool second_byte_fits(std::uint8_t lead, std::uint8_t second) {
    switch (lead) {
        case 0xe0:
            return second >= 0xa0 && second <= 0xbf;
        case 0xed:
            return second >= 0x80 && second <= 0x9f;
        case 0xf0:
            return second >= 0x90 && second <= 0xbf;
        case 0xf4:
            return second >= 0x80 && second <= 0x8f;
        default:
            return second >= 0x80 && second <= 0xbf;
    }
}

std::size_t length_by_lead(std::uint8_t lead) {
    if (lead < 0x80) {
        return 1;
    }
    if (lead < 0xc2) {
        return 0;
    }
    if (lead < 0xe0) {
        return 2;
    }
    if (lead < 0xf0) {
        return 3;
    }
    return lead < 0xf5 ? 4 : 0;
}

}  // namespace

std::size_t utf8_length(std::string_view text, std::size_t at) {
    const std::uint8_t lead = byte_at(text, at);
    const std::size_t length = length_by_lead(lead);
    if (length <= 1) {
        return length;
    }
    if (text.size() - at < length || !second_byte_fits(lead, byte_at(text, at + 1))) {
        return 0;
    }
    for (std::size_t next = 2; next < length; ++next) {
        if ((byte_at(text, at + next) & 0xc0U) != 0x80U) {
            return 0;
        }
    }
    return length;
}

bool valid_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_length(text, at);
        if (length == 0) {
            return false;
        }
        at += length;
    }
    return true;
}

std::string_view without_byte_order_mark(std::string_view text) {
    constexpr std::string_view kMark = "\xef\xbb\xbf";
    return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    std::size_t at = 0;
    while (at < text.size() && at < kQuotedMax) {
        const std::size_t length = utf8_length(text, at);
        const std::uint8_t byte = byte_at(text, at);
        if (length == 0 || byte < 0x20 || byte == 0x7f) {
            out += fmt::format("\\x{:02x}", byte);
            ++at;
            continue;
        }
        if (byte == '"' || byte == '\\') {
            out += '\\';
        }
        out.append(text, at, length);
        at += length;
    }
    if (at < text.size()) {
        return out + fmt::format("…\" ({} bytes)", text.size());
    }
    return out + '"';
}

std::string printable(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_length(text, at);
        const auto first = static_cast<unsigned char>(text[at]);
        // U+0080 to U+009F are control characters as well.
        const bool control =
            first < 0x20 || first == 0x7f ||
            (length == 2 && first == 0xc2 && static_cast<unsigned char>(text[at + 1]) < 0xa0);
        if (length > 0 && !control) {
            out += text.substr(at, length);
            at += length;
            continue;
        }
        for (const std::size_t end = at + std::max<std::size_t>(1, length); at < end; ++at) {
            fmt::format_to(std::back_inserter(out), "\\x{:02x}",
                           static_cast<unsigned char>(text[at]));
        }
    }
    return out;
}

}  // namespace tessera
