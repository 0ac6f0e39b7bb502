#include "kube/lease.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kube/fake_http_client.h"
#include "kube/lease_fake_server.h"
#include "kube/lease_record.h"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Rig {
    LeaseOptions options(const std::string& identity) {
        return {
            .space = "kube-system",
            .name = "l",
            .identity = identity,
            .on_gained = [this, identity] { told.push_back(identity + " gained"); },
            .on_lost = [this, identity](
                           const std::string& why) { told.push_back(identity + " lost: " + why); },
            .on_trouble = [this](const std::string& why) { trouble = why; },
            .clock = time.clock(),
            .wall = [] { return Nanoseconds(1'795'003'200'123'456'789); }};
    }
    FakeHttpClient::Server server() {
        return [this](FakeHttpClient& to, const FakeCall& call) {
            calls.push_back(call.call.method + " " + call.call.path);
            if (status != 0) {
                to.answer(call.id, status_answer(status, "Scripted"));
            } else if (!silent) {
                to.answer(call.id, lease.answer(call.call));
            }
        };
    }

    VirtualTime time;
    FakeLease lease;
    int status = 0;  // of all answers
    bool silent = false;
    std::vector<std::string> calls;
    std::vector<std::string> told;
    std::string trouble;
    FakeHttpClient http_a{time, server()};
    FakeHttpClient http_b{time, server()};
    LeaderElector a{http_a, options("a")};
    LeaderElector b{http_b, options("b")};
};

TEST(Lease, TheFirstMakesItAndRenewsIt) {
    Rig rig;
    rig.a.start();
    EXPECT_FALSE(rig.a.leading());
    rig.time.run_for(milliseconds(100));
    EXPECT_TRUE(rig.a.leading());
    EXPECT_EQ(rig.a.holder(), "a");
    EXPECT_THAT(rig.calls,
                ElementsAre("GET /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l",
                            "POST /apis/coordination.k8s.io/v1/namespaces/kube-system/leases"));
    EXPECT_EQ(rig.lease.json(),
              R"({"metadata":{"name":"l","resourceVersion":"101"},"spec":{"holderIdentity":"a",)"
              R"("leaseDurationSeconds":10,"leaseTransitions":0,)"
              R"("acquireTime":"2026-11-18T12:00:00.123456Z",)"
              R"("renewTime":"2026-11-18T12:00:00.123456Z"}})");
    rig.time.run_for(seconds(600));
    EXPECT_TRUE(rig.a.leading());
    EXPECT_GE(std::stoi(rig.lease.lease.version), 101 + 300);
    EXPECT_THAT(rig.told, ElementsAre("a gained"));
    EXPECT_EQ(rig.a.gained(), 1);
}

TEST(Lease, TheOtherWaitsAndTakesOverWhenTheLeaderIsSilent) {
    Rig rig;
    rig.a.start();
    rig.time.run_for(seconds(1));
    rig.b.start();
    rig.time.run_for(seconds(100));
    EXPECT_TRUE(rig.a.leading());
    EXPECT_FALSE(rig.b.leading());
    EXPECT_EQ(rig.b.holder(), "a");
    rig.http_a.close();  // as by kill -9
    const Nanoseconds died = rig.time.now();
    ASSERT_TRUE(rig.time.run_until([&] { return rig.b.leading(); }, seconds(100)));
    EXPECT_LT(rig.time.now() - died, seconds(15));
    EXPECT_FALSE(rig.a.leading());
    EXPECT_EQ(rig.lease.lease.transitions, 1);
}

TEST(Lease, AReleasedLeaseIsTakenAtTheNextLook) {
    Rig rig;
    rig.a.start();
    rig.time.run_for(seconds(1));
    rig.b.start();
    rig.time.run_for(seconds(20));
    rig.a.resign();
    EXPECT_FALSE(rig.a.leading()) << "at once, whatever the API server does";
    const Nanoseconds resigned = rig.time.now();
    ASSERT_TRUE(rig.time.run_until([&] { return rig.b.leading(); }, seconds(100)));
    EXPECT_LE(rig.time.now() - resigned, milliseconds(2100));
    EXPECT_TRUE(rig.a.stop(Nanoseconds(0)));
    rig.time.run_for(seconds(60));
    EXPECT_TRUE(rig.b.leading());
    EXPECT_THAT(rig.told, ElementsAre("a gained", "a lost: it was stopped", "b gained"));
}

