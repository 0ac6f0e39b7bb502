#include "sim/report.h"

#include <algorithm>
#include <cmath>

#include "base/json_writer.h"
#include "base/text.h"
#include "codec/csv.h"

namespace tessera {

namespace {

void write_metrics(JsonWriter& json, const Metrics& metrics) {
    for (const Metric& metric : metrics) {
        json.key(metric.name);
        if (const auto* integer = std::get_if<std::int64_t>(&metric.value)) {
            json.value(*integer);
        } else if (const auto* real = std::get_if<double>(&metric.value)) {
            json.value(*real);
        } else {
            json.begin_object();
            for (const KeyedNumber& number : std::get<KeyedNumbers>(metric.value)) {
                json.member(number.key, number.value);
            }
            json.end_object();
        }
    }
}

void write_result(JsonWriter& json, const PolicyResult& result, const ReportContext& context) {
    json.begin_object();
    json.member("protocol", to_string(context.protocol));
    json.member("policy", result.policy);
    json.member("workload", context.workload);
    json.key("runs");
    json.begin_array();
    for (std::size_t i = 0; i < result.runs.size(); ++i) {
        json.begin_object();
        json.member("seed", result.seeds[i]);
        write_metrics(json, result.runs[i]);
        json.end_object();
    }
    json.end_array();
    json.key("mean");
    json.begin_object();
    write_metrics(json, result.mean);
    json.end_object();
    json.end_object();
}

// name, or name_key for every key of a keyed metric.
std::vector<std::string> csv_columns(const Metrics& metrics) {
    std::vector<std::string> columns;
    for (const Metric& metric : metrics) {
        if (const auto* keyed = std::get_if<KeyedNumbers>(&metric.value)) {
            for (const KeyedNumber& number : *keyed) {
                columns.push_back(fmt::format("{}_{}", metric.name, number.key));
            }
        } else {
            columns.push_back(metric.name);
        }
    }
    return columns;
}

void append_cells(std::string& line, const Metrics& metrics) {
    for (const Metric& metric : metrics) {
        if (const auto* integer = std::get_if<std::int64_t>(&metric.value)) {
            line += fmt::format(",{}", *integer);
        } else if (const auto* real = std::get_if<double>(&metric.value)) {
            line += fmt::format(",{}", *real);
        } else {
            for (const KeyedNumber& number : std::get<KeyedNumbers>(metric.value)) {
                line += fmt::format(",{}", number.value);
            }
        }
    }
}

// Runs of nodes with many GPUs may have more size keys than others; the header has to fit all.
const Metrics& widest(const std::vector<PolicyResult>& results) {
    const Metrics* most = &results.front().mean;
    for (const PolicyResult& result : results) {
        if (csv_columns(result.mean).size() > csv_columns(*most).size()) {
            most = &result.mean;
        }
    }
    return *most;
}

}  // namespace

std::string report_json(const std::vector<PolicyResult>& results, const ReportContext& context) {
    JsonWriter json;
    if (results.size() != 1) {
        json.begin_array();
    }
    for (const PolicyResult& result : results) {
        write_result(json, result, context);
    }
    if (results.size() != 1) {
        json.end_array();
    }
    return json.take() + "\n";
}

std::string report_csv(const std::vector<PolicyResult>& results, const ReportContext& context) {
    std::string text = "protocol,policy,workload,seed";
    for (const std::string& column : csv_columns(widest(results))) {
        text += "," + column;
    }
    text += "\n";
    for (const PolicyResult& result : results) {
        const std::string start =
            fmt::format("{},{},{}", to_string(context.protocol), csv_field(result.policy),
                        csv_field(context.workload));
        for (std::size_t i = 0; i < result.runs.size(); ++i) {
            text += fmt::format("{},{}", start, result.seeds[i]);
            append_cells(text, result.runs[i]);
            text += "\n";
        }
        text += start + ",mean";
        append_cells(text, result.mean);
        text += "\n";
    }
    return text;
}

std::string aligned(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], row[i].size());
        }
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += i == 0 ? fmt::format("{:<{}}", row[i], widths[i])
                           : fmt::format("  {:>{}}", row[i], widths[i]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

}  // namespace tessera
