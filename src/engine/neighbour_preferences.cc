// How good nodes are for a pod by its preferences: kube-scheduler's formulas, in integers.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/quantity.h"
#include "engine/neighbour_question.h"

namespace tessera {
namespace {

constexpr std::int64_t kMost = 100;
constexpr std::int64_t kNodeAffinityWeight = 2;
constexpr std::int64_t kPodAffinityWeight = 2;
constexpr std::int64_t kSpreadWeight = 2;
constexpr std::int64_t kTaintWeight = 3;

constexpr int kFineBits = 32;  // of logarithms

// ln(n) in units of 2^-32, the same on every machine: bits of the binary logarithm by squaring.
std::int64_t logarithm(std::uint64_t n) {
    constexpr int kTop = 62;
    constexpr std::int64_t kLn2 = 2'977'044'472;  // ln(2) in units of 2^-32
    const int whole = 63 - std::countl_zero(n);
    std::uint64_t mantissa = n << (kTop - whole);  // 1 to below 2, in units of 2^-62
    std::int64_t log2 = whole;
    for (int bit = 0; bit < kFineBits; ++bit) {
        const auto squared =
            static_cast<std::uint64_t>(static_cast<Int128>(mantissa) * mantissa >> kTop);
        const bool over = squared >> (kTop + 1) != 0;
        mantissa = over ? squared >> 1 : squared;
        log2 = log2 << 1 | (over ? 1 : 0);
    }
    return static_cast<std::int64_t>(static_cast<Int128>(log2) * kLn2 >> kFineBits);
}

std::int64_t rounded(Int128 fine) {
    return static_cast<std::int64_t>((fine + (Int128{1} << (kFineBits - 1))) >> kFineBits);
}

// In hundredths of the largest; reversed: of what is missing to it.
void normalise(std::vector<std::int64_t>& values, bool reversed) {
    const std::int64_t most = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
    for (std::int64_t& value : values) {
        value = most == 0 ? 0 : value * kMost / most;
        value = reversed ? kMost - value : value;
    }
}

void add_weighted(std::vector<std::int64_t>& sum, const std::vector<std::int64_t>& part,
                  std::int64_t weight) {
    for (std::size_t i = 0; i < part.size(); ++i) {
        sum[i] += weight * part[i];
    }
}

}  // namespace

std::vector<std::int64_t> NeighbourQuestion::node_wishes(Nodes nodes) const {
    std::vector<std::int64_t> points(nodes.size(), 0);
    for (const PreferredNodes& one : pod_.preferred_nodes) {
        for (std::size_t i = 0; i < nodes.size() && !one.term.empty(); ++i) {
            const NodeTraits& traits = cluster_.traits(nodes[i]);
            const bool good =
                std::all_of(one.term.begin(), one.term.end(),
                            [&](const LabelRequirement& asked) { return matches(asked, traits); });
            points[i] += good ? one.weight : 0;
        }
    }
    normalise(points, false);
    return points;
}

std::vector<std::int64_t> NeighbourQuestion::pod_wishes(Nodes nodes) const {
    std::vector<std::int64_t> points(nodes.size(), 0);
    for (const auto& [topology, tally] : wishes_) {
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            points[i] += count_at(tally, nodes[i]);
        }
    }
    const auto [low, high] = std::minmax_element(points.begin(), points.end());
    const std::int64_t least = points.empty() ? 0 : *low;
    const std::int64_t range = points.empty() ? 0 : *high - least;
    for (std::int64_t& value : points) {
        value = range == 0 ? 0 : (value - least) * kMost / range;
    }
    return points;
}

// A domain counts for more where there are more domains among the nodes that are heeded.
std::vector<std::int64_t> NeighbourQuestion::evenness_weights(
    Nodes nodes, const std::vector<bool>& heeded) const {
    std::vector<std::int64_t> weights(spread_.size(), 0);
    for (std::size_t term = 0; term < spread_.size(); ++term) {
        if (pod_.spread[term].required) {
            continue;
        }
        std::vector<bool> seen(spread_[term].domains->count, false);
        std::uint64_t different = 0;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (heeded[i] && !seen[spread_[term].domains->of(nodes[i])]) {
                seen[spread_[term].domains->of(nodes[i])] = true;
                ++different;
            }
        }
        weights[term] = logarithm(different + 2);
    }
    return weights;
}

std::vector<std::int64_t> NeighbourQuestion::evenness(Nodes nodes) const {
    std::vector<bool> heeded(nodes.size(), true);
    bool any = false;
    for (std::size_t term = 0; term < spread_.size(); ++term) {
        any = any || !pod_.spread[term].required;
        for (std::size_t i = 0; i < nodes.size() && !pod_.spread[term].required; ++i) {
            heeded[i] = heeded[i] && spread_[term].domains->of(nodes[i]) != Domains::kNone;
        }
    }
    std::vector<std::int64_t> points(nodes.size(), 0);
    if (!any) {
        return points;
    }
    const std::vector<std::int64_t> weights = evenness_weights(nodes, heeded);
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t most = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        Int128 fine = 0;
        for (std::size_t term = 0; term < spread_.size(); ++term) {
            if (!pod_.spread[term].required) {
                fine += Int128{count_at(spread_[term], nodes[i])} * weights[term] +
                        (Int128{pod_.spread[term].max_skew - 1} << kFineBits);
            }
        }
        points[i] = rounded(fine);
        least = heeded[i] ? std::min(least, points[i]) : least;
        most = heeded[i] ? std::max(most, points[i]) : most;
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const std::int64_t fewer = most == 0 ? kMost : kMost * (most + least - points[i]) / most;
        points[i] = heeded[i] ? fewer : 0;
    }
    return points;
}

std::vector<std::int64_t> NeighbourQuestion::tolerance(Nodes nodes) const {
    std::vector<std::int64_t> points(nodes.size(), 0);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        for (const NodeTaint& taint : cluster_.traits(nodes[i]).taints) {
            points[i] += !taint.repels() && !tolerates(filter_, taint) ? 1 : 0;
        }
    }
    normalise(points, true);
    return points;
}

std::vector<std::int64_t> NeighbourQuestion::preferences(Nodes nodes) const {
    std::vector<std::int64_t> sum(nodes.size(), 0);
    add_weighted(sum, node_wishes(nodes), kNodeAffinityWeight);
    add_weighted(sum, pod_wishes(nodes), kPodAffinityWeight);
    add_weighted(sum, evenness(nodes), kSpreadWeight);
    add_weighted(sum, tolerance(nodes), kTaintWeight);
    return sum;
}

}  // namespace tessera
