#include "sim/orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "codec/test_directory.h"
#include "sim/file.h"
#include "sim/sim_fixture.h"

namespace tessera {
namespace {

using testing::HasSubstr;

std::int64_t demand(const Workload& workload, const RunOrder& order) {
    return std::accumulate(
        order.arrivals.begin(), order.arrivals.end(), std::int64_t{0},
        [&](std::int64_t sum, std::uint32_t pod) { return sum + workload.gpu_milli[pod]; });
}

Workload mixed() {
    return test_workload({test_pod(1, 300), test_pod(1, 1000), test_pod(8, 1000), test_pod(0, 0)});
}

TEST(Orders, ClonesStopAtTheFirstDrawThatWouldPass) {
    const Workload workload = mixed();
    const auto nodes = test_nodes("10x8g96c768Gi");
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const RunOrder order = draw_order(workload, nodes, {seed, 1.3});
        const std::int64_t milli = demand(workload, order);
        EXPECT_LE(milli, 104'000 + 7'000) << "the test counts one GPU of the draw";
        EXPECT_GT(milli, 104'000 - 1'000);
        std::vector<std::uint32_t> first(order.arrivals.begin(), order.arrivals.begin() + 4);
        std::sort(first.begin(), first.end());
        EXPECT_EQ(first, (std::vector<std::uint32_t>{0, 1, 2, 3})) << "originals come first";
    }
}

TEST(Orders, SurplusIsDeleted) {
    const Workload workload = test_workload(std::vector<TracePod>(40, test_pod(1, 1000)));
    const RunOrder order = draw_order(workload, test_nodes("2x8g96c768Gi"), {1, 1.0});
    EXPECT_EQ(demand(workload, order), 16'000);
}

TEST(Orders, SeedsRepeatAndDiffer) {
    const Workload workload = mixed();
    const auto nodes = test_nodes("10x8g96c768Gi");
    const RunOrder a = draw_order(workload, nodes, {7, 1.3});
    const RunOrder b = draw_order(workload, nodes, {7, 1.3});
    const RunOrder c = draw_order(workload, nodes, {8, 1.3});
    EXPECT_EQ(a.arrivals, b.arrivals);
    EXPECT_EQ(a.nodes, b.nodes);
    EXPECT_NE(a.arrivals, c.arrivals);
    EXPECT_NE(a.nodes, c.nodes);
}

TEST(Orders, CpuOnlyWorkloadsEnd) {
    const Workload workload = test_workload({test_pod(0, 0), test_pod(0, 0)});
    EXPECT_EQ(draw_order(workload, test_nodes("2x8g96c768Gi"), {1, 1.3}).arrivals.size(), 2U);
}

class OrderFilesTest : public testing::Test {
  protected:
    void write(const std::string& name, const std::string& text) {
        ASSERT_TRUE(write_file(directory_.file(name), text).has_value());
    }
    Expected<RunOrder> read(std::uint64_t seed) {
        return read_run_order({directory_.path(), "w", seed}, mixed(), 2);
    }
    TestDirectory directory_;
};

TEST_F(OrderFilesTest, ReadsBothFiles) {
    write("w-5.csv", "pod_row\n3\n0\n0\n");
    write("w-5-nodes.csv", "node_row\n1\n0\n");
    const auto order = read(5);
    ASSERT_TRUE(order.has_value()) << order.error().message;
    EXPECT_EQ(order->arrivals, (std::vector<std::uint32_t>{3, 0, 0}));
    EXPECT_EQ(order->nodes, (std::vector<std::uint32_t>{1, 0}));
}

TEST_F(OrderFilesTest, NamesWhatIsMissingOrWrong) {
    EXPECT_EQ(read(5).error().kind, ErrorKind::environment);
    EXPECT_THAT(read(5).error().message, HasSubstr("w-5.csv: cannot be opened"));
    write("w-5.csv", "pod_row\n4\n");
    EXPECT_THAT(read(5).error().message, HasSubstr("w-5.csv:2:1: pod_row: \"4\""));
    write("w-5.csv", "pod_row\n0\n");
    write("w-5-nodes.csv", "node_row\n1\n1\n");
    EXPECT_THAT(read(5).error().message, HasSubstr("names 1 different nodes in 2 lines"));
}

}  // namespace
}  // namespace tessera
