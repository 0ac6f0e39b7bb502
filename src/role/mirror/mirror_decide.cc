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

}  // namespace

Expected<std::unique_ptr<Policy>> Mirror::State::policy_named(std::string_view name) const {
    return options_.make_policy ? options_.make_policy(name) : make_policy(name, {});
}

void Mirror::State::policy_changed(std::string_view name) {
    const auto known = policies_.find(name);
    if (known == policies_.end()) {
        return;  // no pod has needed it yet
    }
    if (auto policy = policy_named(name)) {
        asks_changed();
        engine_->placer(known->second).set_policy(std::move(*policy));
    }
}

Expected<PolicySlot> Mirror::State::policy_for(const Pod& pod, std::string_view name) {
    if (name.empty()) {
        TESSERA_TRY(const Dialect* dialect, dialect_of(pod));
        const std::string* chosen = find(options_.policies, dialect->name);
        name = chosen != nullptr ? std::string_view(*chosen) : policy_of_dialect(dialect->name);
    }
    if (const auto known = policies_.find(name); known != policies_.end()) {
        return known->second;
    }
    TESSERA_TRY(auto policy, policy_named(name));
    const PolicySlot slot = engine_->add_policy(std::move(policy));
    policies_.emplace(name, slot);
    return slot;
}

Expected<Mirror::State::Question> Mirror::State::question(const Pod& pod, std::string_view policy) {
    TESSERA_CHECK(check_synced());
    TESSERA_TRY(const PolicySlot slot, policy_for(pod, policy));
    return question(pod, slot);
}

Expected<Mirror::State::Question> Mirror::State::question(const Pod& pod, PolicySlot policy) {
    Question result;
    result.policy = policy;
    DialectContext known = context();
    TESSERA_TRY(result.asked, pod_demand(pod, known));
    const Demand& demand = result.asked.demand;
    result.group.group = demand.gang ? demand.gang->group : GroupIndex();
    const std::size_t end =
        std::clamp<std::size_t>(demand.alternatives.size(), 1, kMaxAlternatives);
    for (std::size_t i = 0; i < end; ++i) {
        result.classes.push_back(engine_->placer(policy).intern(demand, i));
    }
    return result;
}

Expected<void> Mirror::State::check_synced() const {
    if (!synced()) {
        return fail(ErrorKind::conflict,
                    "nodes and pods have not all been listed yet: try again in a moment");
    }
    return {};
}

// Alternatives in order: the first that fits on any of the nodes is served. Nodes that only a later
// one fits on come behind all others.
Mirror::State::Found Mirror::State::fit_among(const Question& asked,
                                              std::span<const NodeIndex> among) {
    Placer& placer = engine_->placer(asked.policy);
    Found found;
    found.fit.keys.resize(among.size());
    std::vector<Key> keys(asked.classes.size() > 1 ? among.size() : 0);
    for (std::size_t i = 0; i < asked.classes.size(); ++i) {
        std::vector<Key>& into = i == 0 ? found.fit.keys : keys;
        const auto near = placer.rank_near(asked.group, asked.classes[i], among, into);
        const Placer::Ranking ranking = near ? *near : placer.rank(asked.classes[i], among, into);
        if (found.fit.best == SIZE_MAX && ranking.best != SIZE_MAX) {
            found.fit.best = ranking.best;
            found.alternative = i;
            found.draw = ranking.draw;
        }
        for (std::size_t n = 0; i > 0 && n < among.size(); ++n) {
            found.fit.keys[n] = found.fit.keys[n] == 0 && keys[n] != 0 ? 1 : found.fit.keys[n];
        }
    }
    found.fit.fitting = static_cast<std::size_t>(std::count_if(
        found.fit.keys.begin(), found.fit.keys.end(), [](Key key) { return key != 0; }));
    return found;
}

// The devices on a node that fit_among() found.
Choice Mirror::State::choice_of(const Question& asked, NodeIndex node, const Found& found) {
    const Placer& placer = engine_->placer(asked.policy);
    const DecisionScores scores =
        placer.scores(cluster(), asked.classes[found.alternative], asked.group);
    auto placement = placer.choose_on(scores, node, found.draw);
    TESSERA_ASSERT(placement.has_value(), "a node with a key has devices");
    placement->alternative = static_cast<std::uint8_t>(found.alternative);
    name_grants(asked.asked.demand, *placement);
    return {asked.policy, asked.classes.front(), std::move(*placement), asked.group.group};
}

