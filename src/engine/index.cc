#include "engine/index.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "base/assert.h"
#include "base/bit_words.h"
#include "policy/assignment.h"

namespace tessera {
namespace {

constexpr std::size_t kSpareNodes = 64;

// Scorers share work between neighbours: classes that ask the same of GPUs lie together, those of
// equal cores side by side, free columns last. Columns given later break the order, which costs
// time until the next reset and nothing else.
struct ScoringOrder {
    const ClassTable& classes;

    bool operator()(ClassIndex a, ClassIndex b) const {
        return a.valid() && b.valid() ? rank(a) < rank(b) : a.valid() && !b.valid();
    }
    std::tuple<AskIndex, std::int64_t, std::int64_t> rank(ClassIndex index) const {
        const ClassBrief& brief = classes.brief(index);
        return {brief.ask, brief.cpu_milli, brief.memory_mib};
    }
};

}  // namespace

void Index::reset(std::shared_ptr<const Scorer> scorer, std::span<const ClassIndex> columns) {
    scorer_ = std::move(scorer);
    columns_.assign(columns.begin(), columns.end());
    std::sort(columns_.begin(), columns_.end(), ScoringOrder{classes_});
    column_of_.assign(classes_.size(), -1);
    for (std::size_t column = 0; column < columns_.size(); ++column) {
        if (columns_[column].valid()) {
            column_of_[columns_[column].slot()] = static_cast<std::int16_t>(column);
        }
    }
    feasibility_.rebuild(catalog(), columns_);
    capacity_ = cluster_.size() + cluster_.size() / 8 + kSpareNodes;
    admission_.reset(columns_, capacity_);
    forest_ = MaxForest::make(
        {.nodes = capacity_, .columns = columns_.size(), .largest = scorer_->largest_key()});
    const std::size_t words = feasibility_.words();
    sets_.assign(capacity_ * words, 0);
    fit_.assign(words, 0);
    touched_.assign(words, 0);
    counts_.assign(columns_.size(), 0);
    batch_.reserve(columns_.size());
    batch_columns_.reserve(columns_.size());
    keys_.resize(columns_.size());
}

void Index::replace_scorer(std::shared_ptr<const Scorer> scorer) {
    TESSERA_ASSERT(scorer->largest_key() <= scorer_->largest_key(), "keys find room as they are");
    scorer_ = std::move(scorer);
}

Catalog Index::catalog() const { return cluster_.catalog(classes_); }

void Index::set_column(ClassIndex demand_class, ClassIndex instead_of, std::size_t nodes) {
    const auto place = std::find(columns_.begin(), columns_.end(), instead_of);
    TESSERA_ASSERT(place != columns_.end(), "a class takes a free column or another's");
    const auto column = static_cast<std::size_t>(place - columns_.begin());
    if (instead_of.valid()) {
        column_of_[instead_of.slot()] = -1;
    }
    columns_[column] = demand_class;
    column_of_.resize(std::max(column_of_.size(), demand_class.slot() + 1), -1);
    column_of_[demand_class.slot()] = static_cast<std::int16_t>(column);
    counts_[column] = 0;
    feasibility_.rebuild(catalog(), columns_);
    admission_.set_column(column, demand_class);
    const std::size_t words = feasibility_.words();
    const std::uint64_t bit = bit_in_word(column);
    const ClassIndex only[] = {demand_class};
    for (std::uint32_t n = 0; n < nodes; ++n) {
        const NodeState& state = cluster_.node(NodeIndex(n));
        feasibility_.evaluate(state, fit_.data());
        admission_.restrict(NodeIndex(n), fit_);
        std::uint64_t& kept = sets_[n * words + word_of(column)];
        kept &= ~bit;
        Key key = 0;
        if ((fit_[word_of(column)] & bit) != 0) {
            kept |= bit;
            ++counts_[column];
            scorer_->score(state, only, std::span(&key, 1));
            TESSERA_DEBUG_ASSERT(key != 0, "a node that fits has a key");
        }
        forest_->set(column, n, key);
    }
}

void Index::refresh(NodeIndex node) {
    const NodeState& state = cluster_.node(node);
    feasibility_.evaluate(state, fit_.data());
    admission_.restrict(node, fit_);
    std::uint64_t* kept = sets_.data() + node.slot() * fit_.size();
    for (std::size_t w = 0; w < fit_.size(); ++w) {
        touched_[w] = fit_[w] | kept[w];
    }
    forest_->prefetch(node.slot(), touched_.data());
    batch_.clear();
    batch_columns_.clear();
    for (std::size_t w = 0; w < fit_.size(); ++w) {
        for (std::uint64_t bits = fit_[w]; bits != 0; bits &= bits - 1) {
            const auto column = w * kWordBits + static_cast<std::size_t>(std::countr_zero(bits));
            batch_.push_back(columns_[column]);
            batch_columns_.push_back(static_cast<std::uint16_t>(column));
        }
    }
    scorer_->score(state, batch_, std::span(keys_).first(batch_.size()));
    forest_->write({.node = node.slot(),
                    .tie = scorer_->tie(state),
                    .columns = batch_columns_,
                    .keys = std::span(keys_).first(batch_.size()),
                    .touched = touched_.data()});
    record_fits(kept);
}

// The new set replaces the node's old one.
void Index::record_fits(std::uint64_t* kept) {
    for (std::size_t w = 0; w < fit_.size(); ++w) {
        for (std::uint64_t changed = kept[w] ^ fit_[w]; changed != 0; changed &= changed - 1) {
            const auto bit = static_cast<std::size_t>(std::countr_zero(changed));
            counts_[w * kWordBits + bit] += (fit_[w] >> bit & 1) != 0 ? 1 : -1;
        }
        kept[w] = fit_[w];
    }
}

void Index::refresh_first(std::size_t nodes) {
    for (std::uint32_t n = 0; n < nodes; ++n) {
        refresh(NodeIndex(n));
    }
}

NodeIndex Index::best(std::size_t column) const {
    const std::size_t node = forest_->best(column);
    return node == forest_->nodes() ? NodeIndex::none()
                                    : NodeIndex(static_cast<std::uint32_t>(node));
}

// With the best one's key taken away for a moment: decisions of this kind are rare, and the trees
// need no second maximum for them.
NodeIndex Index::second_best(std::size_t column) {
    const NodeIndex first = best(column);
    if (counts_[column] < 2) {
        return first;
    }
    const Key kept = key(column, first);
    forest_->set(column, first.slot(), 0);
    const NodeIndex second = best(column);
    forest_->set(column, first.slot(), kept);
    return second;
}

NodeIndex Index::any(std::size_t column, Rng& rng) const {
    if (counts_[column] == 0) {
        return NodeIndex::none();
    }
    std::uint64_t skip = rng.below(static_cast<std::uint64_t>(counts_[column]));
    std::size_t node = 0;
    while (forest_->at(column, node) == 0 || skip-- > 0) {
        ++node;
    }
    return NodeIndex(static_cast<std::uint32_t>(node));
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
    return admits_and_fits(cluster_, node, classes_[demand_class], catalog());
}

bool Index::has_room(ClassIndex demand_class, NodeIndex node) const {
    return tessera::fits(cluster_.node(node), classes_[demand_class], catalog());
}

bool Index::consistent(std::size_t nodes) const {
    std::vector<std::uint64_t> fit(feasibility_.words());
    std::vector<std::int32_t> counts(columns_.size(), 0);
    for (std::uint32_t n = 0; n < cluster_.size(); ++n) {
        feasibility_.evaluate(cluster_.node(NodeIndex(n)), fit.data());
        for (std::size_t column = 0; column < columns_.size(); ++column) {
            Key fresh = 0;
            const bool now = n < nodes && (fit[word_of(column)] & bit_in_word(column)) != 0 &&
                             cluster_.admits(NodeIndex(n), classes_[columns_[column]].filter);
            if (now) {
                const ClassIndex only[] = {columns_[column]};
                scorer_->score(cluster_.node(NodeIndex(n)), only, std::span(&fresh, 1));
                ++counts[column];
            }
            if (fresh != forest_->at(column, n) ||
                (now && forest_->ties()[n] != scorer_->tie(cluster_.node(NodeIndex(n))))) {
                return false;
            }
        }
    }
    return counts == counts_ && forest_->consistent();
}

std::size_t Index::memory_bytes() const {
    return forest_->memory_bytes() + feasibility_.memory_bytes() + admission_.memory_bytes() +
           sets_.capacity() * sizeof(std::uint64_t) + column_of_.capacity() * sizeof(std::int16_t);
}

}  // namespace tessera
