#include "kube/reflector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kube/reflector_world.h"

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using World = ReflectorWorld;

TEST(Reflector, IsCurrentWhileAWatchIsOpen) {
    World world;
    world.server.put("a", 1);
    bool held = true;
    world.fault = [&](FakeHttpClient& to, const FakeCall& call) {
        if (call.streams && !held) {
            to.open(call.id);
        }
        return call.streams;
    };
    world.start();
    world.time.run_for(seconds(1));
    EXPECT_TRUE(world.reflector.synced());
    EXPECT_FALSE(world.reflector.current()) << "the watch has been asked for, and is not answered";
    world.http.open(world.watch);
    world.time.run_for(seconds(1));
    EXPECT_TRUE(world.reflector.current());
    held = false;
    world.http.cut(world.watch);
    world.time.run_for(milliseconds(2));
    EXPECT_FALSE(world.reflector.current());
    EXPECT_TRUE(world.reflector.healthy()) << "for a moment, that is nothing";
    world.time.run_for(seconds(2));
    EXPECT_TRUE(world.reflector.current()) << "by the next watch";
}

TEST(Reflector, ListsByPagesAndThenWatches) {
    World world;
    for (const char* name : {"a", "b", "c", "d", "e"}) {
        world.server.put(name, 1);
    }
    EXPECT_FALSE(world.reflector.synced());
    EXPECT_FALSE(world.reflector.healthy());
    world.start();
    world.time.run_for(seconds(1));
    EXPECT_EQ(world.sink.values, world.server.values());
    EXPECT_TRUE(world.reflector.synced());
    EXPECT_TRUE(world.reflector.healthy());
    ASSERT_EQ(world.paths.size(), 4);
    EXPECT_EQ(world.paths[0], "/objects?limit=2&labelSelector=a%3Db&fieldSelector=spec.x%21%3Dy");
    EXPECT_THAT(world.paths[1], HasSubstr("&continue=105.b"));
    EXPECT_THAT(world.paths[3], StartsWith("/objects?watch=1&allowWatchBookmarks=true&"
                                           "resourceVersion=105&timeoutSeconds="));
    EXPECT_THAT(world.paths[3], HasSubstr("&labelSelector=a%3Db"));
    world.put("f", 2);
    world.put("a", 3);
    world.server.remove("b");
    world.http.line(world.watch, FakeObjects::line(world.server.events_after(107)->front()));
    world.time.run_for(seconds(1));
    EXPECT_EQ(world.sink.values, world.server.values());
    EXPECT_EQ(world.sink.fault, "");
    const ReflectorCounts counts = world.reflector.counts();
    EXPECT_EQ(counts.lists, 1);
    EXPECT_EQ(counts.pages, 3);
    EXPECT_EQ(counts.listed, 5);
    EXPECT_EQ(counts.watches, 1);
    EXPECT_EQ(counts.events, 3);
    EXPECT_EQ(world.reflector.last_contact(), world.time.now() - seconds(1));
}

// Pods may be large: 500 of them are more than is taken at once.
TEST(Reflector, APageThatIsTooLargeIsAskedForInParts) {
    World world;
    Reflector reflector{
        world.http, world.sink, {.path = "/objects", .page_size = 8, .clock = world.time.clock()}};
    for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) {
        world.server.put(name, 1);
    }
    std::vector<std::string> limits;
    const auto too_large = [&](std::size_t most) {
        return [&limits, most](FakeHttpClient& to, const FakeCall& call) {
            const std::string limit = query_value(call.call.path, "limit");
            limits.push_back(limit);
            const bool refused = !call.streams && std::stoul(limit) > most;
            if (refused) {
                to.refuse(call.id, {ErrorKind::invalid, "the answer has more than 100 bytes"});
            }
            return refused;
        };
    };
    world.fault = too_large(3);
    reflector.start();
    world.time.run_for(seconds(1));
    EXPECT_THAT(limits, testing::ElementsAre("8", "4", "2", "2", "2", "2", ""));
    EXPECT_EQ(world.sink.values, world.server.values());
    EXPECT_EQ(world.sink.begun, 1);
    EXPECT_TRUE(reflector.healthy());
    // Also in the middle of a list, whose pages before are kept; the next list tries large ones.
    limits.clear();
    world.fault = [&](FakeHttpClient& to, const FakeCall& call) {
        const bool first = query_value(call.call.path, "continue").empty();
        return too_large(first ? 4 : 1)(to, call);
    };
    world.server.put("h", 1);
    world.server.forget(0);
    world.http.cut(world.watch);
    world.time.run_for(seconds(5));
    EXPECT_THAT(limits, testing::ElementsAre("", "8", "4", "4", "2", "1", "1", "1", "1", ""));
    EXPECT_EQ(world.sink.values, world.server.values());
    EXPECT_EQ(world.sink.begun, 2);
}

