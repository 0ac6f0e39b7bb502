// What clients see of the server, over sockets: good ones, broken ones and slow ones.
#include "net/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "net/server_test_client.h"

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr Nanoseconds kMinute{60'000'000'000};
constexpr Nanoseconds kMoment{300'000'000};

// Echoes; some paths do something else. "/later" keeps the Responder until take().
class Handler {
  public:
    void operator()(HttpRequest& request, Responder respond) {
        if (request.path == "/later") {
            const std::lock_guard lock(mutex_);
            kept_.emplace_back(std::move(respond));
            changed_.notify_all();
        } else if (request.path == "/size") {
            respond({.status = 200, .body = std::to_string(request.body.size())});
        } else if (request.path == "/large") {
            respond({.status = 200, .body = std::string(std::size_t{64} << 20, 'x')});
        } else if (request.path == "/drop") {
            const Responder dropped = std::move(respond);
        } else if (request.path == "/bad-alloc") {
            throw std::bad_alloc();
        } else if (request.path == "/answer-and-throw") {
            respond({.status = 200, .body = "never seen"});
            throw std::runtime_error("after the answer");
        } else if (request.path == "/empty") {
            respond({.status = 204, .body = "not sent"});
        } else if (request.method == "BREW") {
            respond({.status = 405, .body = "no coffee", .allow = "GET, POST"});
        } else {
            const bool has_room = request.body.capacity() >= request.body.size() + kBodyPadding;
            std::string text = request.method + " " + request.path + " " + request.query + " " +
                               request.body + (has_room ? "" : " without room");
            respond({.status = 200, .body = std::move(text), .content_type = "text/plain"});
        }
    }
    Responder take() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !kept_.empty(); });
        Responder first = std::move(kept_.front());
        kept_.erase(kept_.begin());
        return first;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Responder> kept_;
};

class HttpServerTest : public testing::Test {
  protected:
    HttpServer& start(HttpServerOptions options = {}) {
        auto started = HttpServer::start(std::move(options), std::ref(handler_));
        EXPECT_TRUE(started) << started.error().message;
        server_ = std::move(*started);
        return *server_;
    }
    // For what the server does on its own; a test that waits for ever has failed.
    void await_open(std::uint64_t count) {
        while (server_->counts().open != count) {
            std::this_thread::yield();
        }
    }

    Handler handler_;
    std::unique_ptr<HttpServer> server_;
};

std::string get(const std::string& path, const std::string& fields = "") {
    return "GET " + path + " HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n";
}
std::string post(const std::string& path, const std::string& body) {
    return "POST " + path +
           " HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           body;
}

TEST_F(HttpServerTest, AnswersOnOneConnection) {
    RawClient client(start().port());
    for (int i = 0; i < 3; ++i) {
        client.send(post("/a/b?c=d", "{\"x\":1}"));
        const auto answer = client.answer();
        EXPECT_EQ(answer.status, 200);
        EXPECT_EQ(answer.body, "POST /a/b c=d {\"x\":1}");
        EXPECT_THAT(answer.head, StartsWith("HTTP/1.1 200 OK\r\n"));
        EXPECT_THAT(answer.head, HasSubstr("Content-Type: text/plain\r\n"));
        EXPECT_THAT(answer.head, HasSubstr("\r\nDate: "));
        EXPECT_THAT(answer.head, Not(HasSubstr("Connection:")));
    }
    const HttpServerCounts counts = server_->counts();
    EXPECT_EQ(counts.connections, 1U);
    EXPECT_EQ(counts.open, 1U);
    EXPECT_EQ(counts.requests, 3U);
    EXPECT_EQ(counts.refused, 0U);
    client.close();
    await_open(0);
}

TEST_F(HttpServerTest, AnAnswerIsOneSegment) {
    RawClient client(start().port());
    for (std::uint32_t i = 1; i <= 5; ++i) {
        client.send(post("/", "some body"));
        EXPECT_EQ(client.answer().status, 200);
        EXPECT_EQ(client.segments_with_data(), i) << "head and body in one write";
    }
}

TEST_F(HttpServerTest, PipelinedRequestsAreAnsweredInOrder) {
    RawClient client(start().port());
    std::string all;
    for (int i = 0; i < 300; ++i) {
        all += i % 3 == 0 ? post("/" + std::to_string(i), std::string(1000, 'b'))
                          : get("/" + std::to_string(i));
    }
    std::thread sender([&] { client.send(all + get("/later") + get("/last")); });
    for (int i = 0; i < 300; ++i) {
        EXPECT_THAT(client.answer().body, HasSubstr(" /" + std::to_string(i) + " "));
    }
    sender.join();
    handler_.take()({.status = 200, .body = "later"});
    EXPECT_EQ(client.answer().body, "later") << "the next one waits for its turn";
    EXPECT_EQ(client.answer().body, "GET /last  ");
}

