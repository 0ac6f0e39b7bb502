// Parsing shared by the commands: CLI11 behind one call, and the small formats of flag values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "role/cli/command.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tessera::cli {

// Parses; an exit code when the command is done already (help, or wrong use, both printed).
std::optional<int> parse(CLI::App& app, const Arguments& arguments);

// Only digits, or a finite number, within these bounds; anything else is wrong use. The library
// would take "-1" for a large count and "nan" for a number within any bounds.
CLI::Option* whole_number(CLI::Option* option, std::uint64_t low, std::uint64_t high);
CLI::Option* real_number(CLI::Option* option, double low, double high);

// One of these words.
CLI::Option* one_of(CLI::Option* option, std::vector<std::string_view> words);

// "42-51", "1,2,5-7": ascending, each once.
Expected<std::vector<std::uint64_t>> parse_seeds(std::string_view text);
// "a,b,c" without empty parts; what is there twice stays so.
Expected<std::vector<std::string>> parse_list(std::string_view flag, std::string_view text);

}  // namespace tessera::cli
