#include "codec/extender_json.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "codec/extender_json_walk.h"

namespace tessera {
namespace {

using namespace extender_walk;

// simdjson reads whole blocks: this much behind the text must be ours.
constexpr std::size_t kPadding = simdjson::SIMDJSON_PADDING;
// A parser keeps some six times of the largest text it has read. Beyond this it is let go with the
// next small text, and beyond that at once.
constexpr std::size_t kKeptCapacity = std::size_t{1} << 20;
constexpr std::size_t kMostKept = std::size_t{8} << 20;
constexpr std::string_view kNoName = "\"\"";

// Memory follows the number of nodes, at some hundred bytes each where the text has four.
Expected<void> check_count(std::size_t count, std::size_t most, std::string_view field,
                           std::string_view things) {
    if (count > most) {
        return fail(ErrorKind::invalid, "{}: more than {} {} are not accepted", field, most,
                    things);
    }
    return {};
}

Expected<void> check_size(std::string_view object, const Place& place) {
    if (object.size() > kMostObjectBytes) {
        return fail(ErrorKind::invalid, "{}: an object of {} bytes is not accepted, at most {} are",
                    place.to_string(), object.size(), kMostObjectBytes);
    }
    return {};
}

// The name at `value`, as it was written and, where it has escapes, as it is meant.
Expected<void> add_name(ondemand::value value, const Place& place, ExtenderArgs& out) {
    const std::string_view written = trimmed(value.raw_json_token());
    TESSERA_TRY(const std::string_view text, as_text(value, place));
    if (written.find('\\') != std::string_view::npos) {
        out.unescaped.emplace_back(out.quoted.size(), text);
    }
    out.quoted.push_back(written);
    return {};
}

// The first quote or backslash at or behind `at`, eight bytes at a time: the text is followed by
// padding, and by a quote or an end before that.
const char* string_mark(const char* at) {
    static_assert(std::endian::native == std::endian::little);
    constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101;
    constexpr std::uint64_t kHighs = 0x8080'8080'8080'8080;
    // The lowest bit that is set is that of the first such byte; higher ones may be others'.
    const auto zeros = [](std::uint64_t word) { return (word - kOnes) & ~word & kHighs; };
    while (true) {
        std::uint64_t word = 0;
        std::memcpy(&word, at, sizeof(word));
        const std::uint64_t found = zeros(word ^ (kOnes * '"')) | zeros(word ^ (kOnes * '\\'));
        if (found != 0) {
            return at + std::countr_zero(found) / 8;
        }
        at += sizeof(word);
    }
}

// ["a","b"]: nothing but plain names, which is what kube-scheduler sends. The parser has seen to
// quotes (each string ends before the list does), UTF-8 and control characters. False: there is
// something else, or too much, `quoted` is of no use.
bool plain_names(std::string_view list, std::vector<std::string_view>& quoted) {
    const char* at = list.data() + 1;
    const char* const end = list.data() + list.size();
    const auto skip_space = [&] {
        while (at != end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) {
            ++at;
        }
    };
    skip_space();
    if (at != end && *at == ']') {
        return at + 1 == end;
    }
    while (true) {
        skip_space();
        if (at == end || *at != '"') {
            return false;
        }
        const char* const begin = at;
        at = string_mark(begin + 1);
        if (at >= end || *at != '"') {
            return false;
        }
        ++at;
        if (quoted.size() == kMostNodesAsked) {
            return false;
        }
        quoted.emplace_back(begin, static_cast<std::size_t>(at - begin));
        skip_space();
        if (at == end || *at != ',') {
            return at != end && *at == ']' && at + 1 == end;
        }
        ++at;
    }
}

Expected<void> read_names(ondemand::value value, ExtenderArgs& out) {
    const Place place{"NodeNames"};
    TESSERA_TRY(ondemand::array array, as_list(value, place));
    std::string_view raw;
    if (const auto error = array.raw_json().get(raw)) {
        return malformed(error);
    }
    out.form = NodesForm::names;
    out.quoted.clear();
    out.unescaped.clear();
    if (plain_names(trimmed(raw), out.quoted)) {
        return {};
    }
    out.quoted.clear();
    bool any = false;
    if (const auto error = array.reset().get(any)) {
        return malformed(error);
    }
    return each_element(array, [&](std::int64_t index, ondemand::value name) -> Expected<void> {
        TESSERA_CHECK(check_count(out.quoted.size() + 1, kMostNodesAsked, "NodeNames", "nodes"));
        const std::string_view written = trimmed(name.raw_json_token());
        TESSERA_TRY(const bool null, is_null(name));
        if (null) {
            out.unescaped.emplace_back(out.quoted.size(), "");
            out.quoted.push_back(written);
            return {};
        }
        return add_name(name, {"NodeNames", index}, out);
    });
}

// metadata.name of a node, the last one where there are several; the empty name where there is
// none.
Expected<void> read_node(ondemand::object node, std::int64_t index, ExtenderArgs& out) {
    const std::size_t at = out.quoted.size();
    const auto forget = [&] {
        out.quoted.resize(at);
        if (!out.unescaped.empty() && out.unescaped.back().first == at) {
            out.unescaped.pop_back();
        }
    };
    const auto read = [&](std::string_view key, ondemand::value value) -> Expected<void> {
        if (!same_key(key, "metadata")) {
            return {};
        }
        TESSERA_TRY(ondemand::object metadata,
                    as_object(value, {"Nodes.items", index, "metadata"}));
        return each_member(metadata, [&](std::string_view inner, ondemand::value name) {
            if (!same_key(inner, "name")) {
                return Expected<void>();
            }
            forget();
            return add_name(name, {"Nodes.items", index, "metadata.name"}, out);
        });
    };
    TESSERA_CHECK(each_member(node, read));
    if (out.quoted.size() == at) {
        out.quoted.push_back(kNoName);
    }
    return {};
}

Expected<void> read_items(ondemand::value value, ExtenderArgs& out) {
    TESSERA_TRY(ondemand::array items, as_list(value, {"Nodes.items"}));
    out.quoted.clear();
    out.items.clear();
    out.unescaped.clear();
    return each_element(items, [&](std::int64_t index, ondemand::value item) -> Expected<void> {
        TESSERA_CHECK(check_count(out.items.size() + 1, kMostNodesAsked, "Nodes.items", "nodes"));
        const std::string_view written = trimmed(item.raw_json_token());
        TESSERA_TRY(const bool null, is_null(item));
        if (null) {
            out.items.push_back(written);
            out.quoted.push_back(kNoName);
            return {};
        }
        TESSERA_TRY(ondemand::object node, as_object(item, {"Nodes.items", index}));
        TESSERA_TRY(const std::string_view raw, raw_object(node));
        TESSERA_CHECK(check_size(raw, {"Nodes.items", index}));
        out.items.push_back(raw);
        bool any = false;
        if (const auto error = node.reset().get(any)) {
            return malformed(error);
        }
        return read_node(node, index, out);
    });
}

Expected<void> read_nodes(ondemand::value value, ExtenderArgs& out) {
    TESSERA_TRY(ondemand::object nodes, as_object(value, {"Nodes"}));
    out.form = NodesForm::objects;
    out.quoted.clear();
    out.items.clear();
    out.unescaped.clear();
    return each_member(nodes, [&](std::string_view key, ondemand::value items) {
        return same_key(key, "items") ? read_items(items, out) : Expected<void>();
    });
}

Expected<std::string_view> read_pod(ondemand::value value) {
    TESSERA_TRY(ondemand::object pod, as_object(value, {"Pod"}));
    TESSERA_TRY(const std::string_view raw, raw_object(pod));
    TESSERA_CHECK(check_size(raw, {"Pod"}));
    return raw;
}

// {"UID":"..."}, or a whole pod with the same in its metadata.
Expected<void> read_uid(ondemand::object pod, const Place& place, bool meta, std::string& uid) {
    return each_member(pod, [&](std::string_view key, ondemand::value value) -> Expected<void> {
        if (meta && same_key(key, "UID")) {
            TESSERA_TRY(uid, as_text(value, place));
        } else if (!meta && same_key(key, "metadata")) {
            TESSERA_TRY(ondemand::object metadata, as_object(value, place));
            return read_uid(metadata, place, true, uid);
        }
        return {};
    });
}

Expected<void> read_victims(ondemand::value value, bool meta, NodeVictims& out) {
    const std::string_view field = meta ? "NodeNameToMetaVictims" : "NodeNameToVictims";
    TESSERA_TRY(ondemand::object victims, as_object(value, {field}));
    return each_member(victims, [&](std::string_view key, ondemand::value inner) -> Expected<void> {
        if (same_key(key, "NumPDBViolations")) {
            if (inner.get_int64().get(out.pdb_violations) != simdjson::SUCCESS) {
                return wrong({field, -1, "NumPDBViolations"}, inner, "a whole number");
            }
            return {};
        }
        if (!same_key(key, "Pods")) {
            return {};
        }
        TESSERA_TRY(ondemand::array pods, as_list(inner, {field, -1, "Pods"}));
        out.uids.clear();
        return each_element(pods, [&](std::int64_t, ondemand::value pod) -> Expected<void> {
            TESSERA_TRY(const bool null, is_null(pod));
            if (null) {
                return {};
            }
            const Place place{field, -1, "Pods"};
            TESSERA_TRY(ondemand::object object, as_object(pod, place));
            std::string uid;
            TESSERA_CHECK(read_uid(object, place, meta, uid));
            if (uid.empty()) {
                return fail(ErrorKind::invalid, "{}: a victim has no uid", place.to_string());
            }
            TESSERA_CHECK(
                check_count(out.uids.size() + 1, kMostVictimsAsked, place.to_string(), "victims"));
            out.uids.push_back(std::move(uid));
            return {};
        });
    });
}

void pad(std::string& body) {
    if (body.capacity() - body.size() < kPadding) {
        body.reserve(body.size() + kPadding);
    }
}

// Whole nodes go back as they came, so that what was passed over in them must be JSON, too. One by
// one: this parser takes sixteen times of what it reads.
Expected<void> check_nodes(std::span<const std::string_view> items) {
    simdjson::dom::parser parser;
    for (std::string_view item : items) {
        if (const auto error = parser.parse(item.data(), item.size(), false).error()) {
            return malformed(error);
        }
    }
    return {};
}

// By name, and of a name that is there twice the last.
void put_in_order(std::vector<NodeVictims>& nodes) {
    std::reverse(nodes.begin(), nodes.end());
    std::stable_sort(nodes.begin(), nodes.end(),
                     [](const NodeVictims& a, const NodeVictims& b) { return a.node < b.node; });
    const auto same = [](const NodeVictims& a, const NodeVictims& b) { return a.node == b.node; };
    nodes.erase(std::unique(nodes.begin(), nodes.end(), same), nodes.end());
}

Expected<void> read_victim_map(ondemand::value value, bool meta, std::vector<NodeVictims>& out) {
    const std::string_view field = meta ? "NodeNameToMetaVictims" : "NodeNameToVictims";
    TESSERA_TRY(ondemand::object map, as_object(value, {field}));
    std::size_t victims = 0;
    const auto read = [&](std::string_view node, ondemand::value inner) -> Expected<void> {
        TESSERA_CHECK(check_count(out.size() + 1, kMostNodesAsked, field, "nodes"));
        out.push_back({std::string(node), {}, 0});
        TESSERA_CHECK(read_victims(inner, meta, out.back()));
        victims += out.back().uids.size();
        return check_count(victims, kMostVictimsAsked, field, "victims");
    };
    const auto none = [&](std::string_view node) {
        if (out.size() <= kMostNodesAsked) {
            out.push_back({std::string(node), {}, 0});
        }
    };
    out.clear();
    TESSERA_CHECK(each_member(map, read, none));
    TESSERA_CHECK(check_count(out.size(), kMostNodesAsked, field, "nodes"));
    put_in_order(out);
    return {};
}

}  // namespace

std::string_view ExtenderArgs::unescaped_name(std::size_t at) const {
    const auto found =
        std::lower_bound(unescaped.begin(), unescaped.end(), at,
                         [](const auto& one, std::size_t i) { return one.first < i; });
    if (found != unescaped.end() && found->first == at) {
        return found->second;
    }
    return quoted[at].substr(1, quoted[at].size() - 2);
}

class ExtenderReader::Inner {
  public:
    template <class Read, class Cleared>
    Expected<void> document(std::string& body, const Read& read, const Cleared& cleared) {
        if (body.find_first_not_of(" \t\r\n") == std::string::npos) {
            return fail(ErrorKind::invalid, "the request has no body: a JSON object is expected");
        }
        pad(body);
        return padded(body, read, cleared);
    }

