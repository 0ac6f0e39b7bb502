// Whom the nodes admit by what they are (model/node_filter.h), kept as bits for the index.
//
// One row per node, one bit per column. Rows exist only while they can make a difference: some
// column's filter refuses nodes by itself, or some node has a taint. Then a refresh costs one more
// row of bits, else a comparison of two numbers. Columns of equal filters are judged together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/cluster.h"
#include "model/demand_class.h"
#include "policy/catalog.h"

namespace tessera {

// The plain rule, which the index must equal: what the node is, then what is left of it.
bool admits_and_fits(const Cluster& cluster, NodeIndex node, const DemandClass& demand_class,
                     const Catalog& catalog);

class Admission {
  public:
    Admission(const Cluster& cluster, const ClassTable& classes)
        : cluster_(cluster), classes_(classes) {}

    // For so many nodes at most; none = a free column.
    void reset(std::span<const ClassIndex> columns, std::size_t capacity);
    void set_column(std::size_t column, ClassIndex demand_class);

    // Takes out of a node's set the columns that it does not admit.
    void restrict(NodeIndex node, std::span<std::uint64_t> set) {
        if (seen_ != cluster_.trait_changes()) {
            seen_ = cluster_.trait_changes();
            use_rows(needed());
        }
        if (in_use()) {
            if (!fresh(node)) {
                fill_row(node);
            }
            const std::uint64_t* row = rows_.data() + node.slot() * words_;
            for (std::size_t w = 0; w < words_; ++w) {
                set[w] &= row[w];
            }
        }
    }

    bool admits(NodeIndex node, std::size_t column) const {
        return cluster_.admits(node, filter_of_[column]);
    }

    bool in_use() const { return !rows_.empty(); }
    std::size_t memory_bytes() const;

  private:
    struct Group {
        FilterIndex filter;
        std::vector<std::uint64_t> columns;  // bit per column
    };

    void join(std::size_t column, ClassIndex demand_class);
    void leave(std::size_t column);
    bool needed() const;
    void use_rows(bool use);
    bool fresh(NodeIndex node) const {
        return stamps_[node.slot()] == cluster_.traits_changed_at(node);
    }
    void fill_row(NodeIndex node);

    const Cluster& cluster_;
    const ClassTable& classes_;
    std::size_t words_ = 0;
    std::size_t capacity_ = 0;
    std::vector<FilterIndex> filter_of_;  // by column
    std::vector<Group> groups_;
    std::vector<std::uint64_t> rows_;    // by node, filled when first asked for
    std::vector<std::uint64_t> stamps_;  // of the traits that a node's row shows; 0 = none yet
    std::uint64_t seen_ = 0;             // changes of traits when it was last judged if rows matter
};

}  // namespace tessera
