#include "telemetry/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Metrics, TheTextFormat) {
    Metrics metrics;
    metrics.counter({"tessera_binds_total", "Binds."}, {{"end", "bound"}}).add(3);
    metrics.counter({"tessera_binds_total", "Binds."}, {{"end", "refused"}}).add();
    Gauge& open = metrics.gauge({"tessera_open", "Open things."});
    open.set(4);
    open.add(-1.5);
    EXPECT_EQ(metrics.text(),
              "# HELP tessera_binds_total Binds.\n"
              "# TYPE tessera_binds_total counter\n"
              "tessera_binds_total{end=\"bound\"} 3\n"
              "tessera_binds_total{end=\"refused\"} 1\n"
              "# HELP tessera_open Open things.\n"
              "# TYPE tessera_open gauge\n"
              "tessera_open 2.5\n");
}

TEST(Metrics, LabelValuesAreEscaped) {
    Metrics metrics;
    metrics.gauge({"tessera_g", "G."}, {{"l", "a\"b\\c\nd"}}).set(1);
    EXPECT_THAT(metrics.text(), HasSubstr("tessera_g{l=\"a\\\"b\\\\c\\nd\"} 1\n"));
}

TEST(Metrics, AHistogramsBucketsAddUp) {
    Metrics metrics;
    const std::vector<double> bounds{0.1, 1, 10};
    Histogram& h = metrics.histogram({"tessera_h_seconds", "H."}, bounds, {{"verb", "bind"}});
    for (const double value : {0.05, 0.1, 0.5, 1.0, 7.0, 100.0}) {
        h.observe(value);
    }
    EXPECT_EQ(metrics.text(),
              "# HELP tessera_h_seconds H.\n"
              "# TYPE tessera_h_seconds histogram\n"
              "tessera_h_seconds_count{verb=\"bind\"} 6\n"
              "tessera_h_seconds_sum{verb=\"bind\"} 108.65\n"
              "tessera_h_seconds_bucket{verb=\"bind\",le=\"0.1\"} 2\n"
              "tessera_h_seconds_bucket{verb=\"bind\",le=\"1\"} 4\n"
              "tessera_h_seconds_bucket{verb=\"bind\",le=\"10\"} 5\n"
              "tessera_h_seconds_bucket{verb=\"bind\",le=\"+Inf\"} 6\n");
}

TEST(Metrics, TheSameNameAndLabelsAreTheSameMetric) {
    Metrics metrics;
    Counter& one = metrics.counter({"tessera_a_total", "A."}, {{"x", "1"}});
    EXPECT_EQ(&metrics.counter({"tessera_a_total", "A."}, {{"x", "1"}}), &one);
    EXPECT_NE(&metrics.counter({"tessera_a_total", "A."}, {{"x", "2"}}), &one);
}

TEST(Metrics, PulledValuesAreThoseOfNow) {
    Metrics metrics;
    double pods = 1;
    metrics.pull({"tessera_pods", "Pods."}, MetricKind::gauge, [&](const auto& tell) {
        tell({{"state", "assumed"}}, pods);
        tell({{"state", "confirmed"}}, 7);
    });
    metrics.pull({"tessera_lists_total", "Lists."}, MetricKind::counter, [&](const auto& tell) {
        // Metrics may be made and read meanwhile: no lock is held.
        metrics.counter({"tessera_made_total", "Made."}).add();
        tell({}, 12);
    });
    EXPECT_THAT(metrics.text(), HasSubstr("tessera_pods{state=\"assumed\"} 1\n"
                                          "tessera_pods{state=\"confirmed\"} 7\n"));
    pods = 2;
    const std::string text = metrics.text();
    EXPECT_THAT(text, HasSubstr("tessera_pods{state=\"assumed\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("# TYPE tessera_lists_total counter\ntessera_lists_total 12\n"));
    EXPECT_THAT(text, HasSubstr("tessera_made_total 1\n"));
}

TEST(Metrics, NumbersThatAreNone) {
    Metrics metrics;
    metrics.gauge({"tessera_nan", "N."}).set(std::numeric_limits<double>::quiet_NaN());
    metrics.gauge({"tessera_inf", "I."}).set(std::numeric_limits<double>::infinity());
    EXPECT_THAT(metrics.text(), HasSubstr("tessera_nan Nan\n"));
    EXPECT_THAT(metrics.text(), HasSubstr("tessera_inf +Inf\n"));
}

TEST(Metrics, ManyThreadsLoseNothing) {
    Metrics metrics;
    Counter& counter = metrics.counter({"tessera_c_total", "C."});
    Gauge& gauge = metrics.gauge({"tessera_g", "G."});
    Histogram& histogram = metrics.histogram({"tessera_h", "H."}, kSecondsBounds);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 2000; ++i) {
                counter.add();
                gauge.add(1);
                histogram.observe(i % 2 == 0 ? 0.001 : 100);
                if (i % 500 == 0) {
                    metrics.gauge({"tessera_made", "M."}, {{"t", std::to_string(t)}}).set(i);
                    EXPECT_THAT(metrics.text(), Not(HasSubstr("tessera_made{} ")));
                }
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(counter.value(), 8000);
    EXPECT_EQ(gauge.value(), 8000);
    EXPECT_EQ(histogram.count(4), 4000) << "0.001 belongs to the bucket that ends there";
    EXPECT_EQ(histogram.count(std::size(kSecondsBounds)), 4000);
}

TEST(MetricsDeathTest, FaultsOfOursAreSeenAtOnce) {
    Metrics metrics;
    metrics.counter({"tessera_a_total", "A."});
    EXPECT_DEATH(metrics.counter({"a_total", "A."}), "begins with tessera_");
    EXPECT_DEATH(metrics.counter({"tessera_a-b_total", "A."}), "letters");
    EXPECT_DEATH(metrics.counter({"tessera_a", "A."}), "_total");
    EXPECT_DEATH(metrics.gauge({"tessera_g_total", "A."}), "_total");
    EXPECT_DEATH(metrics.counter({"tessera_a_total", "B."}), "one help text");
    EXPECT_DEATH(metrics.counter({"tessera_a_total", "A."}, {{"le-x", "1"}}), "labels");
    EXPECT_DEATH(metrics.gauge({"tessera_g", "A\nB."}), "one plain line");
    const std::vector<double> falling{2, 1};
    EXPECT_DEATH(metrics.histogram({"tessera_h", "H."}, falling), "rise");
}

}  // namespace
}  // namespace tessera
