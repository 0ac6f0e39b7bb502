// The flags of benchmarks that measure some rounds of each of their cases: --json, --rounds N.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string_view>

namespace tessera {

struct Settings {
    std::uint32_t rounds = 5;
    bool json = false;
};

// An exit code when there is nothing to measure: help, or wrong use, both printed.
inline std::optional<int> read_settings(int argc, char** argv, std::string_view name,
                                        Settings& settings) {
    for (int at = 1; at < argc; ++at) {
        const std::string_view flag = argv[at];
        const std::string_view value = at + 1 < argc ? argv[at + 1] : "";
        const char* const end = value.data() + value.size();
        if (flag == "--json") {
            settings.json = true;
        } else if (flag == "--rounds" &&
                   std::from_chars(value.data(), end, settings.rounds).ptr == end &&
                   settings.rounds >= 1 && !value.empty()) {
            ++at;
        } else {
            const bool help = flag == "--help";
            fmt::print(help ? stdout : stderr,
                       "usage: bench/run {} [--json] [--rounds N]   N clusters a case\n", name);
            return help ? 0 : 2;
        }
    }
    return std::nullopt;
}

}  // namespace tessera
