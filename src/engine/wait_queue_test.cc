#include "engine/wait_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::ElementsAre;

constexpr Nanoseconds kSecond{1'000'000'000};
constexpr Nanoseconds kNow = kSecond * 1000;
constexpr LineKey kLine{7};
constexpr Parked kForRoom{kLine, Causes::of(Cause::room)};

UnitIndex unit(std::uint32_t index) { return UnitIndex(index); }

bool always(LineKey) { return true; }

std::vector<UnitIndex> pop_all(WaitQueue& queue, Nanoseconds now) {
    std::vector<UnitIndex> popped;
    while (const auto one = queue.pop(now)) {
        popped.push_back(*one);
    }
    return popped;
}

// Units 0 to count - 1, parked in one line.
void park_some(WaitQueue& queue, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
        queue.add(unit(i), {0, kSecond * static_cast<std::int64_t>(i)});
    }
    for (UnitIndex one : pop_all(queue, kNow)) {
        queue.park(one, kForRoom, kNow);
    }
}

TEST(WaitQueue, TriesTheMoreImportantFirstThenWhoWasSeenFirst) {
    WaitQueue queue;
    queue.add(unit(0), {0, kSecond * 2});
    queue.add(unit(1), {0, kSecond * 1});
    queue.add(unit(2), {5, kSecond * 3});
    EXPECT_THAT(pop_all(queue, kNow), ElementsAre(unit(2), unit(1), unit(0)));
    EXPECT_EQ(queue.counts().tried, 3U);
}

TEST(WaitQueue, WhoWaitedOneStepLongerIsLevelWithOneMoreOfPriority) {
    WaitQueue queue({.age_every = kSecond * 60});
    queue.add(unit(0), {0, Nanoseconds(0)});
    queue.add(unit(1), {1, kSecond * 59});
    queue.add(unit(2), {1, kSecond * 61});
    EXPECT_THAT(pop_all(queue, kNow), ElementsAre(unit(1), unit(0), unit(2)));
}

TEST(WaitQueue, WithoutAgeingPriorityAloneCounts) {
    WaitQueue queue({.age_every = Nanoseconds(0)});
    queue.add(unit(0), {0, Nanoseconds(0)});
    queue.add(unit(1), {1, kSecond * 1'000'000});
    EXPECT_THAT(pop_all(queue, kNow), ElementsAre(unit(1), unit(0)));
}

TEST(WaitQueue, TheHighestPriorityIsNoOverflow) {
    WaitQueue queue;
    queue.add(unit(0), {INT32_MIN, kSecond});
    queue.add(unit(1), {INT32_MAX, kSecond});
    EXPECT_THAT(pop_all(queue, kNow), ElementsAre(unit(1), unit(0)));
}

TEST(WaitQueue, RoomWakesTheFirstOfALineAndTheNextWhenThatIsPlaced) {
    WaitQueue queue;
    park_some(queue, 3);
    EXPECT_FALSE(queue.pop(kNow));
    queue.room(always);
    EXPECT_EQ(queue.pop(kNow), unit(0));
    EXPECT_FALSE(queue.pop(kNow));
    queue.placed(unit(0));
    EXPECT_EQ(queue.pop(kNow), unit(1));
    queue.park(unit(1), kForRoom, kNow);
    EXPECT_FALSE(queue.pop(kNow)) << "there was no more room";
    EXPECT_EQ(queue.counts().parked, 2U);
}

TEST(WaitQueue, RoomThatDoesNotServeALineWakesNobodyOfIt) {
    WaitQueue queue;
    park_some(queue, 2);
    queue.room([](LineKey line) { return line != kLine; });
    EXPECT_FALSE(queue.pop(kNow));
}

TEST(WaitQueue, RoomIsNotLostWhenTheOneThatItWokeIsRemoved) {
    WaitQueue queue;
    park_some(queue, 2);
    queue.room(always);
    queue.remove(unit(0));
    EXPECT_EQ(queue.pop(kNow), unit(1));
}

TEST(WaitQueue, AnEventWakesOnlyThoseWhomItMayHelpAfterTheirBackOff) {
    WaitQueue queue({.backoff_first = kSecond, .backoff_most = kSecond * 10});
    queue.add(unit(0), {});
    queue.add(unit(1), {});
    queue.pop(kNow);
    queue.pop(kNow);
    queue.park(unit(0), {kLine, Causes::of(Cause::pods).with(Cause::room)}, kNow);
    queue.park(unit(1), {LineKey(8), Causes::of(Cause::volumes)}, kNow);
    queue.happened(Cause::pods, kNow);
    EXPECT_FALSE(queue.pop(kNow)) << "it rests";
    ASSERT_TRUE(queue.next_ready());
    EXPECT_GE(*queue.next_ready(), kNow + Nanoseconds(kSecond.value() / 2));
    EXPECT_LE(*queue.next_ready(), kNow + kSecond);
    EXPECT_EQ(queue.pop(kNow + kSecond), unit(0));
    EXPECT_EQ(queue.counts().parked, 1U);
}

TEST(WaitQueue, BackOffGrowsWithTheAttemptsUpToItsMost) {
    WaitQueue queue({.backoff_first = kSecond, .backoff_most = kSecond * 10});
    queue.add(unit(0), {});
    Nanoseconds now = kNow;
    for (std::int64_t expected : {1, 2, 4, 8, 10, 10}) {
        ASSERT_EQ(queue.pop(now), unit(0));
        queue.retry(unit(0), now);
        const Nanoseconds wait = *queue.next_ready() - now;
        EXPECT_LE(wait, kSecond * expected);
        EXPECT_GE(wait * 2, kSecond * expected);
        now = *queue.next_ready();
    }
}

TEST(WaitQueue, WhoWasChangedIsTriedAtOnce) {
    WaitQueue queue;
    park_some(queue, 1);
    queue.changed(unit(0));
    EXPECT_EQ(queue.pop(kNow), unit(0));
    EXPECT_EQ(queue.attempts(unit(0)), 1U);
}

TEST(WaitQueue, NobodyIsParkedForLongerThanTheNetAllows) {
    WaitQueue queue;
    park_some(queue, 2);
    EXPECT_EQ(queue.flush(kNow + kSecond * 299, kSecond * 300), 0U);
    EXPECT_EQ(queue.flush(kNow + kSecond * 300, kSecond * 300), 2U);
    EXPECT_EQ(queue.counts().ready, 2U);
}

TEST(WaitQueue, ANewRankCountsInWhateverState) {
    WaitQueue queue;
    park_some(queue, 2);
    queue.add(unit(1), {100, kSecond});
    queue.room(always);
    EXPECT_EQ(queue.pop(kNow), unit(1));
    queue.add(unit(1), {0, kSecond});
    queue.placed(unit(1));
    EXPECT_THAT(queue.in_order(), ElementsAre(unit(0)));
}

}  // namespace
}  // namespace tessera
