// The formulas of the published and plain policies. Scores are integers, larger is better.
//
// Sources: DotProd, Clustering, Packing and BestFit as in the experiments of FGD (Weng et al.,
// ATC 2023); their constants 128,000 milli-cores and 8,000 GPU milli are the largest node, which
// is taken from the cluster here.
#pragma once

#include <span>

#include "policy/rule_scorer.h"

namespace tessera::rules {

std::int64_t dot_product(const RuleInput& input);
std::int64_t clustering(const RuleInput& input);
std::int64_t packing(const RuleInput& input);
std::int64_t best_fit(const RuleInput& input);
// Best fit over cores, node memory and GPU: the least sum of normalised amounts left.
std::int64_t best_fit_memory(const RuleInput& input);
// The node with the least (most) idle GPU; for pods without a GPU, the least (most) free cores.
std::int64_t binpack(const RuleInput& input);
std::int64_t spread(const RuleInput& input);
// kube-scheduler's default: the node with the largest mean share of free cores and memory, which
// is all that chooses a node for an extender without scores of its own.
std::int64_t least_allocated(const RuleInput& input);
// kube-scheduler's NodeResourcesBalancedAllocation of Kubernetes 1.36: whether the used shares of
// cores and memory are as near to each other with the pod as they were, 50 to 100; 0 everywhere for
// a pod that asks for neither.
std::int64_t balanced_allocation(const RuleInput& input);

// All of them, by the names that policy files use.
std::span<const RuleInfo> table();

}  // namespace tessera::rules
