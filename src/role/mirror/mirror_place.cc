// Decisions for a scheduler, which chooses among all nodes and binds by itself.
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "dialect/asking.h"
#include "engine/explain.h"
#include "model/pod_rules.h"
#include "role/mirror/mirror_state.h"

namespace tessera {
namespace {

// Pods that ask for no GPU go by the usual least-loaded rule, whatever our name is for them.
constexpr std::string_view kPlainPolicy = "least-loaded";

// Nodes that are passed over for one pod, at most.
constexpr std::size_t kMostInVain = 64;

std::string_view policy_to_place(const Pod& pod, std::string_view wanted) {
    const auto dialect = dialect_of(pod);
    return dialect && (*dialect)->asks(pod).empty() ? kPlainPolicy : wanted;
}

// What a scheduler has to obey and is not judged here: better no place than a wrong one.
Expected<void> check_judged(const Pod& pod) {
    const PodRules& rules = rules_of(pod);
    const auto by_space = [](const PodTerm& term) {
        return term.spaces_by.has_value() && !term.spaces_by->empty();
    };
    std::string_view what;
    if (!pod.resource_claims.empty()) {
        what = "resourceClaims";
    } else if (!rules.claims.empty()) {
        what = "volumes[].persistentVolumeClaim";
    } else if (std::any_of(rules.near.begin(), rules.near.end(), by_space) ||
               std::any_of(rules.apart.begin(), rules.apart.end(), by_space)) {
        what = "affinity by namespaceSelector";
    }
    if (!what.empty()) {
        return fail(ErrorKind::invalid,
                    "{}: spec.{} is not judged by tessera's scheduler yet; without it the pod is "
                    "placed, or by kube-scheduler with tessera's extender",
                    describe(pod), what);
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
    const bool by_rules = static_cast<bool>(concern(index, question));
    return Ask{question.policy, std::move(question.classes), question.asked.demand.priority,
               by_rules};
}

bool Mirror::State::serves(const Ask& ask) {
    Placer& placer = engine_->placer(ask.policy);
    return std::any_of(ask.classes.begin(), ask.classes.end(),
                       [&](ClassIndex one) { return placer.fitting_nodes(one) > 0; });
}

// The index answers, unless rules between pods have a word in it or nodes were tried in vain.
std::optional<Choice> Mirror::State::choose(PodIndex index, const Question& asked,
                                            std::span<const NodeIndex> in_vain) {
    const Concern rules = concern(index, asked);
    if (rules || !in_vain.empty()) {
        return choose_by_rules(index, asked, rules, in_vain);
    }
    auto placement = engine_->placer(asked.policy).choose(asked.asked.demand);
    if (!placement) {
        return std::nullopt;
    }
    return Choice{asked.policy, asked.classes.front(), std::move(*placement), asked.group.group};
}

// As filter() and prepare_bind() in one, but that the index tells the best of all nodes. A node of
// which the pod's vocabulary cannot write what it must (no UUIDs, no ports left) is passed over.
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
    TESSERA_TRY(const Question question, question_to_place(*record.pod, asked.policy));
    release(index);
    learn(index, question);
    Error why{};
    std::vector<NodeIndex> in_vain;
    while (in_vain.size() < kMostInVain) {
        auto choice = choose(index, question, in_vain);
        if (!choice) {
            break;
        }
        TESSERA_CHECK(hold(index, question, std::move(*choice), kNoDeadline));
        const NodeIndex node = record.node;
        auto plan = plan_bind(index, node, asked.now);
        if (plan) {
            return std::optional(std::move(*plan));
        }
        release(index);
        why = std::move(plan.error());
        in_vain.push_back(node);
    }
    if (!in_vain.empty()) {
        return tl::unexpected(std::move(why));
    }
    return std::optional<BindPlan>();
}

Expected<Decision> Mirror::State::why_waiting(PodIndex index, std::string_view policy) {
    const PodRecord& record = pods_[index];
    TESSERA_ASSERT(record.pod != nullptr, "only a pod that waits is explained");
    TESSERA_TRY(const Question question, question_to_place(*record.pod, policy));
    Decision why = tessera::explain(engine_->placer(question.policy), question.asked.demand);
    if (concern(index, question).refuses) {
        add_refusals(index, question, why);
    }
    return why;
}

}  // namespace tessera
