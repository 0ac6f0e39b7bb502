#include "role/cli/wrong_use.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "base/wording.h"

namespace tessera::cli {
namespace {

// As the user typed it, where that can be printed and is no riddle.
std::string as_typed(std::string_view word) {
    const bool plain =
        !word.empty() && word.size() <= 40 && std::all_of(word.begin(), word.end(), [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                   c == '-' || c == '_' || c == '.';
        });
    return plain ? std::string(word) : in_quotes(word);
}

std::vector<std::string> flags_of(const CLI::App& app) {
    std::vector<std::string> flags;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            flags.push_back("--" + name);
        }
    }
    return flags;
}

std::vector<std::string_view> views(const std::vector<std::string>& names) {
    return {names.begin(), names.end()};
}

// The part of the command that the words went to: "tessera policy list".
struct Part {
    const CLI::App& app;
    std::string name;
};

Part part_of(const CLI::App& app) {
    const std::vector<CLI::App*> parsed = app.get_subcommands();
    if (parsed.empty()) {
        return {app, app.get_name()};
    }
    return {*parsed.back(), fmt::format("{} {}", app.get_name(), parsed.back()->get_name())};
}

std::string no_such_flag(const Part& part, std::string_view given) {
    const std::string_view flag = given.substr(0, given.find('='));
    const std::vector<std::string> flags = flags_of(part.app);
    return fmt::format("{}: no such flag;{} {} --help explains the flags", as_typed(flag),
                       did_you_mean(flag, views(flags)), part.name);
}

// The library calls the positional ones by their names as well.
std::string in_our_words(const CLI::ParseError& error) {
    const std::string text = error.what();
    if (error.get_name() == "ArgumentMismatch") {
        const std::string_view flag = std::string_view(text).substr(0, text.find(": "));
        if (text.ends_with(" missing")) {
            return fmt::format("{}: its value is missing", flag);
        }
        if (text.find("At Most 1 required") != std::string::npos) {
            return fmt::format("{}: is there more than once; once is accepted", flag);
        }
    }
    return text;
}

}  // namespace

std::string no_such(std::string_view what, std::string_view given,
                    std::span<const std::string_view> names) {
    return fmt::format("{}: no such {};{} the {}s are {}", as_typed(given), what,
                       did_you_mean(given, names), what, fmt::join(names, ", "));
}

std::string wrong_use(const CLI::App& app, const CLI::ParseError& error) {
    const Part part = part_of(app);
    const std::vector<std::string> left = app.remaining(true);
    const auto flag = std::find_if(left.begin(), left.end(), [](const std::string& word) {
        return word.size() > 1 && word.starts_with('-') && word != "--";
    });
    if (flag != left.end()) {
        return no_such_flag(part, *flag);
    }
    const std::vector<const CLI::App*> parts = part.app.get_subcommands(nullptr);
    if (!parts.empty()) {
        std::vector<std::string> names;
        for (const CLI::App* one : parts) {
            names.push_back(one->get_name());
        }
        return left.empty() ? fmt::format("a command is missing after {}; the commands are {}",
                                          part.name, fmt::join(names, ", "))
                            : no_such("command", left.front(), views(names));
    }
    if (!left.empty()) {
        return fmt::format("{}: one word too many; {} --help explains the flags",
                           as_typed(left.front()), part.name);
    }
    return fmt::format("{}; {} --help explains the flags", in_our_words(error), part.name);
}

}  // namespace tessera::cli
