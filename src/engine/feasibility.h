// Which classes fit on a node, as one bit per column.
//
// Every condition is a row of bits, looked up by what is left: a device's idle milli, its free
// memory (by kind, which also says model and health), the node's cores and memory. A node's set is
// the OR over its devices, ANDed with the rows of cores and memory: some dozen word operations for
// hundreds of classes, and exact whatever the memory sizes.
//
// Classes over several unlike requests, or over parts of several devices, are "coupled": no single
// row tells, so each is tried by itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/step_counter.h"
#include "model/demand_class.h"
#include "model/node.h"
#include "policy/catalog.h"

namespace tessera {

class Feasibility {
  public:
    // Rebuilds all rows for these classes; column i holds classes[i] (none = free column).
    void rebuild(const Catalog& catalog, std::span<const ClassIndex> classes);

    std::size_t words() const { return words_; }

    // The set of columns that fit on the node, into `out` (words() words).
    void evaluate(const NodeState& node, std::uint64_t* out) const;

    std::size_t memory_bytes() const;

  private:
    // Rows by threshold: row i holds what needs at most the i-th smallest amount.
    struct Steps {
        StepCounter steps;
        std::vector<std::uint64_t> rows;  // thresholds + 1 rows

        const std::uint64_t* row(std::int64_t left, std::size_t words) const {
            return rows.data() + steps.count(left) * words;
        }
    };

    template <class Need, class Member>
    Steps make_steps(Need need, Member member) const;
    void add_devices(const NodeState& node, std::uint64_t* out) const;
    void add_multi(const NodeState& node, std::uint64_t* out) const;
    void add_coupled(const NodeState& node, std::uint64_t* out) const;

    Catalog catalog_;
    std::vector<ClassIndex> columns_;
    std::size_t words_ = 0;
    std::vector<std::uint64_t> by_milli_;    // 1001 rows of shares, then one for an empty device
    std::vector<std::uint64_t> by_empties_;  // whole-device classes of 2..n devices, n = 0..16
    std::vector<Steps> by_kind_;             // memory of a device, by kind
    Steps by_cpu_;
    Steps by_memory_;
    std::vector<std::uint64_t> no_gpu_;
    std::vector<int> multi_;    // columns of whole classes with two or more devices
    std::vector<int> coupled_;  // columns of spread and compound classes
};

}  // namespace tessera
