#include "sim/day.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Day, EveryPodIsAccountedFor) {
    auto day = SimulatedDay::make({});
    ASSERT_TRUE(day.has_value()) << day.error().message;
    for (double hour = 1; hour <= kDayHours; ++hour) {
        (*day)->advance(hour);
        const DayCounts counts = (*day)->counts();
        EXPECT_EQ(counts.arrived, counts.started + static_cast<std::int64_t>((*day)->waiting()));
        EXPECT_EQ(counts.started, counts.finished + static_cast<std::int64_t>((*day)->running()));
    }
    EXPECT_GT((*day)->counts().arrived, 500);
    EXPECT_GT((*day)->counts().allocated_percent_max, 80);
    EXPECT_LE((*day)->recent().size(), 4U);
    EXPECT_TRUE((*day)->cluster().consistent());
}

TEST(Day, StepsDoNotChangeWhatHappens) {
    auto coarse = SimulatedDay::make({});
    auto fine = SimulatedDay::make({});
    (*coarse)->advance(kDayHours);
    for (int step = 1; step <= 240; ++step) {
        (*fine)->advance(step * kDayHours / 240);
    }
    EXPECT_EQ((*coarse)->counts().finished, (*fine)->counts().finished);
    EXPECT_EQ((*coarse)->recent(), (*fine)->recent());
}

TEST(Day, RefusesWhatCannotRun) {
    DayOptions options;
    options.nodes = "2x0g8c8Gi";
    EXPECT_FALSE(SimulatedDay::make(options).has_value());
    options = {};
    options.policy = "nobody";
    EXPECT_THAT(SimulatedDay::make(options).error().message, testing::HasSubstr("nobody"));
}

}  // namespace
}  // namespace tessera
