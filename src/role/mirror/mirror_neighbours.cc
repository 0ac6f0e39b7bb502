// The ordinary rules between pods, for a scheduler: who stands where, and what that means for a pod
// that waits. Nothing of it is kept for doors whose kube-scheduler judges these rules.
#include <algorithm>
#include <utility>

#include "dialect/asking.h"
#include "engine/explain.h"
#include "engine/neighbour_question.h"
#include "role/mirror/mirror_state.h"

namespace tessera {
namespace {

constexpr auto kCounted = [](std::string_view resource) { return counts_resource(resource); };

// The key of the policy as 0 to 100, of which kube-scheduler's own resource scores count twice.
constexpr std::int64_t kKeyWeight = 2;
constexpr std::int64_t kMostPoints = 100;

}  // namespace

void Mirror::State::learn_neighbour(PodIndex index, const Pod& pod) {
    if (neighbours_ == nullptr) {
        return;
    }
    auto profile = pod_profile(pod, names_, kCounted);
    if (!profile) {
        note(fmt::format("{}: {}; its rules are not judged", describe(pod),
                         profile.error().message));
        return;
    }
    if (!neighbours_->knows(index) || neighbours_->profile(index) != *profile) {
        neighbours_->learn(index, std::move(*profile));
        neighbours_changed();
    }
}

void Mirror::State::learn_offer(NodeIndex node, const Node& told) {
    if (neighbours_ == nullptr) {
        return;
    }
    if (auto offer = node_offer(told, names_, kCounted)) {
        neighbours_->set_offer(node, std::move(*offer));
        neighbours_changed();
    } else {
        note(fmt::format("node {}: {}", shown(told.name), offer.error().message));
    }
}

void Mirror::State::stand_on(PodIndex index, NodeIndex node) {
    if (neighbours_ == nullptr || !neighbours_->knows(index) ||
        neighbours_->node_of(index) == node) {
        return;
    }
    stand_nowhere(index);
    neighbours_->put(index, node);
    neighbours_changed();
}

void Mirror::State::stand_nowhere(PodIndex index) {
    if (neighbours_ != nullptr && neighbours_->knows(index) &&
        neighbours_->node_of(index).valid()) {
        neighbours_->lift(index);
        neighbours_changed();
    }
}

void Mirror::State::forget_neighbour(PodIndex index) {
    if (neighbours_ != nullptr && neighbours_->knows(index)) {
        stand_nowhere(index);
        neighbours_->forget(index);
    }
}

const NodeFilter& Mirror::State::filter_of(const Question& asked) const {
    static const NodeFilter kNone;
    const FilterIndex filter = asked.asked.demand.filter;
    return filter.valid() ? (*filters_)[filter] : kNone;
}

Concern Mirror::State::concern(PodIndex index, const Question& asked) {
    return neighbours_ != nullptr && neighbours_->knows(index)
               ? neighbours_->concern(index, filter_of(asked))
               : Concern{};
}

std::optional<Choice> Mirror::State::choose_by_rules(PodIndex index, const Question& asked,
                                                     Concern concern,
                                                     std::span<const NodeIndex> but) {
    std::optional<NeighbourQuestion> rules;
    if (concern) {
        rules.emplace(*neighbours_, index, filter_of(asked));
    }
    std::vector<NodeIndex> nodes;
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
        const NodeIndex node(n);
        if (nodes_[n].present && std::find(but.begin(), but.end(), node) == but.end() &&
            (!concern.refuses || rules->verdict(node).fits())) {
            nodes.push_back(node);
        }
    }
    Found found = fit_among(asked, nodes);
    if (found.fit.best == SIZE_MAX) {
        return std::nullopt;
    }
    // Of several alternatives the first that fits counts for more than any wish.
    if (concern.prefers && asked.classes.size() == 1) {
        found.fit.best = most_wished(*rules, nodes, found.fit);
    }
    return choice_of(asked, nodes[found.fit.best], found);
}

// By what kube-scheduler would add up: the wishes by their weights, and room as the policy sees it.
std::size_t Mirror::State::most_wished(const NeighbourQuestion& rules,
                                       std::span<const NodeIndex> nodes, const Fit& fit) const {
    std::vector<std::size_t> places;
    std::vector<NodeIndex> fitting;
    Key low = fit.keys[fit.best];
    Key high = low;
    for (std::size_t at = 0; at < nodes.size(); ++at) {
        if (fit.keys[at] != 0) {
            places.push_back(at);
            fitting.push_back(nodes[at]);
            low = std::min(low, fit.keys[at]);
            high = std::max(high, fit.keys[at]);
        }
    }
    const std::vector<std::int64_t> wishes = rules.preferences(fitting);
    const auto points = [&](std::size_t i) {
        const std::int64_t range = std::max<std::int64_t>(1, std::int64_t{high} - low);
        const std::int64_t room = kMostPoints * (std::int64_t{fit.keys[places[i]]} - low) / range;
        return std::pair(wishes[i] + kKeyWeight * room, fit.keys[places[i]]);
    };
    std::size_t best = 0;
    for (std::size_t i = 1; i < places.size(); ++i) {
        best = points(i) > points(best) ? i : best;
    }
    return places[best];
}

// What the rules refuse, of the nodes that would serve otherwise.
void Mirror::State::add_refusals(PodIndex index, const Question& asked, Decision& decision) {
    const NeighbourQuestion rules(*neighbours_, index, filter_of(asked));
    const Placer& placer = engine_->placer(asked.policy);
    const Catalog known = cluster().catalog(placer.classes());
    const DemandClass& wanted = placer.classes()[asked.classes.front()];
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
        const NodeIndex node(n);
        if (!nodes_[n].present || !judge(cluster(), known, node, wanted).fits()) {
            continue;
        }
        const NodeVerdict verdict = rules.verdict(node);
        if (verdict.fits()) {
            continue;
        }
        auto& counts = decision.refusal.counts;
        auto count = std::find_if(counts.begin(), counts.end(), [&](const RefusalCount& one) {
            return one.code == verdict.first;
        });
        if (count == counts.end()) {
            count = counts.insert(counts.end(), RefusalCount{.code = verdict.first});
        }
        ++count->nodes;
        ++count->nodes_any;
    }
    decision.placement.reset();
}

}  // namespace tessera
