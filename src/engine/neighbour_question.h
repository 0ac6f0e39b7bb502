// One pod's rules about its neighbours against the nodes, counted once and then asked node by node.
//
//   NeighbourQuestion ask(there, pod, filter);
//   if (const NodeVerdict verdict = ask.verdict(node); !verdict.fits()) { ... verdict.first ... }
//   ask.lift(victim); ask.verdict(node); ask.put_back(victim);   // would it fit without them?
//   std::vector<std::int64_t> points = ask.preferences(nodes_that_fit);
//
// Reads the neighbourhood, which must not change while the question lives. Counting looks at every
// profile once, and at every pod of those that matter; a verdict looks at a few numbers. A pod that
// is there itself counts like any other: lift it to ask where else it could go.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "engine/diagnosis.h"
#include "engine/neighbourhood.h"

namespace tessera {

class NeighbourQuestion {
  public:
    // `filter` is the pod's own, which the question keeps looking at.
    NeighbourQuestion(Neighbourhood& there, PodIndex pod, const NodeFilter& filter);
    NeighbourQuestion(Neighbourhood& there, PodIndex pod, NodeFilter&& filter) = delete;

    NodeVerdict verdict(NodeIndex node) const;

    // As kube-scheduler scores nodes that fit: preferred node affinity, preferred pod affinity and
    // topology spread (ScheduleAnyway) count twice, taints that only prefer three times, each 0 to
    // 100 over the nodes given. In their order; larger is better.
    std::vector<std::int64_t> preferences(std::span<const NodeIndex> nodes) const;

    // As if a pod that is there were gone, and back to what is true.
    void lift(PodIndex pod);
    void put_back(PodIndex pod);

  private:
    // Pods that matter to one term, by the domain that they are in.
    struct Tally {
        std::shared_ptr<const Domains> domains;
        std::vector<std::int64_t> counts;
        std::int64_t total = 0;
        // Of spreading: which nodes count, and which domains have such a node.
        std::vector<bool> counted_nodes{};
        std::vector<bool> counted_domains{};
        std::size_t domains_counted = 0;
        mutable std::optional<std::int64_t> fewest{};  // of those domains; nothing: not looked yet
    };
    using Effect = FunctionRef<void(Tally&, std::int64_t)>;

    void prepare_spread(bool required);
    bool counts_node(const SpreadTerm& term, NodeIndex node) const;
    // What a pod that is there adds to the tallies of its node: by the terms of the one asked for,
    // and by its own.
    void effects_by_own(const LabelledPod& other, bool ending, Effect visit);
    void effects_by_terms(const PodProfile& other, Effect visit);
    void count_by_own();
    void count_by_terms();
    Tally make_tally(LabelKey topology) const;
    Tally& tally_of(std::map<LabelKey, Tally>& tallies, LabelKey topology);
    static void change(Tally& tally, NodeIndex node, std::int64_t amount);
    void change(PodIndex pod, std::int64_t sign);
    std::int64_t count_at(const Tally& tally, NodeIndex node) const;
    std::int64_t least(const SpreadTerm& term, const Tally& tally) const;

    void judge_room(NodeIndex node, RefusalSet& reasons) const;
    void judge_spread(NodeIndex node, RefusalSet& reasons) const;
    void judge_near(NodeIndex node, RefusalSet& reasons) const;
    void judge_apart(NodeIndex node, RefusalSet& reasons) const;

    using Nodes = std::span<const NodeIndex>;
    std::vector<std::int64_t> node_wishes(Nodes nodes) const;
    std::vector<std::int64_t> pod_wishes(Nodes nodes) const;
    std::vector<std::int64_t> evenness(Nodes nodes) const;
    std::vector<std::int64_t> evenness_weights(Nodes nodes, const std::vector<bool>& heeded) const;
    std::vector<std::int64_t> tolerance(Nodes nodes) const;

    Neighbourhood& there_;
    const Cluster& cluster_;
    const PodProfile& pod_;
    const NodeFilter& filter_;
    LabelledPod labels_;
    std::vector<Tally> near_;  // by the pod's terms
    std::vector<Tally> apart_;
    std::vector<Tally> spread_;
    std::map<LabelKey, Tally> existing_;  // pods there that must be apart from it
    std::map<LabelKey, Tally> wishes_;    // sums of weights
    bool near_itself_ = false;            // its own labels are what it must be near to
    std::vector<PodIndex> lifted_;
};

}  // namespace tessera
