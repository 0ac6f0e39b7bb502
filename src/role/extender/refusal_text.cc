#include "role/extender/refusal_text.h"

#include <algorithm>
#include <array>
#include <string>

namespace tessera {
namespace {

// The best that a node has of what it is refused for; -1 where there is no number to tell.
std::int64_t best_on(RefusalCode code, const DemandClass& asked, const NodeState& node) {
    std::int64_t best = -1;
    std::int64_t empty = 0;
    for (std::size_t gpu = 0; gpu < node.gpu_count; ++gpu) {
        const GpuState& left = node.gpus[gpu];
        empty += left.empty() ? 1 : 0;
        if (code == RefusalCode::gpu_memory_insufficient && asked.gpu_memory_ppm == 0 &&
            left.free_memory_mib < asked.gpu_memory.value()) {
            best = std::max<std::int64_t>(best, left.free_memory_mib);
        }
        if (code == RefusalCode::gpu_compute_insufficient &&
            left.idle_milli < asked.milli.value()) {
            best = std::max<std::int64_t>(best, left.idle_milli);
        }
    }
    switch (code) {
        case RefusalCode::gpu_not_empty:
            return empty < asked.gpus ? empty : -1;
        case RefusalCode::gpu_count_insufficient:
            return node.gpu_count;
        case RefusalCode::node_cpu_insufficient:
            return node.free_cpu_milli;
        case RefusalCode::node_memory_insufficient:
            return node.free_memory_mib;
        default:
            return best;
    }
}

std::string text_of(RefusalCode code, const DemandClass& asked, std::int64_t best) {
    if (best < 0) {
        return std::string(refusal_info(code).sentence);
    }
    switch (code) {
        case RefusalCode::gpu_memory_insufficient:
            return fmt::format("GPU memory: {} MiB asked, at most {} free on one GPU",
                               asked.gpu_memory.value(), best);
        case RefusalCode::gpu_compute_insufficient:
            return fmt::format("GPU compute: {} of 1000 asked, at most {} free on one GPU",
                               asked.milli.value(), best);
        case RefusalCode::gpu_not_empty:
            return fmt::format("whole GPUs: {} asked, at most {} free on one node", asked.gpus,
                               best);
        case RefusalCode::gpu_count_insufficient:
            return fmt::format("GPUs: {} asked, at most {} on one node", asked.gpus, best);
        case RefusalCode::node_cpu_insufficient:
            return fmt::format("CPU: {}m asked, at most {}m free on one node", asked.cpu.value(),
                               best);
        case RefusalCode::node_memory_insufficient:
            return fmt::format("memory: {} MiB asked, at most {} free on one node",
                               asked.memory.value(), best);
        default:
            return std::string(refusal_info(code).sentence);
    }
}

}  // namespace

std::uint8_t RefusalTexts::add(std::string_view text, bool never) {
    texts_.push_back({std::string(text), never});
    return static_cast<std::uint8_t>(texts_.size());
}

std::vector<std::uint8_t> RefusalTexts::add(const Refusals& refusals,
                                            std::span<const NodeIndex> nodes,
                                            const Cluster& cluster) {
    struct Reason {
        std::uint8_t mark = 0;
        std::int64_t best = -1;
    };
    std::array<Reason, kRefusalCodes> reasons{};
    std::vector<std::uint8_t> marks(nodes.size());
    for (std::size_t at = 0; at < nodes.size(); ++at) {
        const RefusalCode code = refusals.verdicts[at].first;
        Reason& reason = reasons[static_cast<std::size_t>(code)];
        if (reason.mark == 0) {
            reason.mark = add("", refusal_info(code).kind == RefusalKind::never_here);
        }
        reason.best = std::max(reason.best, best_on(code, refusals.asked, cluster.node(nodes[at])));
        marks[at] = reason.mark;
    }
    for (std::size_t code = 0; code < reasons.size(); ++code) {
        if (reasons[code].mark != 0) {
            texts_[reasons[code].mark - std::size_t{1}].text =
                text_of(static_cast<RefusalCode>(code), refusals.asked, reasons[code].best);
        }
    }
    return marks;
}

}  // namespace tessera
