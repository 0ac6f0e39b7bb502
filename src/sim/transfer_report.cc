// Verdicts and reports of the transfer suite (transfer_suite.h).
#include <cmath>

#include "base/json_writer.h"
#include "base/wording.h"
#include "codec/csv.h"
#include "sim/report.h"
#include "sim/transfer_suite.h"

namespace tessera {

namespace {

constexpr double kPointsThatCount = 0.1;

std::string difference_cell(const MeasureResult& result) {
    const MeanError difference = result.difference();
    const auto shown = [&](double mean) {
        return is_wait(result.measure) ? three_digits(mean) : fmt::format("{:.2f}", mean);
    };
    std::string text = shown(result.reference_mean()) + " -> " + shown(result.candidate_mean());
    if (!is_wait(result.measure)) {
        text += fmt::format(" {:+.2f} +-{:.2f}", difference.mean, difference.standard_error);
    }
    if (result.verdict() == Verdict::loss) {
        text += is_wait(result.measure) ? " worse" : " LOSS";
    }
    return text;
}

void write_measure(JsonWriter& json, const MeasureResult& result) {
    json.begin_object();
    json.member("measure", to_string(result.measure));
    json.member("reference", result.reference_mean());
    json.member("candidate", result.candidate_mean());
    json.member("difference", result.difference().mean);
    json.member("standard_error", result.difference().standard_error);
    json.member("verdict", to_string(result.verdict()));
    const auto pair = [&](std::string_view name,
                          const std::optional<std::array<double, 2>>& values) {
        if (values) {
            json.key(name);
            json.begin_object();
            json.member("reference", (*values)[0]);
            json.member("candidate", (*values)[1]);
            json.end_object();
        }
    };
    pair("refused_gpu_percent", result.refused);
    pair("refused_whole_node_percent", result.refused_whole_node);
    json.end_object();
}

}  // namespace

std::string_view to_string(Measure measure) {
    constexpr std::array<std::string_view, kMeasures> kNames{
        "saturation", "churn 0.9", "churn 1.0", "wait, backfill 0.9", "wait, strict 0.85"};
    return kNames[static_cast<std::size_t>(measure)];
}

std::string_view to_string(Verdict verdict) {
    constexpr std::array<std::string_view, 3> kNames{"win", "tie", "loss"};
    return kNames[static_cast<std::size_t>(verdict)];
}

double MeasureResult::reference_mean() const { return mean_error(reference).mean; }
double MeasureResult::candidate_mean() const { return mean_error(candidate).mean; }

MeanError MeasureResult::difference() const {
    std::vector<double> differences;
    for (std::size_t i = 0; i < reference.size(); ++i) {
        differences.push_back(candidate[i] - reference[i]);
    }
    return mean_error(differences);
}

Verdict MeasureResult::verdict() const {
    const MeanError difference_of_means = difference();
    const double gain = is_wait(measure) ? -difference_of_means.mean : difference_of_means.mean;
    const double least = is_wait(measure) ? 0 : kPointsThatCount;
    if (std::abs(gain) <= least || std::abs(gain) <= 2 * difference_of_means.standard_error) {
        return Verdict::tie;
    }
    return gain > 0 ? Verdict::win : Verdict::loss;
}

std::size_t lost_cells(const std::vector<CellResult>& results) {
    std::size_t lost = 0;
    for (const CellResult& cell : results) {
        for (const MeasureResult& measure : cell.measures) {
            lost += !is_wait(measure.measure) && measure.verdict() == Verdict::loss ? 1 : 0;
        }
    }
    return lost;
}

std::string transfer_table(const std::vector<CellResult>& results, const TransferOptions& options) {
    std::vector<std::vector<std::string>> rows{{"cluster; pods"}};
    for (std::size_t m = 0; m < kMeasures; ++m) {
        rows[0].emplace_back(to_string(static_cast<Measure>(m)));
    }
    rows[0].emplace_back("refused GPU % 0.9, 1.0");
    rows[0].emplace_back("whole-node refused % 0.9, 1.0");
    std::array<std::int64_t, 3> verdicts{};
    for (const CellResult& cell : results) {
        rows.push_back({cell.cell.name()});
        std::string refused;
        std::string whole;
        for (const MeasureResult& measure : cell.measures) {
            rows.back().push_back(difference_cell(measure));
            if (!is_wait(measure.measure)) {
                ++verdicts[static_cast<std::size_t>(measure.verdict())];
            }
            if (measure.refused) {
                refused += fmt::format("{}{:+.2f}", refused.empty() ? "" : ", ",
                                       (*measure.refused)[1] - (*measure.refused)[0]);
            }
            if (measure.refused_whole_node) {
                whole +=
                    fmt::format("{}{:.0f} -> {:.0f}", whole.empty() ? "" : ", ",
                                (*measure.refused_whole_node)[0], (*measure.refused_whole_node)[1]);
            }
        }
        rows.back().push_back(refused);
        rows.back().push_back(whole.empty() ? "none offered" : whole);
    }
    return fmt::format(
               "{} -> {}, {}, paired; +- is one standard error; waits in % of a "
               "mean lifetime\n{}",
               options.reference.name(), options.candidate.name(),
               counted(std::ssize(options.seeds), "seed"), aligned(rows)) +
           fmt::format(
               "allocation cells: {}, {}, {} (more than {} points and two standard errors)\n",
               counted(verdicts[0], "win"), counted(verdicts[1], "tie"),
               counted(verdicts[2], "loss", "es"), kPointsThatCount);
}

std::string transfer_json(const std::vector<CellResult>& results, const TransferOptions& options) {
    JsonWriter json;
    json.begin_object();
    json.member("suite", "transfer");
    json.member("reference", options.reference.name());
    json.member("candidate", options.candidate.name());
    json.member("data", options.data.empty() ? "generated" : "lists");
    json.key("seeds");
    json.begin_array();
    for (const std::uint64_t seed : options.seeds) {
        json.value(seed);
    }
    json.end_array();
    json.key("cells");
    json.begin_array();
    for (const CellResult& cell : results) {
        json.begin_object();
        json.member("cluster", cell.cell.cluster);
        json.member("nodes", cell.cell.nodes);
        json.member("pods", cell.cell.pods);
        json.member("dropped_pods", cell.dropped);
        json.key("results");
        json.begin_array();
        for (const MeasureResult& measure : cell.measures) {
            write_measure(json, measure);
        }
        json.end_array();
        json.end_object();
    }
    json.end_array();
    json.member("losses", lost_cells(results));
    json.end_object();
    return json.take() + "\n";
}

std::string transfer_csv(const std::vector<CellResult>& results) {
    std::string text =
        "cluster,nodes,pods,measure,reference,candidate,difference,standard_error,verdict\n";
    for (const CellResult& cell : results) {
        for (const MeasureResult& measure : cell.measures) {
            const MeanError difference = measure.difference();
            text += fmt::format("{},{},{},{},{:.6f},{:.6f},{:.6f},{:.6f},{}\n",
                                csv_field(cell.cell.cluster), csv_field(cell.cell.nodes),
                                cell.cell.pods, csv_field(to_string(measure.measure)),
                                measure.reference_mean(), measure.candidate_mean(), difference.mean,
                                difference.standard_error, to_string(measure.verdict()));
        }
    }
    return text;
}

}  // namespace tessera
