#include "engine/feasibility.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/bit_words.h"
#include "policy/assignment.h"
#include "policy/devices.h"

namespace tessera {
namespace {

constexpr std::size_t kEmptyRow = 1001;  // after the rows of 0..1000 idle milli

void set_bit(std::uint64_t* row, std::size_t column) {
    row[word_of(column)] |= bit_in_word(column);
}

bool single_device(const DemandClass& c) {
    return c.footprint == Footprint::share || (c.footprint == Footprint::whole && c.gpus == 1);
}

bool coupled(const DemandClass& c) {
    return c.footprint == Footprint::spread || c.footprint == Footprint::compound ||
           (c.wants_gpu() && c.requests.front().rule != GroupRule::none);
}

// What a class needs of a device's memory. A whole device is asked by emptiness, not by size.
std::int64_t memory_need(const DemandClass& c, const DeviceKind& kind) {
    return c.footprint == Footprint::whole ? 0 : c.memory_on(kind.memory).value();
}

}  // namespace

template <class Need, class Member>
Feasibility::Steps Feasibility::make_steps(Need need, Member member) const {
    std::vector<std::int64_t> needs;
    for (ClassIndex index : columns_) {
        if (index.valid() && member((*catalog_.classes)[index])) {
            needs.push_back(need((*catalog_.classes)[index]));
        }
    }
    Steps steps{StepCounter(std::move(needs)), {}};
    const std::size_t count = steps.steps.size();
    steps.rows.assign((count + 1) * words_, 0);
    for (std::size_t column = 0; column < columns_.size(); ++column) {
        if (!columns_[column].valid()) {
            continue;
        }
        const DemandClass& c = (*catalog_.classes)[columns_[column]];
        if (!member(c)) {
            continue;
        }
        for (std::size_t row = steps.steps.count(need(c)); row <= count; ++row) {
            set_bit(steps.rows.data() + row * words_, column);
        }
    }
    return steps;
}

void Feasibility::rebuild(const Catalog& catalog, std::span<const ClassIndex> classes) {
    catalog_ = catalog;
    columns_.assign(classes.begin(), classes.end());
    words_ = words_for(columns_.size());
    by_milli_.assign((kEmptyRow + 1) * words_, 0);
    by_empties_.assign((kMaxGpusPerNode + 1) * words_, 0);
    no_gpu_.assign(words_, 0);
    multi_.clear();
    coupled_.clear();
    for (std::size_t column = 0; column < columns_.size(); ++column) {
        if (!columns_[column].valid()) {
            continue;
        }
        const DemandClass& c = (*catalog_.classes)[columns_[column]];
        if (c.footprint == Footprint::no_gpu) {
            set_bit(no_gpu_.data(), column);
        } else if (coupled(c)) {
            coupled_.push_back(static_cast<int>(column));
        } else if (single_device(c)) {
            const bool whole = c.footprint == Footprint::whole;
            const auto from = whole ? kEmptyRow : static_cast<std::size_t>(c.milli.value());
            for (std::size_t row = from; row <= kEmptyRow; ++row) {
                set_bit(by_milli_.data() + row * words_, column);
            }
        } else {
            multi_.push_back(static_cast<int>(column));
            for (std::size_t row = c.gpus; row <= kMaxGpusPerNode; ++row) {
                set_bit(by_empties_.data() + row * words_, column);
            }
        }
    }
    by_kind_.clear();
    for (const DeviceKind& kind : catalog_.kinds) {
        by_kind_.push_back(make_steps([&](const DemandClass& c) { return memory_need(c, kind); },
                                      [&](const DemandClass& c) {
                                          return c.wants_gpu() && !coupled(c) && may_use(c, kind);
                                      }));
    }
    const auto any = [](const DemandClass&) { return true; };
    by_cpu_ = make_steps([](const DemandClass& c) { return c.cpu.value(); }, any);
    by_memory_ = make_steps([](const DemandClass& c) { return c.memory.value(); }, any);
}

void Feasibility::evaluate(const NodeState& node, std::uint64_t* out) const {
    std::fill_n(out, words_, 0);
    if (!node.schedulable || node.free_pods <= 0) {
        return;
    }
    add_devices(node, out);
    if (node.gpu_count >= 2 && !multi_.empty()) {
        add_multi(node, out);
    }
    if (!coupled_.empty()) {
        add_coupled(node, out);
    }
    const std::uint64_t* cpu = by_cpu_.row(node.free_cpu_milli, words_);
    const std::uint64_t* memory = by_memory_.row(node.free_memory_mib, words_);
    for (std::size_t w = 0; w < words_; ++w) {
        out[w] = (out[w] | no_gpu_[w]) & cpu[w] & memory[w];
    }
}

void Feasibility::add_devices(const NodeState& node, std::uint64_t* out) const {
    for (std::size_t gpu = 0; gpu < node.gpu_count; ++gpu) {
        const GpuState& device = node.gpus[gpu];
        if (device.free_slots == 0) {
            continue;
        }
        if (gpu > 0) {
            const GpuState& before = node.gpus[gpu - 1];
            if (before.idle_milli == device.idle_milli && before.kind == device.kind &&
                before.free_memory_mib == device.free_memory_mib &&
                before.empty() == device.empty() && before.free_slots > 0) {
                continue;
            }
        }
        const std::size_t row =
            device.empty() ? kEmptyRow : static_cast<std::size_t>(device.idle_milli);
        const std::uint64_t* milli = by_milli_.data() + row * words_;
        const std::uint64_t* kind =
            by_kind_[device.kind.slot()].row(device.free_memory_mib, words_);
        for (std::size_t w = 0; w < words_; ++w) {
            out[w] |= milli[w] & kind[w];
        }
    }
}

void Feasibility::add_multi(const NodeState& node, std::uint64_t* out) const {
    KindIndex first;
    bool alike = true;
    std::size_t empties = 0;  // of any health: a class that tolerates may use them
    for (std::size_t gpu = 0; gpu < node.gpu_count; ++gpu) {
        if (node.gpus[gpu].empty()) {
            ++empties;
            alike = alike && (!first.valid() || first == node.gpus[gpu].kind);
            first = node.gpus[gpu].kind;
        }
    }
    if (empties < 2) {
        return;
    }
    if (alike) {
        const std::uint64_t* count = by_empties_.data() + empties * words_;
        const std::uint64_t* kind =
            by_kind_[first.slot()].row(catalog_.kinds[first.slot()].memory.value(), words_);
        for (std::size_t w = 0; w < words_; ++w) {
            out[w] |= count[w] & kind[w];
        }
        return;
    }
    for (int column : multi_) {
        const DemandClass& c = (*catalog_.classes)[columns_[static_cast<std::size_t>(column)]];
        if (std::popcount(fitting_devices(node, c, catalog_)) >= c.gpus) {
            set_bit(out, static_cast<std::size_t>(column));
        }
    }
}

void Feasibility::add_coupled(const NodeState& node, std::uint64_t* out) const {
    DeviceList devices;
    for (int column : coupled_) {
        const DemandClass& c = (*catalog_.classes)[columns_[static_cast<std::size_t>(column)]];
        if (assign_devices(node, c, catalog_, LinkMatrix(), devices)) {
            set_bit(out, static_cast<std::size_t>(column));
        }
    }
}

std::size_t Feasibility::memory_bytes() const {
    std::size_t words = by_milli_.capacity() + by_empties_.capacity() + no_gpu_.capacity();
    for (const Steps& steps : by_kind_) {
        words += steps.rows.capacity() + sizeof(Steps) / sizeof(std::uint64_t);
    }
    words += by_cpu_.rows.capacity() + by_memory_.rows.capacity();
    return words * sizeof(std::uint64_t);
}

}  // namespace tessera
