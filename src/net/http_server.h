// An HTTP/1.1 server, plain or TLS, for handlers that answer at once or later.
//
//   auto server = HttpServer::start({.address = "127.0.0.1", .port = 12345},
//                                   [](HttpRequest& request, Responder respond) {
//                                       respond({.status = 200, .body = "ok\n"});
//                                   });
//   (*server)->stop(Nanoseconds(5'000'000'000));
//
// What a client may do is bounded: sizes, times and connections (HttpServerOptions). A broken or
// slow client gets an answer, or is cut off, and harms nobody else. Handlers run on the server's
// threads and must not block; an answer that has to wait is given by keeping the Responder. Each
// answer is one write with TCP_NODELAY: two small writes would cost kube-scheduler 40 ms a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/units.h"

namespace tessera {

// A body can be read in place by simdjson: its capacity exceeds its size by at least this.
inline constexpr std::size_t kBodyPadding = 64;

struct HttpRequest {
    std::string method;
    std::string path;   // "/tessera/filter", without the query
    std::string query;  // behind the "?", as it was sent
    std::string body;   // with kBodyPadding bytes to spare
    std::string peer;   // name of a verified client certificate; empty without
};

struct HttpResponse {
    int status = 200;
    std::string body;
    std::string content_type = "application/json";
    std::string allow{};  // the header Allow, of a 405; empty: none
};

// Answers one request, once, from any thread. Dropped without an answer it answers 500.
class Responder {
  public:
    class Target {  // the server's side
      public:
        virtual ~Target() = default;
        virtual void answer(HttpResponse response) = 0;
    };

    explicit Responder(std::unique_ptr<Target> target) : target_(std::move(target)) {}
    Responder(Responder&&) = default;
    Responder& operator=(Responder&&) = default;
    ~Responder() {
        if (target_ != nullptr) {
            target_->answer({500, "{\"Error\":\"the request was dropped\"}\n", "application/json"});
        }
    }

    void operator()(HttpResponse response) {
        if (auto target = std::move(target_)) {
            target->answer(std::move(response));
        }
    }

  private:
    std::unique_ptr<Target> target_;
};

using HttpHandler = std::function<void(HttpRequest&, Responder)>;

struct ServerTls {
    // PEM. Files that change are read anew for the connections that follow; when the new ones are
    // no good the old ones stay (HttpServerOptions::on_warning).
    std::string certificate_file;  // the chain; empty: no TLS
    std::string key_file;
    std::string client_ca_file;  // empty: no client certificate is asked for
    // With false a client may come without one and has no HttpRequest::peer: probes, for instance.
    bool client_certificate_required = true;
};

struct HttpServerOptions {
    std::string address = "127.0.0.1";
    std::uint16_t port = 0;  // 0: a free one, see HttpServer::port()
    int threads = 2;
    ServerTls tls{};
    std::size_t max_body_bytes = std::size_t{64} << 20;  // more: 413
    std::size_t max_header_bytes = 16 << 10;             // more: 431
    // Of all bodies that are being read or handled, and of answers of more than 256 KiB that are
    // being written: beyond it one is refused with 503.
    std::size_t max_bodies_bytes = std::size_t{256} << 20;
    // More wait to be accepted. While somebody waits, the connection gives way whose client has
    // taken longest to send a whole request, if that is longer than give_way_after.
    std::size_t max_connections = 1024;
    Nanoseconds give_way_after{1'000'000'000};
    // To the end of the head, from its first byte; of the first request from the connection on.
    Nanoseconds header_timeout{10'000'000'000};
    Nanoseconds body_timeout{30'000'000'000};
    Nanoseconds idle_timeout{120'000'000'000};  // between requests; Go's clients close after 90 s
    Nanoseconds write_timeout{30'000'000'000};
    // Hears what an operator should know and no client can be told; on a thread of the server.
    std::function<void(const std::string&)> on_warning{};
};

struct HttpServerCounts {
    std::uint64_t connections = 0;  // accepted so far
    std::uint64_t open = 0;
    std::uint64_t requests = 0;  // handed to the handler
    std::uint64_t refused = 0;   // malformed, too large or too slow
    std::uint64_t gave_way = 0;  // connections that were closed for others to be accepted
};

class HttpServer {
  public:
    // Listens, or says why not: a port that is taken names the address.
    static Expected<std::unique_ptr<HttpServer>> start(HttpServerOptions options,
                                                       HttpHandler handler);
    virtual ~HttpServer() = default;

    virtual std::uint16_t port() const = 0;
    virtual HttpServerCounts counts() const = 0;
    // Accepts no more, lets the requests in flight end (or `patience` run out), closes all; false
    // when something was cut off. Not to be called by a handler. The destructor has no patience.
    virtual bool stop(Nanoseconds patience) = 0;
};

}  // namespace tessera
