#include "engine/max_forest.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

// One function is worth wider registers than the build's baseline has; chosen at run time.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TESSERA_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define TESSERA_WIDE
#endif

namespace tessera {
namespace {

TESSERA_WIDE Key largest(const Key* keys) {
    Key best = 0;
    for (std::size_t i = 0; i < MaxForest::kFanOut; ++i) {
        best = std::max(best, keys[i]);
    }
    return best;
}

}  // namespace

MaxForest::Rank MaxForest::leaf_max(std::size_t column, std::size_t block_index) const {
    const Key* keys = leaves_.data() + block(column, block_index);
    const Key best = largest(keys);
    if (best == 0) {
        return 0;
    }
    const Tie* ties = ties_.data() + block_index * kFanOut;
    Tie tie = 0;
    for (std::size_t i = 0; i < kFanOut; ++i) {
        if (keys[i] == best) {
            tie = std::max(tie, ties[i]);
        }
    }
    return rank(best, tie);
}

MaxForest::Rank MaxForest::level_max(const Level& level, std::size_t column,
                                     std::size_t block_index) const {
    const Rank* first = level.ranks.data() + block(column, block_index);
    return *std::max_element(first, first + kFanOut);
}

void MaxForest::resize(std::size_t nodes, std::size_t columns) {
    nodes_ = nodes;
    columns_ = columns;
    levels_.clear();
    std::size_t entries = (std::max<std::size_t>(nodes, 1) + kFanOut - 1) / kFanOut;
    leaves_.assign(entries * columns * kFanOut, 0);
    ties_.assign(entries * kFanOut, 0);
    while (true) {
        const std::size_t blocks = (entries + kFanOut - 1) / kFanOut;
        levels_.push_back({std::vector<Rank>(blocks * columns * kFanOut, 0), entries});
        if (blocks == 1) {
            return;
        }
        entries = blocks;
    }
}

void MaxForest::begin(std::size_t node, Tie tie) {
    node_ = node;
    tie_ = tie;
}

void MaxForest::write(std::size_t column, Key key) {
    Key& slot = leaves_[leaf(column, node_)];
    const Rank before = rank(slot, ties_[node_]);
    const Rank now = rank(key, tie_);
    if (before == now) {
        return;
    }
    slot = key;
    const std::size_t entry = node_ / kFanOut;
    const Rank parent = levels_[0].ranks[leaf(column, entry)];
    if (now >= parent) {
        climb(column, entry, parent, now);
    } else if (before == parent) {
        // The maximum fell. Other columns still see the node's old tie until end().
        const Tie old = std::exchange(ties_[node_], tie_);
        const Rank fallen = leaf_max(column, entry);
        ties_[node_] = old;
        climb(column, entry, parent, fallen);
    }
}

// `entry` of the first level changes from `before` to `now`.
void MaxForest::climb(std::size_t column, std::size_t entry, Rank before, Rank now) {
    for (std::size_t l = 0; before != now; ++l) {
        Level& level = levels_[l];
        level.ranks[leaf(column, entry)] = now;
        if (l + 1 == levels_.size()) {
            return;
        }
        entry /= kFanOut;
        const Rank parent = levels_[l + 1].ranks[leaf(column, entry)];
        if (now < parent) {
            if (before < parent) {
                return;  // neither the old nor the new rank is the block's maximum
            }
            now = level_max(level, column, entry);
        }
        before = parent;
    }
}

std::size_t MaxForest::best(std::size_t column) const {
    std::size_t index = 0;
    Rank wanted = 0;
    for (std::size_t l = levels_.size(); l-- > 0;) {
        const Rank* first = levels_[l].ranks.data() + block(column, index);
        const Rank* top = std::max_element(first, first + kFanOut);
        if (*top == 0) {
            return nodes_;
        }
        wanted = *top;
        index = index * kFanOut + static_cast<std::size_t>(top - first);
    }
    const Key* keys = leaves_.data() + block(column, index);
    const Tie* ties = ties_.data() + index * kFanOut;
    for (std::size_t i = 0; i < kFanOut; ++i) {
        if (rank(keys[i], ties[i]) == wanted) {
            return index * kFanOut + i;
        }
    }
    TESSERA_ASSERT(false, "a block holds its maximum");
    return nodes_;
}

void MaxForest::clear_column(std::size_t column) {
    const auto clear = [&](auto& values, std::size_t entries) {
        for (std::size_t b = 0; b * kFanOut < entries; ++b) {
            std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(block(column, b)), kFanOut, 0);
        }
    };
    clear(leaves_, nodes_);
    for (Level& level : levels_) {
        clear(level.ranks, level.entries);
    }
}

bool MaxForest::consistent() const {
    for (std::size_t l = 0; l < levels_.size(); ++l) {
        for (std::size_t entry = 0; entry < levels_[l].entries; ++entry) {
            for (std::size_t column = 0; column < columns_; ++column) {
                const Rank fresh =
                    l == 0 ? leaf_max(column, entry) : level_max(levels_[l - 1], column, entry);
                if (levels_[l].ranks[leaf(column, entry)] != fresh) {
                    return false;
                }
            }
        }
    }
    return true;
}

std::size_t MaxForest::memory_bytes() const {
    std::size_t bytes = leaves_.capacity() * sizeof(Key) + ties_.capacity() * sizeof(Tie);
    for (const Level& level : levels_) {
        bytes += level.ranks.capacity() * sizeof(Rank);
    }
    return bytes;
}

}  // namespace tessera
