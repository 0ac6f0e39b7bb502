// One max tree per column over all nodes, in node order.
//
// best(column) finds the first node of the largest rank (key, then the node's tie), so node order
// costs no bits. A change rewrites a hundred columns of one node, a decision reads one column. So
// columns lie in runs of eight, side by side, and a run is brought up to date by a few operations
// on all eight at once: the maxima of a block of nodes are taken anew, whether they rose or fell.
// What bounds the rate is how much memory a change touches: keys are kept in 16 bits where the
// scorer's fit, and ties once per node. A decision looks at the ties of the nodes whose keys are
// equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "policy/scorer.h"

namespace tessera {

class MaxForest {
  public:
    static constexpr std::size_t kBlock = 16;   // entries per entry of the level above
    static constexpr std::size_t kRun = 8;      // columns per run
    static constexpr Key kMostNarrow = 0xffff;  // largest key that is kept in 16 bits

    struct Size {
        std::size_t nodes = 0;
        std::size_t columns = 0;
        Key largest = kMostNarrow;  // key that will be written
        // Up to so many maxima a decision looks through itself, without a level above them.
        std::size_t most_roots = 512;
    };
    // All keys 0.
    static std::unique_ptr<MaxForest> make(const Size& size);
    virtual ~MaxForest() = default;

    virtual Key at(std::size_t column, std::size_t node) const = 0;
    // The keys of these nodes in their order, 0 for none().
    virtual void gather(std::size_t column, std::span<const NodeIndex> nodes,
                        std::span<Key> keys) const = 0;
    virtual std::span<const Tie> ties() const = 0;  // by node

    // A node's keys, all that are not 0. `touched` has a bit per column: set where the key was not
    // 0 before or is not 0 now.
    struct NodeKeys {
        std::size_t node = 0;
        Tie tie = 0;
        std::span<const std::uint16_t> columns;
        std::span<const Key> keys;
        const std::uint64_t* touched = nullptr;
    };
    virtual void write(const NodeKeys& written) = 0;
    // Asks for the memory of these columns, so that write() need not wait for it.
    virtual void prefetch(std::size_t node, const std::uint64_t* touched) const = 0;

    // One key of a node that keeps its tie: for a column that changes on all nodes.
    virtual void set(std::size_t column, std::size_t node, Key key) = 0;

    // The first node with the largest rank; nodes() when every key is 0.
    virtual std::size_t best(std::size_t column) const = 0;

    virtual std::size_t nodes() const = 0;
    virtual std::size_t columns() const = 0;
    // Every maximum equals that of its block: for tests.
    virtual bool consistent() const = 0;
    virtual std::size_t memory_bytes() const = 0;
};

}  // namespace tessera
