// What yaml-cpp found wrong, for people: where, and in words that can be printed.
#pragma once

#include <yaml-cpp/exceptions.h>

#include <optional>
#include <string>
#include <string_view>

namespace tessera {

struct YamlFault {
    int line = 1;
    std::string reason;
};

// "this is not valid YAML: ..."; of the text that was read, to tell of a tab that indents its line.
YamlFault yaml_fault(const YAML::Exception& error, std::string_view text);

// A NUL byte, which yaml-cpp would take for an escape; nothing in text without one. UTF-16 and
// UTF-32, which have them, are left to the library.
std::optional<YamlFault> nul_byte(std::string_view text);

}  // namespace tessera
