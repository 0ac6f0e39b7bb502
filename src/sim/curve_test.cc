#include "sim/curve.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Curve, MeansTheBucketOfRoundedEvents) {
    Curve curve;
    curve.add(9.5, 1.004);  // half goes to the even 10
    curve.add(10.5, 2.006);
    curve.add(11.5, 9);
    EXPECT_DOUBLE_EQ(curve.at(10), 1.5);
    EXPECT_DOUBLE_EQ(curve.at(12), 9);
}

TEST(Curve, EmptyBucketsTakeTheirNeighbours) {
    Curve curve;
    curve.add(9, 10);
    curve.add(11, 20);
    EXPECT_DOUBLE_EQ(curve.at(10), 15);
    EXPECT_DOUBLE_EQ(curve.at(12), 20);
}

TEST(Curve, FarFromEventsTheLastOneBelowCounts) {
    Curve curve;
    EXPECT_DOUBLE_EQ(curve.at(50), 0);
    curve.add(20, 12);
    curve.add(40, 33.336);
    EXPECT_DOUBLE_EQ(curve.at(10), 0);
    EXPECT_DOUBLE_EQ(curve.at(30), 12);
    EXPECT_DOUBLE_EQ(curve.at(130), 33.34);
    EXPECT_EQ(curve.values().size(), 41U);
}

TEST(Curve, SumsAsNumpyDoes) {
    // 300 values: two halves of 144 and 156, the second again halved, each in eight lanes.
    std::vector<double> values;
    for (int i = 0; i < 300; ++i) {
        values.push_back(0.1 * i + 1e-3 * (i % 7));
    }
    double plain = 0;
    for (const double value : values) {
        plain += value;
    }
    EXPECT_NEAR(numpy_mean(values), plain / 300, 1e-12);
    EXPECT_EQ(numpy_mean({0.1, 0.2, 0.3}), (0.1 + 0.2 + 0.3) / 3);
    EXPECT_EQ(two_decimals(0.125), 0.12);
    EXPECT_EQ(two_decimals(0.375), 0.38);
}

}  // namespace
}  // namespace tessera
