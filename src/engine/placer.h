// The placer: classes in, placements out, with the index kept behind it.
//
// One object per engine, single-threaded, deterministic: the same calls give the same answers.
// It chooses and never takes: the ledger does, and tells the placer which node changed.
//   ClassIndex c = placer.intern(demand);
//   placer.arrived(c);                          // the policy may learn
//   std::optional<Placement> p = placer.choose(c);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/rng.h"
#include "engine/cluster.h"
#include "engine/decision_scores.h"
#include "engine/group_members.h"
#include "engine/index.h"
#include "model/demand.h"
#include "model/placement.h"
#include "policy/policy.h"

namespace tessera {

class Placer {
  public:
    struct Options {
        std::uint64_t seed = 42;
        // Classes with a column of their own; others are served by a scan of all nodes.
        std::size_t max_columns = 512;
        // A new epoch's index is built at once up to this many nodes, beside the old one in
        // slices above, so that no decision waits for it. A larger index for nodes that joined (an
        // eighth more than there were) or for a new kind of node is built at once in any case: a
        // decision made by the old one would not see them.
        std::size_t rebuild_at_once_nodes = 2048;
        std::size_t slice_nodes = 2;
        // No index: every decision scans every node. The same placements, for comparison.
        bool full_scan = false;
        bool record_census = false;
    };

    // Without the members of groups, no policy keeps a group together.
    Placer(const Cluster& cluster, std::unique_ptr<Policy> policy, Options options,
           const GroupMembers* groups = nullptr);

    ClassIndex intern(const Demand& demand, std::size_t alternative = 0);
    ClassIndex intern(const DemandClass& demand_class);
    const ClassTable& classes() const { return classes_; }
    const Policy& policy() const { return *policy_; }
    // Another policy from now on, which starts with the mix of classes seen so far. Until its index
    // is built (at once, or in slices: Options) the old scores decide. What is still to be placed
    // must be interned again: policies may turn a demand into different classes.
    void set_policy(std::unique_ptr<Policy> policy);
    // Lets go of every other class, for good; answers which index each class has now, by the one
    // that it had. The policy's object is replaced by a new one, as set_policy() does, since it may
    // know classes by their indices.
    std::vector<ClassIndex> keep_only(const std::vector<bool>& kept,
                                      std::unique_ptr<Policy> policy);
    const Cluster& cluster() const { return cluster_; }
    const Options& options() const { return options_; }
    // Changes of the cluster, and of the scores in force, so far: they name a decision's inputs.
    std::uint64_t sequence() const { return sequence_; }
    std::uint64_t epoch() const { return epoch_; }
    // The draws to come, for explanations that must not use them up; and to go on with them.
    Rng draws() const { return rng_; }
    void set_draws(const Rng& draws) { rng_ = draws; }
    // What the policy was told when it counted hosts, in order (Options::record_census). A restored
    // placer tells it the same again before it counts for itself.
    const std::vector<std::int64_t>& census_told() const { return told_; }
    void retell_census(std::vector<std::int64_t> told);

    void arrived(ClassIndex demand_class);
    void departed(ClassIndex demand_class);

    // Where the class goes now; nothing when it fits nowhere. Where the policy keeps groups
    // together and a member of the group is placed, every node that fits is scored; else the index
    // answers.
    std::optional<Placement> choose(ClassIndex demand_class, GroupIndex group = {});
    // Where the demand goes now: by its first alternative that fits, with one draw for all of them.
    // Classes have no names of containers; this placement's grants have them (alternatives.h).
    std::optional<Placement> choose(const Demand& demand);
    // The same by a scan of all nodes, without the index: slow, and equal to choose().
    std::optional<Placement> choose_by_scan(ClassIndex demand_class, GroupIndex group = {});
    // The same on one given node.
    std::optional<Placement> choose_on(NodeIndex node, ClassIndex demand_class);
    // What decides between nodes, on any state of the cluster's nodes, and the same with a draw of
    // the caller's: for explanations.
    DecisionScores scores(const Cluster& cluster, ClassIndex demand_class,
                          const GroupOf& group = {}) const;
    std::optional<Placement> choose_on(const DecisionScores& scores, NodeIndex node,
                                       std::uint64_t draw) const;

