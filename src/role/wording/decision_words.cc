#include "role/wording/decision_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace tessera {
namespace {

std::string_view kind_outlook(RefusalKind kind) {
    switch (kind) {
        case RefusalKind::preemption_may_help:
            return "others hold what it asks for: it fits when they have left";
        case RefusalKind::not_now:
            return "it has to wait for a GPU or a node to return";
        case RefusalKind::never_here:
            return "no node of this cluster can ever hold it as it is";
        case RefusalKind::internal:
            break;
    }
    return "internal error";
}

std::string amount_text(const Fix& fix, std::string_view unit, std::string_view what) {
    if (fix.to == 0) {
        return fmt::format("if it asked for no {}", what);
    }
    return fmt::format("with {} {} less {} ({} instead of {})", grouped(fix.asked - fix.to), unit,
                       what, grouped(fix.to), grouped(fix.asked));
}

std::string change_text(const Fix& fix, const DecisionNames& names) {
    switch (fix.kind) {
        case FixKind::less_gpu_memory:
            if (fix.relative) {
                return fmt::format("with {:.4f} % of a GPU's memory instead of {:.4f} %",
                                   static_cast<double>(fix.to) / 1e4,
                                   static_cast<double>(fix.asked) / 1e4);
            }
            return amount_text(fix, "MiB", "GPU memory");
        case FixKind::less_gpu_compute:
            if (fix.asked >= kWholeGpu.value()) {
                return fmt::format("with a share of {} milli instead of a whole GPU",
                                   grouped(fix.to));
            }
            return amount_text(fix, "milli", "GPU compute");
        case FixKind::less_cpu:
            return amount_text(fix, "milli-cores", "CPU");
        case FixKind::less_memory:
            return amount_text(fix, "MiB", "node memory");
        case FixKind::fewer_gpus:
            return fmt::format("with {} instead of {}", plural(fix.to, "GPU"), fix.asked);
        case FixKind::other_model:
            return fmt::format("if {} were allowed",
                               fix.model.valid()
                                   ? printable(names.vocabulary.models.name(fix.model))
                                   : "GPUs of unknown model");
        case FixKind::tolerate_taint:
            return "with a toleration of " +
                   printable(pair_text(fix.key, fix.value, names.vocabulary));
        case FixKind::without_selector:
            return "without node selector " +
                   printable(pair_text(fix.key, fix.value, names.vocabulary));
        case FixKind::without_affinity:
            return "without its required node affinity";
        case FixKind::without_pin:
            return fmt::format("if it were not pinned to {}",
                               printable(names.vocabulary.label_values.name(fix.value)));
        case FixKind::healthy_gpu:
            return "when GPUs that are unhealthy or drained are back";
        case FixKind::open_node:
            return "when cordoned nodes are opened";
        case FixKind::others_leave:
            break;
    }
    return "when other pods have left";
}

}  // namespace

std::string grouped(std::int64_t number) {
    std::string digits = fmt::format("{}", number);
    for (std::size_t at = digits.size(); at > 3 + (number < 0 ? 1U : 0U);) {
        at -= 3;
        digits.insert(at, 1, ' ');
    }
    return digits;
}

std::string plural(std::int64_t count, std::string_view what) {
    return fmt::format("{} {}{}", grouped(count), what, count == 1 ? "" : "s");
}

// The sentence of the code, with what stands in the way where that is the same on most nodes.
std::string reason_text(const RefusalCount& count, const DecisionNames& names) {
    std::string sentence(refusal_info(count.code).sentence);
    if (count.obstacle) {
        sentence += ": " + printable(obstacle_text(count.code, *count.obstacle, names.vocabulary));
        if (count.obstacle_nodes < count.nodes_any) {
            sentence += fmt::format(" on {}", grouped(count.obstacle_nodes));
        }
    }
    return sentence;
}

// With GPUs of unknown memory nobody can say that a pod will never fit.
std::string_view outlook(const Refusal& refusal) {
    const bool unknown = std::ranges::any_of(refusal.counts, [](const RefusalCount& count) {
        return count.code == RefusalCode::gpu_memory_unknown && count.nodes > 0;
    });
    return unknown && refusal.kind == RefusalKind::never_here
               ? "it asks for GPU memory, and that of some GPUs is not known"
               : kind_outlook(refusal.kind);
}

std::string fix_text(const Fix& fix, const DecisionNames& names) {
    std::string where = fmt::format("on {}", plural(fix.nodes, "node"));
    if (fix.gpus > 0) {
        where = fmt::format("on {} of {}", plural(fix.gpus, "GPU"), plural(fix.nodes, "node"));
    }
    return fmt::format("{}: {}", change_text(fix, names), where);
}

std::string refusal_line(const Decision& decision, const DecisionNames& names) {
    std::string out = fmt::format("0/{} nodes are available", decision.nodes);
    char before = ':';
    for (const RefusalCount& count : decision.refusal.counts) {
        if (count.nodes > 0) {
            out += fmt::format("{} {} {}", before, count.nodes, reason_text(count, names));
            before = ',';
        }
    }
    out += '.';
    if (!decision.refusal.fixes.empty()) {
        out += fmt::format(" Would fit {}.", fix_text(decision.refusal.fixes.front(), names));
    }
    return out;
}

}  // namespace tessera
