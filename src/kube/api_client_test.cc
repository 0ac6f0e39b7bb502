#include "kube/api_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kube/fake_http_client.h"
#include "kube/paths.h"

namespace tessera {
namespace {

using testing::HasSubstr;

std::string status_text(const std::string& reason, const std::string& message,
                        const std::string& details = "{}") {
    return R"({"kind":"Status","message":")" + message + R"(","reason":")" + reason +
           R"(","details":)" + details + "}";
}

// A server that gives its answers one after the other, the last for ever; 0 cuts the connection.
struct Api {
    explicit Api(std::vector<ClientAnswer> to_give) : answers(std::move(to_give)) {}

    std::optional<ApiResult<std::string>> run(ApiCall call, Nanoseconds span = seconds(3600)) {
        std::optional<ApiResult<std::string>> got;
        int times = 0;
        api.send(std::move(call), [&](ApiResult<std::string> result) {
            got = std::move(result);
            took = time.now() - begun;
            ++times;
        });
        begun = time.now();
        time.run_for(span);
        EXPECT_LE(times, 1);
        return got;
    }

    std::vector<ClientAnswer> answers;
    std::vector<Nanoseconds> at;
    std::vector<ClientCall> calls;
    Nanoseconds begun{};
    Nanoseconds took{};
    VirtualTime time;
    FakeHttpClient http{time, [this](FakeHttpClient& to, const FakeCall& call) {
                            const std::size_t n = std::min(calls.size(), answers.size() - 1);
                            calls.push_back(call.call);
                            at.push_back(time.now() - begun);
                            answers[n].status == 0 ? to.cut(call.id)
                                                   : to.answer(call.id, answers[n]);
                        }};
    ApiClient api{http, time.clock(), 7};
};

TEST(ApiClient, AnswersAreBodies) {
    Api api({{.status = 200, .body = "{}"}});
    const auto got = api.run(ApiCall::get("/api/v1/pods"));
    ASSERT_TRUE(got && *got);
    EXPECT_EQ(**got, "{}");
    EXPECT_EQ(api.calls.at(0).method, "GET");
}

TEST(ApiClient, MethodsAndTypes) {
    const auto create = ApiCall::create("/p", "b");
    EXPECT_EQ(create.http.method, "POST");
    EXPECT_EQ(create.http.content_type, "application/json");
    EXPECT_EQ(create.http.body, "b");
    EXPECT_FALSE(create.repeatable);
    EXPECT_EQ(ApiCall::replace("/p", "b").http.method, "PUT");
    EXPECT_EQ(ApiCall::merge_patch("/p", "b").http.method, "PATCH");
    EXPECT_EQ(ApiCall::merge_patch("/p", "b").http.content_type, "application/merge-patch+json");
    EXPECT_EQ(ApiCall::strategic_patch("/p", "b").http.method, "PATCH");
    EXPECT_EQ(ApiCall::strategic_patch("/p", "b").http.content_type,
              "application/strategic-merge-patch+json");
    EXPECT_EQ(ApiCall::remove("/p").http.method, "DELETE");
}

TEST(ApiClient, AStatusIsUnderstood) {
    const auto error_of = [](int status, const std::string& body) {
        Api api({{.status = status, .body = body}});
        const auto got = api.run(ApiCall::get("/api/v1/pods?limit=5").within(seconds(5)));
        EXPECT_TRUE(got && !*got);
        return got->error();
    };
    auto error = error_of(403, status_text("Forbidden", "no pods for you"));
    EXPECT_EQ(error.error.message,
              "GET /api/v1/pods: the API server answered 403 Forbidden: no pods for you; grant the "
              "role that allows it");
    EXPECT_EQ(error.error.kind, ErrorKind::environment);
    EXPECT_EQ(error.status, 403);
    EXPECT_EQ(error.reason, "Forbidden");
    EXPECT_EQ(error_of(404, status_text("NotFound", "x")).error.kind, ErrorKind::not_found);
    EXPECT_EQ(error_of(409, status_text("Conflict", "x")).error.kind, ErrorKind::conflict);
    EXPECT_EQ(error_of(410, status_text("Expired", "x")).error.kind, ErrorKind::not_found);
    EXPECT_EQ(error_of(422, status_text("Invalid", "x")).error.kind, ErrorKind::invalid);
    EXPECT_THAT(error_of(401, "").error.message, HasSubstr("check the token"));
    error = error_of(400, "<html>\n");
    EXPECT_EQ(error.error.message,
              "GET /api/v1/pods: the API server answered 400: \"<html>\\x0a\"");
    EXPECT_FALSE(error.passing());
}

