#include "engine/neighbourhood.h"

#include <algorithm>

#include "base/assert.h"

namespace tessera {
namespace {

std::uint64_t label_word(LabelKey key, LabelValue value) {
    return std::uint64_t{key.value()} << 32 | value.value();
}

// Under which labels a profile is to be found by the pods that its terms may mean; false when one
// of the terms asks for no label of a certain value.
bool label_words(const PodProfile& profile, std::vector<std::uint64_t>& words) {
    bool all = true;
    for (const auto* terms : {&profile.near, &profile.apart, &profile.preferred}) {
        for (const NeighbourTerm& term : *terms) {
            const auto& conditions = term.pods.all;
            const auto narrow = std::find_if(
                conditions.begin(), conditions.end(),
                [](const LabelRequirement& one) { return one.op == LabelOperator::in; });
            if (narrow == conditions.end()) {
                all = all && term.pods.nothing;
                continue;
            }
            for (const LabelValue value : narrow->values) {
                words.push_back(label_word(narrow->key, value));
            }
        }
    }
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    return all;
}

}  // namespace

void Neighbourhood::set_space(SpaceIndex space, std::vector<NodeLabel> labels) {
    if (space.slot() >= spaces_.size()) {
        spaces_.resize(space.slot() + 1);
    }
    std::sort(labels.begin(), labels.end());
    spaces_[space.slot()] = std::move(labels);
    ++term_changes_;
}

void Neighbourhood::set_offer(NodeIndex node, OtherResources offer) {
    load(node).offer = std::move(offer);
}

Neighbourhood::Load& Neighbourhood::load(NodeIndex node) {
    if (node.slot() >= loads_.size()) {
        loads_.resize(node.slot() + 1);
    }
    return loads_[node.slot()];
}

LabelSet Neighbourhood::labels_of(SpaceIndex space) const {
    return space.slot() < spaces_.size() ? LabelSet(spaces_[space.slot()]) : LabelSet();
}

Neighbourhood::ProfileSlot Neighbourhood::keep(PodProfile profile) {
    if (const auto found = by_profile_.find(&profile); found != by_profile_.end()) {
        ++profiles_[found->second].users;
        return found->second;
    }
    if (free_.empty()) {
        free_.push_back(static_cast<ProfileSlot>(profiles_.size()));
        profiles_.emplace_back();
        briefs_.emplace_back();
    }
    const ProfileSlot slot = free_.back();
    free_.pop_back();
    profiles_[slot] = {.what = std::move(profile), .users = 1, .members = {}};
    const PodProfile& kept = profiles_[slot].what;
    by_profile_.emplace(&kept, slot);
    briefs_[slot] = {.space = kept.space,
                     .ending = kept.ending,
                     .labels = InlineVector<NodeLabel, 5>(LabelSet(kept.labels))};
    return slot;
}

void Neighbourhood::release(ProfileSlot slot) {
    Profile& profile = profiles_[slot];
    if (--profile.users == 0) {
        by_profile_.erase(&profile.what);
        profile = {};
        free_.push_back(slot);
    }
}

void Neighbourhood::learn(PodIndex pod, PodProfile profile) {
    if (pod.slot() >= pods_.size()) {
        pods_.resize(pod.slot() + 1);
    }
    const ProfileSlot next = keep(std::move(profile));
    const ProfileSlot before = pods_[pod.slot()].profile;
    const NodeIndex node = pods_[pod.slot()].node;
    if (before != kNoProfile) {
        if (node.valid()) {
            lift(pod);
        }
        release(before);
    }
    pods_[pod.slot()].profile = next;
    if (node.valid()) {
        put(pod, node);
    }
}

void Neighbourhood::forget(PodIndex pod) {
    TESSERA_ASSERT(knows(pod) && !node_of(pod).valid(), "a pod is lifted before it is forgotten");
    release(pods_[pod.slot()].profile);
    pods_[pod.slot()] = {};
}

void Neighbourhood::put(PodIndex pod, NodeIndex node) {
    TESSERA_ASSERT(knows(pod) && !node_of(pod).valid(), "a known pod is put on one node");
    Known& known = pods_[pod.slot()];
    Profile& profile = profiles_[known.profile];
    known.node = node;
    known.place = static_cast<std::uint32_t>(profile.members.size());
    profile.members.push_back({pod, node});
    note_members(known.profile);
    if (profile.members.size() == 1) {
        announce(known.profile, true);
    }
    if (!profile.what.ports.empty() || !profile.what.resources.empty()) {
        Load& there = load(node);
        for (const PortUse& port : profile.what.ports) {
            there.ports.push_back({port, pod});
        }
        add(there.used, profile.what.resources, 1);
    }
}

void Neighbourhood::lift(PodIndex pod) {
    TESSERA_ASSERT(knows(pod) && node_of(pod).valid(), "a pod that is lifted is on a node");
    Known& known = pods_[pod.slot()];
    Profile& profile = profiles_[known.profile];
    const Member last = profile.members.back();
    profile.members[known.place] = last;
    pods_[last.pod.slot()].place = known.place;
    profile.members.pop_back();
    note_members(known.profile);
    if (profile.members.empty()) {
        announce(known.profile, false);
    }
    if (!profile.what.ports.empty() || !profile.what.resources.empty()) {
        Load& there = load(known.node);
        std::erase_if(there.ports, [&](const Port& one) { return one.pod == pod; });
        add(there.used, profile.what.resources, -1);
    }
    known.node = NodeIndex::none();
}

void Neighbourhood::note_members(ProfileSlot slot) {
    const std::vector<Member>& members = profiles_[slot].members;
    briefs_[slot].first = members.empty() ? NodeIndex::none() : members.front().node;
    briefs_[slot].several = members.size() > 1;
}

// The first pod of a profile has come, or its last has gone: its terms hold, or hold no longer.
void Neighbourhood::announce(ProfileSlot slot, bool there) {
    const PodProfile& profile = profiles_[slot].what;
    if (!profile.has_terms()) {
        return;
    }
    ++term_changes_;
    profiles_with_terms_ += there ? 1 : -std::size_t{1};
    std::vector<std::uint64_t> words;
    const bool all = label_words(profile, words);
    const auto change = [&](std::vector<ProfileSlot>& list) {
        if (there) {
            list.push_back(slot);
        } else {
            std::erase(list, slot);
        }
    };
    for (const std::uint64_t word : words) {
        change(terms_by_label_[word]);
        if (terms_by_label_[word].empty()) {
            terms_by_label_.erase(word);
        }
    }
    if (!all) {
        change(terms_of_any_);
    }
}

std::vector<Neighbourhood::ProfileSlot> Neighbourhood::with_terms_about(
    const PodProfile& pod) const {
    std::vector<ProfileSlot> found = terms_of_any_;
    for (const NodeLabel& label : pod.labels) {
        const auto list = terms_by_label_.find(label_word(label.key, label.value));
        if (list != terms_by_label_.end()) {
            found.insert(found.end(), list->second.begin(), list->second.end());
        }
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

Concern Neighbourhood::judge_concern(const PodProfile& pod) const {
    const auto required = [](const SpreadTerm& term) { return term.required; };
    const auto wished = [](const SpreadTerm& term) { return !term.required; };
    Concern concern{.refuses = !pod.near.empty() || !pod.apart.empty() || !pod.ports.empty() ||
                               !pod.resources.empty() ||
                               std::any_of(pod.spread.begin(), pod.spread.end(), required),
                    .prefers = !pod.preferred.empty() || !pod.preferred_nodes.empty() ||
                               std::any_of(pod.spread.begin(), pod.spread.end(), wished)};
    if (profiles_with_terms_ == 0) {
        return concern;
    }
    const LabelledPod labels = labelled(pod);
    const auto means = [&](const NeighbourTerm& term) { return matches(term, labels); };
    for (const ProfileSlot slot : with_terms_about(pod)) {
        const PodProfile& other = profiles_[slot].what;
        concern.refuses =
            concern.refuses || std::any_of(other.apart.begin(), other.apart.end(), means);
        concern.prefers = concern.prefers ||
                          std::any_of(other.near.begin(), other.near.end(), means) ||
                          std::any_of(other.preferred.begin(), other.preferred.end(), means);
    }
    return concern;
}

bool Neighbourhood::shunned(const NodeFilter& filter) {
    if (shunning_of_ != cluster_.trait_changes()) {
        shunning_of_ = cluster_.trait_changes();
        shunning_.clear();
        for (std::uint32_t n = 0; n < cluster_.size(); ++n) {
            for (const NodeTaint& taint : cluster_.traits(NodeIndex(n)).taints) {
                if (!taint.repels() &&
                    std::find(shunning_.begin(), shunning_.end(), taint) == shunning_.end()) {
                    shunning_.push_back(taint);
                }
            }
        }
    }
    return std::any_of(shunning_.begin(), shunning_.end(),
                       [&](const NodeTaint& taint) { return !tolerates(filter, taint); });
}

Concern Neighbourhood::concern(PodIndex pod, const NodeFilter& filter) {
    Profile& profile = profiles_[pods_[pod.slot()].profile];
    if (profile.concern_of != term_changes_) {
        profile.concern = judge_concern(profile.what);
        profile.concern_of = term_changes_;
    }
    Concern concern = profile.concern;
    concern.prefers = concern.prefers || shunned(filter);
    return concern;
}

}  // namespace tessera