// Whom a decision is still to be made about.
Expected<void> Mirror::State::check_unbound(PodIndex index) const {
    const PodRecord& record = pods_[index];
    if (record.bound() || record.stage == PodStage::binding) {
        const std::string_view where =
            record.awaited.empty() ? node_name(record.node) : std::string_view(record.awaited);
        return fail(ErrorKind::conflict, "pod {}/{} is {} node {} already", shown(record.space),
                    shown(record.name), record.bound() ? "bound to" : "being bound to",
                    shown(where));
    }
    return {};
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
    PodIndex index = pods_.find(pod.uid);
    if (index.valid()) {
        TESSERA_CHECK(check_unbound(index));
        if (pods_[index].in_doubt) {
            return only_where_held(pods_[index], among);
        }
        release(index);
        learn(index, question);
    }
    Found found = fit_among(question, among);
    if (found.fit.best == SIZE_MAX) {
        if (index.valid()) {
            let_go(index);
        }
        return std::move(found.fit);
    }
    Choice choice = choice_of(question, among[found.fit.best], found);
    index = pods_.open(pod);
    PodRecord& record = pods_[index];
    record.pod = std::make_unique<Pod>(pod);
    record.pod->node_name.clear();  // that is the API's to tell
    record.priority = pod.priority.value_or(0);
    auto held = hold(index, std::move(question), std::move(choice), asked.now + options_.hold_for);
    if (!held) {
        let_go(index);
        return tl::unexpected(std::move(held.error()));
    }
    return std::move(found.fit);
}

// It may be bound there: a share elsewhere would be a second one.
Fit Mirror::State::only_where_held(const PodRecord& record,
                                   std::span<const NodeIndex> among) const {
    Fit fit{std::vector<Key>(among.size(), 0)};
    const auto there = std::find(among.begin(), among.end(), record.node);
    if (there != among.end()) {
        fit.best = static_cast<std::size_t>(there - among.begin());
        fit.keys[fit.best] = 1;
        fit.fitting = 1;
    }
    return fit;
}

Expected<void> Mirror::State::hold(PodIndex index, Question asked, Choice choice,
                                   Nanoseconds deadline) {
    learn(index, asked);
    PodRecord& record = pods_[index];
    // As the policy was told of it, which may have been another one.
    choice.policy = record.learnt.valid() ? record.policy : choice.policy;
    choice.demand_class = record.learnt;
    TESSERA_CHECK(engine_->hold(index, choice, deadline));
    record.node = choice.placement.node;
    record.decided = std::make_unique<Decided>(Decided{std::move(asked.asked), std::move(choice)});
    set_stage(record, PodStage::held);
    stand_on(index, record.node);
    return {};
}

Expected<Fit> Mirror::State::rank(const Pod& pod, std::span<const NodeIndex> among,
                                  const Asked& asked) {
    TESSERA_TRY(Question question, this->question(pod, asked.policy));
    if (!question.asked.demand.wants_gpu()) {
        return Fit{std::vector<Key>(among.size(), 1), among.size()};
    }
    const PodIndex known = pods_.find(pod.uid);
    if (known.valid() && pods_[known].holds()) {
        // What it holds itself draws it nowhere.
        question.group.but_started = ledger().find(owner_of(known, pods_[known]))->start;
    }
    Fit fit = fit_among(question, among).fit;
    if (!known.valid() || pods_[known].stage != PodStage::held) {
        return fit;
    }
    // Its own share is taken from its node already, whose key is therefore of no use.
    const auto held = std::find(among.begin(), among.end(), pods_[known].node);
    if (held != among.end()) {
        fit.best = static_cast<std::size_t>(held - among.begin());
        const Key top = *std::max_element(fit.keys.begin(), fit.keys.end());
        fit.fitting += fit.keys[fit.best] == 0 ? 1 : 0;
        fit.keys[fit.best] = std::max<Key>(top, 1);
    }
    return fit;
}

NodeVerdict Mirror::State::verdict(const Pod& pod, NodeIndex node, const Asked& asked) {
    const auto found =
        node.valid() ? verdicts(pod, std::span(&node, 1), asked) : Expected<Refusals>(Refusals{});
    if (!found || found->verdicts.empty()) {
        NodeVerdict unknown;
        unknown.reasons.add(unknown.first);
        return unknown;
    }
    return found->verdicts.front();
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
    const Found found = fit_among(asked, std::span(&node, 1));
    if (found.fit.best != SIZE_MAX) {
        return choice_of(asked, node, found);
    }
    const Placer& placer = engine_->placer(asked.policy);
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
    auto asked = record.learnt.valid() ? question(*record.pod, record.policy)
                                       : question(*record.pod, std::string_view());
    if (!asked) {
        return tl::unexpected(std::move(asked.error()));
    }
    release(index);
    TESSERA_TRY(Choice choice, choose_on(node, *asked));
    return hold(index, std::move(*asked), std::move(choice), now + options_.hold_for);
}

