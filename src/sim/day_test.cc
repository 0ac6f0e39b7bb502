#include "sim/day.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/generate.h"
#include "sim/sim_fixture.h"

namespace tessera {
namespace {

Expected<std::unique_ptr<SimulatedDay>> make_day(std::string_view nodes = "12x8g128c1Ti") {
    Interner<ModelIndex> models;
    ExperimentInputs inputs{.nodes = test_nodes(nodes), .workload = {}};
    inputs.workload = make_workload("openb", *generate_pods({}, models));
    return SimulatedDay::make(std::move(inputs), *PolicySource::open("tessera"), {});
}

TEST(Day, EveryPodIsAccountedFor) {
    auto day = make_day();
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
    auto coarse = make_day();
    auto fine = make_day();
    (*coarse)->advance(kDayHours);
    for (int step = 1; step <= 240; ++step) {
        (*fine)->advance(step * kDayHours / 240);
    }
    EXPECT_EQ((*coarse)->counts().finished, (*fine)->counts().finished);
    EXPECT_EQ((*coarse)->recent(), (*fine)->recent());
}

TEST(Day, RefusesWhatCannotRun) {
    EXPECT_THAT(make_day("2x0g8c8Gi").error().message, testing::HasSubstr("nodes with GPUs"));
}

}  // namespace
}  // namespace tessera
