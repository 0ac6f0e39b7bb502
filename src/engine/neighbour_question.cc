#include "engine/neighbour_question.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/assert.h"
#include "base/inline_vector.h"

namespace tessera {
namespace {

// Required affinity of a pod that is there draws others of its kind by this weight: the usual value
// of kube-scheduler's hardPodAffinityWeight.
constexpr std::int64_t kRequiredWeight = 1;

// A selector that everything matches counts nobody: so it is in kube-scheduler.
bool counts_pods(const SpreadTerm& term, LabelSet labels) {
    return !term.pods.everything() && matches(term.pods, labels);
}

}  // namespace

NeighbourQuestion::NeighbourQuestion(Neighbourhood& there, PodIndex pod, const NodeFilter& filter)
    : there_(there),
      cluster_(there.cluster()),
      pod_(there.profile(pod)),
      filter_(filter),
      labels_(there.labelled(pod_)) {
    for (const NeighbourTerm& term : pod_.near) {
        near_.push_back(make_tally(term.topology));
    }
    for (const NeighbourTerm& term : pod_.apart) {
        apart_.push_back(make_tally(term.topology));
    }
    for (const SpreadTerm& term : pod_.spread) {
        spread_.push_back(make_tally(term.topology));
    }
    prepare_spread(true);
    prepare_spread(false);
    near_itself_ = std::all_of(pod_.near.begin(), pod_.near.end(),
                               [&](const NeighbourTerm& term) { return matches(term, labels_); });
    count_by_own();
    count_by_terms();
}

NeighbourQuestion::Tally NeighbourQuestion::make_tally(LabelKey topology) const {
    Tally tally{.domains = there_.domains_.by(topology), .counts = {}};
    tally.counts.assign(tally.domains->count, 0);
    return tally;
}

NeighbourQuestion::Tally& NeighbourQuestion::tally_of(std::map<LabelKey, Tally>& tallies,
                                                      LabelKey topology) {
    const auto found = tallies.find(topology);
    return found != tallies.end() ? found->second
                                  : tallies.emplace(topology, make_tally(topology)).first->second;
}

bool NeighbourQuestion::counts_node(const SpreadTerm& term, NodeIndex node) const {
    const NodeTraits& traits = cluster_.traits(node);
    if (term.only_admitting &&
        (missing_label(filter_, traits) != nullptr || !matches_terms(filter_, traits))) {
        return false;
    }
    return !term.only_tolerated ||
           std::all_of(traits.taints.begin(), traits.taints.end(), [&](const NodeTaint& taint) {
               return !taint.repels() || tolerates(filter_, taint);
           });
}

// A node counts for the required terms (for the others) if it has the labels of all of those.
void NeighbourQuestion::prepare_spread(bool required) {
    const auto has_labels = [&](NodeIndex node) {
        for (std::size_t i = 0; i < spread_.size(); ++i) {
            if (pod_.spread[i].required == required &&
                spread_[i].domains->of(node) == Domains::kNone) {
                return false;
            }
        }
        return true;
    };
    for (std::size_t i = 0; i < spread_.size(); ++i) {
        if (pod_.spread[i].required == required) {
            spread_[i].counted_nodes.assign(cluster_.size(), false);
            spread_[i].counted_domains.assign(spread_[i].domains->count, false);
        }
    }
    for (std::uint32_t n = 0; !spread_.empty() && n < cluster_.size(); ++n) {
        const NodeIndex node(n);
        const bool grouped = has_labels(node);
        for (std::size_t i = 0; i < spread_.size() && grouped; ++i) {
            Tally& tally = spread_[i];
            if (pod_.spread[i].required == required && counts_node(pod_.spread[i], node)) {
                tally.counted_nodes[n] = true;
                tally.domains_counted += tally.counted_domains[tally.domains->of(node)] ? 0 : 1;
                tally.counted_domains[tally.domains->of(node)] = true;
            }
        }
    }
}

void NeighbourQuestion::change(Tally& tally, NodeIndex node, std::int64_t amount) {
    const std::uint32_t domain = tally.domains->of(node);
    if (domain == Domains::kNone ||
        (!tally.counted_nodes.empty() && !tally.counted_nodes[node.slot()])) {
        return;
    }
    tally.counts[domain] += amount;
    tally.total += amount;
    tally.fewest.reset();
}

void NeighbourQuestion::effects_by_own(const LabelledPod& other, bool ending, Effect visit) {
    const auto meant = [&](const NeighbourTerm& term) { return matches(term, other); };
    if (!pod_.near.empty() && std::all_of(pod_.near.begin(), pod_.near.end(), meant)) {
        for (Tally& tally : near_) {
            visit(tally, 1);
        }
    }
    for (std::size_t i = 0; i < apart_.size(); ++i) {
        if (meant(pod_.apart[i])) {
            visit(apart_[i], 1);
        }
    }
    for (std::size_t i = 0; i < spread_.size() && !ending && other.space == pod_.space; ++i) {
        if (counts_pods(pod_.spread[i], other.labels)) {
            visit(spread_[i], 1);
        }
    }
    for (const NeighbourTerm& term : pod_.preferred) {
        if (meant(term)) {
            visit(tally_of(wishes_, term.topology), term.weight);
        }
    }
}

void NeighbourQuestion::effects_by_terms(const PodProfile& other, Effect visit) {
    for (const NeighbourTerm& term : other.apart) {
        if (matches(term, labels_)) {
            visit(tally_of(existing_, term.topology), 1);
        }
    }
    for (const NeighbourTerm& term : other.near) {
        if (matches(term, labels_)) {
            visit(tally_of(wishes_, term.topology), kRequiredWeight);
        }
    }
    for (const NeighbourTerm& term : other.preferred) {
        if (matches(term, labels_)) {
            visit(tally_of(wishes_, term.topology), term.weight);
        }
    }
}

void NeighbourQuestion::count_by_own() {
    if (pod_.near.empty() && pod_.apart.empty() && pod_.spread.empty() && pod_.preferred.empty()) {
        return;
    }
    SpaceIndex space;  // of the one before, whose labels are at hand
    LabelSet space_labels;
    for (std::size_t slot = 0; slot < there_.briefs_.size(); ++slot) {
        const Neighbourhood::Brief& brief = there_.briefs_[slot];
        if (!brief.first.valid()) {
            continue;
        }
        if (brief.space != space) {
            space = brief.space;
            space_labels = there_.labels_of(space);
        }
        const LabelledPod other{space, space_labels, {brief.labels.data(), brief.labels.size()}};
        effects_by_own(other, brief.ending, [&](Tally& tally, std::int64_t amount) {
            change(tally, brief.first, amount);
            const auto& members = there_.profiles_[slot].members;
            for (std::size_t i = 1; brief.several && i < members.size(); ++i) {
                change(tally, members[i].node, amount);
            }
        });
    }
}

void NeighbourQuestion::count_by_terms() {
    for (const Neighbourhood::ProfileSlot slot : there_.with_terms_about(pod_)) {
        const Neighbourhood::Profile& profile = there_.profiles_[slot];
        effects_by_terms(profile.what, [&](Tally& tally, std::int64_t amount) {
            for (const Neighbourhood::Member& member : profile.members) {
                change(tally, member.node, amount);
            }
        });
    }
}

void NeighbourQuestion::change(PodIndex pod, std::int64_t sign) {
    const NodeIndex node = there_.node_of(pod);
    TESSERA_ASSERT(node.valid(), "a pod that is lifted is there");
    const PodProfile& other = there_.profile(pod);
    const auto visit = [&](Tally& tally, std::int64_t amount) {
        change(tally, node, sign * amount);
    };
    effects_by_own(there_.labelled(other), other.ending, visit);
    effects_by_terms(other, visit);
}

void NeighbourQuestion::lift(PodIndex pod) {
    TESSERA_ASSERT(std::find(lifted_.begin(), lifted_.end(), pod) == lifted_.end(),
                   "a pod is lifted once");
    change(pod, -1);
    lifted_.push_back(pod);
}

void NeighbourQuestion::put_back(PodIndex pod) {
    TESSERA_ASSERT(std::erase(lifted_, pod) == 1, "a pod that is put back was lifted");
    change(pod, 1);
}

std::int64_t NeighbourQuestion::count_at(const Tally& tally, NodeIndex node) const {
    const std::uint32_t domain = tally.domains->of(node);
    return domain == Domains::kNone ? 0 : tally.counts[domain];
}

void NeighbourQuestion::judge_room(NodeIndex node, RefusalSet& reasons) const {
    if (pod_.ports.empty() && pod_.resources.empty()) {
        return;
    }
    static const Neighbourhood::Load kNothing;
    const Neighbourhood::Load& load =
        node.slot() < there_.loads_.size() ? there_.loads_[node.slot()] : kNothing;
    OtherResources used = load.used;
    const auto lifted = [&](PodIndex pod) {
        return std::find(lifted_.begin(), lifted_.end(), pod) != lifted_.end();
    };
    for (const PodIndex pod : lifted_) {
        if (there_.node_of(pod) == node) {
            add(used, there_.profile(pod).resources, -1);
        }
    }
    const auto judge = [&](std::int64_t asked, std::int64_t whole, std::int64_t in_use,
                           std::array<RefusalCode, 2> codes) {
        if (asked > whole - in_use && asked > 0) {
            reasons.add(codes[asked > whole ? 0 : 1]);
        }
    };
    judge(pod_.resources.storage, load.offer.storage, used.storage,
          {RefusalCode::storage_too_small, RefusalCode::storage_insufficient});
    for (const ResourceAmount& one : pod_.resources.extended) {
        judge(one.amount, load.offer.of(one.resource), used.of(one.resource),
              {RefusalCode::resource_too_small, RefusalCode::resource_insufficient});
    }
    for (const Neighbourhood::Port& taken : load.ports) {
        const auto same = [&](const PortUse& wanted) { return collide(wanted, taken.port); };
        if (std::any_of(pod_.ports.begin(), pod_.ports.end(), same) && !lifted(taken.pod)) {
            reasons.add(RefusalCode::host_port_in_use);
        }
    }
}

// The fewest that a domain has; none when there are fewer domains than the rule wants.
std::int64_t NeighbourQuestion::least(const SpreadTerm& term, const Tally& tally) const {
    if (tally.domains_counted < static_cast<std::size_t>(term.min_domains)) {
        return 0;
    }
    if (!tally.fewest) {
        std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
        for (std::size_t domain = 0; domain < tally.counts.size(); ++domain) {
            if (tally.counted_domains[domain]) {
                fewest = std::min(fewest, tally.counts[domain]);
            }
        }
        tally.fewest = fewest;
    }
    return *tally.fewest;
}

void NeighbourQuestion::judge_spread(NodeIndex node, RefusalSet& reasons) const {
    for (std::size_t i = 0; i < spread_.size(); ++i) {
        const SpreadTerm& term = pod_.spread[i];
        if (!term.required) {
            continue;
        }
        if (spread_[i].domains->of(node) == Domains::kNone) {
            reasons.add(RefusalCode::topology_key_missing);
            continue;
        }
        const std::int64_t itself = matches(term.pods, pod_.labels) ? 1 : 0;
        if (count_at(spread_[i], node) + itself - least(term, spread_[i]) > term.max_skew) {
            reasons.add(RefusalCode::topology_spread);
        }
    }
}

// Near to a pod by every term; the first of a kind, which is near to itself alone, may begin.
void NeighbourQuestion::judge_near(NodeIndex node, RefusalSet& reasons) const {
    bool there = true;
    std::int64_t anywhere = 0;
    for (const Tally& tally : near_) {
        if (tally.domains->of(node) == Domains::kNone) {
            reasons.add(RefusalCode::topology_key_missing);
            return;
        }
        there = there && count_at(tally, node) > 0;
        anywhere += tally.total;
    }
    if (!there && !(anywhere == 0 && near_itself_)) {
        reasons.add(RefusalCode::pod_affinity);
    }
}

void NeighbourQuestion::judge_apart(NodeIndex node, RefusalSet& reasons) const {
    for (const Tally& tally : apart_) {
        if (count_at(tally, node) > 0) {
            reasons.add(RefusalCode::pod_anti_affinity);
        }
    }
    for (const auto& [topology, tally] : existing_) {
        if (count_at(tally, node) > 0) {
            reasons.add(RefusalCode::existing_anti_affinity);
        }
    }
}

NodeVerdict NeighbourQuestion::verdict(NodeIndex node) const {
    NodeVerdict result;
    judge_room(node, result.reasons);
    judge_spread(node, result.reasons);
    judge_near(node, result.reasons);
    judge_apart(node, result.reasons);
    if (!result.fits()) {
        result.first = first_reason(result.reasons);
    }
    return result;
}

}  // namespace tessera
