// The transfer suite: does a policy hold its own on clusters and pods it was not made for?
//
// A cell is a cluster and a kind of pods. Each is measured five ways (allocated at saturation,
// under churn at loads 0.9 and 1.0, mean wait with backfill at 0.9 and in strict order at 0.85),
// with two policies on the same pods in the same order: the differences are paired, and their
// standard error says which are real. Pods are generated, or come from the public lists where they
// are.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sim/experiment.h"
#include "sim/policy_source.h"

namespace tessera {

struct TransferCell {
    std::string_view cluster;  // how it is called
    std::string_view nodes;    // a list in one line, or a name (openb, spot-quarter)
    std::string_view pods;     // a workload kind
    int draws = 1;             // arrival-only runs per seed: small clusters vary more

    std::string name() const;
};
std::span<const TransferCell> transfer_cells();

enum class Measure : std::uint8_t { saturation, churn_90, churn_100, backfill_90, strict_85 };
inline constexpr std::size_t kMeasures = 5;
std::string_view to_string(Measure measure);
// Waits are better when smaller, allocation when larger.
constexpr bool is_wait(Measure measure) { return measure >= Measure::backfill_90; }

struct TransferOptions {
    PolicySource reference;
    PolicySource candidate;
    std::vector<std::uint64_t> seeds;
    std::string cells;  // only those whose name contains this
    std::string data;   // directory of the public lists; empty: generated
    bool quick = false;
    std::size_t threads = 0;
};

enum class Verdict : std::uint8_t { win, tie, loss };
std::string_view to_string(Verdict verdict);

// Reference and candidate, by seed, and what they say.
struct MeasureResult {
    Measure measure = Measure::saturation;
    std::vector<double> reference;
    std::vector<double> candidate;
    // Under churn: refused GPU demand, and refused pods of more than half a node's GPUs, in %.
    std::optional<std::array<double, 2>> refused;
    std::optional<std::array<double, 2>> refused_whole_node;

    double reference_mean() const;
    double candidate_mean() const;
    MeanError difference() const;  // candidate - reference, paired
    // Allocation: beyond 0.1 points and two standard errors. Waits: beyond two standard errors.
    Verdict verdict() const;
};

struct CellResult {
    TransferCell cell;
    std::size_t dropped = 0;  // pods that fit on no node
    std::vector<MeasureResult> measures;
};

Expected<std::vector<CellResult>> run_transfer_suite(const TransferOptions& options,
                                                     ExperimentProgress& progress);

std::string transfer_table(const std::vector<CellResult>& results, const TransferOptions& options);
std::string transfer_json(const std::vector<CellResult>& results, const TransferOptions& options);
std::string transfer_csv(const std::vector<CellResult>& results);
// Cells lost in allocation: what the suite is judged by.
std::size_t lost_cells(const std::vector<CellResult>& results);

}  // namespace tessera
