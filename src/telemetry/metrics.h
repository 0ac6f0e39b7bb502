// Metrics for Prometheus: made once, then counted without a lock, written out when asked for.
//
//   Metrics metrics;
//   Counter& binds = metrics.counter({"tessera_binds_total", "Binds by their end."},
//                                    {{"end", "bound"}});
//   Histogram& took = metrics.histogram({"tessera_filter_seconds", "Time of a filter call."},
//                                       kSecondsBounds);
//   metrics.pull({"tessera_pods", "Pods by state."}, MetricKind::gauge, [&](const auto& tell) {
//       tell({{"state", "assumed"}}, ledger.assumed());
//   });
//   binds.add();  took.observe(0.0004);
//   answer(metrics.text());                        // Prometheus' text format 0.0.4
//
// Names begin with "tessera_", those of counters end in "_total". What is made lives as long as its
// Metrics; asking for the same name and labels again gives the same one. Labels are few and known
// when the program is written: no names of pods in them. All functions are for any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/function_ref.h"

namespace tessera {

struct MetricName {
    std::string_view name;
    std::string_view help;
};

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

enum class MetricKind : std::uint8_t { counter, gauge };

class Counter {
  public:
    void add(std::uint64_t count = 1) { value_.fetch_add(count, std::memory_order_relaxed); }
    std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::uint64_t> value_ = 0;
};

class Gauge {
  public:
    void set(double value) { value_.store(value, std::memory_order_relaxed); }
    void add(double change) { value_.fetch_add(change, std::memory_order_relaxed); }
    double value() const { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<double> value_ = 0;
};

class Histogram {
  public:
    // Upper bounds, rising; one more bucket holds what is above all.
    explicit Histogram(std::span<const double> bounds);

    void observe(double value);

    const std::vector<double>& bounds() const { return bounds_; }
    std::uint64_t count(std::size_t bucket) const;  // of this bucket alone
    double sum() const { return sum_.load(std::memory_order_relaxed); }

  private:
    std::vector<double> bounds_;
    std::unique_ptr<std::atomic<std::uint64_t>[]> counts_;
    std::atomic<double> sum_ = 0;
};

// For the time of calls: from 50 us to 10 s.
inline constexpr double kSecondsBounds[] = {0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025,
                                            0.005,   0.01,   0.025,   0.05,   0.1,   0.25,
                                            0.5,     1,      2.5,     5,      10};

class Metrics {
  public:
    // One sample of a pulled metric.
    using Tell = FunctionRef<void(MetricLabels, double)>;
    using Pull = std::function<void(const Tell&)>;

    Metrics();
    ~Metrics();
    Metrics(const Metrics&) = delete;
    Metrics& operator=(const Metrics&) = delete;

    Counter& counter(const MetricName& name, MetricLabels labels = {});
    Gauge& gauge(const MetricName& name, MetricLabels labels = {});
    Histogram& histogram(const MetricName& name, std::span<const double> bounds,
                         MetricLabels labels = {});
    // Asked by every text(), on its thread and without a lock of ours. What it reads must live as
    // long as somebody may ask.
    void pull(const MetricName& name, MetricKind kind, Pull read);

    std::string text() const;
    // Of that text, for the answer's header.
    static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

  private:
    struct Family;
    struct Inner;
    std::unique_ptr<Inner> inner_;
};

}  // namespace tessera
