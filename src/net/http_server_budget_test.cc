// Bodies and answers have a number of bytes in common (HttpServerOptions::max_bodies_bytes).
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <string>

#include "net/http_server.h"
#include "net/server_test_client.h"

namespace tessera {
namespace {

constexpr std::size_t kLarge = std::size_t{16} << 20;  // more than a socket takes at once

std::unique_ptr<HttpServer> start(std::size_t budget) {
    return HttpServer::start(
               {.max_bodies_bytes = budget},
               [](HttpRequest& request, Responder respond) {
                   const bool large = request.path == "/large";
                   respond({.status = 200, .body = std::string(large ? kLarge : 1, 'x')});
               })
        .value();
}

std::string get(const std::string& path) { return "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n"; }
std::string post(const std::string& body) {
    return "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
}

// Asks until the answer is this one: what others give or take may still be on its way.
RawClient::Answer ask_until(RawClient& client, const std::string& request, int status) {
    RawClient::Answer answer;
    do {
        client.send(request);
        answer = client.answer();
    } while (answer.status != status);
    return answer;
}

// Back when the answer has begun.
void ask_and_read_nothing(RawClient& client, const std::string& request) {
    client.send(request);
    char first = 0;
    EXPECT_EQ(::recv(client.descriptor(), &first, 1, MSG_PEEK), 1);
}

TEST(HttpServerBudget, BodiesHaveItInCommon) {
    const auto server = start(1000);
    RawClient first(server->port());
    first.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n");
    first.send(std::string(800, 'x'));
    RawClient second(server->port());
    const RawClient::Answer refused = ask_until(second, post(std::string(300, 'y')), 503);
    EXPECT_NE(refused.body.find("try again"), std::string::npos) << refused.body;
    first.send(std::string(100, 'x'));
    EXPECT_EQ(first.answer().status, 200);
    RawClient third(server->port());  // what was given back can be had again
    ask_until(third, post(std::string(900, 'z')), 200);
}

TEST(HttpServerBudget, AnswersThatNobodyReadsAreOfIt) {
    const auto server = start(kLarge * 5 / 2);
    RawClient first(server->port());
    RawClient second(server->port());
    ask_and_read_nothing(first, get("/large"));
    ask_and_read_nothing(second, get("/large"));
    RawClient third(server->port());
    const RawClient::Answer refused = ask_until(third, get("/large"), 503);
    EXPECT_NE(refused.body.find("try again"), std::string::npos) << refused.body;
    third.send(get("/small"));
    EXPECT_EQ(third.answer().status, 200) << "a small answer is given in any case";
    EXPECT_EQ(first.answer().body.size(), kLarge);
    ask_until(third, get("/large"), 200);  // what was read is given back
    second.close();                        // and what nobody will read
    RawClient fourth(server->port());
    ask_and_read_nothing(first, get("/large"));
    ask_until(fourth, get("/large"), 200);
}

}  // namespace
}  // namespace tessera
