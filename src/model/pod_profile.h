// What of a pod its neighbours and its node look at, as indices: labels, terms, ports, resources.
//
// Pods of one controller usually share a profile, so that whatever is asked of "all pods" is asked
// once for each profile. Made of words by pod_profile(); the rules are judged in
// engine/neighbourhood.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/function_ref.h"
#include "model/ids.h"
#include "model/node_filter.h"
#include "model/pod.h"

namespace tessera {

struct LabelMatcher {
    bool nothing = false;                 // made of no selector at all
    std::vector<LabelRequirement> all{};  // sorted; none: everything matches

    bool everything() const { return !nothing && all.empty(); }
    friend bool operator==(const LabelMatcher&, const LabelMatcher&) = default;
};

using LabelSet = std::span<const NodeLabel>;  // by key
bool matches(const LabelMatcher& matcher, LabelSet labels);

struct NeighbourTerm {
    LabelKey topology{};
    LabelMatcher pods{};
    std::vector<SpaceIndex> spaces{};         // sorted
    LabelMatcher spaces_by{.nothing = true};  // namespaces with these labels as well
    std::int32_t weight = 0;                  // of preferred ones; below 0: rather apart

    friend bool operator==(const NeighbourTerm&, const NeighbourTerm&) = default;
};

struct SpreadTerm {
    LabelKey topology{};
    LabelMatcher pods{};
    std::int32_t max_skew = 1;
    std::int32_t min_domains = 1;
    bool required = true;
    bool only_admitting = true;
    bool only_tolerated = false;

    friend bool operator==(const SpreadTerm&, const SpreadTerm&) = default;
};

struct PreferredNodes {
    NodeTerm term{};
    std::int32_t weight = 0;

    friend bool operator==(const PreferredNodes&, const PreferredNodes&) = default;
};

struct PortUse {
    LabelValue address{};  // none(): every address of the node
    Protocol protocol = Protocol::tcp;
    std::int32_t port = 0;

    friend bool operator==(const PortUse&, const PortUse&) = default;
};
bool collide(const PortUse& a, const PortUse& b);

struct ResourceAmount {
    ResourceIndex resource{};
    std::int64_t amount = 0;

    friend bool operator==(const ResourceAmount&, const ResourceAmount&) = default;
};

// Amounts that are neither cores nor memory nor counted by a dialect: asked by a pod, or offered.
struct OtherResources {
    std::int64_t storage = 0;                // ephemeral, in bytes
    std::vector<ResourceAmount> extended{};  // by resource, none is 0

    std::int64_t of(ResourceIndex resource) const;
    bool empty() const { return storage == 0 && extended.empty(); }
    friend bool operator==(const OtherResources&, const OtherResources&) = default;
};
// Adds, or takes away when sign is -1.
void add(OtherResources& sum, const OtherResources& one, std::int64_t sign);

struct PodProfile {
    SpaceIndex space{};
    std::vector<NodeLabel> labels{};  // by key
    bool ending = false;              // deletion was asked for: not counted in spreading
    std::vector<NeighbourTerm> near{};
    std::vector<NeighbourTerm> apart{};
    std::vector<NeighbourTerm> preferred{};
    std::vector<SpreadTerm> spread{};
    std::vector<PreferredNodes> preferred_nodes{};
    std::vector<PortUse> ports{};
    OtherResources resources{};

    // Whether others are judged or scored by its terms while it is there.
    bool has_terms() const { return !near.empty() || !apart.empty() || !preferred.empty(); }
    std::uint64_t hash() const;
    friend bool operator==(const PodProfile&, const PodProfile&) = default;
};

// Whether a pod with those labels, of a namespace with its labels, is meant.
struct LabelledPod {
    SpaceIndex space;
    LabelSet space_labels;
    LabelSet labels;
};
bool matches(const NeighbourTerm& term, const LabelledPod& pod);

// `elsewhere` names the resources that somebody else counts: those of GPUs.
using CountedElsewhere = FunctionRef<bool(std::string_view)>;
Expected<PodProfile> pod_profile(const Pod& pod, Vocabulary& names, CountedElsewhere elsewhere);
Expected<OtherResources> node_offer(const Node& node, Vocabulary& names,
                                    CountedElsewhere elsewhere);
std::vector<NodeLabel> label_set(const StringMap& labels, Vocabulary& names);

}  // namespace tessera
