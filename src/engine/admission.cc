#include "engine/admission.h"

#include <algorithm>

#include "base/bit_words.h"
#include "policy/assignment.h"

namespace tessera {
namespace {}  // namespace

bool admits_and_fits(const Cluster& cluster, NodeIndex node, const DemandClass& demand_class,
                     const Catalog& catalog) {
    // Room first: it says no far more often, and a node's traits lie elsewhere.
    return fits(cluster.node(node), demand_class, catalog) &&
           cluster.admits(node, demand_class.filter);
}

void Admission::reset(std::span<const ClassIndex> columns, std::size_t capacity) {
    words_ = words_for(columns.size());
    capacity_ = capacity;
    groups_.clear();
    filter_of_.assign(columns.size(), FilterIndex());
    for (std::size_t column = 0; column < columns.size(); ++column) {
        if (columns[column].valid()) {
            join(column, columns[column]);
        }
    }
    seen_ = cluster_.trait_changes();
    use_rows(false);
    use_rows(needed());
}

void Admission::set_column(std::size_t column, ClassIndex demand_class) {
    leave(column);
    join(column, demand_class);
    if (!in_use()) {
        use_rows(needed());
        return;
    }
    const std::uint64_t bit = bit_in_word(column);
    for (std::uint32_t n = 0; n < cluster_.size(); ++n) {
        if (fresh(NodeIndex(n))) {
            std::uint64_t& word = rows_[n * words_ + word_of(column)];
            word = admits(NodeIndex(n), column) ? word | bit : word & ~bit;
        }
    }
}

void Admission::join(std::size_t column, ClassIndex demand_class) {
    const FilterIndex filter = classes_[demand_class].filter;
    auto group = std::find_if(groups_.begin(), groups_.end(),
                              [&](const Group& known) { return known.filter == filter; });
    if (group == groups_.end()) {
        group = groups_.insert(group, {filter, std::vector<std::uint64_t>(words_, 0)});
    }
    filter_of_[column] = filter;
    group->columns[word_of(column)] |= bit_in_word(column);
}

void Admission::leave(std::size_t column) {
    for (Group& group : groups_) {
        group.columns[word_of(column)] &= ~bit_in_word(column);
    }
    std::erase_if(groups_, [](const Group& group) {
        return std::all_of(group.columns.begin(), group.columns.end(),
                           [](std::uint64_t word) { return word == 0; });
    });
}

bool Admission::needed() const {
    return cluster_.repelling_nodes() > 0 ||
           std::any_of(groups_.begin(), groups_.end(), [&](const Group& group) {
               return cluster_.filter(group.filter).restricts();
           });
}

void Admission::use_rows(bool use) {
    if (use != in_use()) {
        rows_.assign(use ? capacity_ * words_ : 0, 0);
        stamps_.assign(use ? capacity_ : 0, 0);
    }
}

void Admission::fill_row(NodeIndex node) {
    std::uint64_t* row = rows_.data() + node.slot() * words_;
    std::fill_n(row, words_, 0);
    for (const Group& group : groups_) {
        if (cluster_.admits(node, group.filter)) {
            for (std::size_t w = 0; w < words_; ++w) {
                row[w] |= group.columns[w];
            }
        }
    }
    stamps_[node.slot()] = cluster_.traits_changed_at(node);
}

std::size_t Admission::memory_bytes() const {
    return (rows_.capacity() + stamps_.capacity()) * sizeof(std::uint64_t) +
           groups_.size() * (sizeof(Group) + words_ * sizeof(std::uint64_t));
}

}  // namespace tessera
