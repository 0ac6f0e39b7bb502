// Results as named numbers, so that JSON, CSV and tables need not know the protocols.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/churn.h"
#include "sim/inflate.h"
#include "sim/queue.h"

namespace tessera {

// A number by key, as in alloc_percent_at {"95": ..., "100": ...}.
struct KeyedNumber {
    std::string key;
    double value = 0;
    bool any = true;  // false: a 0 because there was nothing to measure
};
using KeyedNumbers = std::vector<KeyedNumber>;

struct Metric {
    std::string name;
    std::variant<std::int64_t, double, KeyedNumbers> value;
};
using Metrics = std::vector<Metric>;

// All without the seed, in the order in which they are shown.
Metrics metrics_of(const InflateRun& run);
Metrics metrics_of(const ChurnRun& run);
Metrics metrics_of(const QueueRun& run);

// Mean by name (and key, over the runs that have something there). Runs have the same names.
Metrics mean_of(std::span<const Metrics> runs);

// A single number by name and key; a number without keys has none. Absent names are a fault of
// ours.
double number(const Metrics& metrics, std::string_view name, std::string_view key = {});

struct MeanError {
    double mean = 0;
    double standard_error = 0;  // 0 for a single value
};
MeanError mean_error(std::span<const double> values);

}  // namespace tessera
