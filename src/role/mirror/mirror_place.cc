// Decisions for a scheduler, which chooses among all nodes and binds by itself.
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "dialect/asking.h"
#include "engine/explain.h"
#include "role/mirror/mirror_state.h"

namespace tessera {
namespace {

// Pods that ask for no GPU go by the usual least-loaded rule, whatever our name is for them.
constexpr std::string_view kPlainPolicy = "spread";

std::string_view policy_to_place(const Pod& pod, std::string_view wanted) {
    const auto dialect = dialect_of(pod);
    return dialect && (*dialect)->asks(pod).empty() ? kPlainPolicy : wanted;
}

// Rules that a scheduler has to obey and that are not judged here: better no place than a wrong one.
Expected<void> check_judged(const Pod& pod) {
    std::string rule = pod.pod_rules.empty() ? "" : pod.pod_rules.front();
    if (!pod.resource_claims.empty()) {
        rule = "resourceClaims";
    }
    const auto asks_ports = [](const Container& one) { return !one.host_ports.empty(); };
    if (std::any_of(pod.containers.begin(), pod.containers.end(), asks_ports)) {
        rule = "containers[].ports[].hostPort";
    }
    if (!rule.empty()) {
        return fail(ErrorKind::invalid,
                    "{}: spec.{} is not judged by tessera's scheduler yet; without it the pod is "
                    "placed, or kube-scheduler with tessera's extender obeys it",
                    describe(pod), rule);
    }
    return {};
}

}  // namespace

Expected<Mirror::State::Question> Mirror::State::question_to_place(const Pod& pod,
                                                                   std::string_view wanted) {
    return question(pod, policy_to_place(pod, wanted));
}

Expected<Ask> Mirror::State::ask(PodIndex index, std::string_view policy) {
    const PodRecord& record = pods_[index];
    TESSERA_ASSERT(record.pod != nullptr, "only a pod that waits is asked about");
    TESSERA_TRY(Question question, question_to_place(*record.pod, policy));
    return Ask{question.policy, std::move(question.classes), question.asked.demand.priority};
}

bool Mirror::State::serves(const Ask& ask) {
    Placer& placer = engine_->placer(ask.policy);
    return std::any_of(ask.classes.begin(), ask.classes.end(),
                       [&](ClassIndex one) { return placer.fitting_nodes(one) > 0; });
}

// As filter() and prepare_bind() in one, but that the index tells the best of all nodes.
Expected<std::optional<BindPlan>> Mirror::State::place(PodIndex index, const Asked& asked) {
    TESSERA_CHECK(check_unbound(index));
    const PodRecord& record = pods_[index];
    TESSERA_ASSERT(record.pod != nullptr, "only a pod that waits is placed");
    if (record.in_doubt) {
        return fail(ErrorKind::conflict,
                    "pod {}/{} may be bound to node {}: the API server did not answer yet",
                    shown(record.space), shown(record.name), shown(node_name(record.node)));
    }
    TESSERA_CHECK(check_judged(*record.pod));
    TESSERA_TRY(Question question, question_to_place(*record.pod, asked.policy));
    release(index);
    learn(index, question);
    auto placement = engine_->placer(question.policy).choose(question.asked.demand);
    if (!placement) {
        return std::optional<BindPlan>();
    }
    Choice choice{question.policy, question.classes.front(), std::move(*placement),
                  question.group.group};
    TESSERA_CHECK(hold(index, std::move(question), std::move(choice), kNoDeadline));
    auto plan = plan_bind(index, record.node, asked.now);
    if (!plan) {
        release(index);
        return tl::unexpected(std::move(plan.error()));
    }
    return std::optional(std::move(*plan));
}

Expected<Decision> Mirror::State::why_waiting(PodIndex index, std::string_view policy) {
    const PodRecord& record = pods_[index];
    TESSERA_ASSERT(record.pod != nullptr, "only a pod that waits is explained");
    TESSERA_TRY(const Question question, question_to_place(*record.pod, policy));
    return tessera::explain(engine_->placer(question.policy), question.asked.demand);
}

}  // namespace tessera
