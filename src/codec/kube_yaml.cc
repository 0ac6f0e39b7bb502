// A document is turned into JSON and read by kube_json, so that there is one reading of Kubernetes'
// objects; an error's path leads back to the line.
#include "codec/kube_yaml.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "base/text.h"
#include "codec/kube_json.h"
#include "codec/yaml_events.h"
#include "codec/yaml_fault.h"

namespace tessera {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{64} << 20;
constexpr std::size_t kNodesMax = 2'000'000;  // aliases may multiply a small file
constexpr int kDepthMax = 100;

// Why a tree cannot be JSON, and where.
struct Refusal {
    std::string message;
    int line = 0;
};

int line_of(const YAML::Node& node) { return node.Mark().line + 1; }

bool digit(char c) { return c >= '0' && c <= '9'; }

// JSON's own grammar of numbers; what else YAML calls a number stays text.
bool json_number(std::string_view text) {
    std::size_t at = text.starts_with('-') ? 1 : 0;
    const auto digits = [&] {
        const std::size_t begin = at;
        while (at < text.size() && digit(text[at])) {
            ++at;
        }
        return at > begin;
    };
    const std::size_t first = at;
    if (!digits() || (text[first] == '0' && at > first + 1)) {
        return false;
    }
    if (at < text.size() && text[at] == '.') {
        ++at;
        if (!digits()) {
            return false;
        }
    }
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        ++at;
        at += at < text.size() && (text[at] == '-' || text[at] == '+') ? 1 : 0;
        if (!digits()) {
            return false;
        }
    }
    return at == text.size();
}

bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), text) != words.end();
}

// yaml-cpp's LoadAll never ends on text such as a lone comma: a document begins, takes nothing, and
// ends where it began. A first pass over the events finds that.
class Progress : public IgnoreEvents {
  public:
    void OnDocumentStart(const YAML::Mark& mark) override {
        if (mark.pos == last_) {
            throw YAML::ParserException(mark, "no value begins here");
        }
        last_ = mark.pos;
    }

    static std::vector<YAML::Node> documents(const std::string& text) {
        std::istringstream first(text);
        YAML::Parser parser(first);
        Progress progress;
        while (parser.HandleNextDocument(progress)) {
        }
        return YAML::LoadAll(text);
    }

  private:
    int last_ = -1;
};

class ToJson {
  public:
    // nullopt when the tree was written.
    std::optional<Refusal> write(const YAML::Node& node, int depth = 0) {
        if (depth > kDepthMax) {
            return Refusal{fmt::format("nested deeper than {}", kDepthMax), line_of(node)};
        }
        if (++nodes_ > kNodesMax) {
            return too_many(node);
        }
        switch (node.Type()) {
            case YAML::NodeType::Map:
                return map(node, depth);
            case YAML::NodeType::Sequence:
                return sequence(node, depth);
            case YAML::NodeType::Scalar:
                return scalar(node);
            default:
                json_.null();
                return std::nullopt;
        }
    }
    std::string take() { return json_.take(); }

  private:
    static Refusal too_many(const YAML::Node& node) {
        return {fmt::format("more than {} values, aliases counted", kNodesMax), line_of(node)};
    }

    using Entries = std::vector<std::pair<YAML::Node, YAML::Node>>;

    std::optional<Refusal> map(const YAML::Node& node, int depth) {
        Entries entries;
        std::set<std::string> taken;
        if (auto refusal = collect(node, depth, taken, entries)) {
            return refusal;
        }
        json_.begin_object();
        for (const auto& [key, value] : entries) {
            json_.key(key.Scalar());
            if (auto refusal = write(value, depth + 1)) {
                return refusal;
            }
        }
        json_.end_object();
        return std::nullopt;
    }

