#include "codec/policy_yaml.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "base/text.h"
#include "codec/yaml_events.h"
#include "codec/yaml_fault.h"

namespace tessera {
namespace {

constexpr std::size_t kFileBytesMax = 1U << 20;
constexpr std::size_t kItemsMax = 1000;
constexpr std::array kKeys{"name",    "summary", "base", "parameters",    "scores",        "select",
                           "devices", "ties",    "step", "whole-devices", "smallest-share"};

int line_of(const YAML::Node& node) { return std::max(1, node.Mark().line + 1); }

class Reader {
  public:
    explicit Reader(std::string source) : source_(std::move(source)) {}

    Expected<PolicySpec> read(const YAML::Node& root) {
        PolicySpec spec;
        spec.source = source_;
        TESSERA_CHECK(keys(root, "a policy", kKeys));
        const YAML::Node name = find(root, "name");
        if (!name) {
            return wrong(root, "name is missing; the policy's name is needed");
        }
        TESSERA_TRY(spec.name, text(name, "name"));
        if (const YAML::Node summary = find(root, "summary")) {
            TESSERA_TRY(const auto words, text(summary, "summary"));
            spec.summary = words.value;
        }
        TESSERA_TRY(spec.base, optional_text(root, "base"));
        TESSERA_TRY(spec.select, optional_text(root, "select"));
        TESSERA_TRY(spec.devices, optional_text(root, "devices"));
        TESSERA_TRY(spec.step, optional_number(root, "step"));
        TESSERA_TRY(spec.smallest_share, optional_number(root, "smallest-share"));
        if (const YAML::Node whole = find(root, "whole-devices")) {
            TESSERA_TRY(spec.whole_devices, flag(whole, "whole-devices"));
        }
        TESSERA_CHECK(read_parameters(find(root, "parameters"), spec));
        TESSERA_CHECK(read_scores(find(root, "scores"), spec));
        TESSERA_CHECK(read_ties(find(root, "ties"), spec));
        return spec;
    }

  private:
    // The value of a key; its line is noted, for a value that is missing has none of its own.
    YAML::Node find(const YAML::Node& map, std::string_view key) {
        for (const auto& entry : map) {
            if (entry.first.IsScalar() && entry.first.Scalar() == key) {
                key_line_ = line_of(entry.first);
                return entry.second;
            }
        }
        return YAML::Node(YAML::NodeType::Undefined);
    }

    template <class... Args>
    tl::unexpected<Error> wrong(const YAML::Node& at, fmt::format_string<Args...> format,
                                Args&&... args) const {
        return fail(ErrorKind::invalid, "{}:{}: {}", source_,
                    at.IsNull() && key_line_ > 0 ? key_line_ : line_of(at),
                    fmt::format(format, std::forward<Args>(args)...));
    }

    // A map whose keys are known, each there once.
    template <std::size_t N>
    Expected<void> keys(const YAML::Node& map, std::string_view what,
                        const std::array<const char*, N>& known) const {
        if (!map.IsMap()) {
            return wrong(map, "{} is a map of keys and values; the keys are {}", what,
                         fmt::join(known, ", "));
        }
        std::set<std::string> seen;
        for (const auto& entry : map) {
            const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
            if (std::find(known.begin(), known.end(), key) == known.end()) {
                return wrong(entry.first, "{} has no key {}; the keys are {}", what, in_quotes(key),
                             fmt::join(known, ", "));
            }
            if (!seen.insert(key).second) {
                return wrong(entry.first, "{} is there twice", key);
            }
        }
        return {};
    }

    Expected<Located<std::string>> text(const YAML::Node& value, std::string_view key) const {
        if (!value.IsScalar()) {
            return wrong(value, "{}: {} is not accepted; text is", key, kind_of(value));
        }
        return Located<std::string>{value.Scalar(), line_of(value)};
    }

