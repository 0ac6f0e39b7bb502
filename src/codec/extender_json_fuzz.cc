// Any bytes are a request or one sentence; what is answered names the request's nodes alone, and
// reads back. What stands behind a form feed is put before the end of that request: read by that
// end or as a whole, it is the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/text.h"
#include "codec/extender_json.h"

namespace {

using namespace tessera;

void check_error(const Error& error) {
    TESSERA_ASSERT(!error.message.empty() && valid_utf8(error.message),
                   "a refusal is one readable sentence");
}

// Every third node is refused.
void check_answer(ExtenderReader& reader, const ExtenderArgs& args) {
    std::vector<std::uint8_t> refused(args.size());
    std::vector<std::string> kept;
    for (std::size_t at = 0; at < args.size(); ++at) {
        refused[at] = at % 3 == 1 ? 1 : 0;
        if (refused[at] == 0) {
            kept.emplace_back(args.name(at));
        }
    }
    const std::vector<RefusalText> texts{{"no", false}};
    std::string answer = write_filter_result({args, refused, texts});
    const NodesForm form = args.form;
    ExtenderArgs back;
    TESSERA_ASSERT(reader.args(answer, back).has_value(), "an answer is JSON");
    TESSERA_ASSERT(form == NodesForm::none || back.form == form, "in the form that was asked");
    TESSERA_ASSERT(back.size() == kept.size(), "of the nodes that fit");
    for (std::size_t at = 0; at < kept.size(); ++at) {
        TESSERA_ASSERT(back.name(at) == kept[at], "in their order");
    }
}

void check_end(ExtenderReader& reader, const ExtenderArgs& known, std::string body) {
    if (known.rest.empty()) {
        return;
    }
    body += known.rest;
    const std::string pod(reader.pod_before(body, known));
    ExtenderArgs args;
    const bool good = reader.args(body, args).has_value();
    TESSERA_ASSERT(pod.empty() || (good && args.pod == pod && args.form == known.form &&
                                   args.items == known.items && args.quoted == known.quoted &&
                                   args.unescaped == known.unescaped),
                   "a known end is read as a whole request is");
    TESSERA_ASSERT(!pod.empty() || !good || args.rest != known.rest, "a known end is known");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static ExtenderReader reader;
    static ExtenderReader second;
    std::string body(reinterpret_cast<const char*>(data), size);
    std::string front;
    if (const std::size_t feed = body.find('\f'); feed != std::string::npos) {
        front = body.substr(feed + 1);
        body.resize(feed);
    }
    ExtenderArgs args;
    if (const auto read = reader.args(body, args)) {
        check_end(second, args, front);
        check_answer(second, args);
        static_cast<void>(write_host_priorities(args, std::vector<std::uint8_t>(args.size(), 7)));
    } else {
        check_error(read.error());
    }
    if (const auto read = reader.binding(body); !read) {
        check_error(read.error());
    }
    if (const auto read = reader.preemption(body)) {
        std::string answer = write_preemption_result(read->nodes);
        const auto back = second.preemption(answer);
        TESSERA_ASSERT(back && back->nodes.size() == read->nodes.size(), "victims read back");
    } else {
        check_error(read.error());
    }
    return 0;
}
