// filter: every node of the request that serves the pod; the best one's share is held for it.
#include <algorithm>
#include <span>
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
HttpResponse refuse_all(const ExtenderArgs& args, std::string_view message) {
    RefusalTexts texts;
    const std::vector<std::uint8_t> marks(args.size(), texts.add(message, true));
    return answer({args, marks, texts.texts()});
}

// Marks for the nodes that do not fit, by their reasons.
void mark_refused(Mirror& mirror, const Pod& pod, const Fit& fit,
                  std::span<const NodeIndex> candidates, RefusalTexts& texts,
                  std::span<std::uint8_t> marks) {
    std::vector<NodeIndex> nodes;
    std::vector<std::size_t> places;
    std::uint8_t unknown = 0;
    for (std::size_t at = 0; at < candidates.size(); ++at) {
        if (!candidates[at].valid()) {
            unknown = unknown == 0 ? texts.add(kUnknownNode, false) : unknown;
            marks[at] = unknown;
        } else if (fit.keys[at] == 0) {
            nodes.push_back(candidates[at]);
            places.push_back(at);
        }
    }
    const auto refusals = mirror.verdicts(pod, nodes, {});
    if (nodes.empty() || !refusals) {
        return;
    }
    const std::vector<std::uint8_t> reasons = texts.add(*refusals, nodes, mirror.cluster());
    for (std::size_t i = 0; i < places.size(); ++i) {
        marks[places[i]] = reasons[i];
    }
}

Expected<void> judge_nodes(Desk& desk, const Pod& pod, NodeList& list, RefusalTexts& texts,
                           std::vector<std::uint8_t>& marks) {
    const auto mirror = desk.hold();
    const Nanoseconds now = desk.now();
    mirror->expire(now, Nanoseconds(0));
    const std::span<const NodeIndex> candidates = list.candidates(*mirror);
    // Asked before the decision: what is heard from now on can only make it better.
    const bool current = desk.current();
    TESSERA_TRY(const Fit fit, mirror->filter(pod, candidates, {"", now}));
    if (fit.fitting == 0 && !current) {
        // A pod that fits nowhere waits until kube-scheduler hears of a change, and the change may
        // be what we have not heard of yet. After an error it is tried again soon.
        return fail(ErrorKind::conflict,
                    "the cluster's state is being read again: try again in a moment");
    }
    marks.assign(candidates.size(), 0);
    const auto known = [](NodeIndex node) { return node.valid(); };
    if (fit.fitting != candidates.size() || !std::ranges::all_of(candidates, known)) {
        mark_refused(*mirror, pod, fit, candidates, texts, marks);
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
    const auto read = desk.node_lists.read(scratch.reader, call.request.body);
    if (!read) {
        return call.refuse(400, read.error().message);
    }
    const ExtenderArgs& args = read->nodes->args();
    if (read->pod.empty()) {
        return filter_error(200, "the request has no Pod");
    }
    if (args.form == NodesForm::none) {
        return filter_error(200,
                            "the request has neither NodeNames (nodeCacheCapable: true) nor Nodes");
    }
    const auto pod = read_pod_json(read->pod);
    if (!pod) {
        return refuse_all(args, "the pod cannot be read: " + pod.error().message);
    }
    RefusalTexts texts;
    if (const auto judged = judge_nodes(desk, *pod, *read->nodes, texts, scratch.marks); !judged) {
        return judged.error().kind == ErrorKind::invalid
                   ? refuse_all(args, judged.error().message)
                   : filter_error(200, judged.error().message);
    }
    return answer({args, scratch.marks, texts.texts()});
}

}  // namespace tessera