    // The document's one object, and nothing behind it. The padding behind the text may be
    // anything.
    template <class Read, class Cleared>
    Expected<void> padded(std::string_view text, const Read& read, const Cleared& cleared) {
        if (parser_.capacity() > kKeptCapacity && text.size() <= kKeptCapacity) {
            parser_ = ondemand::parser();
        }
        const auto done = walk(text, read, cleared);
        if (parser_.capacity() > kMostKept) {
            parser_ = ondemand::parser();
        }
        return done;
    }

  private:
    template <class Read, class Cleared>
    Expected<void> walk(std::string_view text, const Read& read, const Cleared& cleared) {
        ondemand::document root;
        if (const auto error =
                parser_.iterate(text.data(), text.size(), text.size() + kPadding).get(root)) {
            return malformed(error);
        }
        ondemand::object object;
        if (const auto error = root.get_object().get(object)) {
            return error == simdjson::INCORRECT_TYPE
                       ? fail(ErrorKind::invalid, "the request is no JSON object")
                       : malformed(error);
        }
        TESSERA_CHECK(each_member(object, read, cleared));
        if (root.current_location().error() != simdjson::OUT_OF_BOUNDS) {
            return fail(ErrorKind::invalid, "something follows the JSON object of the request");
        }
        return {};
    }

