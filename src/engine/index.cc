#include "engine/index.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"
#include "policy/assignment.h"

namespace tessera {

void Index::reset(std::shared_ptr<const Scorer> scorer, std::span<const ClassIndex> columns) {
    scorer_ = std::move(scorer);
    columns_.assign(columns.begin(), columns.end());
    column_of_.assign(classes_.size(), -1);
    for (std::size_t column = 0; column < columns_.size(); ++column) {
        if (columns_[column].valid()) {
            column_of_[columns_[column].slot()] = static_cast<std::int16_t>(column);
        }
    }
    feasibility_.rebuild(catalog(), columns_);
    forest_.resize(cluster_.size(), columns_.size());
    const std::size_t words = feasibility_.words();
    sets_.assign(cluster_.size() * words, 0);
    fit_nodes_.assign((cluster_.size() + 63) / 64 * columns_.size(), 0);
    counts_.assign(columns_.size(), 0);
    fit_.assign(words, 0);
    batch_.reserve(columns_.size());
    batch_columns_.reserve(columns_.size());
    keys_.resize(columns_.size());
}

Catalog Index::catalog() const { return cluster_.catalog(classes_); }

void Index::set_column(std::size_t column, ClassIndex demand_class, std::size_t nodes) {
    if (columns_[column].valid()) {
        column_of_[columns_[column].slot()] = -1;
        forest_.clear_column(column);
        for (std::size_t word = 0; word * 64 < cluster_.size(); ++word) {
            fit_nodes_[word * columns_.size() + column] = 0;
        }
    }
    columns_[column] = demand_class;
    column_of_.resize(std::max(column_of_.size(), demand_class.slot() + 1), -1);
    column_of_[demand_class.slot()] = static_cast<std::int16_t>(column);
    counts_[column] = 0;
    feasibility_.rebuild(catalog(), columns_);
    const std::size_t words = feasibility_.words();
    const std::uint64_t bit = std::uint64_t{1} << (column % 64);
    const ClassIndex only[] = {demand_class};
    for (std::uint32_t n = 0; n < nodes; ++n) {
        const NodeState& state = cluster_.node(NodeIndex(n));
        feasibility_.evaluate(state, fit_.data());
        std::uint64_t& kept = sets_[n * words + column / 64];
        kept &= ~bit;
        if ((fit_[column / 64] & bit) != 0) {
            kept |= bit;
            fit_bit(column, n, true);
            scorer_->score(state, only, std::span(keys_).first(1));
            TESSERA_DEBUG_ASSERT(keys_[0] != 0, "a node that fits has a key");
            forest_.begin(n, scorer_->tie(state));
            forest_.write(column, keys_[0]);
            forest_.end();
        }
    }
}

void Index::refresh(NodeIndex node) {
    feasibility_.evaluate(cluster_.node(node), fit_.data());
    batch_.clear();
    batch_columns_.clear();
    for (std::size_t w = 0; w < fit_.size(); ++w) {
        for (std::uint64_t bits = fit_[w]; bits != 0; bits &= bits - 1) {
            const std::size_t column = w * 64 + static_cast<std::size_t>(std::countr_zero(bits));
            batch_.push_back(columns_[column]);
            batch_columns_.push_back(column);
        }
    }
    scorer_->score(cluster_.node(node), batch_, std::span(keys_).first(batch_.size()));
    forest_.begin(node.slot(), scorer_->tie(cluster_.node(node)));
    write_changes(node.slot(), fit_.data());
    for (std::size_t i = 0; i < batch_.size(); ++i) {
        TESSERA_DEBUG_ASSERT(keys_[i] != 0, "a node that fits has a key");
        forest_.write(batch_columns_[i], keys_[i]);
    }
    forest_.end();
}

// Records the new set; what no longer fits loses its key.
void Index::write_changes(std::size_t node, const std::uint64_t* fit) {
    const std::size_t words = feasibility_.words();
    for (std::size_t w = 0; w < words; ++w) {
        std::uint64_t& kept = sets_[node * words + w];
        for (std::uint64_t changed = kept ^ fit[w]; changed != 0; changed &= changed - 1) {
            const auto bit = static_cast<std::size_t>(std::countr_zero(changed));
            const bool now = ((fit[w] >> bit) & 1) != 0;
            fit_bit(w * 64 + bit, node, now);
            if (!now) {
                forest_.write(w * 64 + bit, 0);
            }
        }
        kept = fit[w];
    }
}

void Index::fit_bit(std::size_t column, std::size_t node, bool fit) {
    std::uint64_t& word = fit_nodes_[node / 64 * columns_.size() + column];
    const std::uint64_t bit = std::uint64_t{1} << (node % 64);
    word = fit ? word | bit : word & ~bit;
    counts_[column] += fit ? 1 : -1;
}

void Index::refresh_first(std::size_t nodes) {
    for (std::uint32_t n = 0; n < nodes; ++n) {
        refresh(NodeIndex(n));
    }
}

NodeIndex Index::best(std::size_t column) const {
    const std::size_t node = forest_.best(column);
    return node == forest_.nodes() ? NodeIndex::none()
                                   : NodeIndex(static_cast<std::uint32_t>(node));
}

NodeIndex Index::nth_fit(std::size_t column, std::int64_t n) const {
    for (std::size_t word = 0; word * 64 < cluster_.size(); ++word) {
        std::uint64_t bits = fit_word(column, word);
        const int here = std::popcount(bits);
        if (n >= here) {
            n -= here;
            continue;
        }
        for (; n > 0; --n) {
            bits &= bits - 1;
        }
        return NodeIndex(static_cast<std::uint32_t>(word * 64) +
                         static_cast<std::uint32_t>(std::countr_zero(bits)));
    }
    return NodeIndex::none();
}

bool Index::fits(std::size_t column, NodeIndex node) const {
    return ((fit_word(column, node.slot() / 64) >> (node.slot() % 64)) & 1) != 0;
}

std::int64_t Index::hosts(ClassIndex demand_class) const {
    const int column = column_of(demand_class);
    if (column >= 0) {
        return counts_[static_cast<std::size_t>(column)];
    }
    std::int64_t count = 0;
    each_host(demand_class, [&](NodeIndex) { ++count; });
    return count;
}

bool Index::fits_plainly(ClassIndex demand_class, NodeIndex node) const {
    return tessera::fits(cluster_.node(node), classes_[demand_class], catalog());
}

bool Index::consistent(std::size_t nodes) const {
    std::vector<std::uint64_t> fit(feasibility_.words());
    std::vector<std::int64_t> counts(columns_.size(), 0);
    for (std::uint32_t n = 0; n < cluster_.size(); ++n) {
        feasibility_.evaluate(cluster_.node(NodeIndex(n)), fit.data());
        for (std::size_t column = 0; column < columns_.size(); ++column) {
            Key fresh = 0;
            const bool now = n < nodes && ((fit[column / 64] >> (column % 64)) & 1) != 0;
            if (now) {
                const ClassIndex only[] = {columns_[column]};
                scorer_->score(cluster_.node(NodeIndex(n)), only, std::span(&fresh, 1));
                ++counts[column];
            }
            if (fresh != forest_.at(column, n) || now != fits(column, NodeIndex(n)) ||
                (now && forest_.tie(n) != scorer_->tie(cluster_.node(NodeIndex(n))))) {
                return false;
            }
        }
    }
    return counts == counts_ && forest_.consistent();
}

std::size_t Index::memory_bytes() const {
    return forest_.memory_bytes() + feasibility_.memory_bytes() +
           (sets_.capacity() + fit_nodes_.capacity() + counts_.capacity()) * sizeof(std::uint64_t) +
           column_of_.capacity() * sizeof(std::int16_t);
}

}  // namespace tessera
