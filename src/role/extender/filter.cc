// filter: every node of the request that serves the pod; the best one's share is held for it.
#include <utility>

#include "codec/kube_json.h"
#include "role/extender/refusal_text.h"
#include "role/extender/verbs.h"

namespace tessera {
namespace {

constexpr std::string_view kUnknownNode = "the node is not known to Tessera yet";

HttpResponse answer(const FilterResult& result) { return {.body = write_filter_result(result)}; }

// What is wrong with the pod itself no retry and no other node mends. An Error would be retried
// every few seconds, and a scheduler that may ignore us would place the pod without its GPU; so
// every node refuses it, with that sentence, and the pod waits until somebody has changed it.
HttpResponse refuse_all(Scratch& scratch, std::string_view message) {
    RefusalTexts texts;
    scratch.marks.assign(scratch.args.size(), texts.add(message, true));
    return answer({scratch.args, scratch.marks, texts.texts()});
}

// Marks for the nodes that do not fit, by their reasons.
void mark_refused(Mirror& mirror, const Pod& pod, const Fit& fit, Scratch& scratch,
                  RefusalTexts& texts) {
    std::vector<NodeIndex> nodes;
    std::vector<std::size_t> places;
    std::uint8_t unknown = 0;
    for (std::size_t at = 0; at < scratch.candidates.size(); ++at) {
        if (!scratch.candidates[at].valid()) {
            unknown = unknown == 0 ? texts.add(kUnknownNode, false) : unknown;
            scratch.marks[at] = unknown;
        } else if (fit.keys[at] == 0) {
            nodes.push_back(scratch.candidates[at]);
            places.push_back(at);
        }
    }
    const auto refusals = mirror.verdicts(pod, nodes, {});
    if (nodes.empty() || !refusals) {
        return;
    }
    const std::vector<std::uint8_t> marks = texts.add(*refusals, nodes, mirror.cluster());
    for (std::size_t i = 0; i < places.size(); ++i) {
        scratch.marks[places[i]] = marks[i];
    }
}

Expected<void> judge_nodes(Desk& desk, const Pod& pod, Scratch& scratch, RefusalTexts& texts) {
    const auto mirror = desk.hold();
    const Nanoseconds now = desk.now();
    mirror->expire(now, Nanoseconds(0));
    find_candidates(*mirror, scratch.args, scratch.candidates);
    // Asked before the decision: what is heard from now on can only make it better.
    const bool current = desk.current();
    TESSERA_TRY(const Fit fit, mirror->filter(pod, scratch.candidates, {"", now}));
    if (fit.fitting == 0 && !current) {
        // A pod that fits nowhere waits until kube-scheduler hears of a change, and the change may
        // be what we have not heard of yet. After an error it is tried again soon.
        return fail(ErrorKind::conflict,
                    "the cluster's state is being read again: try again in a moment");
    }
    scratch.marks.assign(scratch.args.size(), 0);
    bool all_known = true;
    for (NodeIndex node : scratch.candidates) {
        all_known = all_known && node.valid();
    }
    if (fit.fitting != scratch.args.size() || !all_known) {
        mark_refused(*mirror, pod, fit, scratch, texts);
    }
    return {};
}

}  // namespace

HttpResponse filter_error(int status, std::string_view message) {
    static const ExtenderArgs none;
    return {.status = status, .body = write_filter_result({none, {}, {}, message})};
}

HttpResponse filter(Desk& desk, Call& call) {
    Scratch& scratch = Scratch::of_thread();
    scratch.trim();
    if (const auto read = scratch.reader.args(call.request.body, scratch.args); !read) {
        return call.refuse(400, read.error().message);
    }
    if (scratch.args.pod.empty()) {
        return filter_error(200, "the request has no Pod");
    }
    if (scratch.args.form == NodesForm::none) {
        return filter_error(200,
                            "the request has neither NodeNames (nodeCacheCapable: true) nor Nodes");
    }
    const auto pod = read_pod_json(scratch.args.pod);
    if (!pod) {
        return refuse_all(scratch, "the pod cannot be read: " + pod.error().message);
    }
    RefusalTexts texts;
    if (const auto judged = judge_nodes(desk, *pod, scratch, texts); !judged) {
        return judged.error().kind == ErrorKind::invalid
                   ? refuse_all(scratch, judged.error().message)
                   : filter_error(200, judged.error().message);
    }
    return answer({scratch.args, scratch.marks, texts.texts()});
}

}  // namespace tessera
