// KubeShare 2.0's node and leaf scores, in thousandths of its points.
//
// With p the priority of a leaf's GPU model and u the used share of the leaf:
//   opportunistic pods pack:  node = (sum[p + 100u] - 100 * free leaves / n) / n,  leaf = p + 100u
//   guaranteed pods stay near their group and away from others:
//                             node = sum[p - 100u - 100d] / n,    leaf = p - 100u - 100d
// where d is the mean distance to the leaves that the pod's group already holds (0 without any).
// Pods of several GPUs take wholly free leaves only, ranked by p, or p - 100d.
// Not kept: two half-used cards counting as one free card; pods without a group treated as one
// group; GPU nodes preferred for pods that want none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/units.h"
#include "model/demand.h"

namespace tessera {

struct LeafView {
    std::int32_t milli_available = 0;  // of 1000
    std::int32_t priority = 0;         // of its model, 0..100
    std::int64_t distance_milli = 0;   // mean distance to the group's leaves, in thousandths

    friend bool operator==(const LeafView&, const LeafView&) = default;
};

// Node score of a pod that asks for a GPU. `leaves` are the healthy ones of the node (of the
// model, where the pod names one); a node without any has no score.
std::optional<std::int64_t> kubeshare_node_score_milli(ServiceClass service,
                                                       std::span<const LeafView> leaves);

// Score of one leaf; `whole` = the pod takes it alone, as one of several.
std::int64_t kubeshare_leaf_score_milli(ServiceClass service, bool whole, const LeafView& leaf);

// Points of a pod that asks for no GPU: GPU nodes are left to those that need them.
constexpr std::int64_t kubeshare_regular_score(bool node_has_gpus) {
    return node_has_gpus ? 0 : 100;
}

// Leaves that a pod of several GPUs could take.
std::int64_t kubeshare_free_leaves(std::span<const LeafView> leaves);

// Node scores in thousandths to whole points in 0..100: shifted until none is negative, and
// stretched over the range when one is above 100. For the door that answers kube-scheduler with
// points; the engine compares the scores as they are.
void kubeshare_normalise(std::span<std::int64_t> scores);

}  // namespace tessera