    ondemand::parser parser_;
};

ExtenderReader::ExtenderReader() : inner_(std::make_unique<Inner>()) {}
ExtenderReader::~ExtenderReader() = default;
ExtenderReader::ExtenderReader(ExtenderReader&&) noexcept = default;
ExtenderReader& ExtenderReader::operator=(ExtenderReader&&) noexcept = default;

Expected<void> ExtenderReader::args(std::string& body, ExtenderArgs& out) {
    out.pod = {};
    out.form = NodesForm::none;
    out.quoted.clear();
    out.items.clear();
    out.unescaped.clear();
    out.rest = {};
    // NodeNames count where both are there, so nodes must not write over them.
    ExtenderArgs nodes;
    bool nodes_begun = false;
    const auto read = [&](std::string_view key, ondemand::value value) -> Expected<void> {
        if (same_key(key, "Pod")) {
            TESSERA_TRY(out.pod, read_pod(value));
            const std::size_t end = static_cast<std::size_t>(out.pod.end() - body.data());
            out.rest = nodes_begun ? std::string_view() : std::string_view(body).substr(end);
            return {};
        }
        if (same_key(key, "NodeNames")) {
            nodes_begun = true;
            return read_names(value, out);
        }
        if (!same_key(key, "Nodes")) {
            return {};
        }
        nodes_begun = true;
        return read_nodes(value, nodes);
    };
    const auto cleared = [&](std::string_view key) {
        if (same_key(key, "Pod")) {
            out.pod = out.rest = {};
        } else if (same_key(key, "NodeNames")) {
            out.form = NodesForm::none;
        } else if (same_key(key, "Nodes")) {
            nodes.form = NodesForm::none;
        }
    };
    TESSERA_CHECK(inner_->document(body, read, cleared));
    if (out.form == NodesForm::none) {
        nodes.pod = out.pod;
        nodes.rest = out.rest;
        out = std::move(nodes);
    }
    if (out.form == NodesForm::none) {
        out.quoted.clear();
        out.rest = {};
    }
    return out.form == NodesForm::objects ? check_nodes(out.items) : Expected<void>();
}

// Members that follow a member follow another one just as well: if what is before them is a whole
// object once it is closed, the body is the one with these members behind it.
std::string_view ExtenderReader::pod_before(std::string& body, const ExtenderArgs& known) {
    const std::string_view rest = known.rest;
    if (rest.empty() || body.size() <= rest.size() || !body.ends_with(rest)) {
        return {};
    }
    pad(body);
    const std::size_t end = body.size() - rest.size();
    const char first = std::exchange(body[end], '}');
    const std::string_view before = std::string_view(body).substr(0, end + 1);
    std::string_view pod;
    const auto read = [&](std::string_view key, ondemand::value value) -> Expected<void> {
        if (same_key(key, "Nodes") || same_key(key, "NodeNames")) {
            return fail(ErrorKind::invalid, "nodes are told of in two places");
        }
        if (same_key(key, "Pod")) {
            TESSERA_TRY(pod, read_pod(value));
        }
        return {};
    };
    const auto cleared = [&](std::string_view key) {
        if (same_key(key, "Pod")) {
            pod = {};
        }
    };
    const bool good = inner_->padded(before, read, cleared).has_value();
    body[end] = first;
    return good ? pod : std::string_view();
}

Expected<ExtenderBinding> ExtenderReader::binding(std::string& body) {
    ExtenderBinding out;
    const auto read = [&](std::string_view key, ondemand::value value) -> Expected<void> {
        const std::pair<std::string_view, std::string*> fields[] = {
            {"PodName", &out.pod_name},
            {"PodNamespace", &out.pod_space},
            {"PodUID", &out.pod_uid},
            {"Node", &out.node},
        };
        for (const auto& [name, field] : fields) {
            if (same_key(key, name)) {
                TESSERA_TRY(*field, as_text(value, {name}));
            }
        }
        return {};
    };
    TESSERA_CHECK(inner_->document(body, read, [](std::string_view) {}));
    return out;
}

Expected<ExtenderPreemption> ExtenderReader::preemption(std::string& body) {
    ExtenderPreemption out;
    std::vector<NodeVictims> whole;
    bool meta_given = false;
    const auto read = [&](std::string_view key, ondemand::value value) -> Expected<void> {
        if (same_key(key, "Pod")) {
            TESSERA_TRY(out.pod, read_pod(value));
            return {};
        }
        if (same_key(key, "NodeNameToMetaVictims")) {
            meta_given = true;
            return read_victim_map(value, true, out.nodes);
        }
        return same_key(key, "NodeNameToVictims") ? read_victim_map(value, false, whole)
                                                  : Expected<void>();
    };
    TESSERA_CHECK(inner_->document(body, read, [](std::string_view) {}));
    if (!meta_given) {
        out.nodes = std::move(whole);
    }
    return out;
}

}  // namespace tessera
