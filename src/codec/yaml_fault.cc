#include "codec/yaml_fault.h"

#include <yaml-cpp/depthguard.h>

#include <algorithm>

#include "base/text.h"

namespace tessera {
namespace {

std::string reason_of(const YAML::Exception& error) {
    constexpr std::string_view kEscape = "unknown escape character: ";
    if (dynamic_cast<const YAML::DeepRecursion*>(&error) != nullptr) {
        return "it is nested too deeply";  // the library says "bad file"
    }
    if (!error.msg.starts_with(kEscape)) {
        return error.msg;
    }
    return std::string(kEscape) + in_quotes(std::string_view(error.msg).substr(kEscape.size()));
}

std::string_view indent_of_line(std::string_view text, int line) {
    for (; line > 1; --line) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos) {
            return {};
        }
        text.remove_prefix(end + 1);
    }
    return text.substr(0, std::min(text.size(), text.find_first_not_of(" \t")));
}

}  // namespace

YamlFault yaml_fault(const YAML::Exception& error, std::string_view text) {
    const int line = error.mark.is_null() ? 1 : error.mark.line + 1;
    const std::string_view indent = indent_of_line(text, line);
    const bool tab = indent.find('\t') != std::string_view::npos;
    return {line, "this is not valid YAML: " +
                      (tab ? "a tab may not indent a line; spaces do" : reason_of(error))};
}

std::optional<YamlFault> nul_byte(std::string_view text) {
    const std::string_view start = text.substr(0, 2);
    const bool wide = start == "\xff\xfe" || start == "\xfe\xff" ||
                      (text.size() > 1 && start.find('\0') != std::string_view::npos);
    const std::size_t at = text.find('\0');
    if (wide || at == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string_view before = text.substr(0, at);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    return YamlFault{static_cast<int>(line), "a NUL byte is no text"};
}

}  // namespace tessera