TEST(Reflector, AWatchThatEndsGoesOnFromTheLastVersion) {
    World world;
    world.server.put("a", 1);
    world.start();
    world.time.run_for(seconds(1));
    world.put("b", 1);
    world.time.run_for(seconds(700));
    EXPECT_GE(world.reflector.counts().bookmarks, 4);
    EXPECT_EQ(world.requests("watch=1"), 2);
    EXPECT_THAT(world.paths.back(), HasSubstr("resourceVersion=102&"));
    EXPECT_EQ(world.reflector.counts().lists, 1);
    const auto asked = std::stoll(query_value(world.paths.back(), "timeoutSeconds"));
    EXPECT_GE(asked, 300);
    EXPECT_LE(asked, 600);
}

TEST(Reflector, ABookmarkMovesTheVersion) {
    World world;
    world.start();
    world.time.run_for(seconds(1));
    world.http.line(world.watch,
                    R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"555"}}})");
    world.http.cut(world.watch);
    world.time.run_for(seconds(2));
    EXPECT_THAT(world.paths.back(), HasSubstr("resourceVersion=555&"));
    EXPECT_EQ(world.sink.changes, 0);
}

TEST(Reflector, ACutWatchGoesOnAfterABackOff) {
    World world;
    world.server.put("a", 1);
    world.start();
    world.time.run_for(seconds(1));
    world.fault = [](FakeHttpClient& to, const FakeCall& call) {
        to.cut(call.id);
        return true;
    };
    world.http.cut(world.watch);
    world.server.put("b", 2);
    const std::size_t before = world.paths.size();
    world.time.run_for(seconds(29));
    EXPECT_TRUE(world.reflector.healthy()) << "for a while nothing is wrong";
    world.time.run_for(seconds(91));
    EXPECT_FALSE(world.reflector.healthy());
    EXPECT_THAT(world.reflector.last_error(), HasSubstr("cut"));
    EXPECT_GE(world.paths.size() - before, 6);
    EXPECT_LE(world.paths.size() - before, 14) << "later and later";
    world.fault = [](FakeHttpClient&, const FakeCall&) { return false; };
    world.time.run_for(seconds(40));
    EXPECT_EQ(world.sink.values, world.server.values());
    EXPECT_EQ(world.reflector.counts().lists, 1) << "nothing was lost, so nothing is listed again";
    EXPECT_GE(world.reflector.counts().lost, 6);
    EXPECT_TRUE(world.reflector.healthy());
    EXPECT_EQ(world.reflector.last_error(), "");
}

TEST(Reflector, IsHealthyAgainWithoutAnyEvent) {
    World world;
    world.start();
    world.time.run_for(seconds(1));
    world.http.cut(world.watch);
    world.time.run_for(seconds(8));  // the first watch after a failure is short
    EXPECT_EQ(world.reflector.last_error(), "");
    EXPECT_THAT(world.paths.at(world.paths.size() - 2), HasSubstr("timeoutSeconds=5"));
    EXPECT_THAT(world.paths.back(), testing::Not(HasSubstr("timeoutSeconds=5&")));
}

TEST(Reflector, WhatIsTooOldIsListedAgain) {
    for (const bool by_event : {false, true}) {
        World world;
        world.server.put("a", 1);
        world.server.put("b", 1);
        world.start();
        world.time.run_for(seconds(1));
        world.server.remove("a");
        world.server.put("c", 1);
        world.server.forget(0);
        if (by_event) {
            world.http.line(
                world.watch,
                R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}})");
        } else {
            world.http.cut(world.watch);
        }
        world.time.run_for(seconds(3));
        EXPECT_EQ(world.sink.values, world.server.values());
        EXPECT_EQ(world.reflector.counts().expired, 1);
        EXPECT_EQ(world.reflector.counts().lists, 2);
        EXPECT_EQ(world.sink.fault, "");
    }
}

TEST(Reflector, AListThatGetsTooOldBeginsAgain) {
    World world;
    for (const char* name : {"a", "b", "c", "d", "e"}) {
        world.server.put(name, 1);
    }
    world.fault = [&](FakeHttpClient&, const FakeCall& call) {
        if (world.paths.size() == 2) {
            EXPECT_THAT(call.call.path, HasSubstr("continue="));
            world.server.remove("a");
            world.server.forget(0);
        }
        return false;
    };
    world.start();
    world.time.run_for(seconds(2));
    EXPECT_EQ(world.sink.values, world.server.values());
    EXPECT_EQ(world.sink.begun, 2);
    EXPECT_EQ(world.sink.ended, 1);
    EXPECT_EQ(world.reflector.counts().expired, 1);
}

