#include "sim/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sim/sim_fixture.h"

namespace tessera {
namespace {

Workload mixed() {
    return test_workload({test_pod(1, 500), test_pod(1, 1000), test_pod(8, 1000), test_pod(0, 0)});
}

double gpus_of(const Workload& workload, const StreamPod& pod) {
    return static_cast<double>(workload.gpu_milli[pod.pod]) / 1000;
}

// Offered GPU-time over capacity and time, and the standing population's demand, are the load.
TEST(Stream, OffersTheLoadItWasAskedFor) {
    const Workload workload = mixed();
    const auto nodes = test_nodes("5000x8g96c768Gi");
    for (const Lifetimes lifetimes : {Lifetimes::exp, Lifetimes::exp_size}) {
        const auto stream = draw_stream(workload, nodes, {3, 0.8, 60000, lifetimes});
        ASSERT_TRUE(stream.has_value());
        double offered = 0;
        double lives = 0;
        for (const StreamPod& pod : stream->arrivals) {
            offered += gpus_of(workload, pod) * pod.life;
            lives += pod.life;
        }
        EXPECT_NEAR(offered / stream->arrivals.back().time / 40000, 0.8, 0.03);
        EXPECT_NEAR(lives / 60000, 1, 0.02);
        double standing = 0;
        for (const StreamPod& pod : stream->standing) {
            standing += gpus_of(workload, pod);
        }
        EXPECT_NEAR(standing / 40000, 0.8, 0.04);
    }
}

TEST(Stream, LogNormalLivesHaveTheirMedian) {
    const Workload workload = mixed();
    const auto nodes = test_nodes("20x8g96c768Gi");
    const auto stream = draw_stream(workload, nodes, {3, 1.0, 20001, Lifetimes::logn});
    std::vector<double> lives;
    for (const StreamPod& pod : stream->arrivals) {
        lives.push_back(pod.life);
    }
    std::nth_element(lives.begin(), lives.begin() + 10000, lives.end());
    EXPECT_NEAR(std::log(lives[10000]), -2, 0.06);  // mean 1, sigma 2
}

TEST(Stream, StandingPopulationStopsAtNineTenths) {
    const auto nodes = test_nodes("500x8g96c768Gi");
    const Workload workload = test_workload({test_pod(1, 1000)});
    const auto stream = draw_stream(workload, nodes, {1, 1.5, 10, Lifetimes::exp});
    EXPECT_NEAR(static_cast<double>(stream->standing.size()) / 4000, 0.9, 0.05);
}

TEST(Stream, RefusesWhatHasNoLoad) {
    const auto cpu = test_workload({test_pod(0, 0)});
    EXPECT_FALSE(draw_stream(cpu, test_nodes("1x8g96c768Gi"), {}).has_value());
    EXPECT_FALSE(draw_stream(mixed(), test_nodes("1x0g96c768Gi"), {}).has_value());
}

TEST(Stream, TraceTimesAreTakenOrStretched) {
    TracePod late = test_pod(1, 1000);
    late.submit_s = 1100;
    late.duration_s = 50;
    TracePod early = late;
    early.submit_s = 1000;
    TracePod untimed = test_pod(1, 1000);
    const Workload workload = test_workload({late, untimed, early});
    const auto nodes = test_nodes("1x1g96c768Gi");
    const auto as_is = trace_stream(workload, nodes, {1, {}});
    ASSERT_TRUE(as_is.has_value());
    ASSERT_EQ(as_is->arrivals.size(), 2U);
    EXPECT_EQ(as_is->untimed, 1U);
    EXPECT_EQ(as_is->arrivals[0].pod, 2U);
    EXPECT_EQ(as_is->arrivals[1].time, 100);
    const auto stretched = trace_stream(workload, nodes, {1, 0.5});
    EXPECT_DOUBLE_EQ(stretched->arrivals[1].time, 200);  // 100 GPU-seconds in 200 s on one GPU
    EXPECT_THAT(trace_stream(test_workload({untimed}), nodes, {}).error().message,
                testing::HasSubstr("--times draw"));
}

}  // namespace
}  // namespace tessera