TEST_F(HttpServerTest, SplitAnywhereARequestIsTheSame) {
    RawClient client(start().port());
    const std::string bytes = post("/split", "body");
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
        client.send(bytes.substr(0, cut));
        client.send(bytes.substr(cut));
        ASSERT_EQ(client.answer().body, "POST /split  body") << cut;
    }
}

TEST_F(HttpServerTest, ConnectionsEndWhenTheClientWantsIt) {
    start();
    for (const std::string& bytes :
         {get("/", "Connection: close\r\n"), std::string("GET / HTTP/1.0\r\n\r\n")}) {
        RawClient client(server_->port());
        client.send(bytes + get("/not-read"));
        const auto answer = client.answer();
        EXPECT_EQ(answer.status, 200);
        EXPECT_THAT(answer.head, HasSubstr("Connection: close\r\n"));
        EXPECT_EQ(client.rest(), "");
    }
    EXPECT_EQ(server_->counts().requests, 2U);
    RawClient old(server_->port());
    for (int i = 0; i < 2; ++i) {
        old.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        EXPECT_THAT(old.answer().head, HasSubstr("Connection: keep-alive\r\n"));
    }
    RawClient half(server_->port());
    half.send(post("/half-closed", "body"));
    half.end_sending();
    EXPECT_EQ(half.answer().body, "POST /half-closed  body");
    EXPECT_EQ(half.rest(), "");
}

TEST_F(HttpServerTest, AnswersWithoutABody) {
    RawClient client(start().port());
    client.send("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n" + get("/empty") + get("/b"));
    const auto head = client.answer(false);
    EXPECT_EQ(head.status, 200);
    EXPECT_THAT(head.head, HasSubstr("Content-Length: 9\r\n")) << "as GET would have it";
    const auto empty = client.answer();
    EXPECT_EQ(empty.status, 204);
    EXPECT_THAT(empty.head, Not(HasSubstr("Content-Length")));
    EXPECT_EQ(client.answer().body, "GET /b  ");
}

TEST_F(HttpServerTest, ContinueIsSaidToWhoWaitsForIt) {
    RawClient client(start({.max_body_bytes = 100}).port());
    const std::string fields = "Expect: 100-continue\r\nContent-Length: 4\r\n";
    client.send("POST /c HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n");
    EXPECT_EQ(client.answer().status, 100);
    client.send("body");
    EXPECT_EQ(client.answer().body, "POST /c  body");
    client.send("POST /c HTTP/1.1\r\nHost: x\r\n" + fields + "\r\nbody");
    EXPECT_EQ(client.answer().status, 200) << "the body has come already";
    client.send(
        "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 101\r\n\r\n");
    EXPECT_EQ(client.answer().status, 413) << "the body need not come";
    EXPECT_EQ(client.rest(), "");
}

