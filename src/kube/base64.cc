#include "kube/base64.h"

#include <cstdint>

namespace tessera {
namespace {

int value_of(char c) {
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
    std::string out;
    out.reserve(text.size() / 4 * 3);
    std::uint32_t bits = 0;
    std::size_t digits = 0;
    std::size_t padding = 0;
    for (const char c : text) {
        if (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
            continue;
        }
        if (c == '=') {
            ++padding;
            continue;
        }
        const int value = value_of(c);
        if (value < 0 || padding > 0) {
            return std::nullopt;
        }
        bits = bits << 6 | static_cast<std::uint32_t>(value);
        if (++digits % 4 != 1) {
            const std::size_t left = digits % 4 == 0 ? 0 : 6 - 2 * (digits % 4 - 1);
            out += static_cast<char>(bits >> left & 0xff);
        }
    }
    // The last group is filled up with "=" to four, and what it holds beyond whole bytes is zero.
    const std::size_t rest = digits % 4;
    const bool whole = rest == 0 ? padding == 0 : rest != 1 && rest + padding == 4;
    const bool clean = rest == 0 || (bits & (rest == 2 ? 0xfU : 0x3U)) == 0;
    if (!whole || !clean) {
        return std::nullopt;
    }
    return out;
}

}  // namespace tessera
