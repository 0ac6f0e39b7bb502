// The answers of an extender, in Go's spelling.
#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "base/json_writer.h"
#include "codec/extender_json.h"

namespace tessera {
namespace {

std::string as_json(std::string_view text) {
    JsonWriter json;
    json.value(text);
    return json.take();
}

// A name that was null is Go's empty one.
std::string_view key_of(std::string_view written) {
    return written.front() == '"' ? written : std::string_view("\"\"");
}

// The nodes that fit, run by run: between two elements of the request's list there are only a comma
// and space, so that a run is copied whole.
void append_runs(std::span<const std::string_view> elements, std::span<const std::uint8_t> refused,
                 std::string& out) {
    bool first = true;
    for (std::size_t at = 0; at < elements.size();) {
        if (refused[at] != 0) {
            ++at;
            continue;
        }
        const char* const begin = elements[at].data();
        while (at + 1 < elements.size() && refused[at + 1] == 0) {
            ++at;
        }
        const char* const end = elements[at].data() + elements[at].size();
        ++at;
        if (!first) {
            out += ',';
        }
        first = false;
        out.append(begin, end);
    }
}

void append_failed(const FilterResult& result, bool never, std::string& out) {
    std::vector<std::string> texts;
    bool any = false;
    for (const RefusalText& one : result.texts) {
        texts.push_back(':' + as_json(one.text));
        any = any || one.never == never;
    }
    if (!any) {
        out += never ? "null" : "{}";  // as an extender in Go, which fills in the one map only
        return;
    }
    char before = '{';
    for (std::size_t at = 0; at < result.args.size(); ++at) {
        if (result.refused[at] == 0) {
            continue;
        }
        const std::size_t text = result.refused[at] - std::size_t{1};
        if (result.texts[text].never == never) {
            out += before;
            out += key_of(result.args.quoted[at]);
            out += texts[text];
            before = ',';
        }
    }
    out += before == '{' ? "{}" : "}";
}

std::size_t expected_size(const FilterResult& result) {
    constexpr std::size_t kFrame = 256;
    const ExtenderArgs& args = result.args;
    if (args.size() == 0) {
        return kFrame;
    }
    const auto& elements = args.form == NodesForm::objects ? args.items : args.quoted;
    std::size_t most = 0;
    for (const RefusalText& one : result.texts) {
        most = std::max(most, one.text.size());
    }
    const auto failed = static_cast<std::size_t>(
        std::count_if(result.refused.begin(), result.refused.end(), [](auto r) { return r != 0; }));
    const auto span = static_cast<std::size_t>(elements.back().data() - elements.front().data());
    return kFrame + span + elements.back().size() + failed * (most + 32);
}

}  // namespace

std::string write_filter_result(const FilterResult& result) {
    std::string out;
    if (!result.error.empty()) {
        out = R"({"Nodes":null,"NodeNames":null,"FailedNodes":null,)"
              R"("FailedAndUnresolvableNodes":null,"Error":)";
        return out + as_json(result.error) + "}";
    }
    TESSERA_ASSERT(result.refused.size() == result.args.size(), "every node has its verdict");
    out.reserve(expected_size(result));
    if (result.args.form == NodesForm::objects) {
        out += R"({"Nodes":{"metadata":{},"items":[)";
        append_runs(result.args.items, result.refused, out);
        out += R"(]},"NodeNames":null,"FailedNodes":)";
    } else {
        out += R"({"Nodes":null,"NodeNames":[)";
        append_runs(result.args.quoted, result.refused, out);
        out += R"(],"FailedNodes":)";
    }
    append_failed(result, false, out);
    out += R"(,"FailedAndUnresolvableNodes":)";
    append_failed(result, true, out);
    out += R"(,"Error":""})";
    return out;
}

std::string write_host_priorities(const ExtenderArgs& args, std::span<const std::uint8_t> scores) {
    TESSERA_ASSERT(scores.size() == args.size(), "every node has its score");
    constexpr std::string_view kBefore = R"({"Host":)";
    constexpr std::string_view kBetween = R"(,"Score":)";
    constexpr std::size_t kLeastName = 2;
    std::size_t size = 2;
    for (std::string_view name : args.quoted) {
        size += std::max(name.size(), kLeastName) + kBefore.size() + kBetween.size() + 4;
    }
    // By hand into a string of the largest size: five appends a node would cost twice as much.
    std::string out(size, ' ');
    char* at = out.data();
    const auto put = [&](std::string_view text) {
        std::memcpy(at, text.data(), text.size());
        at += text.size();
    };
    *at++ = '[';
    for (std::size_t node = 0; node < scores.size(); ++node) {
        if (node != 0) {
            *at++ = ',';
        }
        put(kBefore);
        put(key_of(args.quoted[node]));
        put(kBetween);
        if (scores[node] >= 10) {
            *at++ = '1';
        }
        *at++ = static_cast<char>('0' + scores[node] % 10);
        *at++ = '}';
    }
    *at++ = ']';
    out.resize(static_cast<std::size_t>(at - out.data()));
    return out;
}

std::string write_binding_result(std::string_view error) {
    return R"({"Error":)" + as_json(error) + "}";
}

std::string write_preemption_result(std::span<const NodeVictims> nodes) {
    JsonWriter json;
    json.begin_object();
    json.key("NodeNameToMetaVictims");
    json.begin_object();
    for (const NodeVictims& node : nodes) {
        json.key(node.node);
        json.begin_object();
        json.key("Pods");
        json.begin_array();
        for (const std::string& uid : node.uids) {
            json.begin_object();
            json.member("UID", uid);
            json.end_object();
        }
        json.end_array();
        json.member("NumPDBViolations", node.pdb_violations);
        json.end_object();
    }
    json.end_object();
    json.end_object();
    return json.take();
}

}  // namespace tessera
