// Answers that come line by line.
#include "net/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "net/client_test_server.h"

namespace tessera {
namespace {

using namespace tessera::testing;
using ::testing::HasSubstr;

struct Streamed {
    std::vector<std::string> lines;
    Expected<ClientAnswer> end;
};

Streamed stream_all(HttpClient& client, ClientCall call) {
    auto lines = std::make_shared<std::vector<std::string>>();
    Awaited<Answer> end;
    client.stream(
        std::move(call),
        [lines](std::string_view line) {
            lines->emplace_back(line);
            return true;
        },
        to(end));
    Answer answer = end.get();
    return {*lines, std::move(answer)};
}

TEST(HttpClientStream, LinesAreTheSameHoweverTheyAreCut) {
    const std::string text = "one\ntwo\r\n\nfour is longer\nrest";
    for (std::size_t step = 1; step <= text.size(); ++step) {
        ScriptedServer server([&](ServedConnection& peer, const std::string&) {
            peer.write(kChunked);
            for (std::size_t at = 0; at < text.size(); at += step) {
                peer.write_chunk(text.substr(at, step));
            }
            return peer.write_chunk("");
        });
        const auto client = client_of({.base_url = server.url()});
        const auto got = stream_all(*client, {.path = "/"});
        ASSERT_TRUE(got.end) << got.end.error().message;
        EXPECT_THAT(got.lines, ::testing::ElementsAre("one", "two", "", "four is longer"));
        EXPECT_EQ(got.end->body, "rest");
        EXPECT_EQ(got.end->status, 200);
    }
}

TEST(HttpClientStream, ItsBeginIsToldBeforeAnyLine) {
    std::promise<void> opened;
    ScriptedServer server([&](ServedConnection& peer, const std::string& request) {
        if (request.starts_with("GET /bad")) {
            return peer.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
        }
        peer.write(kChunked);
        opened.get_future().wait();  // or the test hangs: no line comes before it is told
        peer.write_chunk("one\n");
        return peer.write_chunk("");
    });
    const auto client = client_of({.base_url = server.url()});
    const auto got =
        stream_all(*client, {.path = "/", .on_open = [&opened] { opened.set_value(); }});
    ASSERT_TRUE(got.end) << got.end.error().message;
    EXPECT_THAT(got.lines, ::testing::ElementsAre("one"));
    bool told = false;
    const auto bad = stream_all(*client, {.path = "/bad", .on_open = [&told] { told = true; }});
    ASSERT_TRUE(bad.end) << bad.end.error().message;
    EXPECT_FALSE(told) << "of a refusal";
}

TEST(HttpClientStream, ABadStatusIsAnswered) {
    ScriptedServer server(always(answer_text(410, "gone\nfor good\n")));
    const auto got = stream_all(*client_of({.base_url = server.url()}), {.path = "/"});
    ASSERT_TRUE(got.end);
    EXPECT_EQ(got.end->status, 410);
    EXPECT_EQ(got.end->body, "gone\nfor good\n");
    EXPECT_TRUE(got.lines.empty());
}

TEST(HttpClientStream, ALineOverTheLimitIsAnError) {
    ScriptedServer server([](ServedConnection& peer, const std::string&) {
        peer.write(kChunked);
        peer.write_chunk(std::string(10, 'a') + "\n" + std::string(10, 'b'));
        peer.write_chunk("c\n");
        return peer.write_chunk("");
    });
    const auto client = client_of({.base_url = server.url(), .max_body_bytes = 10});
    const auto got = stream_all(*client, {.path = "/"});
    ASSERT_FALSE(got.end);
    EXPECT_THAT(got.end.error().message, HasSubstr("a line of the answer has more than 10 bytes"));
    EXPECT_THAT(got.lines, ::testing::ElementsAre(std::string(10, 'a')));
}

TEST(HttpClientStream, ACutIsAnErrorAfterTheLinesBefore) {
    ScriptedServer server([](ServedConnection& peer, const std::string&) {
        peer.write(kChunked);
        peer.write_chunk("one\ntw");
        return false;
    });
    const auto got = stream_all(*client_of({.base_url = server.url()}), {.path = "/"});
    ASSERT_FALSE(got.end);
    EXPECT_EQ(got.end.error().kind, ErrorKind::environment);
    EXPECT_THAT(got.lines, ::testing::ElementsAre("one"));
}

TEST(HttpClientStream, SilenceEndsIt) {
    ScriptedServer server([](ServedConnection& peer, const std::string&) {
        peer.write(kChunked);
        peer.write_chunk("one\n");
        peer.await_end();
        return false;
    });
    const auto client = client_of({.base_url = server.url()});
    const auto got = stream_all(*client, {.path = "/", .timeout = kMillisecond * 50});
    ASSERT_FALSE(got.end);
    EXPECT_EQ(got.end.error().kind, ErrorKind::environment);
    EXPECT_THAT(got.end.error().message, HasSubstr("the server sent nothing within 50 ms"));
}

TEST(HttpClientStream, OutlivesItsTimeoutWhileSomethingComes) {
    // The server is always ahead of the client, so that there is always something to read.
    ScriptedServer server([](ServedConnection& peer, const std::string&) {
        peer.write(kChunked);
        while (peer.write_chunk(std::string(1000, 'x') + "\n")) {
        }
        return false;
    });
    const auto client = client_of({.base_url = server.url()});
    Awaited<Answer> end;
    int lines = 0;
    int rounds = 0;
    bool enough = false;
    std::function<void()> again = [&] {
        enough = ++rounds >= 4;
        client->later(kMillisecond * 50, again);
    };
    client->later(kMillisecond * 50, again);
    client->stream(
        {.path = "/", .timeout = kMillisecond * 50},
        [&](std::string_view) {
            if (++lines % 64 == 0) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
            return !enough;
        },
        to(end));
    const auto answer = end.get();
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, 200);
    client->close();
}

TEST(HttpClientStream, FalseEndsItAsAnAnswer) {
    ScriptedServer server([](ServedConnection& peer, const std::string&) {
        peer.write(kChunked);
        peer.write_chunk("one\ntwo\nthree\nfo");
        peer.await_end();
        return false;
    });
    const auto client = client_of({.base_url = server.url()});
    std::vector<std::string> lines;
    Awaited<Answer> end;
    client->stream(
        {.path = "/"},
        [&](std::string_view line) {
            lines.emplace_back(line);
            return lines.size() < 2;
        },
        to(end));
    const auto answer = end.get();
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, "");
    EXPECT_THAT(lines, ::testing::ElementsAre("one", "two"));
}

// Cancel, close, timers ----------------------------------------------------------------------

TEST(HttpClientStream, NoLineComesAfterTheCancelOfACallback) {
    ScriptedServer server([](ServedConnection& peer, const std::string&) {
        peer.write(kChunked);
        while (peer.write_chunk("one\ntwo\nthree\n")) {
        }
        return false;
    });
    const auto client = client_of({.base_url = server.url()});
    Awaited<Answer> end;
    std::promise<HttpClient::CallId> id;
    auto told = id.get_future().share();
    int lines = 0;
    id.set_value(client->stream(
        {.path = "/"},
        [&](std::string_view) {
            ++lines;
            client->cancel(told.get());
            return true;
        },
        to(end)));
    const auto answer = end.get();
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, ErrorKind::conflict) << answer.error().message;
    EXPECT_EQ(lines, 1);
}

}  // namespace
}  // namespace tessera