TEST(Reflector, APageIsAskedForAgain) {
    World world;
    for (const char* name : {"a", "b", "c"}) {
        world.server.put(name, 1);
    }
    int calls = 0;
    world.fault = [&](FakeHttpClient& to, const FakeCall& call) {
        switch (++calls) {
            case 1:
            case 4:
                to.answer(call.id, status_answer(500, "InternalError"));
                return true;
            case 2:
                to.cut(call.id);
                return true;
            case 5:
                to.answer(call.id, {.status = 429, .body = "", .retry_after = seconds(7)});
                return true;
            default:
                return false;
        }
    };
    world.start();
    world.time.run_for(seconds(5));
    EXPECT_FALSE(world.reflector.synced());
    world.time.run_for(seconds(10));
    EXPECT_EQ(world.sink.values, world.server.values());
    EXPECT_EQ(world.sink.begun, 1) << "the pages before are not lost";
    const auto counts = world.reflector.counts();
    EXPECT_EQ(counts.failed, 2);
    EXPECT_EQ(counts.lost, 1);
    EXPECT_EQ(counts.throttled, 1);
}

TEST(Reflector, AThrottledWatchWaitsAsAsked) {
    World world;
    world.start();
    world.time.run_for(seconds(1));
    world.fault = [&](FakeHttpClient& to, const FakeCall& call) {
        to.answer(call.id, {.status = 429, .body = "", .retry_after = seconds(20)});
        return true;
    };
    world.http.cut(world.watch);
    world.time.run_for(seconds(2));
    world.fault = [](FakeHttpClient&, const FakeCall&) { return false; };
    const std::size_t before = world.paths.size();
    world.time.run_for(seconds(17));
    EXPECT_EQ(world.paths.size(), before);
    world.time.run_for(seconds(5));
    EXPECT_EQ(world.paths.size(), before + 1);
    EXPECT_EQ(world.reflector.counts().lists, 1);
}

TEST(Reflector, LinesThatCannotBeReadLeadToAList) {
    for (const std::string line : {"nonsense", "{}", R"({"type":"ADDED","object":{"metadata":{}}})",
                                   R"({"type":"ADDED","object":{"metad)"}) {
        World world;
        world.server.put("a", 1);
        world.start();
        world.time.run_for(seconds(1));
        world.server.put("b", 1);
        world.http.line(world.watch, line);
        world.time.run_for(seconds(2));
        EXPECT_EQ(world.sink.values, world.server.values()) << line;
        EXPECT_EQ(world.reflector.counts().malformed, 1);
        EXPECT_EQ(world.reflector.counts().lists, 2);
    }
}

TEST(Reflector, APoisonedWatchDoesNotCauseListsWithoutEnd) {
    World world;
    world.server.put("a", 1);
    world.fault = [](FakeHttpClient& to, const FakeCall& call) {
        if (call.streams) {
            to.line(call.id, "nonsense");
        }
        return call.streams;
    };
    world.start();
    world.time.run_for(seconds(600));
    EXPECT_LE(world.reflector.counts().lists, 40);
    EXPECT_GE(world.reflector.counts().lists, 20);
}

