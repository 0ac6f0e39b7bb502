// explain: where a pod would go now, or why nowhere. Takes what filter takes, or a pod alone.
#include "base/json_writer.h"
#include "codec/decision_json.h"
#include "codec/kube_json.h"
#include "role/extender/verbs.h"

namespace tessera {

HttpResponse explain_pod(Desk& desk, Call& call) {
    ExtenderArgs args;
    if (const auto read = Scratch::of_thread().reader.args(call.request.body, args); !read) {
        return error_answer(400, read.error().message);
    }
    const std::string_view asked = args.pod.empty() ? call.request.body : args.pod;
    if (asked.size() > kMostObjectBytes) {
        return error_answer(400, fmt::format("the pod has {} bytes: at most {} are accepted",
                                             asked.size(), kMostObjectBytes));
    }
    const auto pod = read_pod_json(asked);
    if (!pod) {
        return error_answer(400, "the pod cannot be read: " + pod.error().message);
    }
    const auto mirror = desk.hold();
    const auto decision = mirror->explain(*pod, {"", desk.now()});
    if (!decision) {
        return error_answer(decision.error().kind == ErrorKind::invalid ? 400 : 500,
                            decision.error().message);
    }
    JsonWriter json;
    write_decision(*decision,
                   {[&](NodeIndex node) { return mirror->node_name(node); }, mirror->names()},
                   json);
    return {.body = json.take()};
}

}  // namespace tessera
