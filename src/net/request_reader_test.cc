// What is a request and what is refused, byte by byte.
#include "net/request_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace tessera {
namespace {

using State = RequestReader::State;
using namespace std::string_view_literals;

constexpr RequestLimits kLimits{.head_bytes = 256, .body_bytes = 32};

struct Read {
    State state = State::head;
    int status = 0;
    std::string body;
    std::string rest;
};

// Hands in `step` more bytes at a time, as a socket would.
Read read_in_steps(std::string_view bytes, std::size_t step) {
    RequestReader reader(kLimits);
    std::string waiting;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
        waiting += bytes.substr(at, step);
        waiting.erase(0, reader.read(waiting));
        waiting.erase(0, reader.read(waiting));  // the body that came with the head
    }
    return {reader.state(), reader.refusal().status * (reader.state() == State::refused),
            reader.request().body, waiting};
}

std::string head_with(std::string_view fields) {
    return "POST /x HTTP/1.1\r\nHost: x\r\n" + std::string(fields) + "\r\n";
}

const struct {
    std::string name;
    std::string bytes;
    int status;
} kRefused[] = {
    {"length and coding", head_with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400},
    {"coding and length", head_with("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), 400},
    {"two lengths", head_with("Content-Length: 5\r\nContent-Length: 6\r\n"), 400},
    {"two equal lengths", head_with("Content-Length: 5\r\nContent-Length: 5\r\n"), 400},
    {"a list of lengths", head_with("Content-Length: 5, 5\r\n"), 400},
    {"a negative length", head_with("Content-Length: -5\r\n"), 400},
    {"a signed length", head_with("Content-Length: +5\r\n"), 400},
    {"a hexadecimal length", head_with("Content-Length: 0x5\r\n"), 400},
    {"an empty length", head_with("Content-Length:\r\n"), 400},
    {"an overflowing length", head_with("Content-Length: 18446744073709551621\r\n"), 400},
    {"a body over the limit", head_with("Content-Length: 33\r\n"), 413},
    {"xchunked", head_with("Transfer-Encoding: xchunked\r\n"), 400},
    {"identity, chunked", head_with("Transfer-Encoding: identity, chunked\r\n"), 400},
    {"chunked, identity", head_with("Transfer-Encoding: chunked, identity\r\n"), 400},
    {"gzip", head_with("Transfer-Encoding: gzip\r\n"), 400},
    {"chunked twice", head_with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
     400},
    {"an empty coding", head_with("Transfer-Encoding:\r\n"), 400},
    {"a vertical tab in the coding", head_with("Transfer-Encoding: \vchunked\r\n"), 400},
    {"a coding in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    {"a folded line", head_with("A: b\r\n c\r\n"), 400},
    {"a folded line with a tab", head_with("A: b\r\n\tc\r\n"), 400},
    {"a folded first field", "GET / HTTP/1.1\r\n Host: x\r\n\r\n", 400},
    {"a space before the colon", head_with("Content-Length : 5\r\n"), 400},
    {"a space in a name", head_with("Content Length: 5\r\n"), 400},
    {"a field without a colon", head_with("Content-Length\r\n"), 400},
    {"a field without a name", head_with(": 5\r\n"), 400},
    {"bare line feeds", "GET / HTTP/1.1\nHost: x\n\n", 400},
    {"a bare line feed", "GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n", 400},
    {"a bare line feed at the end", "GET / HTTP/1.1\r\nHost: x\r\n\n", 400},
    {"a bare carriage return", head_with("A: b\rc\r\n"), 400},
    {"NUL in a value", head_with("A: b\0c\r\n"sv), 400},
    {"NUL in a name", head_with("A\0: b\r\n"sv), 400},
    {"NUL in the target", std::string("GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n"sv), 400},
    {"DEL in a value", head_with("A: b\x7f\r\n"), 400},
    {"no Host", "GET / HTTP/1.1\r\n\r\n", 400},
    {"two Hosts", head_with("Host: y\r\n"), 400},
    {"a list of Hosts", "GET / HTTP/1.1\r\nHost: x, y\r\n\r\n", 400},
    {"a path as Host", "GET / HTTP/1.1\r\nHost: x/y\r\n\r\n", 400},
    {"the authority form", "CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"no path", "GET x HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"a star for GET", "GET * HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"a fragment", "GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"another scheme", "GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"two spaces", "GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"a tab", "GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"a space in the target", "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"no version", "GET /\r\nHost: x\r\n\r\n", 400},
    {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
    {"HTTP/0.9", "GET / HTTP/0.9\r\nHost: x\r\n\r\n", 505},
    {"HTTP/1.2", "GET / HTTP/1.2\r\nHost: x\r\n\r\n", 505},
    {"small letters", "GET / http/1.1\r\nHost: x\r\n\r\n", 400},
    {"no method", " / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"two empty lines", "\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"a greeting of TLS", std::string("\x16\x03\x01\x02\x00\x01\x00"sv), 400},
    {"a large head", head_with("A: " + std::string(300, 'a') + "\r\n"), 431},
    {"a large head without end", head_with("A: ").substr(0, 30) + std::string(300, 'a'), 431},
    {"another expectation", head_with("Expect: tea\r\n"), 417},
};

TEST(RequestReader, WhatIsRefused) {
    for (const auto& c : kRefused) {
        for (const std::size_t step : {c.bytes.size(), std::size_t{1}, std::size_t{7}}) {
            const Read read = read_in_steps(c.bytes, step);
            EXPECT_EQ(read.state, State::refused) << c.name << ", step " << step;
            EXPECT_EQ(read.status, c.status) << c.name << ", step " << step;
        }
    }
}

TEST(RequestReader, ChunkedBodies) {
    std::string endless;
    for (int i = 0; i < 11; ++i) {
        endless += "1;" + std::string(25, 'e') + "\r\na\r\n";
    }
    const struct {
        std::string name;
        std::string body;
        State state;
        int status;
        std::string read;
    } cases[] = {
        {"two chunks", "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", State::complete, 0, "abcde"},
        {"none", "0\r\n\r\n", State::complete, 0, ""},
        {"extension", "3;a=b;c=\"d e\"\r\nabc\r\n0;x\r\n\r\n", State::complete, 0, "abc"},
        {"trailer", "3\r\nabc\r\n0\r\nA: b\r\n\r\n", State::complete, 0, "abc"},
        {"hexadecimal", "00A\r\n0123456789\r\n0\r\n\r\n", State::complete, 0, "0123456789"},
        {"unfinished", "3\r\nabc\r\n", State::body, 0, "abc"},
        {"over the limit at once", "21\r\n", State::refused, 413, ""},
        {"over the limit in all", "10\r\n0123456789abcdef\r\n11\r\n", State::refused, 413,
         "0123456789abcdef"},
        {"no size", "\r\nabc\r\n", State::refused, 400, ""},
        {"no number", "x\r\nabc\r\n", State::refused, 400, ""},
        {"negative", "-3\r\nabc\r\n", State::refused, 400, ""},
        {"signed", "+3\r\nabc\r\n", State::refused, 400, ""},
        {"with 0x", "0x3\r\nabc\r\n0\r\n\r\n", State::refused, 400, ""},
        {"space before", " 3\r\nabc\r\n", State::refused, 400, ""},
        {"overflow", "fffffffffffffffff3\r\nabc\r\n", State::refused, 400, ""},
        {"overflow to little", "10000000000000003\r\nabc\r\n0\r\n\r\n", State::refused, 400, ""},
        {"longer than it says", "3\r\nabcd\r\n0\r\n\r\n", State::refused, 400, "abc"},
        {"bare line feed", "3\nabc\r\n0\r\n\r\n", State::refused, 400, ""},
        {"bare line feed in an extension", "3;a\nb\r\nabc\r\n0\r\n\r\n", State::refused, 400, ""},
        {"bare line feed behind", "3\r\nabc\n0\r\n\r\n", State::refused, 400, "abc"},
        {"bare carriage return", "3\rabc\r\n0\r\n\r\n", State::refused, 400, ""},
        {"length in the trailer", "0\r\nContent-Length: 5\r\n\r\n", State::complete, 0, ""},
        {"folded trailer", "0\r\nA: b\r\n c\r\n\r\n", State::refused, 400, ""},
        {"control character in a trailer", "0\r\nA: \x01\r\n\r\n", State::refused, 400, ""},
        {"extensions too long in sum", endless, State::refused, 400, "aaaaaaaaa"},
        {"endless extension", "3;" + std::string(300, 'a'), State::refused, 400, ""},
        {"endless trailer", "0\r\nA: " + std::string(300, 'a'), State::refused, 400, ""},
    };
    for (const auto& c : cases) {
        const std::string bytes = head_with("Transfer-Encoding: Chunked\r\n") + c.body;
        for (const std::size_t step : {bytes.size(), std::size_t{1}, std::size_t{7}}) {
            const Read read = read_in_steps(bytes, step);
            EXPECT_EQ(read.state, c.state) << c.name << ", step " << step;
            EXPECT_EQ(read.status, c.status) << c.name << ", step " << step;
            EXPECT_EQ(read.body, c.read) << c.name << ", step " << step;
        }
    }
}

TEST(RequestReader, WhatBelongsToTheNextRequestIsLeft) {
    for (const std::string& head :
         {head_with("Content-Length: 3\r\n") + "abc",
          head_with("Transfer-Encoding: chunked\r\n") + "3\r\nabc\r\n0\r\n\r\n"}) {
        for (const std::size_t step : {std::size_t{1}, std::size_t{5}, std::size_t{500}}) {
            const Read read = read_in_steps(head + "GET /next", step);
            EXPECT_EQ(read.state, State::complete);
            EXPECT_EQ(read.body, "abc");
            EXPECT_EQ(read.rest, "GET /next");
        }
    }
}

TEST(RequestReader, Targets) {
    const struct {
        std::string line;
        std::string method;
        std::string path;
        std::string query;
    } cases[] = {
        {"GET / HTTP/1.1", "GET", "/", ""},
        {"GET /a/b?c=d?e HTTP/1.1", "GET", "/a/b", "c=d?e"},
        {"GET /a%20b? HTTP/1.1", "GET", "/a%20b", ""},
        {"BREW /pot HTTP/1.1", "BREW", "/pot", ""},
        {"GET http://x:80/a?b HTTP/1.1", "GET", "/a", "b"},
        {"GET http://x HTTP/1.1", "GET", "/", ""},
        {"OPTIONS * HTTP/1.1", "OPTIONS", "*", ""},
        {"\r\nGET /after-an-empty-line HTTP/1.1", "GET", "/after-an-empty-line", ""},
    };
    for (const auto& c : cases) {
        RequestReader reader(kLimits);
        const std::string bytes = c.line + "\r\nHost: x\r\n\r\n";
        EXPECT_EQ(reader.read(bytes), bytes.size()) << c.line;
        ASSERT_EQ(reader.state(), State::complete) << c.line;
        EXPECT_EQ(reader.request().method, c.method);
        EXPECT_EQ(reader.request().path, c.path);
        EXPECT_EQ(reader.request().query, c.query);
        EXPECT_GE(reader.request().body.capacity(), kBodyPadding);
    }
}

TEST(RequestReader, WhetherTheConnectionStays) {
    const struct {
        std::string bytes;
        bool stays;
        bool is_http10;
    } cases[] = {
        {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", true, false},
        {"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", false, false},
        {"GET / HTTP/1.1\r\nHost: x\r\nConnection: a, CLOSE\r\n\r\n", false, false},
        {"GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n", true, false},
        {"GET / HTTP/1.0\r\n\r\n", false, true},
        {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true, true},
    };
    for (const auto& c : cases) {
        RequestReader reader(kLimits);
        reader.read(c.bytes);
        ASSERT_EQ(reader.state(), State::complete) << c.bytes;
        EXPECT_EQ(reader.keep_alive(), c.stays) << c.bytes;
        EXPECT_EQ(reader.is_http10(), c.is_http10) << c.bytes;
    }
}

TEST(RequestReader, ABodyHasRoomBehindIt) {
    for (const std::size_t size : {0, 1, 15, 16, 1000, 1'000'000, 5'000'000}) {
        RequestReader reader({.head_bytes = 256, .body_bytes = 8'000'000});
        reader.read(head_with("Content-Length: " + std::to_string(size) + "\r\n"));
        const std::string part(100'000, 'a');
        for (std::size_t left = size; left > 0;) {
            EXPECT_EQ(reader.body_left(), left);
            left -= reader.read(part);
        }
        ASSERT_EQ(reader.state(), State::complete);
        EXPECT_EQ(reader.request().body, std::string(size, 'a'));
        EXPECT_GE(reader.request().body.capacity(), size + kBodyPadding);
    }
}

}  // namespace
}  // namespace tessera
