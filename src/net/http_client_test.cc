#include "net/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "net/client_test_server.h"

namespace tessera {
namespace {

using namespace tessera::testing;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(HttpClient, AnyStatusIsAnAnswer) {
    for (const int status : {200, 201, 302, 404, 409, 429, 500, 503}) {
        ScriptedServer server(always(answer_text(status, "text", "Location: /elsewhere\r\n")));
        const auto client = client_of({.base_url = server.url()});
        const auto answer = client->call({.path = "/a?b=c"});
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(answer->status, status);
        EXPECT_EQ(answer->body, "text");
        EXPECT_EQ(answer->retry_after, std::nullopt);
        EXPECT_EQ(server.requests(), 1) << "redirects are not followed";
    }
}

TEST(HttpClient, RetryAfterIsReadInSeconds) {
    const auto wait_of = [](const std::string& value) {
        ScriptedServer server(always(answer_text(429, "", "retry-after: " + value + "\r\n")));
        return client_of({.base_url = server.url()})->call({.path = "/"})->retry_after;
    };
    EXPECT_EQ(wait_of("3"), Nanoseconds(3'000'000'000));
    EXPECT_EQ(wait_of("0"), Nanoseconds(0));
    EXPECT_EQ(wait_of("99999999999"), Nanoseconds(86'400'000'000'000));
    EXPECT_EQ(wait_of("-1"), std::nullopt);
    EXPECT_EQ(wait_of("Wed, 21 Oct 2026 07:28:00 GMT"), std::nullopt);
}

TEST(HttpClient, SendsWhatWasAsked) {
    Awaited<std::string> seen;
    ScriptedServer server([&](ServedConnection& peer, const std::string& request) {
        seen.set(request);
        return peer.write(answer_text(200, ""));
    });
    int asked = 0;
    const auto client = client_of({.base_url = server.url() + "/prefix/",
                                   .bearer_token = [&] { return "t" + std::to_string(++asked); },
                                   .user_agent = "tessera/1"});
    ASSERT_TRUE(client->call({.method = "PATCH",
                              .path = "/x?y=%20z",
                              .content_type = "application/merge-patch+json",
                              .body = R"({"a":1})"}));
    const std::string patch = seen.get(0);
    EXPECT_THAT(patch, StartsWith("PATCH /prefix/x?y=%20z HTTP/1.1\r\n"));
    EXPECT_THAT(patch, HasSubstr("\r\nContent-Type: application/merge-patch+json\r\n"));
    EXPECT_THAT(patch, HasSubstr("\r\nAuthorization: Bearer t1\r\n"));
    EXPECT_THAT(patch, HasSubstr("\r\nUser-Agent: tessera/1\r\n"));
    EXPECT_THAT(patch, HasSubstr("\r\nContent-Length: 7\r\n"));
    EXPECT_THAT(patch, ::testing::EndsWith("\r\n\r\n{\"a\":1}"));

    ASSERT_TRUE(client->call({.path = "/../x"}));
    const std::string get = seen.get(1);
    EXPECT_THAT(get, StartsWith("GET /prefix/../x HTTP/1.1\r\n"));
    EXPECT_THAT(get, HasSubstr("Bearer t2\r\n"));
    EXPECT_THAT(get, ::testing::Not(HasSubstr("Content-")));

    ASSERT_TRUE(client->call({.method = "DELETE", .path = "/x"}));
    EXPECT_THAT(seen.get(2), StartsWith("DELETE /prefix/x "));
    ASSERT_TRUE(client->call({.method = "POST", .path = "/x"}));
    EXPECT_THAT(seen.get(3), HasSubstr("Content-Length: 0\r\n"));
    ASSERT_TRUE(client->call({.method = "DELETE", .path = "/x", .body = "{}"}));
    EXPECT_THAT(seen.get(4), ::testing::AllOf(StartsWith("DELETE "), ::testing::EndsWith("{}")));
    EXPECT_EQ(server.connections(), 1) << "the connection is kept and used again";
}

TEST(HttpClient, ALargeBodyIsSentAtOnceAndComesBackWhole) {
    const std::string large(5 << 20, 'x');
    ScriptedServer server([&](ServedConnection& peer, const std::string& request) {
        const bool whole = request.ends_with(large);
        const bool asked_first = request.find("100-continue") != std::string::npos;
        return peer.write(answer_text(whole && !asked_first ? 200 : 400, large));
    });
    const auto answer =
        client_of({.base_url = server.url()})->call({.method = "POST", .path = "/", .body = large});
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, large);
}

TEST(HttpClient, WhatCannotBeSentIsAnError) {
    ScriptedServer server(always(answer_text(200, "")));
    const auto client = client_of({.base_url = server.url()});
    for (const char* path : {"", "x", "/a b", "/a\r\nX: y", "/\xc3\xa9"}) {
        const auto answer = client->call({.path = path});
        ASSERT_FALSE(answer) << path;
        EXPECT_EQ(answer.error().kind, ErrorKind::invalid);
    }
    EXPECT_FALSE(client->call({.method = "GET / HTTP/1.1\r\n", .path = "/"}));
    EXPECT_FALSE(client->call({.path = "/", .content_type = "a\r\nb"}));
    const auto with_token =
        client_of({.base_url = server.url(), .bearer_token = [] { return "a\nb"; }});
    EXPECT_FALSE(with_token->call({.path = "/"}));
    EXPECT_EQ(server.requests(), 0);
    for (const char* url :
         {"", "ftp://x", "https://", "http://u:p@x", "http://x/?q", "http://x y"}) {
        const auto opened = HttpClient::open({.base_url = url});
        ASSERT_FALSE(opened) << url;
        EXPECT_EQ(opened.error().kind, ErrorKind::invalid);
    }
}

TEST(HttpClient, ABodyOverTheLimitIsAnError) {
    ScriptedServer server([](ServedConnection& peer, const std::string& request) {
        if (request.starts_with("GET /chunked")) {
            return peer.write(kChunked) && peer.write_chunk(std::string(100, 'x')) &&
                   peer.write_chunk("x") && peer.write_chunk("");
        }
        return peer.write(
            answer_text(200, std::string(request.starts_with("GET /101") ? 101 : 100, 'x')));
    });
    const auto client = client_of({.base_url = server.url(), .max_body_bytes = 100});
    EXPECT_EQ(client->call({.path = "/100"})->body.size(), 100);
    for (const char* path : {"/101", "/chunked"}) {
        const auto answer = client->call({.path = path});
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().kind, ErrorKind::invalid);
        EXPECT_THAT(answer.error().message, HasSubstr("more than 100 bytes"));
    }
    ScriptedServer endless(always(
        "HTTP/1.1 200 OK\r\nX: " + std::string(90'000, 'x') + "\r\nY: " + std::string(90'000, 'y') +
        "\r\nZ: " + std::string(90'000, 'z') + "\r\nContent-Length: 0\r\n\r\n"));
    const auto answer = client_of({.base_url = endless.url()})->call({.path = "/"});
    ASSERT_FALSE(answer);
    EXPECT_THAT(answer.error().message, HasSubstr("headers"));
}

TEST(HttpClient, CutConnectionsAndRefusalsAreErrors) {
    const auto failure = [](const std::string& text) {
        ScriptedServer server([&](ServedConnection& peer, const std::string&) {
            peer.write(text);
            return false;
        });
        const auto answer = client_of({.base_url = server.url()})->call({.path = "/a?secret=1"});
        EXPECT_FALSE(answer) << text;
        return answer ? Error{} : answer.error();
    };
    for (const std::string text :
         {"", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n",
          "nonsense\r\n\r\n"}) {
        const Error error = failure(text);
        EXPECT_EQ(error.kind, ErrorKind::environment) << text;
        EXPECT_THAT(error.message, ::testing::AllOf(StartsWith("GET http://127.0.0.1:"),
                                                    ::testing::Not(HasSubstr("secret"))));
    }
    std::string url;
    {
        const ScriptedServer gone(always(""));
        url = gone.url();
    }
    const auto refused = client_of({.base_url = url})->call({.path = "/"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::environment);
    EXPECT_THAT(refused.error().message, HasSubstr("check that the server runs"));
}

TEST(HttpClient, AConnectionThatWasClosedMeanwhileIsReplaced) {
    ScriptedServer server([&](ServedConnection& peer, const std::string& request) {
        const bool first = request.starts_with("GET /first");
        peer.write(answer_text(200, "ok"));
        return !first;
    });
    const auto client = client_of({.base_url = server.url()});
    for (int i = 0; i < 20; ++i) {
        ASSERT_TRUE(client->call({.path = "/first"}));
        const auto answer = client->call({.method = "POST", .path = "/second", .body = "x"});
        ASSERT_TRUE(answer) << answer.error().message;
    }
}

TEST(HttpClient, ASilentServerIsNotWaitedForLong) {
    ScriptedServer server([](ServedConnection& peer, const std::string& request) {
        if (request.starts_with("GET /half")) {
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab");
        }
        peer.await_end();
        return false;
    });
    const auto client = client_of({.base_url = server.url()});
    for (const char* path : {"/none", "/half"}) {
        const auto answer = client->call({.path = path, .timeout = kMillisecond * 50});
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().kind, ErrorKind::environment);
        EXPECT_THAT(answer.error().message, HasSubstr("no whole answer came within 50 ms"));
    }
}

TEST(HttpClient, CallsBeyondTheConnectionsWait) {
    std::promise<void> release;
    auto released = release.get_future().share();
    ScriptedServer server([&](ServedConnection& peer, const std::string&) {
        released.wait();
        return peer.write(answer_text(200, "ok"));
    });
    const auto client = client_of({.base_url = server.url(), .max_connections = 2});
    Awaited<Answer> answers;
    for (int i = 0; i < 10; ++i) {
        client->send({.path = "/"}, to(answers));
    }
    const auto late = client->call({.path = "/", .timeout = kMillisecond * 50});
    ASSERT_FALSE(late);
    EXPECT_THAT(late.error().message, HasSubstr("none of the 2 connections became free"));
    release.set_value();
    for (std::size_t i = 0; i < 10; ++i) {
        EXPECT_TRUE(answers.get(i));
    }
    EXPECT_LE(server.connections(), 2);
}

// Lines --------------------------------------------------------------------------------------

TEST(HttpClient, ACancelledCallEndsWithAnError) {
    ScriptedServer server(silent());
    const auto client = client_of({.base_url = server.url(), .max_connections = 1});
    Awaited<Answer> active;
    Awaited<Answer> waiting;
    const auto first = client->send({.path = "/"}, to(active));
    const auto second = client->send({.path = "/"}, to(waiting));
    client->cancel(second);
    client->cancel(first);
    for (const auto& answer : {active.get(), waiting.get()}) {
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().kind, ErrorKind::conflict);
        EXPECT_THAT(answer.error().message, HasSubstr("cancelled"));
    }
    client->cancel(first);
    client->cancel(HttpClient::CallId::none);
    client->close();
    EXPECT_EQ(active.count(), 1);
    EXPECT_EQ(waiting.count(), 1);
}

TEST(HttpClient, TimersFireInOrderAndNotWhenCancelled) {
    ScriptedServer server(silent());
    const auto client = client_of({.base_url = server.url()});
    Awaited<int> fired;
    HttpClient::CallId victim{};
    std::promise<void> set;
    auto all_set = set.get_future().share();
    client->later(Nanoseconds(0), [&] { all_set.wait(); });
    client->later(kMillisecond, [&] {
        fired.set(1);
        client->cancel(victim);
    });
    victim = client->later(kMillisecond * 2, [&] { fired.set(-1); });
    const auto other = client->later(kMillisecond * 3, [&] { fired.set(-2); });
    client->cancel(other);
    client->later(kMillisecond * 10, [&] {
        fired.set(2);
        client->later(Nanoseconds(-5), [&] { fired.set(4); });
    });
    client->later(kMillisecond * 20, [&] { fired.set(3); });
    set.set_value();
    fired.get(3);
    client->close();
    EXPECT_EQ(fired.get(0), 1);
    EXPECT_EQ(fired.get(1), 2);
    EXPECT_EQ(fired.get(2) + fired.get(3), 7);
    EXPECT_EQ(fired.count(), 4);
}

TEST(HttpClient, CloseEndsAllThatIsInFlight) {
    ScriptedServer server(silent());
    const auto client = client_of({.base_url = server.url(), .max_connections = 4});
    Awaited<Answer> ends;
    Awaited<Answer> again;
    for (int i = 0; i < 4; ++i) {
        client->send({.path = "/"}, to(ends));
        client->stream({.path = "/"}, [](std::string_view) { return true; }, to(ends));
    }
    client->send({.path = "/"}, [&](const Answer&) { client->send({.path = "/"}, to(again)); });
    Awaited<bool> fired;
    client->later(kMillisecond * 3'600'000, [&] { fired.set(true); });
    std::thread beside([&] { client->close(); });
    client->close();
    beside.join();
    ASSERT_EQ(ends.count(), 8);
    ASSERT_EQ(again.count(), 1) << "a call that a callback began ends, too";
    for (std::size_t i = 0; i < 8; ++i) {
        ASSERT_FALSE(ends.get(i));
        EXPECT_THAT(ends.get(i).error().message, HasSubstr("closed"));
        EXPECT_EQ(ends.get(i).error().kind, ErrorKind::conflict);
    }
    client->close();
    const auto after = client->call({.path = "/"});
    ASSERT_FALSE(after);
    EXPECT_THAT(after.error().message, HasSubstr("closed"));
    client->later(Nanoseconds(0), [&] { fired.set(true); });
    EXPECT_FALSE(client->call({.path = "/"}));  // a round later
    EXPECT_EQ(fired.count(), 0);
}

TEST(HttpClient, ACallbackMayClose) {
    ScriptedServer server(always(answer_text(200, "")));
    const auto client = client_of({.base_url = server.url()});
    Awaited<Answer> end;
    client->send({.path = "/"}, [&](Answer answer) {
        client->close();
        client->send({.path = "/"}, to(end));
        EXPECT_TRUE(answer);
    });
    EXPECT_FALSE(end.get());
    client->close();
}

TEST(HttpClient, DestroyedWithCallsInFlight) {
    ScriptedServer server(silent());
    Awaited<Answer> ends;
    {
        const auto client = client_of({.base_url = server.url()});
        for (int i = 0; i < 8; ++i) {
            client->send({.path = "/"}, to(ends));
        }
    }
    EXPECT_EQ(ends.count(), 8);
}

TEST(HttpClient, ManyThreadsSendAtOnce) {
    ScriptedServer server([](ServedConnection& peer, const std::string& request) {
        const std::size_t path = request.find('/');
        return peer.write(answer_text(200, request.substr(path, request.find(' ', path) - path)));
    });
    const auto client = client_of({.base_url = server.url(), .max_connections = 8});
    constexpr int kThreads = 8;
    constexpr int kCalls = 50;
    std::atomic<int> right = 0;
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
            for (int i = 0; i < kCalls; ++i) {
                const std::string path = "/" + std::to_string(thread * kCalls + i);
                const auto answer = client->call({.path = path});
                right += answer && answer->body == path ? 1 : 0;
                client->cancel(client->send({.path = path}, [](const Answer&) {}));
                client->cancel(client->later(Nanoseconds(0), [] {}));
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(right, kThreads * kCalls);
}

TEST(HttpClient, CallbacksBeginNewCalls) {
    ScriptedServer server(always(answer_text(200, "ok")));
    const auto client = client_of({.base_url = server.url(), .max_connections = 1});
    Awaited<Answer> end;
    int left = 100;
    std::function<void()> next = [&] {
        client->send({.path = "/"}, [&](Answer answer) {
            if (!answer || --left == 0) {
                end.set(std::move(answer));
                return;
            }
            left % 2 == 0 ? next() : void(client->later(Nanoseconds(0), next));
        });
    };
    next();
    EXPECT_TRUE(end.get());
    EXPECT_EQ(left, 0);
    EXPECT_EQ(server.connections(), 1);
}

TEST(HttpClient, TheEnvironmentsProxiesAreNotUsedButAGivenOneIs) {
    Awaited<std::string> seen;
    ScriptedServer proxy([&](ServedConnection& peer, const std::string& request) {
        seen.set(request);
        return peer.write(answer_text(200, "by the proxy"));
    });
    ScriptedServer server(always(answer_text(200, "direct")));
    ::setenv("http_proxy", proxy.url().c_str(), 1);
    ::setenv("ALL_PROXY", proxy.url().c_str(), 1);
    const auto direct = client_of({.base_url = server.url()})->call({.path = "/"});
    ::unsetenv("http_proxy");
    ::unsetenv("ALL_PROXY");
    ASSERT_TRUE(direct);
    EXPECT_EQ(direct->body, "direct");
    const auto given =
        client_of({.base_url = server.url(), .proxy = proxy.url()})->call({.path = "/x"});
    ASSERT_TRUE(given);
    EXPECT_EQ(given->body, "by the proxy");
    EXPECT_THAT(seen.get(), StartsWith("GET " + server.url() + "/x "));
}

}  // namespace
}  // namespace tessera
