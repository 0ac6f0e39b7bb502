#include "role/cli/arguments.h"

#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "base/wording.h"
#include "role/cli/wrong_use.h"

namespace tessera::cli {

namespace {

constexpr std::size_t kSeedsMax = 10'000;

// The whole text as a number; no sign for the unsigned ones.
template <class Number>
std::optional<Number> number_of(std::string_view text) {
    Number value{};
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    if (text.empty() || parsed.ec != std::errc{} || parsed.ptr != end) {
        return std::nullopt;
    }
    return value;
}

}  // namespace

std::optional<int> parse(CLI::App& app, const Arguments& arguments) {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    try {
        app.parse(std::move(reversed));
    } catch (const CLI::CallForHelp&) {
        fmt::print("{}", app.help());
        return kExitFine;
    } catch (const CLI::ParseError& error) {
        return report_error({ErrorKind::invalid, wrong_use(app, error)});
    }
    return std::nullopt;
}

CLI::Option* whole_number(CLI::Option* option, std::uint64_t low, std::uint64_t high) {
    return option->type_name("N")->check([low, high](const std::string& text) {
        const auto value = number_of<std::uint64_t>(text);
        return value && *value >= low && *value <= high
                   ? std::string()
                   : fmt::format("{} is not accepted; a whole number from {} to {} is",
                                 in_quotes(text), low, high);
    });
}

CLI::Option* one_of(CLI::Option* option, std::vector<std::string_view> words) {
    option->type_name(fmt::format("{{{}}}", fmt::join(words, ",")));
    return option->check([words = std::move(words)](const std::string& text) {
        if (std::find(words.begin(), words.end(), text) != words.end()) {
            return std::string();
        }
        return fmt::format("{} is not accepted;{} {} {}", in_quotes(text),
                           did_you_mean(text, words), fmt::join(words, ", "),
                           words.size() == 1 ? "is" : "are");
    });
}

CLI::Option* real_number(CLI::Option* option, double low, double high) {
    return option->type_name("X")->check([low, high](const std::string& text) {
        const auto value = number_of<double>(text);
        return value && *value >= low && *value <= high
                   ? std::string()
                   : fmt::format("{} is not accepted; a number from {} to {} is", in_quotes(text),
                                 low, high);
    });
}

Expected<std::vector<std::string>> parse_list(std::string_view flag, std::string_view text) {
    std::vector<std::string> parts;
    while (true) {
        const std::size_t comma = text.find(',');
        const std::string_view part = text.substr(0, comma);
        if (part.empty()) {
            return fail(ErrorKind::invalid, "{}: nothing stands {}", flag,
                        text.empty() && parts.empty() ? "there" : "between two commas");
        }
        parts.emplace_back(part);
        if (comma == std::string_view::npos) {
            return parts;
        }
        text.remove_prefix(comma + 1);
    }
}

Expected<std::vector<std::uint64_t>> parse_seeds(std::string_view text) {
    std::vector<std::uint64_t> seeds;
    TESSERA_TRY(const auto parts, parse_list("--seeds", text));
    for (const std::string& part : parts) {
        const std::size_t dash = part.find('-');
        const auto first = number_of<std::uint64_t>(std::string_view(part).substr(0, dash));
        const auto last = dash == std::string::npos
                              ? first
                              : number_of<std::uint64_t>(std::string_view(part).substr(dash + 1));
        if (first && last && *last < *first) {
            return fail(ErrorKind::invalid, "--seeds: \"{}\" ends before it begins", part);
        }
        if (!first || !last) {
            return fail(ErrorKind::invalid,
                        "--seeds: \"{}\" is neither a number nor a range such as 42-51", part);
        }
        if (*last - *first >= kSeedsMax || seeds.size() + (*last - *first) >= kSeedsMax) {
            return fail(ErrorKind::invalid, "--seeds: \"{}\" makes more than {} seeds", text,
                        kSeedsMax);
        }
        for (std::uint64_t i = 0; i <= *last - *first; ++i) {
            seeds.push_back(*first + i);
        }
    }
    std::sort(seeds.begin(), seeds.end());
    seeds.erase(std::unique(seeds.begin(), seeds.end()), seeds.end());
    return seeds;
}

}  // namespace tessera::cli
