// Fragmentation of a cluster against a mix of demand, kept up to date node by node.
//
// After FGD (Weng et al., ATC 2023): of a node's idle GPU, a class that cannot run there counts all
// as fragmented, one that can counts the devices with less than it needs. A node's amount is the
// mean over the mix; the cluster's is the sum. CPU-only classes count all idle GPU, so the ratio of
// an empty cluster is not zero.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/cluster.h"
#include "policy/typical_mix.h"

namespace tessera {

class Fragmentation {
  public:
    Fragmentation(const Cluster& cluster, std::span<const ClassCount> mix);

    // A pod came to or left this node.
    void changed(NodeIndex node);

    double amount_milli() const { return amount_; }
    std::int64_t idle_milli() const { return idle_; }

  private:
    double node_amount(const NodeState& node) const;

    const Cluster& cluster_;
    std::vector<TypicalClass> mix_;
    std::vector<double> amounts_;  // by node
    std::vector<std::int32_t> idles_;
    double amount_ = 0;
    std::int64_t idle_ = 0;
};

}  // namespace tessera