TEST(Reflector, HalfALineAtTheEndIsReadAgain) {
    World world;
    world.start();
    world.time.run_for(seconds(1));
    world.server.put("a", 1);
    world.http.answer(world.watch, {.status = 200, .body = R"({"type":"ADD)"});
    world.time.run_for(seconds(2));
    EXPECT_EQ(world.sink.values, world.server.values());
    EXPECT_EQ(world.reflector.counts().lists, 1);
    EXPECT_EQ(world.reflector.counts().malformed, 1);
}

TEST(Reflector, APageThatCannotBeReadIsListedAgain) {
    World world;
    for (const char* name : {"a", "b", "c"}) {
        world.server.put(name, 1);
    }
    world.fault = [&](FakeHttpClient& to, const FakeCall& call) {
        if (world.paths.size() == 2) {
            std::string body = world.server.page(call.call.path).body;
            to.answer(call.id, {.status = 200, .body = body.substr(0, body.size() - 4)});
            return true;
        }
        return false;
    };
    world.start();
    world.time.run_for(seconds(2));
    EXPECT_EQ(world.sink.values, world.server.values());
    EXPECT_EQ(world.sink.begun, 2);
    EXPECT_EQ(world.reflector.counts().malformed, 1);
    EXPECT_EQ(world.sink.fault, "");
}

TEST(Reflector, ASilentWatchIsCutAndGoesOn) {
    World world;
    world.server.put("a", 1);
    world.start();
    world.time.run_for(seconds(1));
    world.server.put("b", 1);
    bool swallowed = false;  // the next watch is never answered
    world.fault = [&](FakeHttpClient&, const FakeCall& call) {
        return call.streams && !std::exchange(swallowed, true);
    };
    world.http.cut(world.watch);
    world.time.run_for(seconds(90));
    EXPECT_EQ(world.sink.values.size(), 1) << "the new watch hears nothing";
    EXPECT_EQ(world.reflector.counts().silent, 0);
    world.time.run_for(seconds(20));
    EXPECT_EQ(world.reflector.counts().silent, 1);
    EXPECT_EQ(world.sink.values, world.server.values());
    EXPECT_EQ(world.reflector.counts().lists, 1);
}

TEST(Reflector, WatchesThatStaySilentAreNotHealthy) {
    World world;
    world.start();
    world.time.run_for(seconds(1));
    world.fault = [](FakeHttpClient&, const FakeCall& call) { return call.streams; };
    world.http.cut(world.watch);
    world.time.run_for(seconds(150));  // the first is given up after 100 s, then there is a grace
    EXPECT_FALSE(world.reflector.healthy());
    EXPECT_THAT(world.reflector.last_error(), HasSubstr("silent"));
    world.fault = [](FakeHttpClient&, const FakeCall&) { return false; };
    world.time.run_for(seconds(120));
    EXPECT_TRUE(world.reflector.healthy());
}

TEST(Reflector, AServerWhoseVersionsWentBackIsListedAgain) {
    World world;
    world.server.put("a", 1);
    world.start();
    world.time.run_for(seconds(1));
    world.fault = [](FakeHttpClient& to, const FakeCall& call) {
        if (call.streams && query_value(call.call.path, "resourceVersion") == "999") {
            to.answer(call.id, status_answer(504, "Timeout"));
            return true;
        }
        return false;
    };
    world.http.line(world.watch,
                    R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"999"}}})");
    world.http.cut(world.watch);
    world.time.run_for(seconds(60));
    EXPECT_EQ(world.reflector.counts().lists, 2);
    EXPECT_EQ(world.reflector.counts().failed, 5);
    EXPECT_TRUE(world.reflector.healthy());
}

TEST(Reflector, ARoleThatIsMissingIsToldAndWaitedFor) {
    World world;
    bool allowed = false;
    world.fault = [&](FakeHttpClient& to, const FakeCall& call) {
        if (!allowed) {
            to.answer(call.id, status_answer(403, "Forbidden"));
        }
        return !allowed;
    };
    world.start();
    world.time.run_for(seconds(120));
    EXPECT_FALSE(world.reflector.synced());
    EXPECT_THAT(world.reflector.last_error(), HasSubstr("grant the role"));
    EXPECT_GE(world.reflector.counts().refused, 5);
    EXPECT_EQ(world.sink.begun, 1);
    allowed = true;
    world.time.run_for(seconds(40));
    EXPECT_TRUE(world.reflector.healthy());
}

TEST(Reflector, AfterStopNothingIsTold) {
    World world;
    world.server.put("a", 1);
    world.start();
    world.start();  // once is enough
    world.time.run_for(seconds(1));
    world.put("b", 1);
    world.reflector.stop();
    world.time.run_for(seconds(1));
    EXPECT_EQ(world.sink.values.size(), 1);
    EXPECT_EQ(world.http.open_calls(), 0);
    world.start();
    world.time.run_for(seconds(1));
    EXPECT_EQ(world.sink.values, world.server.values()) << "and it can begin again";
    world.http.close();
    world.time.run_for(seconds(1000));
    EXPECT_EQ(world.sink.fault, "");
}

TEST(Reflector, ASinkMayStopIt) {
    VirtualTime time;
    FakeObjects server;
    server.put("a", 1);
    server.put("b", 1);
    FakeHttpClient http(time, [&](FakeHttpClient& to, const FakeCall& call) {
        to.answer(call.id, server.page(call.call.path));
    });
    class Stopper final : public ObjectSink {
      public:
        void list_begins() override {}
        void listed(std::string_view) override { ++told; }
        void list_ends() override { reflector->stop(); }
        void changed(std::string_view) override { ++told; }
        void deleted(std::string_view) override { ++told; }
        Reflector* reflector = nullptr;
        int told = 0;
    } sink;
    Reflector reflector(http, sink, {.path = "/objects", .clock = time.clock()});
    sink.reflector = &reflector;
    reflector.start();
    time.run_for(seconds(100));
    EXPECT_EQ(sink.told, 2);
    EXPECT_EQ(http.open_calls(), 0);
    EXPECT_EQ(reflector.counts().watches, 0);
}

}  // namespace
}  // namespace tessera
