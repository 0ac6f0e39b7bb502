// What is wrong with a command line, in one sentence that names the flag and what is accepted.
//
// The library's own sentences list what was left over, last word first, and know no near names.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace tessera::cli {

// "--polcy: no such flag; did you mean --policy? tessera sim --help explains the flags"
std::string wrong_use(const CLI::App& app, const CLI::ParseError& error);

// "sm: no such command; did you mean sim? the commands are demo, sim"
std::string no_such(std::string_view what, std::string_view given,
                    std::span<const std::string_view> names);

}  // namespace tessera::cli
