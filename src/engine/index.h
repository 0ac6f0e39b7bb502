// The placement index: for every column (class) the best node, kept up to date eagerly.
//
// refresh(node) is the only way in: it recomputes which classes fit on the node and their keys,
// and writes those that changed. Commit, departure, health and capacity all end here, so a
// decision only reads. An index belongs to one scorer; a new scorer gets a new index, built beside
// the old one (engine.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/cluster.h"
#include "engine/feasibility.h"
#include "engine/max_forest.h"
#include "policy/catalog.h"
#include "policy/scorer.h"

namespace tessera {

class Index final : public Census {
  public:
    Index(const Cluster& cluster, const ClassTable& classes)
        : cluster_(cluster), classes_(classes) {}

    // Drops all keys; columns stay. Every node must be refreshed before the index is read.
    void reset(std::shared_ptr<const Scorer> scorer, std::span<const ClassIndex> columns);
    // A scorer that differs only on some nodes, which the caller refreshes.
    void replace_scorer(std::shared_ptr<const Scorer> scorer) { scorer_ = std::move(scorer); }

    // Puts a class into a column (a free one, or in place of another) and fills it for the first
    // `nodes` nodes: those that are in the index already.
    void set_column(std::size_t column, ClassIndex demand_class, std::size_t nodes);
    int column_of(ClassIndex demand_class) const {
        return demand_class.slot() < column_of_.size() ? column_of_[demand_class.slot()] : -1;
    }
    std::span<const ClassIndex> columns() const { return columns_; }

    void refresh(NodeIndex node);
    void refresh_first(std::size_t nodes);
    void refresh_all() { refresh_first(cluster_.size()); }

    // The node with the largest key; none when nothing fits.
    NodeIndex best(std::size_t column) const;
    // The n-th node (from 0) on which the column fits.
    NodeIndex nth_fit(std::size_t column, std::int64_t n) const;
    bool fits(std::size_t column, NodeIndex node) const;
    std::int64_t fit_count(std::size_t column) const { return counts_[column]; }
    Key key(std::size_t column, NodeIndex node) const { return forest_.at(column, node.slot()); }
    // Of a class without a column by looking at every node.
    std::int64_t hosts(ClassIndex demand_class) const override;
    // Calls visit(NodeIndex) for every node on which the class fits, in node order.
    template <class Visit>
    void each_host(ClassIndex demand_class, Visit visit) const;

    const Scorer& scorer() const { return *scorer_; }
    const std::shared_ptr<const Scorer>& shared_scorer() const { return scorer_; }
    // Everything equals a fresh evaluation, of which the first `nodes` nodes are in the index: for
    // tests and `audit`.
    bool consistent(std::size_t nodes) const;
    std::size_t memory_bytes() const;

  private:
    Catalog catalog() const;
    bool fits_plainly(ClassIndex demand_class, NodeIndex node) const;
    void write_changes(std::size_t node, const std::uint64_t* fit);
    void fit_bit(std::size_t column, std::size_t node, bool fit);
    std::uint64_t fit_word(std::size_t column, std::size_t word) const {
        return fit_nodes_[word * columns_.size() + column];
    }

    const Cluster& cluster_;
    const ClassTable& classes_;
    std::shared_ptr<const Scorer> scorer_;
    Feasibility feasibility_;
    MaxForest forest_;
    std::vector<ClassIndex> columns_;
    std::vector<std::int16_t> column_of_;   // by class; -1 = none
    std::vector<std::uint64_t> sets_;       // last feasible set of each node
    std::vector<std::uint64_t> fit_nodes_;  // the same by column: 64 nodes a word, interleaved
    std::vector<std::int64_t> counts_;      // nodes that fit, by column
    // Scratch of refresh().
    std::vector<std::uint64_t> fit_;
    std::vector<ClassIndex> batch_;
    std::vector<std::size_t> batch_columns_;
    std::vector<Key> keys_;
};

template <class Visit>
void Index::each_host(ClassIndex demand_class, Visit visit) const {
    const int column = column_of(demand_class);
    for (std::uint32_t n = 0; column < 0 && n < cluster_.size(); ++n) {
        if (fits_plainly(demand_class, NodeIndex(n))) {
            visit(NodeIndex(n));
        }
    }
    for (std::size_t word = 0; column >= 0 && word * 64 < cluster_.size(); ++word) {
        for (std::uint64_t bits = fit_word(static_cast<std::size_t>(column), word); bits != 0;
             bits &= bits - 1) {
            visit(NodeIndex(static_cast<std::uint32_t>(word * 64) +
                            static_cast<std::uint32_t>(__builtin_ctzll(bits))));
        }
    }
}

}  // namespace tessera
