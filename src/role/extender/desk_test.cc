#include "role/extender/desk.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

namespace tessera {
namespace {

// Whoever waits gets the mirror although it is wanted all the time.
TEST(LongHold, LetsOthersInBetween) {
    Mirror mirror{{}};
    std::mutex mutex;
    std::atomic<std::int64_t> now = 0;
    ExtenderPorts ports;
    ports.now = [&] { return Nanoseconds(now += 300'000); };
    Desk desk(mirror, mutex, std::move(ports));
    std::atomic<bool> served = false;
    std::optional<LongHold> held(std::in_place, desk);
    std::thread other([&] {
        const auto waited = desk.hold();
        served = true;
    });
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!served && std::chrono::steady_clock::now() < end) {
        held->let_others();
    }
    EXPECT_TRUE(served);
    held.reset();
    other.join();
}

TEST(LongHold, KeepsTheMirrorForAWhile) {
    Mirror mirror{{}};
    std::mutex mutex;
    std::atomic<std::int64_t> now = 0;
    ExtenderPorts ports;
    ports.now = [&] { return Nanoseconds(now.load()); };
    Desk desk(mirror, mutex, std::move(ports));
    LongHold held(desk);
    now = 400'000;
    EXPECT_FALSE(held.let_others());
    bool free = true;
    std::thread([&] { free = mutex.try_lock(); }).join();
    EXPECT_FALSE(free);
}

}  // namespace
}  // namespace tessera
