#include "sim/fragmentation.h"

namespace tessera {

namespace {

// Idle GPU of the node that class `wanted` cannot use.
std::int64_t unusable(const NodeState& node, ModelIndex model, const TypicalClass& wanted) {
    std::int64_t idle = 0;
    std::int64_t too_small = 0;
    std::int64_t fitting = 0;
    for (std::size_t g = 0; g < node.gpu_count; ++g) {
        const std::int64_t milli = node.gpus[g].idle_milli;
        idle += milli;
        if (milli >= wanted.milli) {
            ++fitting;
        } else {
            too_small += milli;
        }
    }
    const bool served = wanted.gpus > 0 && node.free_cpu_milli >= wanted.cpu_milli &&
                        fitting >= wanted.gpus && wanted.allows(model);
    return served ? too_small : idle;
}

std::int32_t idle_of(const NodeState& node) {
    std::int32_t idle = 0;
    for (std::size_t g = 0; g < node.gpu_count; ++g) {
        idle += node.gpus[g].idle_milli;
    }
    return idle;
}

}  // namespace

Fragmentation::Fragmentation(const Cluster& cluster, std::span<const ClassCount> mix)
    : cluster_(cluster),
      mix_(typical_mix(mix)),
      amounts_(cluster.size(), 0),
      idles_(cluster.size(), 0) {
    for (std::uint32_t n = 0; n < cluster.size(); ++n) {
        changed(NodeIndex(n));
    }
}

void Fragmentation::changed(NodeIndex node) {
    const NodeState& state = cluster_.node(node);
    const std::int32_t idle = idle_of(state);
    const double amount = node_amount(state);
    idle_ += idle - idles_[node.slot()];
    amount_ += amount - amounts_[node.slot()];
    idles_[node.slot()] = idle;
    amounts_[node.slot()] = amount;
}

double Fragmentation::node_amount(const NodeState& node) const {
    if (node.gpu_count == 0) {
        return 0;
    }
    const ModelIndex model = cluster_.kind(node.gpus[0].kind).model;
    double amount = 0;
    for (const TypicalClass& wanted : mix_) {
        amount += wanted.frequency * static_cast<double>(unusable(node, model, wanted));
    }
    return amount;
}

}  // namespace tessera
