#include "sim/metrics.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Metrics, ASizeThatCameInOneRunHasThatRunsNumber) {
    ChurnRun with;
    with.by_size[9].offered = 4;  // pods of 8 GPUs
    with.by_size[9].refused = 2;
    const Metrics runs[] = {metrics_of(with), metrics_of(ChurnRun{}), metrics_of(ChurnRun{})};
    const Metrics mean = mean_of(runs);
    EXPECT_DOUBLE_EQ(number(mean, "refused_percent_by_gpus", "8"), 50);
    EXPECT_DOUBLE_EQ(number(mean, "refused_percent_by_gpus", "4"), 0) << "none came: 0, not null";
}

TEST(Metrics, MeansAreOverAllRuns) {
    ChurnRun one;
    one.alloc_percent = 90;
    ChurnRun other;
    other.alloc_percent = 80;
    const Metrics runs[] = {metrics_of(one), metrics_of(other)};
    EXPECT_DOUBLE_EQ(number(mean_of(runs), "alloc_percent"), 85);
}

TEST(Metrics, MeanAndItsStandardError) {
    const double values[] = {1, 2, 3};
    EXPECT_DOUBLE_EQ(mean_error(values).mean, 2);
    EXPECT_NEAR(mean_error(values).standard_error, 0.5773503, 1e-6);
    EXPECT_DOUBLE_EQ(mean_error(std::span(values).first(1)).standard_error, 0);
    EXPECT_DOUBLE_EQ(mean_error({}).mean, 0);
}

}  // namespace
}  // namespace tessera
