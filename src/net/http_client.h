// An HTTP client for one server, over libcurl: many calls at once on one thread of its own.
//
//   TESSERA_TRY(auto client, HttpClient::open({.base_url = "https://127.0.0.1:6443", ...}));
//   client->send({.method = "POST", .path = "/api/v1/...", .body = text}, [](auto answer) { ... });
//   client->stream({.path = "/api/v1/pods?watch=1"}, on_line, on_end);
//
// Callbacks run on the client's thread, one at a time, and must not block: they may start and
// cancel calls. Any status is an answer; an error is a call that got none (refused, time-out, cut
// off, a body over the limit). Every call ends in exactly one call of `done`, also on close().
// Kinds of errors: "environment" may be better next time; "conflict" was cancelled or closed;
// "invalid" would be the same again.
//
// Streams hold a connection for as long as they last; calls beyond max_connections wait, and their
// time-out runs while they do. A call on a kept connection that turns out to have been closed is
// sent once more, on a new one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/units.h"

namespace tessera {

struct ClientTls {
    std::string ca_pem{};           // empty: the system's
    std::string certificate_pem{};  // empty: none is shown
    std::string key_pem{};
    std::string server_name{};  // to be verified instead of the host of the address
    bool verify = true;
};

struct HttpClientOptions {
    std::string base_url;  // "https://127.0.0.1:6443", with a path in front of all paths or without
    ClientTls tls{};
    std::function<std::string()> bearer_token{};  // asked for each call: tokens are renewed
    std::string user_agent = "tessera";
    std::size_t max_connections = 32;
    std::size_t max_body_bytes = std::size_t{256} << 20;
    Nanoseconds connect_timeout{5'000'000'000};
    // "http://host:3128"; empty: none. http_proxy, HTTPS_PROXY, ALL_PROXY and NO_PROXY of the
    // environment are not looked at: a cluster's address is mostly not to go through them.
    std::string proxy{};
};

struct ClientCall {
    std::string method = "GET";
    std::string path;  // with its query
    std::string content_type{};
    std::string body{};
    Nanoseconds timeout{30'000'000'000};  // of the whole call; of a stream: without a byte
    // Of a stream: a 2xx answer has begun, whether or not a line follows soon.
    std::function<void()> on_open{};
};

struct ClientAnswer {
    int status = 0;
    std::string body;  // of a stream: what came after the last whole line, or of a bad status all
    std::optional<Nanoseconds> retry_after{};  // the header, in seconds
};

class HttpClient {
  public:
    using Done = std::function<void(Expected<ClientAnswer>)>;
    // A line without its end; false ends the stream, as an answer with an empty body.
    using OnLine = std::function<bool(std::string_view)>;
    enum class CallId : std::uint64_t { none = 0 };

    static Expected<std::unique_ptr<HttpClient>> open(HttpClientOptions options);
    virtual ~HttpClient() = default;  // closes

    virtual CallId send(ClientCall call, Done done) = 0;
    // Lines of a 2xx answer as they come; other answers as by send().
    virtual CallId stream(ClientCall call, OnLine on_line, Done done) = 0;
    // `after` this time, on the client's thread: for back-off. Not called after close().
    virtual CallId later(Nanoseconds delay, std::function<void()> task) = 0;
    // Ends a call, with an error, or a task, without a word. Nothing happens if it is over.
    virtual void cancel(CallId call) = 0;
    // Waits for the answer. Not from the client's own thread.
    virtual Expected<ClientAnswer> call(ClientCall call) = 0;
    virtual void close() = 0;
};

}  // namespace tessera
