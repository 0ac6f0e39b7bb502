#include "dialect/gemini_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/hash.h"

namespace tessera {
namespace {

std::string fraction(MilliGpu share) {
    return fmt::format("{}.{:03}", share.value() / 1000, share.value() % 1000);
}

// 128 bits in hexadecimal, equal on every machine.
std::string digest(std::string_view text) {
    std::string result;
    for (const std::uint64_t salt : {1U, 2U}) {
        Hash hash;
        hash.add(salt);
        hash.add(text.size());
        for (const char c : text) {
            hash.add(static_cast<unsigned char>(c));
        }
        result += fmt::format("{:016x}", hash.value());
    }
    return result;
}

}  // namespace

std::string gemini_name(std::string_view space, std::string_view pod) {
    const std::string full = fmt::format("{}/{}", space, pod);
    // A blank would end the name in the file. Kubernetes allows none; a forged name must not
    // write lines of its own.
    const bool plain = std::ranges::all_of(full, [](char c) { return c > ' ' && c < '\x7f'; });
    if (plain && full.size() <= kGeminiNameMax) {
        return full;
    }
    // '~' is in no Kubernetes name, so a hashed name is never another pod's plain one.
    const std::string hashed = "~" + digest(full);
    return plain ? full.substr(0, kGeminiNameMax - hashed.size()) + hashed : hashed;
}

std::string gemini_config_file(std::span<const GeminiClient> clients) {
    std::string text = fmt::format("{}\n", clients.size());
    for (const GeminiClient& client : clients) {
        fmt::format_to(std::back_inserter(text), "{} {} {} {}\n", client.name,
                       fraction(client.request), fraction(client.limit), client.memory.value());
    }
    return text;
}

std::string gemini_port_file(std::span<const GeminiClient> clients) {
    std::string text = fmt::format("{}\n", clients.size());
    for (const GeminiClient& client : clients) {
        fmt::format_to(std::back_inserter(text), "{} {}\n", client.name, client.port);
    }
    return text;
}

}  // namespace tessera
