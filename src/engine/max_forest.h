// One max tree per column over all nodes, in node order.
//
// best(column) walks from the root to the first node of the largest rank (key, then the node's
// tie), so node order costs no bits. A write climbs only while it changes a block's maximum. Keys
// of all columns lie interleaved by blocks of nodes, so that one node's keys touch few pages
// however many columns there are; the ties are kept once per node, not per column.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/scorer.h"

namespace tessera {

class MaxForest {
  public:
    static constexpr std::size_t kFanOut = 32;

    void resize(std::size_t nodes, std::size_t columns);

    Key at(std::size_t column, std::size_t node) const { return leaves_[leaf(column, node)]; }
    Tie tie(std::size_t node) const { return ties_[node]; }

    // A node's new keys are written between begin() and end(): all that are not 0, before or after.
    void begin(std::size_t node, Tie tie);
    void write(std::size_t column, Key key);
    void end() { ties_[node_] = tie_; }

    // The first node with the largest rank; nodes() when every key is 0.
    std::size_t best(std::size_t column) const;
    void clear_column(std::size_t column);

    std::size_t nodes() const { return nodes_; }
    std::size_t columns() const { return columns_; }
    // Every parent equals the maximum of its block: for tests.
    bool consistent() const;
    std::size_t memory_bytes() const;

  private:
    using Rank = std::uint64_t;  // key, then tie; 0 = does not fit

    struct Level {
        std::vector<Rank> ranks;
        std::size_t entries = 0;
    };

    static Rank rank(Key key, Tie tie) { return key == 0 ? 0 : Rank{key} << 32 | tie; }
    std::size_t block(std::size_t column, std::size_t index) const {
        return (index * columns_ + column) * kFanOut;
    }
    std::size_t leaf(std::size_t column, std::size_t node) const {
        return block(column, node / kFanOut) + node % kFanOut;
    }
    Rank leaf_max(std::size_t column, std::size_t block_index) const;
    Rank level_max(const Level& level, std::size_t column, std::size_t block_index) const;
    void climb(std::size_t column, std::size_t entry, Rank before, Rank now);

    std::vector<Key> leaves_;
    std::vector<Tie> ties_;      // by node, padded to whole blocks
    std::vector<Level> levels_;  // above the leaves; the last one is a single block
    std::size_t nodes_ = 0;
    std::size_t columns_ = 0;
    std::size_t node_ = 0;  // being written
    Tie tie_ = 0;
};

}  // namespace tessera
