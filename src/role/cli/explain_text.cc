#include "role/cli/explain_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "role/wording/decision_words.h"

namespace tessera::cli {
namespace {

constexpr std::string_view kGreen = "\x1b[32m";
constexpr std::string_view kRed = "\x1b[31m";
constexpr std::string_view kBold = "\x1b[1m";

std::string painted(std::string_view text, std::string_view colour, const TextStyle& style) {
    return style.colour ? fmt::format("{}{}\x1b[0m", colour, text) : std::string(text);
}

// Columns as wide as their widest cell; the first and the last to the left, the others right.
class Table {
  public:
    explicit Table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

    std::string text() const {
        std::vector<std::size_t> widths(rows_.front().size(), 0);
        for (const auto& row : rows_) {
            for (std::size_t i = 0; i < row.size(); ++i) {
                widths[i] = std::max(widths[i], row[i].size());
            }
        }
        std::string out;
        for (const auto& row : rows_) {
            std::string line = " ";
            for (std::size_t i = 0; i < row.size(); ++i) {
                const bool left = i == 0 || i + 1 == row.size();
                line += left ? fmt::format(" {:<{}} ", row[i], widths[i])
                             : fmt::format(" {:>{}} ", row[i], widths[i]);
            }
            line.erase(line.find_last_not_of(' ') + 1);
            out += line + '\n';
        }
        return out;
    }

