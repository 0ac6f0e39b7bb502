#include "sim/queue.h"

#include <gtest/gtest.h>

#include "sim/sim_fixture.h"

namespace tessera {
namespace {

// Two GPUs. A runs on one; B wants two; C wants one and could go beside A.
Stream three_pods() {
    Stream stream;
    stream.in_seconds = true;
    stream.nodes = {0};
    stream.arrivals = {{0, 10, 0}, {1, 5, 1}, {2, 4, 0}};
    return stream;
}

QueueRun run(Discipline discipline, const Stream& stream, std::int32_t priority_of_one = 0) {
    const auto nodes = test_nodes("1x2g96c768Gi");
    std::vector<TracePod> pods{test_pod(1, 1000), test_pod(2, 1000)};
    pods[0].priority = priority_of_one;
    const Workload workload = test_workload(std::move(pods));
    return run_queue({&workload, &nodes, 1, nullptr}, stream, test_policy("bestfit", workload),
                     discipline);
}

TEST(Queue, StrictHoldsTheLine) {
    const QueueRun strict = run(Discipline::strict, three_pods());
    // B starts at 10, C behind it at 15.
    EXPECT_DOUBLE_EQ(strict.wait.mean, (0 + 9 + 13) / 3.0);
    EXPECT_DOUBLE_EQ(strict.makespan, 19);
    EXPECT_DOUBLE_EQ(strict.completion_mean, (10 + 14 + 17) / 3.0);
    EXPECT_DOUBLE_EQ(strict.by_size[3].mean, 9);
}

TEST(Queue, BackfillLetsSmallOnesPass) {
    const QueueRun backfill = run(Discipline::backfill, three_pods());
    EXPECT_DOUBLE_EQ(backfill.wait.mean, (0 + 9 + 0) / 3.0);
    EXPECT_DOUBLE_EQ(backfill.makespan, 15);
    EXPECT_EQ(backfill.waiting_at_end, 1);
}

TEST(Queue, PriorityGoesBeforeAge) {
    Stream stream = three_pods();
    stream.arrivals = {{0, 10, 1}, {1, 5, 1}, {2, 4, 0}};
    // Both wait for the first. By age B goes first, by priority C.
    EXPECT_DOUBLE_EQ(run(Discipline::backfill, stream).by_size[2].mean, 13);
    const QueueRun priority = run(Discipline::priority, stream, 2);
    EXPECT_DOUBLE_EQ(priority.by_size[2].mean, 8);
    EXPECT_DOUBLE_EQ(priority.by_size[3].mean, (0 + 13) / 2.0);
}

TEST(Queue, WaitOfAnErlangQueue) {
    // 8 servers at load 0.8: Erlang C gives P(wait) = 0.4576, so the mean wait is
    // 0.4576 / (8 - 6.4) of a lifetime = 28.6 %.
    const auto nodes = test_nodes("1x8g96c768Gi");
    const Workload workload = test_workload({test_pod(1, 1000)});
    const auto stream = draw_stream(workload, nodes, {11, 0.8, 200000, Lifetimes::exp});
    const QueueRun result = run_queue({&workload, &nodes, 1, nullptr}, *stream,
                                      test_policy("bestfit", workload), Discipline::backfill);
    EXPECT_NEAR(result.wait.mean, 28.6, 2.5);
    EXPECT_NEAR(result.alloc_percent, 80, 1);
    EXPECT_EQ(result.wait.p50, 0);
}

TEST(Queue, PercentilesByNearestRank) {
    std::vector<double> waits;
    for (int i = 1; i <= 200; ++i) {
        waits.push_back(i);
    }
    const WaitSummary summary = summarise_waits(waits);
    EXPECT_EQ(summary.p50, 100);
    EXPECT_EQ(summary.p95, 190);
    EXPECT_EQ(summary.p99, 198);
    EXPECT_EQ(summary.mean, 100.5);
    EXPECT_EQ(summarise_waits({}).pods, 0);
}

}  // namespace
}  // namespace tessera