    // Keys of the class on these nodes, 0 where it does not fit (and for none()), and which of them
    // the policy chooses. For doors where somebody else says which nodes there are. With the same
    // draw, choose_on() finds devices there; over all nodes, in their order, that is choose().
    struct Ranking {
        std::size_t best = SIZE_MAX;  // its place among them, SIZE_MAX when it fits on none
        std::uint64_t draw = 0;
    };
    Ranking rank(ClassIndex demand_class, std::span<const NodeIndex> among, std::span<Key> keys);
    // The same where the members of a pod's group make a difference; nothing where they make none.
    std::optional<Ranking> rank_near(const GroupOf& group, ClassIndex demand_class,
                                     std::span<const NodeIndex> among, std::span<Key> keys);

    // Something on the node changed: what is left, its health, its capacity, or that it is new. A
    // kind of device or node that was not there before makes a new index, at once: the policy's
    // tables know nothing of it. More new nodes than there was room for have it built again, by the
    // scores in force.
    void node_changed(NodeIndex node);

    // Builds the whole index anew, at once, from the scores in force. For benchmarks and tests.
    void rebuild() { rebuild_now(std::shared_ptr(index_->shared_scorer())); }

    const Scorer& scorer() const { return index_->scorer(); }
    std::int64_t fitting_nodes(ClassIndex demand_class);
    // The index, and as much as there is of the coming one, equal a fresh evaluation.
    bool consistent() const;
    std::size_t memory_bytes() const;

    struct Counters {
        std::uint64_t rebuilds = 0;        // whole indices built
        std::uint64_t sliced_nodes = 0;    // of them, built beside a decision
        std::uint64_t scans = 0;           // decisions without a column
        std::uint64_t host_refreshes = 0;  // nodes refreshed for a changed host value
    };
    const Counters& counters() const { return counters_; }

  private:
    struct Sightings {  // arrival counts, 0 = never
        std::uint64_t last = 0;
        std::uint64_t before = 0;
        std::uint64_t count = 0;
    };
    struct Extent {
        std::size_t kinds = 0;
        std::size_t shapes = 0;

        friend bool operator==(const Extent&, const Extent&) = default;
    };

    int column_for(ClassIndex demand_class);
    ClassIndex rarer_than(ClassIndex demand_class) const;
    void make_room(std::size_t more_columns);
    struct Asked {
        ClassIndex demand_class;
        GroupIndex group{};
    };
    std::optional<Placement> choose_drawn(Asked asked, std::uint64_t draw);
    std::optional<Placement> scan_and_place(const DecisionScores& scores, std::uint64_t draw);
    NodeIndex pick(ClassIndex demand_class, int column, std::uint64_t draw);
    NodeIndex scan(const DecisionScores& scores, std::uint64_t draw);
    // `draw` decides what the policy leaves to chance; one per decision.
    std::optional<Placement> place_on(NodeIndex node, ClassIndex demand_class, std::uint64_t draw);
    std::optional<Placement> place_among(const DecisionScores& scores, NodeIndex node,
                                         std::uint64_t draw, DeviceList& devices) const;
    bool grantable(NodeIndex node, const DecisionScores& scores, std::uint64_t draw);
    Key key_on(NodeIndex node, const DecisionScores& scores, std::uint64_t draw);
    std::size_t select(std::span<const NodeIndex> among, std::span<const Key> keys, bool indexed);
    void nodes_replaced();
    void start_index(std::shared_ptr<const Scorer> scorer, std::span<const ClassIndex> columns);
    std::shared_ptr<const Scorer> learn_anew(const Census& census);
    Extent extent() const { return {cluster_.kind_count(), cluster_.shape_count()}; }
    bool outgrown() const {
        return cluster_.size() > index_->capacity() ||
               (next_ != nullptr && cluster_.size() > next_->capacity());
    }
    PolicyUpdate ask_policy();
    PolicyUpdate ask_policy(const Census& census);
    void adopt(PolicyUpdate update);
    void build_slice();
    void rebuild_now(std::shared_ptr<const Scorer> scorer);
    Catalog catalog() const { return cluster_.catalog(classes_); }

    const Cluster& cluster_;
    const GroupMembers* groups_;
    std::unique_ptr<Policy> policy_;
    Options options_;
    ClassTable classes_;
    std::vector<Sightings> sightings_;  // by class
    std::uint64_t seen_ = 0;
    Extent known_;  // what the scorer was made for
    Rng rng_;
    std::vector<std::int64_t> told_;
    std::vector<std::int64_t> retold_;  // answers still to be given, the next one last
    std::unique_ptr<Index> index_;
    std::unique_ptr<Index> next_;  // of the coming epoch, nodes [0, built_) are in it
    std::size_t built_ = 0;
    DeviceList devices_;
    Counters counters_;
    std::uint64_t sequence_ = 0;
    std::uint64_t epoch_ = 0;
};

}  // namespace tessera
