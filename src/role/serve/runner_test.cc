#include "role/serve/runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace tessera {
namespace {

constexpr Nanoseconds kHour{3'600'000'000'000};

TEST(Runner, RunsWhenItIsAskedForAlsoBeforeTheStart) {
    std::promise<void> ran;
    Runner runner([&] { ran.set_value(); }, boot_time_now);
    runner.wake(Nanoseconds(0));
    runner.start();
    ran.get_future().wait();
}

TEST(Runner, TheEarliestTimeCounts) {
    std::promise<void> ran;
    Runner runner([&] { ran.set_value(); }, boot_time_now);
    runner.start();
    runner.wake(kHour);
    runner.wake(Nanoseconds(0));
    runner.wake(kHour);
    ran.get_future().wait();
}

TEST(Runner, ATaskMayAskForItselfAndAStopEndsIt) {
    std::atomic<int> runs = 0;
    std::promise<void> often;
    Runner* self = nullptr;
    Runner runner(
        [&] {
            if (++runs == 100) {
                often.set_value();
            }
            self->wake(Nanoseconds(0));
        },
        boot_time_now);
    self = &runner;
    runner.start();
    runner.wake(Nanoseconds(0));
    often.get_future().wait();
    runner.stop();
    const int at_the_end = runs;
    runner.wake(Nanoseconds(0));
    EXPECT_EQ(runs, at_the_end);
}

}  // namespace
}  // namespace tessera
