// preempt: of the nodes that kube-scheduler would make room on, those where that makes room on the
// GPUs as well, with the pods that have to go.
#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "codec/kube_json.h"
#include "role/extender/verbs.h"

namespace tessera {
namespace {

// Of the search for the fewest victims, at one or two microseconds each: kube-scheduler waits 5 s
// for its answer. On the nodes for which none are left any victims do that make room.
constexpr std::size_t kMostSteps = 200'000;
constexpr std::size_t kMostStepsOnANode = 20'000;

// A pod that asks for no GPU is no matter of ours.
bool asks_for_gpus(const Pod& pod) {
    const auto dialect = dialect_of(pod);
    return !dialect || !(*dialect)->asks(pod).empty();
}

// The nodes where the pod finds room when the victims that are named then have gone.
std::vector<NodeVictims> where_it_helps(Desk& desk, const Pod& pod, std::span<NodeVictims> nodes) {
    std::vector<NodeVictims> helped;
    LongHold mirror(desk);
    mirror->expire(desk.now(), Nanoseconds(0));
    std::optional<Ask> ask;
    std::size_t steps = kMostSteps;
    for (NodeVictims& node : nodes) {
        if (const NodeIndex index = mirror->find_node(node.node); index.valid()) {
            if (!ask) {
                auto asked = mirror->ask(pod, {"", desk.now()});
                if (!asked) {
                    return {};  // no node has room for a pod that asks wrongly
                }
                ask = std::move(*asked);
            }
            VictimsFound found = mirror->victims_needed(
                pod, *ask, {index, node.uids, std::min(steps, kMostStepsOnANode)});
            steps -= found.steps;
            if (found.room) {
                helped.push_back(
                    {std::move(node.node), std::move(found.uids), node.pdb_violations});
            }
        }
        if (mirror.let_others()) {
            ask.reset();
        }
    }
    return helped;
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
    return {.body = write_preemption_result(where_it_helps(desk, *pod, asked->nodes))};
}

}  // namespace tessera
