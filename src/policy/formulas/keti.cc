#include "policy/formulas/keti.h"

#include <algorithm>

#include "base/quantity.h"

namespace tessera {
namespace {

constexpr std::int64_t kPoint = 1000;
constexpr std::int64_t kAvoidPercent = 30;  // what is left of a linked GPU's score
constexpr std::int64_t kPodPoints = 100;    // binpack, per pod

// Free share in thousandths of `points`.
std::int64_t share_points(const KetiShare& share, std::int64_t points) {
    if (share.total <= 0) {
        return 0;
    }
    const Int128 free = std::clamp<std::int64_t>(share.free, 0, share.total);
    return static_cast<std::int64_t>((free * points * kPoint + share.total / 2) / share.total);
}

bool nvlinked(const LinkMatrix& links, int a, int b) {
    return a != b && a < links.gpus() && b < links.gpus() &&
           links.at(a, b).level == LinkLevel::nvlink;
}

bool has_nvlink(const LinkMatrix& links, int gpu) {
    for (int other = 0; other < links.gpus(); ++other) {
        if (nvlinked(links, gpu, other)) {
            return true;
        }
    }
    return false;
}

// Candidates with adjusted scores, best first, lower index on ties.
std::vector<KetiCandidate> ranked(std::span<const KetiCandidate> candidates,
                                  const LinkMatrix& links, int count, const KetiPolicy& policy) {
    std::vector<KetiCandidate> result(candidates.begin(), candidates.end());
    for (KetiCandidate& candidate : result) {
        candidate.score_milli = keti_adjusted_milli(candidate, links, count, policy);
    }
    std::ranges::stable_sort(result, [](const KetiCandidate& a, const KetiCandidate& b) {
        return a.score_milli != b.score_milli ? a.score_milli > b.score_milli : a.gpu < b.gpu;
    });
    return result;
}

struct Pair {
    std::size_t first = 0;
    std::size_t second = 1;
    std::int64_t score_milli = 0;
    int lanes = -1;  // -1 = not linked
};

// The best two of what is left: the two best scores, or a linked pair with its bonus. Of equal
// pairs the one with more lanes, then the better ranked.
Pair best_pair(std::span<const KetiCandidate> left, const LinkMatrix& links,
               const KetiPolicy& policy) {
    Pair best{0, 1, (left[0].score_milli + left[1].score_milli) / 2, -1};
    for (std::size_t a = 0; a < left.size(); ++a) {
        for (std::size_t b = a + 1; b < left.size(); ++b) {
            if (!nvlinked(links, left[a].gpu, left[b].gpu)) {
                continue;
            }
            const std::int64_t mean = (left[a].score_milli + left[b].score_milli) / 2;
            const std::int64_t score = mean * (100 + policy.nvlink_percent) / 100;
            const int lanes = links.at(left[a].gpu, left[b].gpu).lanes;
            if (score > best.score_milli || (score == best.score_milli && lanes > best.lanes)) {
                best = {a, b, score, lanes};
            }
        }
    }
    return best;
}

}  // namespace

std::int64_t keti_node_score_milli(const KetiNode& node) {
    return share_points(node.memory, 100) + share_points(node.cpu, 100) +
           share_points(node.storage, 100);
}

std::int64_t keti_gpu_score_milli(const KetiGpu& gpu) {
    const std::int64_t idle =
        gpu.pods == 0 ? 11 * kPoint : 10 * (1000 - std::int64_t{gpu.used_milli});
    return idle - kPoint * gpu.pods;
}

std::int64_t keti_adjusted_milli(const KetiCandidate& candidate, const LinkMatrix& links, int count,
                                 const KetiPolicy& policy) {
    std::int64_t score = candidate.score_milli;
    if (count == 1 && policy.avoid_nvlink_one_gpu && score > 0 &&
        has_nvlink(links, candidate.gpu)) {
        score = score * kAvoidPercent / 100;
    }
    if (policy.allocate == KetiAllocate::binpack) {
        score += kPodPoints * kPoint * candidate.pods;
    }
    return score;
}

std::optional<KetiChoice> keti_choose(std::span<const KetiCandidate> candidates,
                                      const LinkMatrix& links, int count,
                                      const KetiPolicy& policy) {
    if (count < 1 || std::cmp_less(candidates.size(), count)) {
        return std::nullopt;
    }
    std::vector<KetiCandidate> left = ranked(candidates, links, count, policy);
    KetiChoice choice;
    std::int64_t sum = 0;
    int missing = count;
    const auto take = [&](std::size_t at) {
        choice.gpus |= DeviceMask{1} << left[at].gpu;
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
    };
    for (; missing > 1; missing -= 2) {
        const Pair pair = best_pair(left, links, policy);
        sum += 2 * pair.score_milli;
        take(pair.second);  // the later one first: positions before it stay
        take(pair.first);
    }
    if (missing == 1) {
        sum += left.front().score_milli;
        take(0);
    }
    choice.score_milli = sum / count;
    return choice;
}

std::int64_t keti_with_gpus_milli(std::int64_t node_milli, int usable, const KetiPolicy& policy) {
    return policy.prefer_multi_gpu_node ? node_milli * (10 + usable) / 10 : node_milli;
}

std::int64_t keti_total(std::int64_t node_milli, std::int64_t gpu_milli, const KetiPolicy& policy) {
    const std::int64_t micro =
        node_milli * policy.node_weight_milli + gpu_milli * policy.gpu_weight_milli;
    constexpr std::int64_t kUnit = kPoint * 1000;
    return micro >= 0 ? (micro + kUnit / 2) / kUnit : -((-micro + kUnit / 2) / kUnit);
}

std::int64_t keti_total_without_gpu(std::int64_t node_milli, const KetiPolicy& policy) {
    return node_milli * policy.node_weight_milli / (kPoint * 1000);
}

}  // namespace tessera