TEST(ApiClient, ThrottledCallsWaitAsAsked) {
    Api api({{.status = 429, .body = "", .retry_after = seconds(2)},
             {.status = 503, .body = status_text("x", "y", R"({"retryAfterSeconds":3})")},
             {.status = 200, .body = "ok"}});
    const auto got = api.run(ApiCall::replace("/p", "b").within(seconds(20)));
    ASSERT_TRUE(got && *got);
    EXPECT_EQ(**got, "ok");
    ASSERT_EQ(api.at.size(), 3);
    EXPECT_GE(api.at[1] - api.at[0], seconds(2));
    EXPECT_GE(api.at[2] - api.at[1], seconds(3));
    EXPECT_LT(api.took, seconds(6));
    EXPECT_EQ(api.calls[2].body, "b");
}

TEST(ApiClient, FailuresAreRepeatedLaterAndLaterUpToTheDeadline) {
    Api api({{.status = 500, .body = ""}, {.status = 0, .body = ""}, {.status = 504, .body = ""}});
    const auto got = api.run(ApiCall::get("/p").within(seconds(10)));
    ASSERT_TRUE(got && !*got);
    EXPECT_EQ(got->error().status, 504);
    EXPECT_THAT(got->error().error.message, HasSubstr("attempts in"));
    EXPECT_LE(api.took, seconds(10));
    EXPECT_GE(api.at.size(), 5);
    EXPECT_LE(api.at.size(), 12);
    EXPECT_LT(api.at[1] - api.at[0], milliseconds(150));
    EXPECT_GT(api.at[4] - api.at[3], milliseconds(300));
}

TEST(ApiClient, WithoutADeadlineThereIsOneAttempt) {
    Api api({{.status = 429, .body = ""}});
    const auto got = api.run(ApiCall::get("/p"));
    ASSERT_TRUE(got && !*got);
    EXPECT_EQ(api.calls.size(), 1);
}

TEST(ApiClient, WhatMayNotBeDoneTwiceIsNotRepeatedWhenNobodyKnows) {
    for (const int status : {0, 500, 502, 503, 504}) {
        Api api({{.status = status, .body = ""}});
        const auto got = api.run(ApiCall::create("/p", "").within(seconds(10)));
        ASSERT_TRUE(got && !*got);
        EXPECT_TRUE(got->error().unsure);
        EXPECT_EQ(got->error().status, status);
        EXPECT_EQ(api.calls.size(), 1);
    }
}

TEST(ApiClient, ACallHasNoMoreTimeThanIsLeft) {
    VirtualTime time;
    int reached = 0;
    FakeHttpClient http(time, [&](FakeHttpClient&, const FakeCall&) { ++reached; });
    ApiClient api(http, time.clock(), 1);
    std::optional<Nanoseconds> ended;
    api.send(ApiCall::get("/p").within(seconds(3)), [&](const ApiResult<std::string>& got) {
        EXPECT_FALSE(got);
        ended = time.now();
    });
    const Nanoseconds begun = time.now();
    time.run_for(seconds(60));
    ASSERT_TRUE(ended);
    EXPECT_EQ(*ended - begun, seconds(3));
    EXPECT_EQ(reached, 1);
}