    Expected<std::optional<Located<std::string>>> optional_text(const YAML::Node& map,
                                                                const char* key) {
        const YAML::Node value = find(map, key);
        if (!value) {
            return std::nullopt;
        }
        TESSERA_TRY(Located<std::string> found, text(value, key));
        return found;
    }

    Expected<Located<std::int64_t>> number(const YAML::Node& value, std::string_view key) const {
        const std::string text = value.IsScalar() ? value.Scalar() : "";
        std::int64_t found = 0;
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, found);
        if (error != std::errc() || stop != end) {
            return wrong(value, "{}: {} is not accepted; a whole number is", key,
                         value.IsScalar() ? in_quotes(text) : kind_of(value));
        }
        return Located<std::int64_t>{found, line_of(value)};
    }

    Expected<std::optional<Located<std::int64_t>>> optional_number(const YAML::Node& map,
                                                                   const char* key) {
        const YAML::Node value = find(map, key);
        if (!value) {
            return std::nullopt;
        }
        TESSERA_TRY(const Located<std::int64_t> found, number(value, key));
        return found;
    }

    // Finite: a NaN would compare with nothing.
    Expected<double> real(const YAML::Node& value, std::string_view key) const {
        const std::string text = value.IsScalar() ? value.Scalar() : "";
        double found = 0;
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, found);
        if (error != std::errc() || stop != end || !std::isfinite(found)) {
            return wrong(value, "{}: {} is not accepted; a number is", key,
                         value.IsScalar() ? in_quotes(text) : kind_of(value));
        }
        return found;
    }

    Expected<bool> flag(const YAML::Node& value, std::string_view key) const {
        const std::string text = value.IsScalar() ? value.Scalar() : "";
        if (text != "true" && text != "false") {
            return wrong(value, "{}: {} is not accepted; true or false is", key,
                         value.IsScalar() ? in_quotes(text) : kind_of(value));
        }
        return text == "true";
    }

    Expected<void> list(const YAML::Node& value, std::string_view key) const {
        if (!value.IsSequence()) {
            return wrong(value, "{}: {} is not accepted; a list is", key,
                         value.IsScalar() ? in_quotes(value.Scalar()) : kind_of(value));
        }
        if (value.size() > kItemsMax) {
            return wrong(value, "{}: {} entries are not accepted; up to {} are", key, value.size(),
                         kItemsMax);
        }
        return {};
    }

    static std::string kind_of(const YAML::Node& value) {
        return value.IsMap() ? "a map" : value.IsSequence() ? "a list" : "nothing";
    }

    Expected<void> read_parameters(const YAML::Node& map, PolicySpec& spec) {
        if (!map) {
            return {};
        }
        if (!map.IsMap() || map.size() > kItemsMax) {
            return wrong(map, "parameters: {} is not accepted; a map of names and numbers is",
                         map.IsMap() ? "so large a map" : kind_of(map));
        }
        for (const auto& entry : map) {
            key_line_ = line_of(entry.first);
            TESSERA_TRY(Located<std::string> name, text(entry.first, "parameters"));
            TESSERA_TRY(const double value, real(entry.second, name.value));
            spec.parameters.push_back({std::move(name), value});
        }
        return {};
    }

    Expected<void> read_scores(const YAML::Node& scores, PolicySpec& spec) {
        if (!scores) {
            return {};
        }
        TESSERA_CHECK(list(scores, "scores"));
        for (const YAML::Node& item : scores) {
            TESSERA_CHECK(keys(item, "a score", std::array{"name", "weight"}));
            PolicySpec::Score score;
            const YAML::Node name = find(item, "name");
            if (!name) {
                return wrong(item, "the score has no name");
            }
            TESSERA_TRY(score.name, text(name, "name"));
            score.weight.line = score.name.line;
            if (const YAML::Node weight = find(item, "weight")) {
                TESSERA_TRY(score.weight, number(weight, "weight"));
            }
            spec.scores.push_back(std::move(score));
        }
        return {};
    }

