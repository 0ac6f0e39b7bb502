// Who has to go from a node so that a pod finds room on its devices.
#include <algorithm>
#include <utility>

#include "engine/victim_search.h"
#include "role/mirror/mirror_state.h"

namespace tessera {

Expected<Ask> Mirror::State::ask(const Pod& pod, const Asked& asked) {
    TESSERA_TRY(Question question, this->question(pod, asked.policy));
    return Ask{question.policy, std::move(question.classes), question.asked.demand.priority};
}

// The pods among them that hold something on the node, in order.
std::vector<PodIndex> Mirror::State::holders_on(NodeIndex node,
                                                std::span<const std::string> uids) const {
    std::vector<PodIndex> found;
    for (const std::string& uid : uids) {
        const PodIndex index = pods_.find(uid);
        if (index.valid() && pods_[index].holds() && pods_[index].node == node) {
            found.push_back(index);
        }
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

// Only pods that are bound: others are not on the node yet for kube-scheduler, which would refuse
// the whole answer.
std::vector<VictimUnit> Mirror::State::lesser_pods(NodeIndex node, std::int32_t priority,
                                                   std::span<const PodIndex> but) const {
    std::vector<VictimUnit> found;
    for (OwnerId owner : ledger().owners_on(node)) {
        const PodIndex index(owner.index());
        if (owner.kind() != OwnerKind::claim && pods_[index].bound() &&
            pods_[index].priority < priority &&
            !std::binary_search(but.begin(), but.end(), index)) {
            found.emplace_back().add(owner, Tenant{.priority = pods_[index].priority},
                                     ledger().find(owner)->start);
        }
    }
    return found;
}

VictimsFound Mirror::State::victims_needed(const Pod& pod, const Ask& ask, const VictimsAsked& on) {
    if (!on.node.valid()) {
        return {};
    }
    std::vector<std::string> leaving(on.chosen.begin(), on.chosen.end());
    leaving.push_back(pod.uid);  // what it holds itself is not in its way
    const std::vector<PodIndex> gone = holders_on(on.node, leaving);
    std::vector<OwnerId> gone_owners;
    for (PodIndex index : gone) {
        gone_owners.push_back(owner_of(index, pods_[index]));
    }
    const std::vector<VictimUnit> others = lesser_pods(on.node, pod.priority.value_or(0), gone);
    std::vector<const VictimUnit*> units;
    for (const VictimUnit& one : others) {
        units.push_back(&one);
    }
    VictimSearch search({.ledger = ledger(),
                         .classes = engine_->placer(ask.policy).classes(),
                         .wanted = ask.classes,
                         .node = on.node,
                         .gone = gone_owners,
                         .units = units,
                         .order = VictimOrder::fewest});
    const VictimAnswer answer = search.find({.steps = on.most_steps});
    VictimsFound result{.room = answer.outcome == RoomOutcome::found, .steps = answer.steps};
    if (result.room) {
        result.uids.assign(on.chosen.begin(), on.chosen.end());
        for (std::size_t unit : answer.set.units) {
            result.uids.push_back(pods_[PodIndex(others[unit].owners.front().index())].uid);
        }
    }
    return result;
}

}  // namespace tessera
