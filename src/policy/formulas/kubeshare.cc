#include "policy/formulas/kubeshare.h"

#include <algorithm>

#include "base/floor_divide.h"

namespace tessera {
namespace {

constexpr std::int64_t kPoint = 1000;  // thousandths
constexpr std::int64_t kHundredPoints = 100 * kPoint;

std::int64_t used_points(const LeafView& leaf) {
    return kHundredPoints * (kWholeGpu.value() - leaf.milli_available) / kWholeGpu.value();
}

// Latency-critical pods are placed like guaranteed ones: away from others.
bool packs(ServiceClass service) { return service == ServiceClass::opportunistic; }

}  // namespace

std::optional<std::int64_t> kubeshare_node_score_milli(ServiceClass service,
                                                       std::span<const LeafView> leaves) {
    if (leaves.empty()) {
        return std::nullopt;
    }
    const auto n = static_cast<std::int64_t>(leaves.size());
    std::int64_t sum = 0;
    for (const LeafView& leaf : leaves) {
        sum += kubeshare_leaf_score_milli(service, false, leaf);
    }
    if (!packs(service)) {
        return floor_divide(sum, n);
    }
    return floor_divide(n * sum - kHundredPoints * kubeshare_free_leaves(leaves), n * n);
}

std::int64_t kubeshare_leaf_score_milli(ServiceClass service, bool whole, const LeafView& leaf) {
    const std::int64_t priority = kPoint * leaf.priority;
    const std::int64_t used = whole ? 0 : used_points(leaf);
    if (packs(service)) {
        return priority + used;
    }
    return priority - used - 100 * leaf.distance_milli;
}

std::int64_t kubeshare_free_leaves(std::span<const LeafView> leaves) {
    return std::ranges::count_if(
        leaves, [](const LeafView& leaf) { return leaf.milli_available >= kWholeGpu.value(); });
}

void kubeshare_normalise(std::span<std::int64_t> scores) {
    if (scores.empty()) {
        return;
    }
    const auto [low, high] = std::ranges::minmax(scores);
    const std::int64_t shift = std::max<std::int64_t>(0, -low);
    if (high + shift <= kHundredPoints) {
        for (std::int64_t& score : scores) {
            score = (score + shift) / kPoint;
        }
        return;
    }
    const std::int64_t range = high > low ? high - low : kHundredPoints;
    for (std::int64_t& score : scores) {
        score = 100 * (score - low) / range;
    }
}

}  // namespace tessera
