#include "telemetry/metrics.h"

#include <prometheus/check_names.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <mutex>
#include <sstream>

#include "base/assert.h"

namespace tessera {
namespace {

std::vector<prometheus::ClientMetric::Label> labels_of(const MetricLabels& labels) {
    std::vector<prometheus::ClientMetric::Label> out;
    for (const auto& [name, value] : labels) {
        out.push_back({name, value});
    }
    return out;
}

prometheus::ClientMetric sample(prometheus::MetricType type, const MetricLabels& labels,
                                double value) {
    prometheus::ClientMetric metric;
    metric.label = labels_of(labels);
    (type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
    return metric;
}

// Buckets count what is not above their bound. They are read one by one while others count on, so
// the total is theirs, never more or less.
prometheus::ClientMetric sample(const Histogram& histogram, const MetricLabels& labels) {
    prometheus::ClientMetric metric;
    metric.label = labels_of(labels);
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < histogram.bounds().size(); ++i) {
        total += histogram.count(i);
        metric.histogram.bucket.push_back({total, histogram.bounds()[i]});
    }
    metric.histogram.sample_count = total + histogram.count(histogram.bounds().size());
    metric.histogram.sample_sum = histogram.sum();
    return metric;
}

bool good_labels(const MetricLabels& labels) {
    return std::all_of(labels.begin(), labels.end(), [](const auto& label) {
        return prometheus::CheckLabelName(label.first) && label.first != "le";
    });
}

}  // namespace

Histogram::Histogram(std::span<const double> bounds)
    : bounds_(bounds.begin(), bounds.end()),
      counts_(std::make_unique<std::atomic<std::uint64_t>[]>(bounds.size() + 1)) {
    TESSERA_ASSERT(std::is_sorted(bounds_.begin(), bounds_.end(), std::less_equal<>()),
                   "the bounds of a histogram rise");
}

void Histogram::observe(double value) {
    const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
    counts_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
}

std::uint64_t Histogram::count(std::size_t bucket) const {
    return counts_[bucket].load(std::memory_order_relaxed);
}

// All metrics of one name.
struct Metrics::Family {
    template <class T>
    struct Member {
        MetricLabels labels;
        std::unique_ptr<T> metric;
    };

    std::string name;
    std::string help;
    prometheus::MetricType type{};
    std::vector<Member<Counter>> counters;
    std::vector<Member<Gauge>> gauges;
    std::vector<Member<Histogram>> histograms;
    std::vector<Pull> pulls;
};

struct Metrics::Inner {
    Family& family(const MetricName& name, prometheus::MetricType type) {
        using prometheus::MetricType;
        const auto found = std::find_if(families.begin(), families.end(), [&](const auto& known) {
            return known->name == name.name;
        });
        if (found != families.end()) {
            TESSERA_ASSERT((*found)->type == type && (*found)->help == name.help,
                           "a metric's name has one kind and one help text");
            return **found;
        }
        TESSERA_ASSERT(name.name.starts_with("tessera_") &&
                           prometheus::CheckMetricName(std::string(name.name)),
                       "the name of a metric begins with tessera_ and is in Prometheus' letters");
        TESSERA_ASSERT((type == MetricType::Counter) == name.name.ends_with("_total"),
                       "counters, and they alone, end in _total");
        TESSERA_ASSERT(name.help.find_first_of("\n\\") == std::string_view::npos,
                       "a help text is one plain line: it is written as it is");
        families.push_back(std::make_unique<Family>(
            Family{std::string(name.name), std::string(name.help), type, {}, {}, {}, {}}));
        return *families.back();
    }
    template <class T, class... Args>
    static T& member(std::vector<Family::Member<T>>& members, MetricLabels labels,
                     const Args&... args) {
        TESSERA_ASSERT(good_labels(labels), "labels are in Prometheus' letters");
        for (const auto& known : members) {
            if (known.labels == labels) {
                return *known.metric;
            }
        }
        members.push_back({std::move(labels), std::make_unique<T>(args...)});
        return *members.back().metric;
    }

    mutable std::mutex mutex;  // of making, and of reading the lists
    std::vector<std::unique_ptr<Family>> families;
};

Metrics::Metrics() : inner_(std::make_unique<Inner>()) {}
Metrics::~Metrics() = default;

Counter& Metrics::counter(const MetricName& name, MetricLabels labels) {
    const std::lock_guard lock(inner_->mutex);
    Family& family = inner_->family(name, prometheus::MetricType::Counter);
    return Inner::member(family.counters, std::move(labels));
}

Gauge& Metrics::gauge(const MetricName& name, MetricLabels labels) {
    const std::lock_guard lock(inner_->mutex);
    Family& family = inner_->family(name, prometheus::MetricType::Gauge);
    return Inner::member(family.gauges, std::move(labels));
}

Histogram& Metrics::histogram(const MetricName& name, std::span<const double> bounds,
                              MetricLabels labels) {
    const std::lock_guard lock(inner_->mutex);
    Family& family = inner_->family(name, prometheus::MetricType::Histogram);
    return Inner::member(family.histograms, std::move(labels), bounds);
}

void Metrics::pull(const MetricName& name, MetricKind kind, Pull read) {
    const std::lock_guard lock(inner_->mutex);
    inner_
        ->family(name, kind == MetricKind::counter ? prometheus::MetricType::Counter
                                                   : prometheus::MetricType::Gauge)
        .pulls.push_back(std::move(read));
}

std::string Metrics::text() const {
    std::vector<prometheus::MetricFamily> families;
    std::vector<std::vector<Pull>> pulls;  // of each family: called when the lock is gone
    {
        const std::lock_guard lock(inner_->mutex);
        for (const auto& family : inner_->families) {
            auto& out = families.emplace_back();
            out.name = family->name;
            out.help = family->help;
            out.type = family->type;
            for (const auto& [labels, metric] : family->counters) {
                out.metric.push_back(
                    sample(family->type, labels, static_cast<double>(metric->value())));
            }
            for (const auto& [labels, metric] : family->gauges) {
                out.metric.push_back(sample(family->type, labels, metric->value()));
            }
            for (const auto& [labels, metric] : family->histograms) {
                out.metric.push_back(sample(*metric, labels));
            }
            pulls.push_back(family->pulls);
        }
    }
    for (std::size_t i = 0; i < families.size(); ++i) {
        for (const Pull& pull : pulls[i]) {
            pull([&](const MetricLabels& labels, double value) {
                TESSERA_ASSERT(good_labels(labels), "labels are in Prometheus' letters");
                families[i].metric.push_back(sample(families[i].type, labels, value));
            });
        }
    }
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, families);
    return out.str();
}

}  // namespace tessera
