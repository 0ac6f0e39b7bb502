#include "engine/max_forest.h"

#include <algorithm>

namespace tessera {

Key MaxForest::Level::block_max(std::size_t column, std::size_t block_index) const {
    const Key* first = keys.data() + block(column, block_index);
    Key best = 0;
    for (std::size_t i = 0; i < kFanOut; ++i) {
        best = std::max(best, first[i]);
    }
    return best;
}

void MaxForest::resize(std::size_t nodes, std::size_t columns) {
    nodes_ = nodes;
    columns_ = columns;
    levels_.clear();
    std::size_t entries = std::max<std::size_t>(nodes, 1);
    while (true) {
        const std::size_t blocks = (entries + kFanOut - 1) / kFanOut;
        levels_.push_back({std::vector<Key>(blocks * columns * kFanOut, 0), entries, columns});
        if (blocks == 1) {
            return;
        }
        entries = blocks;
    }
}

void MaxForest::write(std::size_t column, std::size_t node, Key key) {
    std::size_t entry = node;
    for (std::size_t l = 0;; ++l) {
        Level& level = levels_[l];
        Key& slot = level.keys[level.slot(column, entry)];
        const Key before = slot;
        if (before == key) {
            return;
        }
        slot = key;
        if (l + 1 == levels_.size()) {
            return;
        }
        const std::size_t block = entry / kFanOut;
        const Key parent = levels_[l + 1].at(column, block);
        if (key < parent) {
            if (before < parent) {
                return;  // neither the old nor the new key is the block's maximum
            }
            key = level.block_max(column, block);
        }
        entry = block;
    }
}

std::size_t MaxForest::best(std::size_t column) const {
    std::size_t block = 0;
    for (std::size_t l = levels_.size(); l-- > 0;) {
        const Level& level = levels_[l];
        const Key* first = level.keys.data() + level.block(column, block);
        const Key* top = std::max_element(first, first + kFanOut);
        if (*top == 0) {
            return nodes_;
        }
        block = block * kFanOut + static_cast<std::size_t>(top - first);
    }
    return block;
}

void MaxForest::clear_column(std::size_t column) {
    for (Level& level : levels_) {
        const std::size_t blocks = (level.entries + kFanOut - 1) / kFanOut;
        for (std::size_t b = 0; b < blocks; ++b) {
            std::fill_n(level.keys.begin() + static_cast<std::ptrdiff_t>(level.block(column, b)),
                        kFanOut, 0);
        }
    }
}

bool MaxForest::consistent() const {
    for (std::size_t l = 0; l + 1 < levels_.size(); ++l) {
        for (std::size_t entry = 0; entry < levels_[l + 1].entries; ++entry) {
            for (std::size_t column = 0; column < columns_; ++column) {
                if (levels_[l + 1].at(column, entry) != levels_[l].block_max(column, entry)) {
                    return false;
                }
            }
        }
    }
    return true;
}

std::size_t MaxForest::memory_bytes() const {
    std::size_t bytes = 0;
    for (const Level& level : levels_) {
        bytes += level.keys.capacity() * sizeof(Key);
    }
    return bytes;
}

}  // namespace tessera
