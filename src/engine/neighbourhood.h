// Who is where, as far as pods' rules about other pods, ports and other resources look at it.
//
//   Neighbourhood there(cluster);
//   there.learn(pod, profile);                      // known, waiting
//   const Concern concern = there.concern(pod, filter);
//   if (concern.refuses || concern.prefers) {       // nearly never
//       NeighbourQuestion ask(there, pod, filter);  // neighbour_question.h: node by node
//   }
//   there.put(pod, node); ... there.lift(pod); there.forget(pod);
//
// The rules are those of kube-scheduler's plugins InterPodAffinity, PodTopologySpread, NodePorts
// and NodeResourcesFit (for resources that the cluster does not count). Pods with equal profiles
// are kept together: a rule is compared with each profile once and then counted by topology domain.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "base/inline_vector.h"
#include "engine/cluster.h"
#include "engine/domains.h"
#include "engine/engine.h"
#include "model/pod_profile.h"

namespace tessera {

// Whether there is anything to ask for a pod, of its own rules or of those of pods that are there.
struct Concern {
    bool refuses = false;  // nodes may be refused
    bool prefers = false;  // some nodes may be better than others

    explicit operator bool() const { return refuses || prefers; }
};

class Neighbourhood {
  public:
    explicit Neighbourhood(const Cluster& cluster) : cluster_(cluster), domains_(cluster) {}
    Neighbourhood(const Neighbourhood&) = delete;
    Neighbourhood& operator=(const Neighbourhood&) = delete;

    void set_space(SpaceIndex space, std::vector<NodeLabel> labels);  // a namespace's labels
    void set_offer(NodeIndex node, OtherResources offer);

    // A pod with this profile, from now on; where it is stays.
    void learn(PodIndex pod, PodProfile profile);
    void forget(PodIndex pod);  // it is nowhere
    void put(PodIndex pod, NodeIndex node);
    void lift(PodIndex pod);

    bool knows(PodIndex pod) const {
        return pod.slot() < pods_.size() && pods_[pod.slot()].profile != kNoProfile;
    }
    // none() when it is nowhere.
    NodeIndex node_of(PodIndex pod) const { return pods_[pod.slot()].node; }
    const PodProfile& profile(PodIndex pod) const { return kept(pod).what; }

    // A few comparisons, unless the terms of those who are there have changed since a pod of this
    // profile was asked about.
    Concern concern(PodIndex pod, const NodeFilter& filter);

    const Cluster& cluster() const { return cluster_; }
    std::size_t profiles() const { return by_profile_.size(); }
    // Calls visit(const PodProfile&) for each that some pod has.
    template <class Visit>
    void each_profile(Visit visit) const {
        for (const Profile& one : profiles_) {
            if (one.users > 0) {
                visit(one.what);
            }
        }
    }

  private:
    friend class NeighbourQuestion;
    using ProfileSlot = std::uint32_t;
    static constexpr ProfileSlot kNoProfile = UINT32_MAX;

    struct Member {
        PodIndex pod;
        NodeIndex node;
    };
    struct Profile {
        PodProfile what;
        std::size_t users = 0;
        std::vector<Member> members;  // those that are on a node
        Concern concern{};            // without taints
        std::uint64_t concern_of = 0;
    };
    // Of a profile what every question looks at, side by side: it is read for thousands at once.
    struct Brief {
        SpaceIndex space{};
        NodeIndex first{};  // of the members; none() when there is none
        bool several = false;
        bool ending = false;
        InlineVector<NodeLabel, 5> labels;
    };
    struct Known {
        ProfileSlot profile = kNoProfile;
        NodeIndex node{};
        std::uint32_t place = 0;  // among the members
    };
    struct Port {
        PortUse port;
        PodIndex pod;
    };
    struct Load {
        std::vector<Port> ports;
        OtherResources offer;
        OtherResources used;
    };
    struct ProfileHash {
        std::size_t operator()(const PodProfile* profile) const { return profile->hash(); }
    };
    struct ProfileEqual {
        bool operator()(const PodProfile* a, const PodProfile* b) const { return *a == *b; }
    };

    const Profile& kept(PodIndex pod) const { return profiles_[pods_[pod.slot()].profile]; }
    ProfileSlot keep(PodProfile profile);
    void release(ProfileSlot slot);
    void announce(ProfileSlot slot, bool there);
    void note_members(ProfileSlot slot);
    LabelledPod labelled(const PodProfile& pod) const {
        return {pod.space, labels_of(pod.space), pod.labels};
    }
    Load& load(NodeIndex node);
    LabelSet labels_of(SpaceIndex space) const;
    // Profiles of those there of whose terms one may mean such a pod, each once.
    std::vector<ProfileSlot> with_terms_about(const PodProfile& pod) const;
    Concern judge_concern(const PodProfile& pod) const;
    bool shunned(const NodeFilter& filter);

    const Cluster& cluster_;
    DomainTables domains_;
    std::deque<Profile> profiles_;
    std::vector<Brief> briefs_;  // by profile
    std::vector<ProfileSlot> free_;
    tsl::robin_map<const PodProfile*, ProfileSlot, ProfileHash, ProfileEqual> by_profile_;
    std::vector<Known> pods_;
    std::vector<Load> loads_;  // by node, as far as anything is known
    std::vector<std::vector<NodeLabel>> spaces_;

    // Of profiles with terms that are there: by a label that one of their terms asks for, and those
    // that ask for none in particular.
    tsl::robin_map<std::uint64_t, std::vector<ProfileSlot>> terms_by_label_;
    std::vector<ProfileSlot> terms_of_any_;
    std::uint64_t term_changes_ = 1;
    std::size_t profiles_with_terms_ = 0;

    std::vector<NodeTaint> shunning_;  // different taints of nodes that only prefer
    std::uint64_t shunning_of_ = 0;    // changes of traits that it shows
};

}  // namespace tessera
