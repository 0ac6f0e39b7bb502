// The terminal table of each protocol (report.h).
#include <algorithm>
#include <cmath>

#include "base/wording.h"
#include "sim/published_results.h"
#include "sim/report.h"

namespace tessera {

namespace {

using Rows = std::vector<std::vector<std::string>>;

std::vector<double> values(const PolicyResult& result, std::string_view name,
                           std::string_view key = {}) {
    std::vector<double> all;
    for (const Metrics& run : result.runs) {
        all.push_back(number(run, name, key));
    }
    return all;
}

// 12345678 -> "12.3 M"; for rates, where three digits say enough.
std::string short_count(double value) {
    if (value >= 1e6) {
        return fmt::format("{:.2f} M", value / 1e6);
    }
    return value >= 1e4 ? fmt::format("{:.0f} k", value / 1e3) : fmt::format("{:.0f}", value);
}

std::string plus_minus(const PolicyResult& result, std::string_view name,
                       std::string_view key = {}) {
    const MeanError error = mean_error(values(result, name, key));
    return result.runs.size() > 1 ? fmt::format("{:.2f} +-{:.2f}", error.mean, error.standard_error)
                                  : fmt::format("{:.2f}", error.mean);
}

// Ours beside the published mean: within the larger of 0.3 points and two standard errors, or not.
// Both are means of some seeds, so the error is that of their difference.
std::string published_cell(const PolicyResult& result, const char* percent,
                           const MeanError& published) {
    const MeanError ours = mean_error(values(result, "alloc_percent_at", percent));
    double difference = ours.mean - published.mean;
    const double error = std::hypot(ours.standard_error, published.standard_error);
    const bool within = std::abs(difference) <= std::max(0.3, 2 * error);
    difference = std::abs(difference) < 0.005 ? 0 : difference;  // never "-0.00"
    return fmt::format("{:.2f} {:+.2f}{}", published.mean, difference, within ? "" : " OFF");
}

std::string inflate_table(const std::vector<PolicyResult>& results, const ReportContext& context) {
    Rows rows{{"policy", "at 95", "at 100", "at 130", "refused", "first refusal", "decisions/s"}};
    bool published = false;
    for (const PolicyResult& result : results) {
        published = published || (context.against_published &&
                                  published_rate(context.workload, result.policy).has_value());
    }
    if (published) {
        rows[0].insert(rows[0].end(), {"published at 100", "published at 130"});
    }
    for (const PolicyResult& result : results) {
        rows.push_back({result.policy, plus_minus(result, "alloc_percent_at", "95"),
                        plus_minus(result, "alloc_percent_at", "100"),
                        plus_minus(result, "alloc_percent_at", "130"),
                        fmt::format("{:.0f}", number(result.mean, "failed_pods")),
                        fmt::format("{:.1f} %", number(result.mean, "first_refusal_percent")),
                        short_count(number(result.mean, "decisions_per_second"))});
        const auto rate = published_rate(context.workload, result.policy);
        if (published && rate) {
            rows.back().push_back(published_cell(result, "100", {rate->at_100, rate->error_100}));
            rows.back().push_back(published_cell(result, "130", {rate->at_130, rate->error_130}));
        }
    }
    std::string text =
        "Allocated GPU in % of capacity, at 95, 100 and 130 % arrived demand\n" + aligned(rows);
    if (published) {
        text +=
            "published: Weng et al., ATC 2023, mean of seeds 42-51; with our difference.\n"
            "OFF marks more than 0.3 points and two standard errors of the difference.\n";
    } else if (context.against_published) {
        text += fmt::format("nothing was published for workload \"{}\".\n", context.workload);
    }
    return text;
}

std::string churn_table(const std::vector<PolicyResult>& results) {
    Rows rows{{"policy", "allocated %", "refused GPU %", "refused: CPU", "share", "1", "2", "4",
               "8 GPUs", "decisions/s"}};
    for (const PolicyResult& result : results) {
        rows.push_back({result.policy, plus_minus(result, "alloc_percent"),
                        plus_minus(result, "refused_gpu_percent")});
        for (const char* key : {"0", "share", "1", "2", "4", "8"}) {
            rows.back().push_back(
                fmt::format("{:.2f}", number(result.mean, "refused_percent_by_gpus", key)));
        }
        rows.back().push_back(short_count(number(result.mean, "decisions_per_second")));
    }
    return "Allocated GPU in % of capacity; refused pods in % of those that came, by size\n" +
           aligned(rows);
}

std::string queue_table(const std::vector<PolicyResult>& results, const ReportContext& context) {
    Rows rows{{"policy", "wait mean", "p50", "p95", "p99", "8-GPU mean", "8-GPU p99", "completion",
               "makespan", "allocated %"}};
    const auto cell = [&](double value) {
        return context.in_seconds ? fmt::format("{:.0f}", value) : three_digits(value);
    };
    for (const PolicyResult& result : results) {
        const Metrics& mean = result.mean;
        rows.push_back({result.policy, cell(number(mean, "wait_mean")),
                        cell(number(mean, "wait_p50")), cell(number(mean, "wait_p95")),
                        cell(number(mean, "wait_p99")), cell(number(mean, "wait_by_gpus", "8")),
                        cell(number(mean, "wait_p99_by_gpus", "8")),
                        cell(number(mean, "completion_mean")), cell(number(mean, "makespan")),
                        fmt::format("{:.2f}", number(mean, "alloc_percent"))});
    }
    return fmt::format("Times in {}\n", context.in_seconds ? "seconds" : "% of a mean lifetime") +
           aligned(rows);
}

}  // namespace

std::string report_table(const std::vector<PolicyResult>& results, const ReportContext& context) {
    switch (context.protocol) {
        case Protocol::inflate:
            return inflate_table(results, context);
        case Protocol::churn:
            return churn_table(results);
        case Protocol::queue:
            break;
    }
    return queue_table(results, context);
}

}  // namespace tessera
