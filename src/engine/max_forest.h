// One max tree per column over all nodes, in node order.
//
// best(column) walks from the root to the first node of the largest rank (key, then the node's
// tie), so node order costs no bits. A write climbs only while it changes a block's maximum.
//
// A change writes a hundred columns of one node, a decision reads one. So the keys of a block of
// nodes are one cache line per column, which a fall of its maximum looks through, the maxima of a
// block lie side by side for all columns, and levels that spare a decision little are left out: it
// looks through some hundred maxima itself. Ties are kept once per node, not per column.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned_vector.h"
#include "policy/scorer.h"

namespace tessera {

class MaxForest {
  public:
    static constexpr std::size_t kBlock = 16;   // nodes per block
    static constexpr std::size_t kFanOut = 16;  // entries per entry of the level above

    // Up to `most_roots` maxima a decision looks through itself, without a level above them.
    void resize(std::size_t nodes, std::size_t columns, std::size_t most_roots = 512);

    Key at(std::size_t column, std::size_t node) const { return keys_[leaf(column, node)]; }
    Tie tie(std::size_t node) const { return ties_[node]; }

    // A node's new keys are written after begin(): all that are not 0, before or after.
    void begin(std::size_t node, Tie tie);
    // Asks for a column's memory, so that write() need not wait for it.
    void prefetch(std::size_t column) const { __builtin_prefetch(node_keys_ + column * kBlock); }
    void write(std::size_t column, Key key) {
        Key& slot = node_keys_[column * kBlock];
        const Rank before = rank(slot, old_tie_);
        const Rank now = rank(key, tie_);
        if (before == now) {
            return;
        }
        slot = key;
        const Rank top = node_maxima_[column];
        if (now >= top) {
            climb(column, now);
        } else if (before == top) {
            climb(column, leaf_max(column, node_ / kBlock));
        }
    }

    // The first node with the largest rank; nodes() when every key is 0.
    std::size_t best(std::size_t column) const;
    void clear_column(std::size_t column);

    std::size_t nodes() const { return nodes_; }
    std::size_t columns() const { return columns_; }
    // Every maximum equals that of its block: for tests.
    bool consistent() const;
    std::size_t memory_bytes() const;

  private:
    using Rank = std::uint64_t;  // key, then tie; 0 = does not fit

    struct Level {
        AlignedVector<Rank> maxima;  // [block][column], rows of stride_
        std::size_t blocks = 0;
    };
    struct Child {
        std::size_t index = 0;
        Rank rank = 0;
    };

    static Rank rank(Key key, Tie tie) { return key == 0 ? 0 : Rank{key} << 32 | tie; }
    std::size_t leaf(std::size_t column, std::size_t node) const {
        return (node / kBlock * columns_ + column) * kBlock + node % kBlock;
    }
    Rank leaf_max(std::size_t column, std::size_t block) const;
    void climb(std::size_t column, Rank now);
    Child best_block(const Level& level, std::size_t column, std::size_t first,
                     std::size_t count) const;

    AlignedVector<Key> keys_;    // [block of nodes][column][node in the block]
    std::vector<Tie> ties_;      // by node, padded to whole blocks
    std::vector<Level> levels_;  // the last one is looked through as a whole
    std::size_t nodes_ = 0;
    std::size_t columns_ = 0;
    std::size_t stride_ = 0;
    // Of the node being written.
    std::size_t node_ = 0;
    Tie old_tie_ = 0;
    Tie tie_ = 0;
    Key* node_keys_ = nullptr;
    const Rank* node_maxima_ = nullptr;
};

}  // namespace tessera
