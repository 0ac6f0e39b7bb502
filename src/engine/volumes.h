// Volume claims of pods: whether they are ready, and from which nodes their volumes can be reached.
//
//   const VolumeQuestion ask = book.ask(pod);
//   if (const auto refusal = ask.refusal(cluster.traits(node))) { ... }
//   for (const VolumeStep& step : *ask.steps(cluster.traits(node))) { ... }   // before the bind
//
// The rules of kube-scheduler's VolumeBinding, and of VolumeRestrictions for claims that one pod
// may use at a time. A bound claim's volume says where it can be reached. A claim that waits for
// its first pod takes the volume that is kept for it, else the smallest free one that serves it,
// each volume once; where there is none, one is provisioned if its class allows the node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/intern.h"
#include "model/cluster_objects.h"
#include "model/decision.h"
#include "model/ids.h"
#include "model/node_filter.h"
#include "model/pod.h"

namespace tessera {

// What has to be done before a pod with a waiting claim is bound.
struct VolumeStep {
    std::string claim{};   // in the pod's namespace
    std::string volume{};  // to bind to it; empty: to be provisioned for the node

    friend bool operator==(const VolumeStep&, const VolumeStep&) = default;
};

class VolumeQuestion {
  public:
    // Nothing where the node will do.
    std::optional<RefusalCode> refusal(const NodeTraits& node) const;
    // Nothing where it will not; no steps when every claim is bound.
    std::optional<std::vector<VolumeStep>> steps(const NodeTraits& node) const;

    // Whether there is anything to ask.
    bool concerns() const { return everywhere_ || !bound_.empty() || !waiting_.empty(); }

  private:
    friend class VolumeBook;
    using Reach = std::vector<NodeTerm>;  // one of them; none: every node
    struct Candidate {
        std::string volume;
        Reach reach;
    };
    struct Waiting {
        std::string claim;
        Quantity asked;
        std::vector<Candidate> candidates;  // the best first
        bool provisioned = false;
        Reach allowed;
    };

    std::optional<RefusalCode> everywhere_;
    std::vector<Reach> bound_;
    std::vector<Waiting> waiting_;  // smallest first
};

class VolumeBook {
  public:
    explicit VolumeBook(Vocabulary& names) : names_(names) {}

    void set(VolumeClaim claim);
    void set(Volume volume);
    void set(StorageClass made);
    void remove_claim(std::string_view space, std::string_view name);
    void remove_volume(std::string_view name);
    void remove_class(std::string_view name);
    // A pod came to a node, or left it: it uses its claims.
    void add_user(const Pod& pod) { count_user(pod, 1); }
    void remove_user(const Pod& pod) { count_user(pod, -1); }

    VolumeQuestion ask(const Pod& pod) const;

  private:
    using ClaimIndex = StrongId<struct ClaimTag>;
    using VolumeIndex = StrongId<struct VolumeTag>;
    using StorageIndex = StrongId<struct StorageTag>;

    // What is known by a name that is interned; nothing when it is gone.
    template <class Id, class T>
    struct Shelf {
        Interner<Id> names;
        std::vector<std::optional<T>> items;

        void set(std::string_view name, T item);
        void remove(std::string_view name);
        const T* find(std::string_view name) const;
    };

    void count_user(const Pod& pod, std::int32_t sign);
    std::int32_t users(const std::string& claim) const;
    bool add_claim(const Pod& pod, const VolumeClaimUse& use, VolumeQuestion& question) const;
    VolumeQuestion::Waiting waiting(const VolumeClaim& claim, const StorageClass& made) const;
    VolumeQuestion::Reach reach(const std::vector<NodeSelectorTerm>& terms) const;

    Vocabulary& names_;
    Shelf<ClaimIndex, VolumeClaim> claims_;
    Shelf<VolumeIndex, Volume> volumes_;
    Shelf<StorageIndex, StorageClass> classes_;
    Interner<ClaimIndex> used_;
    std::vector<std::int32_t> users_;
};

}  // namespace tessera
