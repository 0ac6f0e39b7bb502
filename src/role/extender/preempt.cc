// preempt: of the nodes that kube-scheduler would make room on, those where that makes room on the
// GPUs as well, with the pods that have to go.
#include <utility>

#include "codec/kube_json.h"
#include "role/extender/verbs.h"

namespace tessera {
namespace {

// A pod that asks for no GPU is no matter of ours.
bool asks_for_gpus(const Pod& pod) {
    const auto dialect = dialect_of(pod);
    return !dialect || !(*dialect)->asks(pod).empty();
}

}  // namespace

HttpResponse preempt(Desk& desk, Call& call) {
    auto asked = Scratch::of_thread().reader.preemption(call.request.body);
    if (!asked) {
        return error_answer(400, asked.error().message);
    }
    if (asked->pod.empty()) {
        return error_answer(400, "the request has no Pod");
    }
    const auto pod = read_pod_json(asked->pod);
    if (!pod) {
        return error_answer(400, "the pod cannot be read: " + pod.error().message);
    }
    if (!asks_for_gpus(*pod)) {
        return {.body = write_preemption_result(asked->nodes)};
    }
    std::vector<NodeVictims> helped;
    LongHold mirror(desk);
    const Nanoseconds now = desk.now();
    mirror->expire(now, Nanoseconds(0));
    for (NodeVictims& node : asked->nodes) {
        auto victims =
            mirror->victims_needed(*pod, mirror->find_node(node.node), node.uids, {"", now});
        if (victims) {
            helped.push_back({std::move(node.node), std::move(*victims), node.pdb_violations});
        }
        mirror.let_others();
    }
    return {.body = write_preemption_result(helped)};
}

}  // namespace tessera