TEST(ApiClient, AClosedClientIsNoReasonToWaitForEver) {
    VirtualTime time;
    FakeHttpClient http(time, [](FakeHttpClient& to, const FakeCall& call) {
        to.answer(call.id, {.status = 429, .body = "", .retry_after = seconds(5)});
    });
    ApiClient api(http, time.clock(), 1);
    std::optional<ApiError> error;
    api.send(ApiCall::get("/p").within(seconds(60)),
             [&](const ApiResult<std::string>& got) { error = got.error(); });
    time.run_for(seconds(1));
    EXPECT_FALSE(error);
    http.close();
    time.run_for(seconds(60));
    ASSERT_TRUE(error);
    EXPECT_EQ(error->error.kind, ErrorKind::conflict);
    EXPECT_THAT(error->error.message, HasSubstr("closed"));
}

TEST(ApiClient, ABlockingCallWaitsForTheOtherThread) {
    VirtualTime time;
    FakeHttpClient http(time, [&, n = 0](FakeHttpClient& to, const FakeCall& call) mutable {
        to.answer(call.id, {.status = ++n < 3 ? 503 : 200, .body = "ok"});
    });
    // The thread that drives the fake begins when the call has been sent.
    class Driven final : public HttpClient {
      public:
        Driven(FakeHttpClient& inner, VirtualTime& time) : inner_(inner), time_(time) {}
        ~Driven() override { thread_.join(); }
        CallId send(ClientCall call, Done done) override {
            const CallId id = inner_.send(std::move(call), std::move(done));
            if (!driven_.exchange(true)) {
                thread_ = std::thread([this] { time_.run_for(seconds(60)); });
            }
            return id;
        }
        CallId stream(ClientCall, OnLine, Done) override { return CallId::none; }
        CallId later(Nanoseconds delay, std::function<void()> task) override {
            return inner_.later(delay, std::move(task));
        }
        void cancel(CallId) override {}
        Expected<ClientAnswer> call(ClientCall call) override { return inner_.call(call); }
        void close() override {}

      private:
        FakeHttpClient& inner_;
        VirtualTime& time_;
        std::atomic<bool> driven_ = false;
        std::thread thread_;
    };
    Driven driven(http, time);
    ApiClient api(driven, time.clock(), 1);
    const auto got = api.call(ApiCall::get("/p").within(seconds(30)));
    ASSERT_TRUE(got) << got.error().error.message;
    EXPECT_EQ(*got, "ok");
}

TEST(Paths, OfObjects) {
    EXPECT_EQ((ObjectPath{.resource = "nodes"}.text()), "/api/v1/nodes");
    EXPECT_EQ(
        (ObjectPath{.resource = "pods", .space = "a b", .name = "c/d", .sub = "binding"}.text()),
        "/api/v1/namespaces/a%20b/pods/c%2Fd/binding");
    EXPECT_EQ(
        (ObjectPath{.group = "coordination.k8s.io/v1", .resource = "leases", .space = "x"}.text()),
        "/apis/coordination.k8s.io/v1/namespaces/x/leases");
    EXPECT_EQ(with_query("/p", {{"limit", "5"}, {"continue", ""}, {"labelSelector", "a=b,c!=d"}}),
              "/p?limit=5&labelSelector=a%3Db%2Cc%21%3Dd");
    EXPECT_EQ(with_query("/p?x=1", {{"y", "2"}}), "/p?x=1&y=2");
    EXPECT_EQ(with_query("/p", {}), "/p");
}

TEST(Backoff, GrowsWithJitterAndHeedsTheServer) {
    Rng rng(1);
    Backoff backoff({.first = milliseconds(100), .most = seconds(1)});
    Nanoseconds limit = milliseconds(100);
    for (int i = 0; i < 10; ++i) {
        const Nanoseconds wait = backoff.next(rng);
        EXPECT_GE(wait * 2, limit);
        EXPECT_LE(wait, limit);
        limit = std::min(limit * 2, seconds(1));
    }
    backoff.reset();
    EXPECT_LE(backoff.next(rng), milliseconds(100));
    EXPECT_GE(backoff.next(rng, milliseconds(500)), milliseconds(500));
    EXPECT_LE(backoff.next(rng, seconds(36'000)), seconds(301)) << "not for as long as it likes";
}

}  // namespace
}  // namespace tessera
