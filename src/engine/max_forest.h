// One max tree per column over all nodes, in node order.
//
// best(column) walks from the root to the first node that holds the largest key, so ties cost no
// bits. A write climbs only while it changes a block's maximum. Blocks of all columns lie
// interleaved, so that the keys of one node touch few pages however many columns there are.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/scorer.h"

namespace tessera {

class MaxForest {
  public:
    static constexpr std::size_t kFanOut = 32;

    void resize(std::size_t nodes, std::size_t columns);

    Key at(std::size_t column, std::size_t node) const { return levels_[0].at(column, node); }
    void write(std::size_t column, std::size_t node, Key key);
    // The first node with the largest key; nodes() when every key is 0.
    std::size_t best(std::size_t column) const;
    void clear_column(std::size_t column);

    std::size_t nodes() const { return nodes_; }
    std::size_t columns() const { return columns_; }
    // Every parent equals the maximum of its block: for tests.
    bool consistent() const;
    std::size_t memory_bytes() const;

  private:
    struct Level {
        std::vector<Key> keys;
        std::size_t entries = 0;
        std::size_t columns = 0;

        std::size_t block(std::size_t column, std::size_t block_index) const {
            return (block_index * columns + column) * kFanOut;
        }
        std::size_t slot(std::size_t column, std::size_t entry) const {
            return block(column, entry / kFanOut) + entry % kFanOut;
        }
        Key at(std::size_t column, std::size_t entry) const { return keys[slot(column, entry)]; }
        Key block_max(std::size_t column, std::size_t block_index) const;
    };

    std::vector<Level> levels_;  // leaves first; the last level is one block
    std::size_t nodes_ = 0;
    std::size_t columns_ = 0;
};

}  // namespace tessera
