#include "sim/metrics.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace tessera {

namespace {

constexpr int kReportedPercents[] = {95, 100, 130};
constexpr std::size_t kAlwaysShownKeys = 10;  // "0", "share", "1" ... "8"

// One number per pod size, 0 where no such pod came; nodes with more than 8 GPUs add keys only
// where pods use them.
template <class Entry, class Shown, class Value>
KeyedNumbers by_gpus(const std::array<Entry, kSizeKeys>& sizes, Shown shown, Value value) {
    KeyedNumbers numbers;
    for (std::size_t key = 0; key < kSizeKeys; ++key) {
        if (key < kAlwaysShownKeys || shown(sizes[key])) {
            numbers.push_back({size_key_name(key), value(sizes[key]), shown(sizes[key])});
        }
    }
    return numbers;
}

double as_number(const Metric& metric) {
    if (const auto* integer = std::get_if<std::int64_t>(&metric.value)) {
        return static_cast<double>(*integer);
    }
    return std::get<double>(metric.value);
}

const Metric* find(const Metrics& metrics, std::string_view name) {
    for (const Metric& metric : metrics) {
        if (metric.name == name) {
            return &metric;
        }
    }
    return nullptr;
}

// Mean by key over the runs that have something there: a size that came in one run of ten has that
// run's number, not a tenth of it.
KeyedNumbers mean_by_key(std::span<const Metrics> runs, std::size_t place) {
    KeyedNumbers means;
    std::vector<double> counts;
    for (const Metrics& run : runs) {
        for (const KeyedNumber& number : std::get<KeyedNumbers>(run[place].value)) {
            std::size_t at = 0;
            while (at < means.size() && means[at].key != number.key) {
                ++at;
            }
            if (at == means.size()) {
                means.push_back({number.key, 0, false});
                counts.push_back(0);
            }
            if (number.any) {
                means[at].any = true;
                means[at].value += number.value;
                counts[at] += 1;
            }
        }
    }
    for (std::size_t i = 0; i < means.size(); ++i) {
        means[i].value /= std::max(1.0, counts[i]);
    }
    return means;
}

}  // namespace

Metrics metrics_of(const InflateRun& run) {
    KeyedNumbers at;
    for (const int percent : kReportedPercents) {
        at.push_back({std::to_string(percent), run.allocated.at(percent)});
    }
    return {{"allocated_milli", run.end.gpu_milli},
            {"failed_pods", run.end.refused},
            {"alloc_percent_at", std::move(at)},
            {"first_refusal_percent", run.first_refusal_percent},
            {"decisions_per_second", run.decisions_per_second},
            {"gpus_touched", run.gpus_touched},
            {"core_milli", run.end.core_milli},
            {"memory_mib", run.end.memory_mib},
            {"arrivals", run.arrivals}};
}

Metrics metrics_of(const ChurnRun& run) {
    return {{"alloc_percent", run.alloc_percent},
            {"refused_gpu_percent", run.refused_gpu_percent},
            {"refused_percent_by_gpus",
             by_gpus(
                 run.by_size, [](const SizeCount& size) { return size.offered > 0; },
                 [](const SizeCount& size) { return size.percent(); })},
            {"decisions_per_second", run.decisions_per_second},
            {"arrivals", run.arrivals}};
}

Metrics metrics_of(const QueueRun& run) {
    const auto shown = [](const WaitSummary& wait) { return wait.pods > 0; };
    return {{"wait_mean", run.wait.mean},
            {"wait_p50", run.wait.p50},
            {"wait_p95", run.wait.p95},
            {"wait_p99", run.wait.p99},
            {"completion_mean", run.completion_mean},
            {"wait_by_gpus",
             by_gpus(run.by_size, shown, [](const WaitSummary& wait) { return wait.mean; })},
            {"wait_p99_by_gpus",
             by_gpus(run.by_size, shown, [](const WaitSummary& wait) { return wait.p99; })},
            {"makespan", run.makespan},
            {"alloc_percent", run.alloc_percent},
            {"waiting_at_end", run.waiting_at_end},
            {"decisions_per_second", run.decisions_per_second},
            {"arrivals", run.arrivals}};
}

Metrics mean_of(std::span<const Metrics> runs) {
    Metrics means;
    for (std::size_t place = 0; !runs.empty() && place < runs.front().size(); ++place) {
        const Metric& first = runs.front()[place];
        if (std::holds_alternative<KeyedNumbers>(first.value)) {
            means.push_back({first.name, mean_by_key(runs, place)});
            continue;
        }
        double sum = 0;
        for (const Metrics& run : runs) {
            sum += as_number(run[place]);
        }
        means.push_back({first.name, sum / static_cast<double>(runs.size())});
    }
    return means;
}

double number(const Metrics& metrics, std::string_view name, std::string_view key) {
    const Metric* metric = find(metrics, name);
    TESSERA_ASSERT(metric != nullptr, "a metric is asked for by its name");
    const auto* keyed = std::get_if<KeyedNumbers>(&metric->value);
    if (keyed == nullptr) {
        return as_number(*metric);
    }
    for (const KeyedNumber& one : *keyed) {
        if (one.key == key) {
            return one.value;
        }
    }
    return 0;
}

MeanError mean_error(std::span<const double> values) {
    MeanError result;
    if (values.empty()) {
        return result;
    }
    const auto count = static_cast<double>(values.size());
    for (const double value : values) {
        result.mean += value / count;
    }
    if (values.size() > 1) {
        double squares = 0;
        for (const double value : values) {
            squares += (value - result.mean) * (value - result.mean);
        }
        result.standard_error = std::sqrt(squares / (count - 1) / count);
    }
    return result;
}

}  // namespace tessera