TEST(Lease, ALeaderThatCannotRenewStopsBeforeTheLeaseEnds) {
    for (const bool silent : {false, true}) {
        Rig rig;
        rig.a.start();
        rig.time.run_for(seconds(30));
        rig.silent = silent;
        rig.status = silent ? 0 : 500;
        const Nanoseconds cut = rig.time.now();
        ASSERT_TRUE(rig.time.run_until([&] { return rig.told.size() == 2; }, seconds(100)));
        EXPECT_LE(rig.time.now() - cut, seconds(7));
        EXPECT_GE(rig.time.now() - cut, seconds(4));
        EXPECT_FALSE(rig.a.leading());
        EXPECT_THAT(rig.told[1], HasSubstr("a lost: the Lease was not renewed for 7 s: "));
        EXPECT_NE(rig.a.last_error(), "");
        rig.silent = false;
        rig.status = 0;
        rig.time.run_for(seconds(5));
        EXPECT_TRUE(rig.a.leading()) << "nobody took it";
        EXPECT_EQ(rig.told.back(), "a gained");
        EXPECT_EQ(rig.a.last_error(), "");
    }
}

TEST(Lease, TheClockAloneEndsTheLead) {
    Rig rig;
    Nanoseconds slept{0};
    auto options = rig.options("c");
    options.clock = [&] { return rig.time.now() + slept; };
    LeaderElector elector(rig.http_a, options);
    elector.start();
    rig.time.run_for(seconds(1));
    EXPECT_TRUE(elector.leading());
    slept = seconds(3600);  // suspended: no callback has run
    EXPECT_FALSE(elector.leading());
    EXPECT_THAT(rig.told, ElementsAre("c gained"));
    rig.time.run_for(seconds(3));
    EXPECT_TRUE(elector.leading());
    EXPECT_THAT(rig.told, ElementsAre("c gained", HasSubstr("c lost: "), "c gained"));
}

TEST(Lease, SomebodyElseInTheLeaseEndsTheLead) {
    Rig rig;
    rig.a.start();
    rig.time.run_for(seconds(5));
    rig.lease.answer({.method = "PATCH",
                      .path = "",
                      .body = lease_patch_json({.version = rig.lease.lease.version,
                                                .holder = "admin",
                                                .duration_seconds = 30,
                                                .transitions = 7})});
    const Nanoseconds taken = rig.time.now();
    rig.time.run_for(seconds(3));
    EXPECT_FALSE(rig.a.leading());
    EXPECT_THAT(rig.told, ElementsAre("a gained", "a lost: the Lease is held by admin"));
    // Its holder said 30 s: so long it is not touched.
    ASSERT_TRUE(rig.time.run_until([&] { return rig.a.leading(); }, seconds(100)));
    EXPECT_GE(rig.time.now() - taken, seconds(30));
    EXPECT_EQ(rig.lease.lease.transitions, 8);
}

