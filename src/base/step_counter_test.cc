#include "base/step_counter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/rng.h"

namespace tessera {
namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

void check_around(const StepCounter& counter, std::int64_t value) {
    const auto& steps = counter.thresholds();
    for (const std::int64_t off : {-1, 0, 1}) {
        if ((off < 0 && value == kLowest) || (off > 0 && value == kHighest)) {
            continue;
        }
        const auto expected = static_cast<std::size_t>(
            std::upper_bound(steps.begin(), steps.end(), value + off) - steps.begin());
        ASSERT_EQ(counter.count(value + off), expected) << value + off;
    }
}

TEST(StepCounter, WithoutThresholdsNothingIsReached) {
    EXPECT_EQ(StepCounter().count(0), 0U);
    EXPECT_EQ(StepCounter(std::vector<std::int64_t>()).count(kHighest), 0U);
}

TEST(StepCounter, EqualThresholdsAreOne) {
    const StepCounter counter({7, 3, 7, 3});
    EXPECT_EQ(counter.thresholds(), (std::vector<std::int64_t>{3, 7}));
    EXPECT_EQ(counter.count(7), 2U);
}

TEST(StepCounter, EqualsAPlainSearch) {
    Rng rng(5);
    for (int round = 0; round < 300; ++round) {
        const std::uint64_t extent = std::uint64_t{1} << (1 + rng.below(40));
        std::vector<std::int64_t> steps;
        for (std::uint64_t n = 1 + rng.below(200); n > 0; --n) {
            steps.push_back(static_cast<std::int64_t>(rng.below(extent)) -
                            static_cast<std::int64_t>(extent / 2));
        }
        if (round % 3 == 0) {
            steps.push_back(static_cast<std::int64_t>(extent) * 1000);  // all others in one cell
        }
        const StepCounter counter(steps);
        for (const std::int64_t step : steps) {
            check_around(counter, step);
        }
        for (int i = 0; i < 100; ++i) {
            check_around(counter, static_cast<std::int64_t>(rng.below(2 * extent)) -
                                      static_cast<std::int64_t>(extent));
        }
    }
}

TEST(StepCounter, HoldsTheWholeRange) {
    const StepCounter counter({kLowest, -1, 0, 1, kHighest});
    for (const std::int64_t value : {kLowest, std::int64_t{-1}, std::int64_t{1}, kHighest}) {
        check_around(counter, value);
    }
}

}  // namespace
}  // namespace tessera
