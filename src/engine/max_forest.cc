#include "engine/max_forest.h"

#include <algorithm>

#include "base/assert.h"

// Two loops are worth wider registers than the build's baseline has; chosen at run time.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TESSERA_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define TESSERA_WIDE
#endif

namespace tessera {
namespace {

// Rows of a power of two would share their place in the caches: one line more sets them apart.
constexpr std::size_t kApart = 8;

TESSERA_WIDE Key largest(const Key* keys) {
    Key best = 0;
    for (std::size_t i = 0; i < MaxForest::kBlock; ++i) {
        best = std::max(best, keys[i]);
    }
    return best;
}

// The largest tie of those that have this key.
TESSERA_WIDE Tie largest_tie(const Key* keys, const Tie* ties, Key key) {
    Tie best = 0;
    for (std::size_t i = 0; i < MaxForest::kBlock; ++i) {
        const Tie mask = Tie{0} - static_cast<Tie>(keys[i] == key);  // all ones, or none
        best = std::max(best, ties[i] & mask);
    }
    return best;
}

}  // namespace

void MaxForest::resize(std::size_t nodes, std::size_t columns, std::size_t most_roots) {
    nodes_ = nodes;
    columns_ = columns;
    stride_ = columns + kApart;
    levels_.clear();
    std::size_t blocks = (std::max<std::size_t>(nodes, 1) + kBlock - 1) / kBlock;
    keys_.assign(blocks * columns * kBlock, 0);
    ties_.assign(blocks * kBlock, 0);
    levels_.push_back({AlignedVector<Rank>(blocks * stride_, 0), blocks});
    while (blocks > most_roots) {
        blocks = (blocks + kFanOut - 1) / kFanOut;
        levels_.push_back({AlignedVector<Rank>(blocks * stride_, 0), blocks});
    }
}

void MaxForest::begin(std::size_t node, Tie tie) {
    node_ = node;
    old_tie_ = ties_[node];
    tie_ = tie;
    ties_[node] = tie;
    node_keys_ = keys_.data() + leaf(0, node);
    node_maxima_ = levels_[0].maxima.data() + node / kBlock * stride_;
}

MaxForest::Rank MaxForest::leaf_max(std::size_t column, std::size_t block) const {
    const Key* keys = keys_.data() + (block * columns_ + column) * kBlock;
    const Key best = largest(keys);
    return best == 0 ? 0 : rank(best, largest_tie(keys, ties_.data() + block * kBlock, best));
}

// The first block of [first, first + count) with the largest maximum.
MaxForest::Child MaxForest::best_block(const Level& level, std::size_t column, std::size_t first,
                                       std::size_t count) const {
    Child best;
    const std::size_t end = std::min(first + count, level.blocks);
    for (std::size_t block = first; block < end; ++block) {
        const Rank here = level.maxima[block * stride_ + column];
        if (here > best.rank) {
            best = {block, here};
        }
    }
    return best;
}

// The maximum of the written node's block becomes `now`.
void MaxForest::climb(std::size_t column, Rank now) {
    std::size_t block = node_ / kBlock;
    for (std::size_t l = 0;; ++l) {
        Rank& slot = levels_[l].maxima[block * stride_ + column];
        const Rank before = slot;
        slot = now;
        if (before == now || l + 1 == levels_.size()) {
            return;
        }
        block /= kFanOut;
        const Rank above = levels_[l + 1].maxima[block * stride_ + column];
        if (now < above) {
            if (before < above) {
                return;  // neither the old nor the new rank is the largest there
            }
            now = best_block(levels_[l], column, block * kFanOut, kFanOut).rank;
        }
    }
}

std::size_t MaxForest::best(std::size_t column) const {
    Child child = best_block(levels_.back(), column, 0, levels_.back().blocks);
    if (child.rank == 0) {
        return nodes_;
    }
    for (std::size_t l = levels_.size() - 1; l-- > 0;) {
        child = best_block(levels_[l], column, child.index * kFanOut, kFanOut);
    }
    const Key* keys = keys_.data() + (child.index * columns_ + column) * kBlock;
    const Tie* ties = ties_.data() + child.index * kBlock;
    for (std::size_t i = 0; i < kBlock; ++i) {
        if (rank(keys[i], ties[i]) == child.rank) {
            return child.index * kBlock + i;
        }
    }
    TESSERA_ASSERT(false, "a block holds its maximum");
    return nodes_;
}

void MaxForest::clear_column(std::size_t column) {
    for (std::size_t block = 0; block < levels_[0].blocks; ++block) {
        std::fill_n(keys_.data() + (block * columns_ + column) * kBlock, kBlock, 0);
    }
    for (Level& level : levels_) {
        for (std::size_t block = 0; block < level.blocks; ++block) {
            level.maxima[block * stride_ + column] = 0;
        }
    }
}

bool MaxForest::consistent() const {
    for (std::size_t l = 0; l < levels_.size(); ++l) {
        for (std::size_t block = 0; block < levels_[l].blocks; ++block) {
            for (std::size_t column = 0; column < columns_; ++column) {
                const Rank fresh =
                    l == 0 ? leaf_max(column, block)
                           : best_block(levels_[l - 1], column, block * kFanOut, kFanOut).rank;
                if (levels_[l].maxima[block * stride_ + column] != fresh) {
                    return false;
                }
            }
        }
    }
    return true;
}

std::size_t MaxForest::memory_bytes() const {
    std::size_t bytes = keys_.capacity() * sizeof(Key) + ties_.capacity() * sizeof(Tie);
    for (const Level& level : levels_) {
        bytes += level.maxima.capacity() * sizeof(Rank);
    }
    return bytes;
}

}  // namespace tessera
