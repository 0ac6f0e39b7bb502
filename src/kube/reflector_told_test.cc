// Until when the sink has been told of everything.
#include <gtest/gtest.h>

#include <vector>

#include "kube/reflector_world.h"

namespace tessera {
namespace {

using World = ReflectorWorld;

// What is on a later page may have happened just after the first one was asked for.
TEST(ReflectorTold, AListHasToldAllUntilItsFirstPageWasAskedFor) {
    World world;
    for (const char* name : {"a", "b", "c", "d", "e"}) {
        world.server.put(name, 1);
    }
    std::vector<Nanoseconds> asked;
    bool slow = false;
    world.fault = [&](FakeHttpClient& to, const FakeCall& call) {
        if (!call.streams) {
            asked.push_back(world.time.now() - milliseconds(1));
            to.answer(call.id, world.server.page(call.call.path), slow ? seconds(50) : seconds(0));
        }
        return !call.streams;
    };
    EXPECT_EQ(world.reflector.told_until(), Nanoseconds(0));
    world.start();
    world.time.run_for(seconds(1));
    ASSERT_EQ(asked.size(), 3);
    EXPECT_EQ(world.reflector.told_until(), asked[0]);

    slow = true;
    world.server.put("f", 1);
    world.server.forget(0);
    world.http.cut(world.watch);
    ASSERT_TRUE(world.time.run_until([&] { return asked.size() == 6; }, seconds(200)));
    EXPECT_EQ(world.reflector.last_contact(), asked[5]) << "the second page came";
    EXPECT_EQ(world.reflector.told_until(), asked[0]) << "and says nothing of what is on the third";
    world.time.run_for(seconds(51));
    EXPECT_EQ(world.sink.values, world.server.values());
    EXPECT_EQ(world.reflector.told_until(), asked[3]);
}

// The same page again: what is told is as old as the attempt that was answered.
TEST(ReflectorTold, AListThatIsAskedForAgainHasToldMore) {
    World world;
    world.server.put("a", 1);
    std::vector<Nanoseconds> asked;
    world.fault = [&](FakeHttpClient& to, const FakeCall& call) {
        asked.push_back(world.time.now() - milliseconds(1));
        if (asked.size() == 1) {
            to.cut(call.id);
        }
        return asked.size() == 1;
    };
    world.start();
    world.time.run_for(seconds(2));
    ASSERT_GE(asked.size(), 2);
    EXPECT_EQ(world.reflector.told_until(), asked[1]);
}

TEST(ReflectorTold, OnlyABookmarkOfAWatchSaysThatAllHasBeenTold) {
    World world;
    world.server.put("a", 1);
    world.start();
    world.time.run_for(seconds(1));
    const Nanoseconds listed = world.reflector.told_until();
    world.put("b", 1);  // the first of many, perhaps
    world.time.run_for(seconds(1));
    EXPECT_EQ(world.reflector.last_contact(), world.time.now() - seconds(1));
    EXPECT_EQ(world.reflector.told_until(), listed);
    world.http.answer(world.watch, {.status = 200, .body = ""});
    world.time.run_for(seconds(2));
    EXPECT_GT(world.reflector.last_contact(), world.time.now() - seconds(2));
    EXPECT_EQ(world.reflector.told_until(), listed) << "the server may have dropped what was left";
    world.http.line(world.watch, world.server.bookmark());
    world.time.run_for(seconds(1));
    EXPECT_EQ(world.reflector.told_until(), world.time.now() - seconds(1));
    // In quiet times one comes every minute.
    world.time.run_for(seconds(3600));
    EXPECT_GE(world.reflector.told_until(), world.time.now() - seconds(61));
}

}  // namespace
}  // namespace tessera