    // The map's own keys, then those of maps merged into it by << that nobody before them has.
    std::optional<Refusal> collect(const YAML::Node& node, int depth, std::set<std::string>& taken,
                                   Entries& entries) {
        if (depth > kDepthMax) {
            return Refusal{fmt::format("nested deeper than {}", kDepthMax), line_of(node)};
        }
        std::vector<YAML::Node> merged;
        std::vector<std::string> own;
        for (const auto& entry : node) {
            if (!entry.first.IsScalar()) {
                return Refusal{"a key is not accepted: text is", line_of(entry.first)};
            }
            const std::string& key = entry.first.Scalar();
            if (!valid_utf8(key)) {
                return Refusal{"a key is not valid UTF-8", line_of(entry.first)};
            }
            if (key == "<<" && entry.second.IsMap()) {
                merged.push_back(entry.second);
            } else if (key == "<<" && entry.second.IsSequence()) {
                for (const YAML::Node& one : entry.second) {
                    merged.push_back(one);
                }
            } else if (!taken.contains(key)) {
                own.push_back(key);
                entries.emplace_back(entry.first, entry.second);
            }
        }
        taken.insert(own.begin(), own.end());
        for (const YAML::Node& other : merged) {
            if (!other.IsMap()) {
                return Refusal{"<<: a value that is no map is not accepted", line_of(other)};
            }
            // Values are counted as they are written, and once more for each merge: it may hide
            // them.
            nodes_ += other.size();
            if (nodes_ > kNodesMax) {
                return too_many(other);
            }
            if (auto refusal = collect(other, depth + 1, taken, entries)) {
                return refusal;
            }
        }
        return std::nullopt;
    }

    std::optional<Refusal> sequence(const YAML::Node& node, int depth) {
        json_.begin_array();
        for (const auto& item : node) {
            if (auto refusal = write(item, depth + 1)) {
                return refusal;
            }
        }
        json_.end_array();
        return std::nullopt;
    }

    // Quoted is text. Plain is null, a truth value or a number where it looks like one.
    std::optional<Refusal> scalar(const YAML::Node& node) {
        const std::string& text = node.Scalar();
        if (!valid_utf8(text)) {
            return Refusal{fmt::format("{} is not valid UTF-8", in_quotes(text)), line_of(node)};
        }
        const bool plain = node.Tag() == "?" || node.Tag().empty();
        if (plain && one_of(text, {"null", "Null", "NULL", "~", ""})) {
            json_.null();
        } else if (plain && one_of(text, {"true", "True", "TRUE"})) {
            json_.value(true);
        } else if (plain && one_of(text, {"false", "False", "FALSE"})) {
            json_.value(false);
        } else if (plain && json_number(text)) {
            json_.raw(text);
        } else {
            json_.value(text);
        }
        return std::nullopt;
    }

    JsonWriter json_;
    std::size_t nodes_ = 0;
};

// The line of the deepest part of the path that exists.
int line_at(const YAML::Node& at, std::span<const std::string> path) {
    if (path.empty()) {
        return line_of(at);
    }
    if (at.IsSequence()) {
        std::size_t index = 0;
        std::from_chars(path[0].data(), path[0].data() + path[0].size(), index);
        if (index < at.size()) {
            return line_at(at[index], path.subspan(1));
        }
    } else if (at.IsMap()) {
        if (const YAML::Node found = at[path[0]]; found.IsDefined()) {
            return line_at(found, path.subspan(1));
        }
    }
    return line_of(at);
}

std::string_view source_line(std::string_view text, int line) {
    for (; line > 1; --line) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos) {
            return {};
        }
        text.remove_prefix(end + 1);
    }
    return text.substr(0, text.find('\n'));
}

// Whether // stands where a comment would: at the beginning, or after a space.
bool slash_comment(std::string_view line) {
    for (std::size_t at = line.find("//"); at != std::string_view::npos;
         at = line.find("//", at + 1)) {
        if (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t') {
            return true;
        }
    }
    return false;
}