// Since it was held, its node may have lost devices, or others may have taken more than there was.
bool Mirror::State::still_fits(const PodRecord& record) const {
    const Placement& placement = record.decided->choice.placement;
    const NodeIndex node = placement.node;
    if (cluster().over_committed(node)) {
        return false;
    }
    const auto owner = ledger().find(OwnerId::pod(pods_.find(record.uid).value()));
    return std::all_of(
        placement.grants.begin(), placement.grants.end(), [&](const DeviceGrant& grant) {
            const Device* device = cluster().device(node, grant.gpu);
            return device != nullptr && !device->absent() &&
                   device->mode == AllocatorMode::annotation &&
                   device->health <= owner->tolerates && !cluster().over_committed(node, grant.gpu);
        });
}

// The pod that a call of the extender is about.
Expected<PodIndex> Mirror::State::pod_of(const PodKey& key) const {
    TESSERA_CHECK(check_synced());
    const std::string name = fmt::format("pod {}/{}", shown(key.space), shown(key.name));
    const PodIndex named = pods_.find(key.space, key.name);
    const PodIndex index = key.uid.empty() ? named : pods_.find(key.uid);
    if (index.valid() && pods_[index].space == key.space && pods_[index].name == key.name) {
        return index;
    }
    if (named.valid()) {
        return fail(ErrorKind::conflict, "{} was deleted and made anew: its uid is {}, not {}",
                    name, pods_[named].uid, shown(key.uid));
    }
    return fail(ErrorKind::not_found, "{} is not known", name);
}

Expected<BindPlan> Mirror::State::prepare_bind(const PodKey& key, std::string_view node_name,
                                               Nanoseconds now) {
    TESSERA_TRY(const PodIndex index, pod_of(key));
    const PodRecord& record = pods_[index];
    if (record.bound() &&
        node_name == (record.awaited.empty() ? this->node_name(record.node) : record.awaited)) {
        return BindPlan{record.space, record.name, record.uid, std::string(node_name),
                        {},           {},          true};
    }
    TESSERA_CHECK(check_unbound(index));
    const NodeIndex node = find_node(node_name, {});
    if (!node.valid()) {
        return fail(ErrorKind::not_found, "node {} is not known", shown(node_name));
    }
    if (record.in_doubt && (record.node != node || !still_fits(record))) {
        return fail(ErrorKind::conflict,
                    "pod {}/{} may be bound to node {}: the API server did not answer yet",
                    shown(key.space), shown(key.name), shown(this->node_name(record.node)));
    }
    auto plan = plan_bind(index, node, now);
    if (!plan && !record.in_doubt) {
        let_go(index);
    }
    return plan;
}

Expected<BindPlan> Mirror::State::plan_bind(PodIndex index, NodeIndex node, Nanoseconds now) {
    PodRecord& record = pods_[index];
    if (record.stage == PodStage::pending || record.node != node || !still_fits(record)) {
        TESSERA_CHECK(move_hold(index, node, now));
    }
    const Decided& decided = *record.decided;
    const Nanoseconds written = options_.wall ? options_.wall() : now;
    PlacementMarks marks;
    if (decided.asked.demand.wants_gpu()) {  // of other pods there is nothing to remember
        TESSERA_TRY(marks, placement_writes({*record.pod,
                                             decided.asked,
                                             decided.choice.placement,
                                             cluster().spec(node),
                                             written,
                                             {}},
                                            context(), ports_, options_.signing_key));
    }
    TESSERA_CHECK(engine_->set_deadline(index, kNoDeadline));
    const bool in_doubt = record.in_doubt;
    set_stage(record, PodStage::binding);
    set_doubt(record, false);
    return BindPlan{record.space,
                    record.name,
                    record.uid,
                    std::string(node_name(node)),
                    std::move(marks.annotations),
                    std::move(marks.labels),
                    false,
                    in_doubt};
}

void Mirror::State::bind_ended(const PodKey& key, const WriteOutcome& outcome, Nanoseconds now) {
    const auto found = pod_of(key);
    // The watch may have told first: that the pod is bound, or gone.
    if (!found || (pods_[*found].stage != PodStage::binding && !pods_[*found].in_doubt)) {
        return;
    }
    const PodIndex index = *found;
    PodRecord& record = pods_[index];
    switch (outcome.end) {
        case WriteEnd::done: {
            const bool confirmed = engine_->confirm(index, record.decided->choice).has_value();
            TESSERA_ASSERT(confirmed, "what is assumed can be confirmed");
            set_stage(record, PodStage::bound);
            record.decided.reset();
            record.pod.reset();
            set_doubt(record, false);
            return;
        }
        case WriteEnd::refused:
            if (outcome.seen != nullptr) {
                take_pod(*outcome.seen);
            } else {
                let_go(index);
            }
            return;
        case WriteEnd::unknown: {
            const bool set = engine_->set_deadline(index, kNoDeadline).has_value();
            TESSERA_ASSERT(set, "what is assumed has a deadline");
            set_stage(record, PodStage::held);
            set_doubt(record, true);
            record.doubt_until = now + options_.doubt_for;
            return;
        }
    }
}

}  // namespace tessera