TEST(Lease, ADurationWithoutEndIsNotWaitedFor) {
    Rig rig;
    rig.lease.answer(
        {.method = "POST",
         .path = "",
         .body = new_lease_json("s", "l", {.holder = "x", .duration_seconds = 2'000'000'000})});
    rig.a.start();
    EXPECT_TRUE(rig.time.run_until([&] { return rig.a.leading(); }, seconds(70)));
}

TEST(Lease, ADeletedLeaseIsMadeAgainByItsHolderFirst) {
    Rig rig;
    rig.a.start();
    rig.time.run_for(seconds(1));
    rig.b.start();
    rig.time.run_for(seconds(10));
    rig.lease.remove();
    for (int i = 0; i < 300; ++i) {
        rig.time.run_for(milliseconds(100));
        EXPECT_FALSE(rig.b.leading());
    }
    EXPECT_TRUE(rig.a.leading());
    EXPECT_EQ(rig.lease.lease.holder, "a");
    rig.http_a.close();
    rig.lease.remove();
    const Nanoseconds died = rig.time.now();
    ASSERT_TRUE(rig.time.run_until([&] { return rig.b.leading(); }, seconds(100)));
    EXPECT_GE(rig.time.now() - died, seconds(7));
}

TEST(Lease, WhatTheOperatorHasToDoIsSaid) {
    Rig rig;
    rig.lease.space_exists = false;
    rig.a.start();
    rig.time.run_for(seconds(1));
    EXPECT_EQ(rig.trouble,
              "the namespace kube-system of the Lease does not exist: create it, or name another");
    EXPECT_EQ(rig.a.last_error(), rig.trouble);
    rig.status = 403;
    rig.time.run_for(seconds(5));
    EXPECT_THAT(rig.trouble, HasSubstr("lacks get on leases in namespace kube-system"));
    rig.status = 0;
    rig.lease.space_exists = true;
    rig.time.run_for(seconds(5));
    EXPECT_TRUE(rig.a.leading());
    EXPECT_EQ(rig.a.last_error(), "");
    EXPECT_LE(rig.calls.size(), 12) << "it does not hammer the server";
}

TEST(Lease, StopGivesUpWhenThePatienceEnds) {
    Rig rig;
    rig.a.start();
    rig.time.run_for(seconds(1));
    rig.status = 500;
    EXPECT_FALSE(rig.a.stop(Nanoseconds(0)));
    EXPECT_FALSE(rig.a.leading());
    rig.told.clear();
    rig.time.run_for(seconds(60));
    EXPECT_THAT(rig.told, IsEmpty()) << "nothing is told after stop()";
    EXPECT_TRUE(rig.b.stop(Nanoseconds(0))) << "one that was never started holds nothing";
}

TEST(Lease, StopTriesAgainToRelease) {
    Rig rig;
    rig.a.start();
    rig.time.run_for(seconds(1));
    rig.status = 500;
    rig.a.resign();
    rig.time.run_for(seconds(2));
    EXPECT_EQ(rig.lease.lease.holder, "a");
    rig.status = 0;
    rig.time.run_for(seconds(1));
    EXPECT_EQ(rig.lease.lease.holder, "");
    EXPECT_TRUE(rig.a.stop(Nanoseconds(0)));
}

TEST(Lease, StopWaitsForAnotherThread) {
    Rig rig;
    rig.a.start();
    rig.time.run_for(seconds(1));
    rig.a.resign();
    std::thread other([&] { rig.time.run_for(seconds(5)); });
    EXPECT_TRUE(rig.a.stop(seconds(600)));
    other.join();
    EXPECT_EQ(rig.lease.lease.holder, "");
}

TEST(Lease, JsonIsReadWithWhatIsMissing) {
    struct Case {
        std::string text;
        std::string holder;
        int duration;
    };
    for (const auto& [text, holder, duration] : std::vector<Case>{
             {R"({"metadata":{"resourceVersion":"1"}})", "", 0},
             {R"({"metadata":{"resourceVersion":"1"},"spec":null})", "", 0},
             {R"({"metadata":{"resourceVersion":"1"},"spec":{"holderIdentity":null}})", "", 0},
             {R"({"x":[{}],"spec":{"leaseDurationSeconds":15,"holderIdentity":"a","strategy":"x"},)"
              R"("metadata":{"labels":{},"resourceVersion":"1"}})",
              "a", 15}}) {
        const auto lease = read_lease_json(text);
        ASSERT_TRUE(lease) << text << lease.error().message;
        EXPECT_EQ(lease->version, "1");
        EXPECT_EQ(lease->holder, holder);
        EXPECT_EQ(lease->duration_seconds, duration);
    }
    for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
             {"", "this is no Lease"},
             {"[]", "this is no Lease"},
             {R"({"metadata":{}})", "metadata.resourceVersion is missing"},
             {R"({"metadata":{"resourceVersion":1}})", "metadata.resourceVersion"},
             {R"({"spec":{"leaseDurationSeconds":-1}})", "spec.leaseDurationSeconds"},
             {R"({"spec":{"leaseTransitions":"1"}})", "spec.leaseTransitions"}}) {
        const auto lease = read_lease_json(text);
        ASSERT_FALSE(lease) << text;
        EXPECT_THAT(lease.error().message, HasSubstr(message));
    }
}

TEST(Lease, Times) {
    EXPECT_EQ(micro_time(Nanoseconds(0)), "1970-01-01T00:00:00.000000Z");
    EXPECT_EQ(micro_time(Nanoseconds(1'795'003'200'000'001'999)), "2026-11-18T12:00:00.000001Z");
    EXPECT_EQ(micro_time(Nanoseconds(-1)), "1969-12-31T23:59:59.999999Z");
}

TEST(Lease, IdentitiesAreUnique) {
    EXPECT_NE(process_identity(), process_identity());
    EXPECT_GT(process_identity().size(), 32);
}

}  // namespace
}  // namespace tessera
