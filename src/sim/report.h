// Results for people and programs: a table for the terminal, JSON, CSV.
#pragma once

#include <string>
#include <vector>

#include "sim/experiment.h"

namespace tessera {

struct ReportContext {
    Protocol protocol = Protocol::inflate;
    std::string workload;
    bool in_seconds = false;         // waits of a trace's own times
    bool against_published = false;  // put the published table beside ours
};

// One object for one policy, an array for several.
std::string report_json(const std::vector<PolicyResult>& results, const ReportContext& context);
// One row per run and one for the mean of each policy.
std::string report_csv(const std::vector<PolicyResult>& results, const ReportContext& context);
std::string report_table(const std::vector<PolicyResult>& results, const ReportContext& context);

// Rows of text in columns that line up; the first column to the left, numbers to the right.
std::string aligned(const std::vector<std::vector<std::string>>& rows);

}  // namespace tessera