// An error at a line; the parser notices a // only when it reads on, a line or two later.
tl::unexpected<Error> refuse(std::string_view text, int line, std::string_view message) {
    for (int near = line; near > 0 && near > line - 3; --near) {
        if (slash_comment(source_line(text, near))) {
            return fail(ErrorKind::invalid,
                        "line {}: // does not begin a comment in YAML: # is accepted", near);
        }
    }
    return fail(ErrorKind::invalid, "line {}: {}", line, message);
}

void append(KubeObjects& all, KubeObjects more) {
    std::move(more.pods.begin(), more.pods.end(), std::back_inserter(all.pods));
    std::move(more.nodes.begin(), more.nodes.end(), std::back_inserter(all.nodes));
    std::move(more.config_maps.begin(), more.config_maps.end(),
              std::back_inserter(all.config_maps));
    for (std::string& kind : more.skipped) {
        if (std::find(all.skipped.begin(), all.skipped.end(), kind) == all.skipped.end()) {
            all.skipped.push_back(std::move(kind));
        }
    }
}

Expected<void> read_document(std::string_view text, const YAML::Node& document, KubeObjects& all) {
    if (document.IsNull() || !document.IsDefined()) {
        return {};  // nothing between two separators
    }
    if (!document.IsMap()) {
        return refuse(text, line_of(document),
                      fmt::format("{} is not accepted: an object with a kind, such as Pod, is",
                                  document.IsSequence() ? "a list" : in_quotes(document.Scalar())));
    }
    ToJson json;
    if (auto refusal = json.write(document)) {
        return refuse(text, refusal->line, refusal->message);
    }
    auto found = locate_kube_json(json.take());
    if (!found) {
        return refuse(text, line_at(document, found.error().path), found.error().to_string());
    }
    append(all, std::move(*found));
    return {};
}

Expected<KubeObjects> read_documents(std::string_view text) {
    KubeObjects all;
    try {
        for (const YAML::Node& document : Progress::documents(std::string(text))) {
            TESSERA_CHECK(read_document(text, document, all));
        }
    } catch (const YAML::Exception& error) {
        const YamlFault fault = yaml_fault(error, text);
        return refuse(text, fault.line, fault.reason);
    }
    return all;
}

// Behind a quoted value that ends its line YAML takes nothing but a comment. Elastic GPU's own
// samples have // there.
struct HashComments {
    std::string text;
    std::vector<int> lines;  // where // became #
};

HashComments with_hash_comments(std::string_view text) {
    HashComments result{std::string(text), {}};
    int line = 1;
    char before = 0;  // on this line, blanks left out
    bool blank = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '\n') {
            ++line;
            before = 0;
        } else if (blank && text.substr(at).starts_with("//") &&
                   (before == '"' || before == '\'')) {
            result.text.replace(at, 2, "# ");
            result.lines.push_back(line);
            before = '#';
        } else if (c != ' ' && c != '\t') {
            before = c;
        }
        blank = c == ' ' || c == '\t';
    }
    return result;
}

}  // namespace

Expected<KubeObjects> read_kube_yaml(std::string_view text) {
    if (text.size() > kFileBytesMax) {
        return fail(ErrorKind::invalid, "{} bytes of YAML are not accepted: up to {} are",
                    text.size(), kFileBytesMax);
    }
    if (const auto fault = nul_byte(text)) {
        return fail(ErrorKind::invalid, "line {}: {}", fault->line, fault->reason);
    }
    auto all = read_documents(text);
    if (all) {
        return all;
    }
    const HashComments other = with_hash_comments(text);
    if (other.lines.empty()) {
        return all;
    }
    auto again = read_documents(other.text);
    if (!again) {
        return all;
    }
    for (const int line : other.lines) {
        again->notes.push_back(fmt::format(
            "line {}: // is taken for a comment, which kubectl does not do: # begins one", line));
    }
    return again;
}

}  // namespace tessera
