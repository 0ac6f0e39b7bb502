// Decisions: which nodes serve a pod, the share that is held for it, and what to write at bind.
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "dialect/asking.h"
#include "engine/explain.h"
#include "engine/statement.h"
#include "model/alternatives.h"
#include "policy/registry.h"
#include "role/intake/intake.h"
#include "role/mirror/mirror_state.h"

namespace tessera {
namespace {

// What each system's own scheduler does; every other vocabulary has no policy of its own.
std::string_view policy_of_dialect(std::string_view dialect) {
    if (dialect == "elastic") {
        return "elastic-binpack";
    }
    return dialect == "gpushare" || dialect == "kubeshare" || dialect == "keti" ? dialect
                                                                                : "tessera";
}

OwnerId owner_of(PodIndex index, const PodRecord& record) {
    return record.stage == PodStage::foreign ? OwnerId::foreign(index.value())
                                             : OwnerId::pod(index.value());
}

}  // namespace

Expected<PolicySlot> Mirror::State::policy_for(const Pod& pod, std::string_view name) {
    if (name.empty()) {
        TESSERA_TRY(const Dialect* dialect, dialect_of(pod));
        const std::string* chosen = find(options_.policies, dialect->name);
        name = chosen != nullptr ? std::string_view(*chosen) : policy_of_dialect(dialect->name);
    }
    if (const auto known = policies_.find(name); known != policies_.end()) {
        return known->second;
    }
    TESSERA_TRY(auto policy,
                options_.make_policy ? options_.make_policy(name) : make_policy(name, {}));
    const PolicySlot slot = engine_->add_policy(std::move(policy));
    policies_.emplace(name, slot);
    return slot;
}

Expected<Mirror::State::Question> Mirror::State::question(const Pod& pod, std::string_view policy) {
    if (!synced()) {
        return fail(ErrorKind::conflict,
                    "nodes and pods have not all been listed yet: try again in a moment");
    }
    Question result;
    DialectContext known = context();
    TESSERA_TRY(result.asked, pod_demand(pod, known));
    TESSERA_TRY(result.policy, policy_for(pod, policy));
    const Demand& demand = result.asked.demand;
    const std::size_t end =
        std::clamp<std::size_t>(demand.alternatives.size(), 1, kMaxAlternatives);
    for (std::size_t i = 0; i < end; ++i) {
        result.classes.push_back(engine_->placer(result.policy).intern(demand, i));
    }
    return result;
}

// Alternatives in order: the first that fits on any of the nodes is served. Nodes that only a later
// one fits on come behind all others.
Fit Mirror::State::fit_among(const Question& asked, std::span<const NodeIndex> among,
                             std::optional<std::size_t>& alternative) {
    Placer& placer = engine_->placer(asked.policy);
    Fit fit;
    fit.keys.resize(among.size());
    std::vector<Key> keys;
    for (std::size_t i = 0; i < asked.classes.size(); ++i) {
        if (i == 0) {
            fit.best = placer.rank(asked.classes[i], among, fit.keys);
        } else {
            keys.resize(among.size());
            const std::size_t best = placer.rank(asked.classes[i], among, keys);
            fit.best = fit.best == SIZE_MAX ? best : fit.best;
            for (std::size_t n = 0; n < among.size(); ++n) {
                fit.keys[n] = fit.keys[n] == 0 && keys[n] != 0 ? 1 : fit.keys[n];
            }
        }
        if (fit.best != SIZE_MAX && !alternative) {
            alternative = i;
        }
    }
    fit.fitting = static_cast<std::size_t>(
        std::count_if(fit.keys.begin(), fit.keys.end(), [](Key key) { return key != 0; }));
    return fit;
}

Expected<Fit> Mirror::State::filter(const Pod& pod, std::span<const NodeIndex> among,
                                    const Asked& asked) {
    if (pod.uid.empty()) {
        return fail(ErrorKind::invalid, "{} has no uid: a share is held by uid", describe(pod));
    }
    TESSERA_TRY(Question question, this->question(pod, asked.policy));
    if (!question.asked.demand.wants_gpu()) {
        return Fit{std::vector<Key>(among.size(), 1), among.size()};
    }
    if (const PodIndex known = pods_.find(pod.uid); known.valid()) {
        const PodRecord& record = pods_[known];
        if (record.holds() && record.stage != PodStage::held) {
            return fail(ErrorKind::conflict, "{} is {} node {} already", describe(pod),
                        record.stage == PodStage::binding ? "being bound to" : "bound to",
                        shown(record.node));
        }
        release(known, false);
        if (!record.learnt) {
            learn(known, pod);
        }
    }
    std::optional<std::size_t> alternative;
    Fit fit = fit_among(question, among, alternative);
    if (fit.best != SIZE_MAX) {
        Placer& placer = engine_->placer(question.policy);
        const ClassIndex demand_class = question.classes[*alternative];
        auto placement = placer.choose_on(among[fit.best], demand_class);
        TESSERA_ASSERT(placement.has_value(), "the index offers nodes where devices are found");
        placement->alternative = static_cast<std::uint8_t>(*alternative);
        name_grants(question.asked.demand, *placement);
        const Choice choice{question.policy, question.classes.front(), std::move(*placement)};
        const PodIndex index = pods_.open(pod);
        pods_[index].pod = std::make_unique<Pod>(pod);
        pods_[index].priority = pod.priority.value_or(0);
        learn(index, pod);
        TESSERA_CHECK(hold(index, std::move(question), choice, asked.now + options_.hold_for));
    }
    return fit;
}

Expected<void> Mirror::State::hold(PodIndex index, Question asked, Choice choice,
                                   Nanoseconds deadline) {
    TESSERA_CHECK(engine_->hold(index, choice, deadline));
    PodRecord& record = pods_[index];
    record.node = node_name(choice.placement.node);
    record.choice = std::move(choice);
    record.asked = std::make_unique<PodDemand>(std::move(asked.asked));
    record.stage = PodStage::held;
    return {};
}

Expected<Fit> Mirror::State::rank(const Pod& pod, std::span<const NodeIndex> among,
                                  const Asked& asked) {
    TESSERA_TRY(const Question question, this->question(pod, asked.policy));
    if (!question.asked.demand.wants_gpu()) {
        return Fit{std::vector<Key>(among.size(), 1), among.size()};
    }
    std::optional<std::size_t> alternative;
    Fit fit = fit_among(question, among, alternative);
    const PodIndex known = pods_.find(pod.uid);
    if (!known.valid() || pods_[known].stage != PodStage::held) {
        return fit;
    }
    // Its own share is taken from its node already, whose key is therefore of no use.
    const NodeIndex node = pods_[known].choice.placement.node;
    const auto held = std::find(among.begin(), among.end(), node);
    if (held != among.end()) {
        fit.best = static_cast<std::size_t>(held - among.begin());
        const Key top = *std::max_element(fit.keys.begin(), fit.keys.end());
        fit.fitting += fit.keys[fit.best] == 0 ? 1 : 0;
        fit.keys[fit.best] = std::max<Key>(top, 1);
    }
    return fit;
}

NodeVerdict Mirror::State::verdict(const Pod& pod, NodeIndex node, const Asked& asked) {
    const auto found = verdicts(pod, std::span(&node, 1), asked);
    return found ? found->verdicts.front() : NodeVerdict{};
}

Expected<Refusals> Mirror::State::verdicts(const Pod& pod, std::span<const NodeIndex> nodes,
                                           const Asked& asked) {
    TESSERA_TRY(const Question question, this->question(pod, asked.policy));
    const Placer& placer = engine_->placer(question.policy);
    const Catalog known = cluster().catalog(placer.classes());
    Refusals result;
    result.asked = placer.classes()[question.classes.front()];
    result.verdicts.reserve(nodes.size());
    for (NodeIndex node : nodes) {
        result.verdicts.push_back(judge(cluster(), known, node, result.asked));
    }
    return result;
}

Expected<Decision> Mirror::State::explain(const Pod& pod, const Asked& asked) {
    TESSERA_TRY(const Question question, this->question(pod, asked.policy));
    // What the pod holds itself must not stand in its way.
    Statement without(engine_->ledger_for_statement());
    if (const PodIndex known = pods_.find(pod.uid); known.valid() && pods_[known].holds()) {
        TESSERA_CHECK(without.release(owner_of(known, pods_[known])));
    }
    Decision decision = tessera::explain(engine_->placer(question.policy), question.asked.demand);
    without.discard();
    return decision;
}

// On this node, by the first alternative that fits there.
Expected<Choice> Mirror::State::choose_on(NodeIndex node, const Question& asked) {
    Placer& placer = engine_->placer(asked.policy);
    for (std::size_t i = 0; i < asked.classes.size(); ++i) {
        Key key = 0;
        if (placer.rank(asked.classes[i], std::span(&node, 1), std::span(&key, 1)) == SIZE_MAX) {
            continue;
        }
        auto placement = placer.choose_on(node, asked.classes[i]);
        TESSERA_ASSERT(placement.has_value(), "a node with a key has devices");
        placement->alternative = static_cast<std::uint8_t>(i);
        name_grants(asked.asked.demand, *placement);
        return Choice{asked.policy, asked.classes.front(), std::move(*placement)};
    }
    const NodeVerdict why = judge(cluster(), cluster().catalog(placer.classes()), node,
                                  placer.classes()[asked.classes.front()]);
    return fail(ErrorKind::conflict, "node {} does not fit any more: {}", shown(node_name(node)),
                refusal_info(why.first).sentence);
}

// The share goes to the node that kube-scheduler chose, or is given back.
Expected<void> Mirror::State::move_hold(PodIndex index, NodeIndex node, Nanoseconds now) {
    PodRecord& record = pods_[index];
    if (record.pod == nullptr) {
        return fail(ErrorKind::not_found, "pod {}/{} has not been seen yet", shown(record.space),
                    shown(record.name));
    }
    TESSERA_TRY(Question asked, question(*record.pod, {}));
    release(index, false);
    TESSERA_TRY(Choice choice, choose_on(node, asked));
    return hold(index, std::move(asked), std::move(choice), now + options_.hold_for);
}

Expected<BindPlan> Mirror::State::prepare_bind(const PodKey& key, std::string_view node_name,
                                               Nanoseconds now) {
    if (!synced()) {
        return fail(ErrorKind::conflict,
                    "nodes and pods have not all been listed yet: try again in a moment");
    }
    const std::string pod_name = fmt::format("pod {}/{}", shown(key.space), shown(key.name));
    const PodIndex named = pods_.find(key.space, key.name);
    const PodIndex index = key.uid.empty() ? named : pods_.find(key.uid);
    if (!index.valid()) {
        return named.valid() ? fail(ErrorKind::conflict,
                                    "{} was deleted and made anew: its uid is {}, not {}", pod_name,
                                    pods_[named].uid, shown(key.uid))
                             : fail(ErrorKind::not_found, "{} is not known", pod_name);
    }
    PodRecord& record = pods_[index];
    const NodeIndex node = find_node(node_name, {});
    if (!node.valid()) {
        return fail(ErrorKind::not_found, "node {} is not known", shown(node_name));
    }
    BindPlan plan{record.space, record.name, record.uid, std::string(node_name), {}, {}, false};
    if (record.stage == PodStage::bound || record.stage == PodStage::foreign) {
        if (record.node != node_name) {
            return fail(ErrorKind::conflict, "{} is bound to node {} already", pod_name,
                        shown(record.node));
        }
        plan.bound_already = true;
        return plan;
    }
    if (record.stage == PodStage::binding) {
        return fail(ErrorKind::conflict, "{} is being bound to node {}", pod_name,
                    shown(record.node));
    }
    if (record.stage == PodStage::pending || record.choice.placement.node != node) {
        TESSERA_CHECK(move_hold(index, node, now));
    }
    auto marks = placement_writes(
        {*record.pod, *record.asked, record.choice.placement, cluster().spec(node), now, {}},
        context(), ports_, options_.signing_key);
    if (!marks) {
        release(index, false);
        return tl::unexpected(std::move(marks.error()));
    }
    TESSERA_CHECK(engine_->set_deadline(index, kNoDeadline));
    record.stage = PodStage::binding;
    plan.annotations = std::move(marks->annotations);
    plan.labels = std::move(marks->labels);
    return plan;
}

void Mirror::State::bind_ended(const PodKey& key, BindResult result, Nanoseconds now) {
    const PodIndex index = synced() ? pods_.find(key.uid) : PodIndex();
    // The watch may have told first: that the pod is bound, or gone.
    if (!index.valid() || pods_[index].stage != PodStage::binding) {
        return;
    }
    PodRecord& record = pods_[index];
    switch (result) {
        case BindResult::bound: {
            const bool confirmed = engine_->confirm(index, record.choice).has_value();
            TESSERA_ASSERT(confirmed, "what is assumed can be confirmed");
            record.stage = PodStage::bound;
            record.asked.reset();
            return;
        }
        case BindResult::refused:
            release(index, false);
            if (!record.seen) {
                pods_.close(index);
            }
            return;
        case BindResult::unknown: {
            const bool set = engine_->set_deadline(index, now + options_.hold_for).has_value();
            TESSERA_ASSERT(set, "what is assumed has a deadline");
            record.stage = PodStage::held;
            return;
        }
    }
}

bool Mirror::State::suffices(const Question& asked, NodeIndex node,
                             std::span<const PodIndex> gone) {
    Statement without(engine_->ledger_for_statement());
    for (PodIndex index : gone) {
        const bool released = without.release(owner_of(index, pods_[index])).has_value();
        TESSERA_ASSERT(released, "a pod that holds something can be taken off");
    }
    const Placer& placer = engine_->placer(asked.policy);
    const Catalog known = cluster().catalog(placer.classes());
    return std::any_of(asked.classes.begin(), asked.classes.end(), [&](ClassIndex one) {
        return judge(cluster(), known, node, placer.classes()[one]).fits();
    });
}

// Least important first; of equal ones those that free most.
std::vector<PodIndex> Mirror::State::lesser_pods(NodeIndex node, std::int32_t priority,
                                                 std::span<const PodIndex> but) const {
    std::vector<std::pair<std::pair<std::int32_t, std::int64_t>, PodIndex>> found;
    for (OwnerId owner : ledger().owners_on(node)) {
        const PodIndex index(owner.index());
        if (owner.kind() == OwnerKind::claim || pods_[index].priority >= priority ||
            std::find(but.begin(), but.end(), index) != but.end()) {
            continue;
        }
        std::int64_t freed = 0;
        const auto held = ledger().placement(owner);
        for (const DeviceGrant& grant : held->grants) {
            freed += grant.milli.value() + grant.memory.value();
        }
        found.push_back({{pods_[index].priority, -freed}, index});
    }
    std::sort(found.begin(), found.end());
    std::vector<PodIndex> result;
    for (const auto& [order, index] : found) {
        result.push_back(index);
    }
    return result;
}

std::optional<std::vector<std::string>> Mirror::State::victims_needed(
    const Pod& pod, NodeIndex node, std::span<const std::string> victims, const Asked& asked) {
    const auto question = this->question(pod, asked.policy);
    if (!question || !node.valid()) {
        return std::nullopt;
    }
    std::vector<PodIndex> gone;
    for (const std::string& uid : victims) {
        const PodIndex index = pods_.find(uid);
        if (index.valid() && pods_[index].holds() && find_node(pods_[index].node, {}) == node) {
            gone.push_back(index);
        }
    }
    std::vector<std::string> result(victims.begin(), victims.end());
    if (suffices(*question, node, gone)) {
        return result;
    }
    const std::size_t chosen = gone.size();
    const std::vector<PodIndex> others = lesser_pods(node, pod.priority.value_or(0), gone);
    for (PodIndex one : others) {
        gone.push_back(one);
        if (suffices(*question, node, gone)) {
            break;
        }
    }
    if (gone.size() == chosen || !suffices(*question, node, gone)) {
        return std::nullopt;
    }
    // The last one made the difference; those before it may not be needed.
    for (std::size_t i = gone.size() - 1; i-- > chosen;) {
        std::vector<PodIndex> fewer = gone;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        if (suffices(*question, node, fewer)) {
            gone = std::move(fewer);
        }
    }
    for (std::size_t i = chosen; i < gone.size(); ++i) {
        result.push_back(pods_[gone[i]].uid);
    }
    return result;
}

}  // namespace tessera