    Expected<void> read_ties(const YAML::Node& ties, PolicySpec& spec) const {
        if (!ties) {
            return {};
        }
        TESSERA_CHECK(list(ties, "ties"));
        for (const YAML::Node& item : ties) {
            TESSERA_TRY(Located<std::string> tie, text(item, "ties"));
            spec.ties.push_back(std::move(tie));
        }
        return {};
    }

    std::string source_;
    int key_line_ = 0;
};

// Where the last document began that was passed over.
class DocumentStart : public IgnoreEvents {
  public:
    void OnDocumentStart(const YAML::Mark& mark) override { line = mark.line + 1; }
    int line = 1;
};

// The line of a document that follows the first: YAML::Load would not say.
std::optional<int> second_document(const std::string& text) {
    std::istringstream in(text);
    YAML::Parser parser(in);
    DocumentStart start;
    if (!parser.HandleNextDocument(start) || !parser) {
        return std::nullopt;
    }
    parser.HandleNextDocument(start);
    return start.line;
}

// Double quotes, with YAML's own escapes: whatever the text, it is read back as text.
std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
        } else {
            out += c;
        }
    }
    return out + '"';
}

// As it is where it can only be a word.
std::string word(std::string_view text) {
    const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; };
    const bool is_word = !text.empty() && text.front() != '-' &&
                         std::all_of(text.begin(), text.end(), plain) && text != "true" &&
                         text != "false" && text != "null";
    return is_word ? std::string(text) : quoted(text);
}

}  // namespace

Expected<PolicySpec> parse_policy_yaml(std::string_view text, std::string source) {
    if (text.size() > kFileBytesMax) {
        return fail(ErrorKind::invalid, "{}: the file has {} bytes; at most {} are read", source,
                    text.size(), kFileBytesMax);
    }
    if (const auto fault = nul_byte(text)) {
        return fail(ErrorKind::invalid, "{}:{}: {}", source, fault->line, fault->reason);
    }
    try {
        const std::string owned(text);
        const YAML::Node root = YAML::Load(owned);
        TESSERA_TRY(PolicySpec spec, Reader(source).read(root));
        if (const auto line = second_document(owned)) {
            return fail(ErrorKind::invalid,
                        "{}:{}: something follows the policy; a file has one policy", source,
                        *line);
        }
        return spec;
    } catch (const YAML::Exception& error) {
        const YamlFault fault = yaml_fault(error, text);
        return fail(ErrorKind::invalid, "{}:{}: {}", source, fault.line, fault.reason);
    }
}

std::string write_policy_yaml(const PolicySpec& spec) {
    std::string out;
    const auto line = [&]<class... Args>(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
        out += '\n';
    };
    line("name: {}", word(spec.name.value));
    if (!spec.summary.empty()) {
        line("summary: {}", quoted(spec.summary));
    }
    if (spec.base) {
        line("base: {}", word(spec.base->value));
    }
    if (!spec.parameters.empty()) {
        line("parameters:");
    }
    for (const PolicySpec::Parameter& parameter : spec.parameters) {
        line("  {}: {}", word(parameter.name.value), parameter.value);
    }
    if (!spec.scores.empty()) {
        line("scores:");
    }
    for (const PolicySpec::Score& score : spec.scores) {
        line("- {{name: {}, weight: {}}}", word(score.name.value), score.weight.value);
    }
    if (spec.select) {
        line("select: {}", word(spec.select->value));
    }
    if (spec.devices) {
        line("devices: {}", word(spec.devices->value));
    }
    if (!spec.ties.empty()) {
        std::vector<std::string> ties;
        for (const Located<std::string>& tie : spec.ties) {
            ties.push_back(word(tie.value));
        }
        line("ties: [{}]", fmt::join(ties, ", "));
    }
    if (spec.step) {
        line("step: {}", spec.step->value);
    }
    if (spec.whole_devices) {
        line("whole-devices: true");
    }
    if (spec.smallest_share) {
        line("smallest-share: {}", spec.smallest_share->value);
    }
    return out;
}

}  // namespace tessera