TEST_F(HttpServerTest, ChunkedBodiesAreReadAndBounded) {
    start({.max_body_bytes = 100'000});
    const std::string head = "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    const std::string chunk = "1000\r\n" + std::string(4096, 'c') + "\r\n";
    RawClient client(server_->port());
    std::string bytes = head;
    for (int i = 0; i < 24; ++i) {
        bytes += chunk;
    }
    client.send(bytes + "0\r\nTrailer: t\r\n\r\n");
    EXPECT_EQ(client.answer().body, "POST /c  " + std::string(std::size_t{24} * 4096, 'c'));
    client.send(bytes + chunk);
    EXPECT_EQ(client.answer().status, 413) << "without waiting for the end";
    EXPECT_EQ(client.rest(), "");
}

TEST_F(HttpServerTest, WhatIsTooLargeIsRefused) {
    start({.max_body_bytes = 1000, .max_header_bytes = 1000});
    RawClient patient(server_->port());
    patient.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n");
    const auto early = patient.answer();
    EXPECT_EQ(early.status, 413);
    EXPECT_THAT(early.head, HasSubstr("Connection: close"));
    EXPECT_THAT(early.body, HasSubstr("too large"));
    EXPECT_EQ(patient.rest(), "");

    RawClient eager(server_->port());
    EXPECT_TRUE(eager.send(post("/", std::string(4'000'000, 'e'))));
    EXPECT_EQ(eager.answer().status, 413) << "the answer is not lost by a reset";

    RawClient talkative(server_->port());
    talkative.send(get("/", "A: " + std::string(1000, 'a') + "\r\n"));
    EXPECT_EQ(talkative.answer().status, 431);
    EXPECT_EQ(talkative.rest(), "");
    RawClient fitting(server_->port());
    fitting.send(post("/", std::string(1000, 'f')));
    EXPECT_EQ(fitting.answer().status, 200);
    EXPECT_EQ(server_->counts().requests, 1U);
    EXPECT_EQ(server_->counts().refused, 3U);
}

TEST_F(HttpServerTest, NothingBehindARefusalIsARequest) {
    start();
    const std::string smuggled = get("/smuggled");
    const std::string cases[] = {
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n"
        "0\r\n\r\nG" +
            smuggled,
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 50\r\n\r\n" + smuggled,
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n" + smuggled,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n" + smuggled,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" + smuggled,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n chunked\r\n\r\n" + smuggled,
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length : 50\r\n\r\n" + smuggled,
        "GET / HTTP/1.1\nHost: x\n\n" + smuggled,
        "GET / HTTP/1.1\r\n\r\n" + smuggled,
        "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n" + smuggled,
        "CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n" + smuggled,
        "nonsense\r\n\r\n" + smuggled,
    };
    for (const std::string& bytes : cases) {
        RawClient client(server_->port());
        client.send(bytes);
        const auto answer = client.answer();
        EXPECT_EQ(answer.status, 400) << bytes;
        EXPECT_THAT(answer.head, HasSubstr("Connection: close\r\n"));
        EXPECT_THAT(answer.body, StartsWith("{\"Error\":\""));
        EXPECT_EQ(client.rest(), "") << bytes;
    }
    EXPECT_EQ(server_->counts().requests, 0U);
    EXPECT_EQ(server_->counts().refused, std::size(cases));
    RawClient half(server_->port());
    half.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf");
    half.end_sending();
    EXPECT_EQ(half.answer().status, 400);
    RawClient other(server_->port());
    other.send("BREW /pot HTTP/1.1\r\nHost: x\r\n\r\n");
    const auto refused = other.answer();
    EXPECT_EQ(refused.status, 405) << "methods are the handler's";
    EXPECT_NE(refused.head.find("Allow: GET, POST"), std::string::npos) << refused.head;
}

TEST_F(HttpServerTest, MoreConnectionsWaitForAPlace) {
    start({.max_connections = 2, .give_way_after = Nanoseconds(3'600'000'000'000)});
    RawClient first(server_->port());
    RawClient second(server_->port());
    for (RawClient* client : {&first, &second}) {
        client->send(get("/"));
        EXPECT_EQ(client->answer().status, 200);
    }
    std::vector<std::unique_ptr<RawClient>> waiting;
    for (int i = 0; i < 5; ++i) {
        waiting.push_back(std::make_unique<RawClient>(server_->port()));
        waiting.back()->send(get("/waited"));
    }
    second.send(get("/"));
    EXPECT_EQ(second.answer().status, 200);
    EXPECT_EQ(server_->counts().connections, 2U);
    first.close();
    for (auto& client : waiting) {
        EXPECT_EQ(client->answer().body, "GET /waited  ");
        client->close();
    }
    EXPECT_EQ(server_->counts().connections, 7U);
}

TEST_F(HttpServerTest, WhoIsSilentGivesWayToWhoComes) {
    start({.max_connections = 4, .give_way_after = kMoment});
    RawClient busy(server_->port());
    busy.send(get("/later"));
    Responder respond = handler_.take();
    RawClient silent(server_->port());
    RawClient head(server_->port());
    head.send("GET / HTTP/1.1\r\nHost:");
    RawClient body(server_->port());
    body.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf");
    for (int i = 0; i < 10; ++i) {  // who has been answered and stays gives way, too
        RawClient client(server_->port());
        client.send(get("/"));
        EXPECT_EQ(client.answer().status, 200);
    }
    respond({.status = 200, .body = "at last"});
    EXPECT_EQ(busy.answer().body, "at last") << "who is being served does not";
    EXPECT_GE(server_->counts().gave_way, 1U);
}

TEST_F(HttpServerTest, SlowHeadsAreCutAndHarmNobody) {
    start({.header_timeout = kMoment});
    RawClient honest(server_->port());
    honest.send(get("/"));
    EXPECT_EQ(honest.answer().status, 200);
    std::vector<std::unique_ptr<RawClient>> slow;
    for (int i = 0; i < 50; ++i) {
        slow.push_back(std::make_unique<RawClient>(server_->port()));
        slow.back()->send("GET / HTTP/1.1\r\nHost: x\r\nX-");
    }
    RawClient silent(server_->port());
    honest.send(get("/among-slow-ones"));
    EXPECT_EQ(honest.answer().status, 200);
    for (auto& client : slow) {
        EXPECT_EQ(client->answer().status, 408);
        EXPECT_EQ(client->rest(), "");
    }
    EXPECT_EQ(silent.rest(), "") << "nobody asked anything";
    honest.send(get("/after"));
    EXPECT_EQ(honest.answer().status, 200);
    EXPECT_EQ(server_->counts().refused, 50U);
    honest.send("GET / HT");
    EXPECT_EQ(honest.answer().status, 408) << "later requests, too";
}

TEST_F(HttpServerTest, SlowBodiesAreCut) {
    start({.body_timeout = kMoment});
    RawClient client(server_->port());
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf");
    EXPECT_EQ(client.answer().status, 408);
    EXPECT_EQ(client.rest(), "");
    RawClient waits(server_->port());
    waits.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n");
    EXPECT_EQ(waits.answer().status, 100);
    EXPECT_EQ(waits.answer().status, 408);
    EXPECT_EQ(server_->counts().requests, 0U);
}

TEST_F(HttpServerTest, IdleConnectionsAreClosed) {
    start({.idle_timeout = kMoment});
    RawClient client(server_->port());
    client.send(get("/"));
    EXPECT_EQ(client.answer().status, 200);
    EXPECT_EQ(client.rest(), "");
    await_open(0);
    EXPECT_EQ(server_->counts().refused, 0U);
}

TEST_F(HttpServerTest, AClientThatDoesNotReadIsCut) {
    start({.write_timeout = kMoment});
    RawClient deaf(server_->port());
    deaf.send(get("/large"));
    RawClient other(server_->port());
    other.send(get("/"));
    EXPECT_EQ(other.answer().status, 200);
    await_open(1);
    EXPECT_EQ(server_->counts().refused, 1U);
    EXPECT_LT(deaf.rest().size(), std::size_t{64} << 20);
}

TEST_F(HttpServerTest, LargeBodiesComeThroughAndAreNotKept) {
    const auto resident_mib = [] {
        std::ifstream statm("/proc/self/statm");
        long total = 0;
        long resident = 0;
        statm >> total >> resident;
        return resident * ::sysconf(_SC_PAGESIZE) / kBytesPerMib;
    };
    RawClient client(start().port());
    const std::string part(std::size_t{1} << 20, 'l');
    client.send(post("/size", part));
    EXPECT_EQ(client.answer().body, "1048576");
    [[maybe_unused]] const auto before = resident_mib();
    client.send("POST /size HTTP/1.1\r\nHost: x\r\nContent-Length: 67108864\r\n\r\n");
    for (int i = 0; i < 64; ++i) {
        client.send(part);
    }
    EXPECT_EQ(client.answer().body, "67108864");
#if !defined(TESSERA_SANITIZED)  // they keep what was freed
    EXPECT_LT(resident_mib() - before, 8);
#endif
}

TEST_F(HttpServerTest, AnswersMayComeLaterFromAnyThread) {
    start();
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 20; ++i) {
        clients.push_back(std::make_unique<RawClient>(server_->port()));
        clients.back()->send(get("/later"));
    }
    std::vector<std::thread> threads;
    for (int i = 0; i < 20; ++i) {
        threads.emplace_back([this] { handler_.take()({.status = 201, .body = "late"}); });
    }
    for (auto& client : clients) {
        EXPECT_EQ(client->answer().status, 201);
        client->send(get("/next"));
        EXPECT_EQ(client->answer().status, 200);
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

TEST_F(HttpServerTest, AnswersToTheDeadAreDropped) {
    start();
    for (int i = 0; i < 5; ++i) {
        RawClient gone(server_->port());
        gone.send(get("/later"));
        Responder respond = handler_.take();
        gone.reset();
        respond({.status = 200, .body = std::string(1'000'000, 'd')});  // and no SIGPIPE
        respond({.status = 200, .body = "a second answer is none"});
    }
    await_open(0);
    RawClient client(server_->port());
    client.send(get("/drop"));
    EXPECT_EQ(client.answer().status, 500) << "dropped without an answer";
    client.send(get("/"));
    EXPECT_EQ(client.answer().status, 200);
}

TEST_F(HttpServerTest, AHandlerThatThrowsIsOurFaultAlone) {
    start();
    for (const char* path : {"/bad-alloc", "/answer-and-throw"}) {
        RawClient client(server_->port());
        client.send(get(path) + get("/next"));
        const auto answer = client.answer();
        EXPECT_EQ(answer.status, 500) << path;
        EXPECT_THAT(answer.head, HasSubstr("Connection: close"));
        EXPECT_EQ(client.rest(), "");
    }
    RawClient client(server_->port());
    client.send(get("/"));
    EXPECT_EQ(client.answer().status, 200);
}

TEST_F(HttpServerTest, ManyShortConnections) {
    start({.max_connections = 8});
    std::vector<std::thread> clients;
    std::atomic<int> answered = 0;
    for (int i = 0; i < 4; ++i) {
        clients.emplace_back([&] {
            for (int k = 0; k < 100; ++k) {
                RawClient client(server_->port());
                client.send(post("/", "once"));
                answered += client.answer().status == 200;
            }
        });
    }
    for (std::thread& client : clients) {
        client.join();
    }
    EXPECT_EQ(answered, 400);
    EXPECT_EQ(server_->counts().connections, 400U);
    await_open(0);
}

TEST_F(HttpServerTest, StopLetsRequestsEnd) {
    start();
    RawClient idle(server_->port());
    idle.send(get("/"));
    EXPECT_EQ(idle.answer().status, 200);
    RawClient busy(server_->port());
    busy.send(get("/later") + get("/not-read"));
    Responder respond = handler_.take();
    RawClient half(server_->port());
    half.send(
        "POST /half HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(half.answer().status, 100);

    std::optional<bool> all_ended;
    std::thread stopper([&] { all_ended = server_->stop(kMinute); });
    EXPECT_EQ(idle.rest(), "");
    EXPECT_FALSE(RawClient(server_->port()).connected()) << "no new ones";
    half.send("in time.");
    const auto halves = half.answer();
    EXPECT_EQ(halves.body, "POST /half  in time.");
    EXPECT_THAT(halves.head, HasSubstr("Connection: close"));
    respond({.status = 200, .body = "bound"});
    const auto answer = busy.answer();
    EXPECT_EQ(answer.body, "bound");
    EXPECT_THAT(answer.head, HasSubstr("Connection: close"));
    EXPECT_EQ(busy.rest(), "");
    busy.close();
    half.close();
    stopper.join();
    EXPECT_EQ(all_ended, true);
    EXPECT_EQ(server_->counts().open, 0U);
    EXPECT_TRUE(server_->stop(kMinute)) << "again, for nothing";
}

TEST_F(HttpServerTest, StopCutsOffWhatDoesNotEnd) {
    start();
    RawClient client(server_->port());
    client.send(get("/later"));
    Responder respond = handler_.take();
    EXPECT_FALSE(server_->stop(Nanoseconds(1'000'000)));
    EXPECT_EQ(client.rest(), "");
    respond({.status = 200, .body = "too late"});
}

TEST_F(HttpServerTest, AResponderMayOutliveTheServer) {
    start();
    RawClient client(server_->port());
    client.send(get("/later"));
    Responder respond = handler_.take();
    RawClient half(server_->port());
    half.send("GET / HT");
    server_.reset();
    EXPECT_EQ(client.rest(), "");
    respond({.status = 200, .body = "nobody listens"});
}

TEST_F(HttpServerTest, AddressesToListenOn) {
    const std::string taken = std::to_string(start().port());
    const auto failure = [](HttpServerOptions options) {
        auto started = HttpServer::start(std::move(options), [](HttpRequest&, Responder) {});
        return started ? std::string("started") : started.error().message;
    };
    EXPECT_EQ(failure({.port = server_->port()}),
              "cannot listen on 127.0.0.1:" + taken + ": address already in use");
    EXPECT_EQ(failure({.address = "192.0.2.1", .port = 1}),
              "cannot listen on 192.0.2.1:1: cannot assign requested address");
    EXPECT_EQ(failure({.address = "gpu-a", .port = 80}),
              "cannot listen on gpu-a:80: the address is no IP address");
    if (::geteuid() != 0) {
        EXPECT_EQ(failure({.port = 80}), "cannot listen on 127.0.0.1:80: permission denied");
    }
    start({.address = "0.0.0.0"});
    RawClient client(server_->port());
    client.send(get("/"));
    EXPECT_EQ(client.answer().status, 200);
    for (const char* six : {"::1", "::"}) {
        const std::string outcome = failure({.address = six});
        EXPECT_TRUE(outcome == "started" || outcome.starts_with("cannot listen on [")) << outcome;
    }
}

}  // namespace
}  // namespace tessera