  private:
    std::vector<std::vector<std::string>> rows_;
};

std::string gpu_list(const DeviceChoice& devices) {
    std::string list;
    for (const DeviceReason& reason : devices.taken) {
        list += fmt::format("{}{}", list.empty() ? "" : ", ", reason.gpu.value());
    }
    return (devices.taken.size() == 1 ? "GPU " : "GPUs ") + list;
}

std::string devices_text(const DeviceChoice& devices) {
    std::string out;
    for (const DeviceReason& reason : devices.taken) {
        out += fmt::format(
            "  GPU {}: {} milli{}, {}\n", reason.gpu.value(), grouped(reason.idle.value()),
            reason.memory_known
                ? fmt::format(" and {} MiB free", grouped(reason.free_memory.value()))
                : " free, memory unknown",
            reason.shares == 0 ? "empty" : plural(reason.shares, "share"));
    }
    if (devices.taken.size() == 1 && devices.fitting > 1) {
        out += fmt::format("  of {} that fit there{}\n", plural(devices.fitting, "GPU"),
                           devices.tightest   ? " it is the tightest"
                           : devices.emptiest ? " it is the emptiest"
                                              : " it costs the node least");
    } else if (devices.taken.size() > 1) {
        out += fmt::format("  of {} that fit there", plural(devices.fitting, "GPU"));
        out += devices.slowest_link ? fmt::format("; the slowest link between them is {}\n",
                                                  to_string(*devices.slowest_link))
                                    : "; nothing is known of their links\n";
    }
    return out;
}

std::string number(double value) {
    return value == static_cast<double>(static_cast<std::int64_t>(value))
               ? grouped(static_cast<std::int64_t>(value))
               : fmt::format("{:.2f}", value);
}

struct CandidateRow {
    const Candidate& candidate;
    std::string note;
};

std::string candidates_text(const std::vector<CandidateRow>& rows, const DecisionNames& names) {
    std::vector<std::string> head{"node", "score"};
    for (const ScoreTerm& term : rows.front().candidate.terms) {
        head.push_back(term.name);
    }
    head.emplace_back("");
    Table table(std::move(head));
    for (const CandidateRow& entry : rows) {
        std::vector<std::string> row{printable(names.node(entry.candidate.node)),
                                     number(entry.candidate.score)};
        for (const ScoreTerm& term : entry.candidate.terms) {
            row.push_back(number(term.value));
        }
        row.push_back(entry.note);
        table.add(std::move(row));
    }
    return table.text();
}

// Why the order is not that of the scores alone, where it is not.
std::string order_text(const std::vector<CandidateRow>& rows, std::string_view order) {
    for (std::size_t i = 1; i < rows.size(); ++i) {
        if (rows[i].candidate.score >= rows[i - 1].candidate.score) {
            return fmt::format("  {}\n", order);
        }
    }
    return {};
}

std::string refusals_text(const Decision& decision, const DecisionNames& names) {
    Table table({"reason", "nodes", "in all", "GPUs", ""});
    for (const RefusalCount& count : decision.refusal.counts) {
        const RefusalInfo& info = refusal_info(count.code);
        table.add({std::string(info.name), grouped(count.nodes), grouped(count.nodes_any),
                   grouped(count.gpus), reason_text(count, names)});
    }
    std::string out = table.text();
    if (decision.refusal.gpus_fitting > 0) {
        out += fmt::format("  {} of these nodes would serve by {}\n",
                           plural(decision.refusal.gpus_fitting, "GPU"),
                           decision.refusal.gpus_fitting == 1 ? "itself" : "themselves");
    }
    return out;
}

std::string placed_text(const Decision& decision, const DecisionNames& names,
                        const TextStyle& style) {
    const std::string node = printable(names.node(decision.placement->node));
    std::string out = painted(
        fmt::format("fits on {} of {}: goes to {}{}", plural(decision.nodes_fitting, "node"),
                    grouped(decision.nodes), node,
                    decision.devices.taken.empty() ? "" : ", " + gpu_list(decision.devices)),
        kGreen, style);
    out += '\n';
    out += devices_text(decision.devices);
    std::vector<CandidateRow> rows;
    const Candidate& chosen = decision.candidates.front();
    const bool by_lot = chosen.terms.empty();
    for (const Candidate& candidate : decision.candidates) {
        // A policy may take the second best.
        const bool passed_over = !by_lot && std::tuple(candidate.key, candidate.tie, chosen.node) >
                                                std::tuple(chosen.key, chosen.tie, candidate.node);
        rows.push_back({candidate, rows.empty() ? "chosen" : passed_over ? "passed over" : ""});
    }
    out += fmt::format("\n{} (policy {}{})\n", painted("why this node", kBold, style),
                       printable(decision.policy),
                       by_lot ? ", any node that fits, by a seeded draw" : ", larger is better");
    out += candidates_text(rows, names);
    out += by_lot ? "" : order_text(rows, decision.order);
    if (!decision.refusal.counts.empty()) {
        out += fmt::format("\n{}\n", painted("why not the others", kBold, style));
        out += refusals_text(decision, names);
    }
    return out;
}

std::string refused_text(const Decision& decision, const DecisionNames& names,
                         const TextStyle& style) {
    std::string out = painted(
        fmt::format("does not fit on any of {}", plural(decision.nodes, "node")), kRed, style);
    out += fmt::format(": {}\n\n{} (policy {})\n", outlook(decision.refusal),
                       painted("why", kBold, style), printable(decision.policy));
    out += refusals_text(decision, names);
    out += fmt::format(
        "\n{}\n",
        painted(style.one_of_many ? "one pod of it would fit" : "would fit", kBold, style));
    for (const Fix& fix : decision.refusal.fixes) {
        out += fmt::format("  {}\n", fix_text(fix, names));
    }
    if (decision.refusal.fixes.empty()) {
        out += "  by no single change\n";
    }
    return out;
}

}  // namespace

std::string decision_text(const Decision& decision, const DecisionNames& names,
                          const TextStyle& style) {
    return decision.placed() ? placed_text(decision, names, style)
                             : refused_text(decision, names, style);
}

std::string running_text(std::string_view pod, const RunningReport& report,
                         const DecisionNames& names, const TextStyle& style) {
    std::string out = painted(
        fmt::format("{} runs on {}{}", printable(pod), printable(names.node(report.placement.node)),
                    report.devices.taken.empty() ? "" : ", " + gpu_list(report.devices)),
        kGreen, style);
    out += "\nwithout it the node would look like this:\n";
    out += devices_text(report.devices);
    if (!report.fits_here) {
        out += "\nit would not fit on its node if it came now\n";
        out += decision_text(report.anew, names, style);
        return out;
    }
    std::vector<CandidateRow> rows{{report.here, "here"}};
    for (const Candidate& candidate : report.anew.candidates) {
        if (candidate.node != report.here.node) {
            rows.push_back(
                {candidate, rows.size() == 1 && report.better > 0 ? "would be chosen now" : ""});
        }
    }
    out +=
        fmt::format("\n{} (policy {}, larger is better)\n",
                    painted("its node's score now", kBold, style), printable(report.anew.policy));
    out += candidates_text(rows, names);
    out += order_text(rows, report.anew.order);
    out += report.better == 0
               ? "  no node would be better now\n"
               : fmt::format("  {} would come before it now\n", plural(report.better, "node"));
    return out;
}

std::string gang_text(const GangVerdict& verdict, std::int64_t size) {
    if (verdict.fits) {
        return fmt::format("all {} members fit together\n", grouped(size));
    }
    const RefusalInfo& info = refusal_info(verdict.code);
    return fmt::format("{}: {} ({} of {} fit now, {} on the empty cluster)\n", info.name,
                       info.sentence, grouped(verdict.members_now), grouped(size),
                       grouped(verdict.members_empty));
}

std::string replicas_text(const GangVerdict& verdict, std::int64_t size) {
    if (verdict.fits) {
        return fmt::format("all of its {} replicas would start now\n", grouped(size));
    }
    return fmt::format("{} of its {} replicas would start now, {} on the empty cluster\n",
                       grouped(verdict.members_now), grouped(size), grouped(verdict.members_empty));
}

}  // namespace tessera::cli
