// The placement index: for every column (class) the best node, kept up to date eagerly.
//
// refresh(node) recomputes which classes fit on the node and their keys, and writes them. Commit,
// departure, health and capacity all end here, so that a decision only reads. An index has one
// scorer at a time; placer.h says when that is replaced, and when a new index is built beside the
// old one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/rng.h"
#include "engine/admission.h"
#include "engine/cluster.h"
#include "engine/feasibility.h"
#include "engine/max_forest.h"
#include "policy/catalog.h"
#include "policy/scorer.h"

namespace tessera {

class Index final : public Census {
  public:
    Index(const Cluster& cluster, const ClassTable& classes)
        : cluster_(cluster), classes_(classes), admission_(cluster, classes) {}

    // Drops all keys; these classes get a column (none = a free one). Every node must be refreshed
    // before the index is read.
    void reset(std::shared_ptr<const Scorer> scorer, std::span<const ClassIndex> columns);
    // A scorer that differs only on some nodes, which the caller refreshes; its keys are no larger.
    void replace_scorer(std::shared_ptr<const Scorer> scorer);

    // Gives a class the column of another (none = a free one) and fills it for the first `nodes`
    // nodes: those that are in the index already.
    void set_column(ClassIndex demand_class, ClassIndex instead_of, std::size_t nodes);
    int column_of(ClassIndex demand_class) const {
        return demand_class.slot() < column_of_.size() ? column_of_[demand_class.slot()] : -1;
    }
    std::span<const ClassIndex> columns() const { return columns_; }

    // So many nodes find room: new ones are refreshed as any other, and only then looked at.
    std::size_t capacity() const { return capacity_; }
    void refresh(NodeIndex node);
    void refresh_first(std::size_t nodes);
    void refresh_all() { refresh_first(cluster_.size()); }

    // The node with the largest key; none when nothing fits.
    NodeIndex best(std::size_t column) const;
    // The best of the others; the same node when there is no other.
    NodeIndex second_best(std::size_t column);
    // One of the nodes on which the column fits, all equally likely; none when nothing fits.
    NodeIndex any(std::size_t column, Rng& rng) const;
    Key key(std::size_t column, NodeIndex node) const { return forest_->at(column, node.slot()); }
    void keys(std::size_t column, std::span<const NodeIndex> nodes, std::span<Key> out) const {
        forest_->gather(column, nodes, out);
    }
    std::span<const Tie> ties() const { return forest_->ties(); }  // by node
    // Of a class without a column by looking at every node.
    std::int64_t hosts(ClassIndex demand_class) const override;
    // Calls visit(NodeIndex) for every node on which the class fits, in node order.
    template <class Visit>
    void each_host(ClassIndex demand_class, Visit visit) const;
    // The same where it has room, also on nodes that do not admit it: scores go by room alone.
    template <class Visit>
    void each_with_room(ClassIndex demand_class, Visit visit) const;

    const Scorer& scorer() const { return *scorer_; }
    const std::shared_ptr<const Scorer>& shared_scorer() const { return scorer_; }
    // Everything equals a fresh evaluation, of which the first `nodes` nodes are in the index: for
    // tests and `audit`.
    bool consistent(std::size_t nodes) const;
    std::size_t memory_bytes() const;

  private:
    Catalog catalog() const;
    bool fits_plainly(ClassIndex demand_class, NodeIndex node) const;
    bool has_room(ClassIndex demand_class, NodeIndex node) const;
    void record_fits(std::uint64_t* kept);

    const Cluster& cluster_;
    const ClassTable& classes_;
    std::shared_ptr<const Scorer> scorer_;
    Feasibility feasibility_;
    Admission admission_;
    std::unique_ptr<MaxForest> forest_;
    std::size_t capacity_ = 0;
    std::vector<ClassIndex> columns_;
    std::vector<std::int16_t> column_of_;  // by class; -1 = none
    std::vector<std::int32_t> counts_;     // nodes that fit, by column
    std::vector<std::uint64_t> sets_;      // last feasible set of each node
    // Scratch of refresh().
    std::vector<std::uint64_t> fit_;
    std::vector<std::uint64_t> touched_;  // fitted before, or does now
    std::vector<ClassIndex> batch_;
    std::vector<std::uint16_t> batch_columns_;
    std::vector<Key> keys_;
};

template <class Visit>
void Index::each_host(ClassIndex demand_class, Visit visit) const {
    const int column = column_of(demand_class);
    for (std::uint32_t n = 0; n < cluster_.size(); ++n) {
        if (column < 0 ? fits_plainly(demand_class, NodeIndex(n))
                       : forest_->at(static_cast<std::size_t>(column), n) != 0) {
            visit(NodeIndex(n));
        }
    }
}

template <class Visit>
void Index::each_with_room(ClassIndex demand_class, Visit visit) const {
    const int known = column_of(demand_class);
    const auto column = static_cast<std::size_t>(known);
    for (std::uint32_t n = 0; n < cluster_.size(); ++n) {
        // A key tells, but for nodes that have none because they do not admit the class.
        const bool room = known >= 0 && admission_.admits(NodeIndex(n), column)
                              ? forest_->at(column, n) != 0
                              : has_room(demand_class, NodeIndex(n));
        if (room) {
            visit(NodeIndex(n));
        }
    }
}

}  // namespace tessera
