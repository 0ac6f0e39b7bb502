#include "policy/mix_learner.h"

#include <gtest/gtest.h>

#include "policy/test_world.h"

namespace tessera {
namespace {

using testing::demand_of;
using testing::gpu_request;

class MixLearnerTest : public ::testing::Test {
  protected:
    MixLearnerTest() {
        a = world.intern(demand_of(1'000, {gpu_request(1, 500)}));
        b = world.intern(demand_of(2'000));
    }
    void arrive(ClassIndex c, std::uint64_t count) {
        for (; count > 0; --count) {
            learner.arrived(c);
        }
    }
    void warm_up() {
        while (learner.arrivals() < 6'400) {
            learner.arrived(a);
            if (learner.due() && learner.arrivals() < 6'400) {
                learner.adopt();
                learner.learned(0);
            }
        }
    }

    testing::TestWorld world;
    ClassIndex a;
    ClassIndex b;
    MixLearner learner;
};

TEST_F(MixLearnerTest, DueAtDoublingsThenEverySoMany) {
    std::vector<std::uint64_t> due;
    for (int i = 0; i < 30'000; ++i) {
        learner.arrived(a);
        if (learner.due()) {
            due.push_back(learner.arrivals());
            learner.learned(0);
        }
    }
    EXPECT_EQ(due, (std::vector<std::uint64_t>{4, 7, 13, 25, 50, 100, 200, 400, 800, 1600, 3200,
                                               6400, 12800, 19200, 25600}));
}

TEST_F(MixLearnerTest, RarerOnLargeClusters) {
    warm_up();
    ASSERT_TRUE(learner.due());
    learner.learned(50'000);
    arrive(a, 49'999);
    EXPECT_FALSE(learner.due());
    arrive(a, 1);
    EXPECT_TRUE(learner.due());
}

TEST_F(MixLearnerTest, CountsFadeOnlyWhenWarm) {
    arrive(a, 4);
    learner.learned(0);
    EXPECT_EQ(learner.counts()[a.slot()], 4 * MixLearner::kUnit);
    warm_up();
    learner.learned(0);
    EXPECT_EQ(learner.counts()[a.slot()], 3'200 * MixLearner::kUnit);
}

TEST_F(MixLearnerTest, ColdItAlwaysLearns) {
    arrive(a, 4);
    learner.adopt();
    EXPECT_TRUE(learner.moved(world.classes()));
}

TEST_F(MixLearnerTest, WarmItMovesWithThePodsOrTheirDemand) {
    warm_up();
    learner.adopt();
    EXPECT_FALSE(learner.moved(world.classes()));
    // By pods: b asks for no GPU. 8 % is not enough, more is.
    arrive(b, 550);
    EXPECT_FALSE(learner.moved(world.classes()));
    arrive(b, 20);
    EXPECT_TRUE(learner.moved(world.classes()));
    learner.adopt();
    EXPECT_FALSE(learner.moved(world.classes()));
    // By demand: few pods, many GPUs.
    const ClassIndex large = world.intern(demand_of(0, {gpu_request(8, 1000)}));
    arrive(large, 50);
    EXPECT_TRUE(learner.moved(world.classes()));
}

}  // namespace
}  // namespace tessera
