#include "engine/index.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "base/assert.h"
#include "policy/assignment.h"

namespace tessera {
namespace {

constexpr std::size_t kWordBits = Feasibility::kWordBits;

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
    forest_.resize(cluster_.size(), columns_.size());
    const std::size_t words = feasibility_.words();
    sets_.assign(cluster_.size() * words, 0);
    fit_.assign(words, 0);
    counts_.assign(columns_.size(), 0);
    batch_.reserve(columns_.size());
    batch_columns_.reserve(columns_.size());
    keys_.resize(columns_.size());
}

Catalog Index::catalog() const { return cluster_.catalog(classes_); }

void Index::clear_column(std::size_t column) {
    column_of_[columns_[column].slot()] = -1;
    forest_.clear_column(column);
}

void Index::set_column(ClassIndex demand_class, ClassIndex instead_of, std::size_t nodes) {
    const auto place = std::find(columns_.begin(), columns_.end(), instead_of);
    TESSERA_ASSERT(place != columns_.end(), "a class takes a free column or another's");
    const auto column = static_cast<std::size_t>(place - columns_.begin());
    if (instead_of.valid()) {
        clear_column(column);
    }
    columns_[column] = demand_class;
    column_of_.resize(std::max(column_of_.size(), demand_class.slot() + 1), -1);
    column_of_[demand_class.slot()] = static_cast<std::int16_t>(column);
    counts_[column] = 0;
    feasibility_.rebuild(catalog(), columns_);
    const std::size_t words = feasibility_.words();
    const std::uint64_t bit = std::uint64_t{1} << (column % kWordBits);
    const ClassIndex only[] = {demand_class};
    for (std::uint32_t n = 0; n < nodes; ++n) {
        const NodeState& state = cluster_.node(NodeIndex(n));
        feasibility_.evaluate(state, fit_.data());
        std::uint64_t& kept = sets_[n * words + column / kWordBits];
        kept &= ~bit;
        if ((fit_[column / kWordBits] & bit) != 0) {
            kept |= bit;
            ++counts_[column];
            scorer_->score(state, only, std::span(keys_).first(1));
            TESSERA_DEBUG_ASSERT(keys_[0] != 0, "a node that fits has a key");
            forest_.begin(n, scorer_->tie(state));
            forest_.write(column, keys_[0]);
        }
    }
}

void Index::refresh(NodeIndex node) {
    const NodeState& state = cluster_.node(node);
    feasibility_.evaluate(state, fit_.data());
    forest_.begin(node.slot(), scorer_->tie(state));
    batch_.clear();
    batch_columns_.clear();
    const std::uint64_t* kept = sets_.data() + node.slot() * fit_.size();
    for (std::size_t w = 0; w < fit_.size(); ++w) {
        for (std::uint64_t bits = fit_[w] | kept[w]; bits != 0; bits &= bits - 1) {
            const auto bit = static_cast<std::size_t>(std::countr_zero(bits));
            forest_.prefetch(w * kWordBits + bit);
            if ((fit_[w] >> bit & 1) != 0) {
                batch_.push_back(columns_[w * kWordBits + bit]);
                batch_columns_.push_back(w * kWordBits + bit);
            }
        }
    }
    scorer_->score(state, batch_, std::span(keys_).first(batch_.size()));
    record_fits(node.slot());
    for (std::size_t i = 0; i < batch_.size(); ++i) {
        TESSERA_DEBUG_ASSERT(keys_[i] != 0, "a node that fits has a key");
        forest_.write(batch_columns_[i], keys_[i]);
    }
}

// The new set replaces the old one; what no longer fits loses its key.
void Index::record_fits(std::size_t node) {
    for (std::size_t w = 0; w < fit_.size(); ++w) {
        std::uint64_t& kept = sets_[node * fit_.size() + w];
        for (std::uint64_t changed = kept ^ fit_[w]; changed != 0; changed &= changed - 1) {
            const auto bit = static_cast<std::size_t>(std::countr_zero(changed));
            if ((fit_[w] >> bit & 1) != 0) {
                ++counts_[w * kWordBits + bit];
            } else {
                --counts_[w * kWordBits + bit];
                forest_.write(w * kWordBits + bit, 0);
            }
        }
        kept = fit_[w];
    }
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

NodeIndex Index::any(std::size_t column, Rng& rng) const {
    if (counts_[column] == 0) {
        return NodeIndex::none();
    }
    std::uint64_t skip = rng.below(static_cast<std::uint64_t>(counts_[column]));
    std::size_t node = 0;
    while (forest_.at(column, node) == 0 || skip-- > 0) {
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
    return tessera::fits(cluster_.node(node), classes_[demand_class], catalog());
}

bool Index::consistent(std::size_t nodes) const {
    std::vector<std::uint64_t> fit(feasibility_.words());
    std::vector<std::int32_t> counts(columns_.size(), 0);
    for (std::uint32_t n = 0; n < cluster_.size(); ++n) {
        feasibility_.evaluate(cluster_.node(NodeIndex(n)), fit.data());
        for (std::size_t column = 0; column < columns_.size(); ++column) {
            Key fresh = 0;
            const bool now =
                n < nodes && ((fit[column / kWordBits] >> (column % kWordBits)) & 1) != 0;
            if (now) {
                const ClassIndex only[] = {columns_[column]};
                scorer_->score(cluster_.node(NodeIndex(n)), only, std::span(&fresh, 1));
                ++counts[column];
            }
            if (fresh != forest_.at(column, n) ||
                (now && forest_.tie(n) != scorer_->tie(cluster_.node(NodeIndex(n))))) {
                return false;
            }
        }
    }
    return counts == counts_ && forest_.consistent();
}

std::size_t Index::memory_bytes() const {
    return forest_.memory_bytes() + feasibility_.memory_bytes() +
           sets_.capacity() * sizeof(std::uint64_t) + column_of_.capacity() * sizeof(std::int16_t);
}

}  // namespace tessera
