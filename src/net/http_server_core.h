// The inside of the server, for its two .cc files: Asio takes half a minute to compile.
//
// All threads run one io_context. Each connection has a strand: its handlers never run at the same
// time, so its state needs no lock. One more strand, `control_`, accepts and looks for connections
// whose time is up: that is one number to set for each step of a connection, and no timer.
//
// A connection lives as long as something is under way on it, or its answer is awaited; it keeps
// the server's inside alive, and so a Responder may outlive the HttpServer.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#if defined(__SANITIZE_THREAD__)
#define BOOST_ASIO_DISABLE_FENCED_BLOCK  // which the sanitizer does not know; there are locks, too
#endif
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/strand.hpp>

#include "net/http_server.h"
#include "net/read_buffer.h"
#include "net/request_reader.h"
#include "net/server_tls.h"

namespace tessera::serving {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Strand = asio::strand<asio::io_context::executor_type>;
using Socket = asio::basic_stream_socket<asio::ip::tcp, Strand>;
using Acceptor = asio::basic_socket_acceptor<asio::ip::tcp, Strand>;
using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Strand>;
using TlsStream = asio::ssl::stream<Socket&>;

// A longer time-out is this one: sums must not overflow.
inline constexpr Nanoseconds kLongest{86'400'000'000'000};
inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

inline std::int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
        .count();
}

class Connection;

class Server : public std::enable_shared_from_this<Server> {
  public:
    Server(HttpServerOptions options, HttpHandler handler)
        : options_(std::move(options)),
          handler_(std::move(handler)),
          io_(std::max(1, options_.threads)),
          work_(io_.get_executor()),
          control_(asio::make_strand(io_)),
          acceptor_(control_),
          sweep_(control_) {}

    Expected<void> listen();
    void run();
    bool stop(Nanoseconds patience);

    const HttpServerOptions& options() const { return options_; }
    const HttpHandler& handler() const { return handler_; }
    bool stopping() const { return stopping_; }
    std::uint16_t port() const { return port_; }
    HttpServerCounts counts() const;
    void count_request() { ++requests_; }
    void count_refusal() { ++refused_; }
    void count_cut() { cut_off_ = true; }

    // For other threads than ours, at any time. Nothing is queued once the server has ended: a
    // queue that nobody runs would keep its connections, and they the server, for ever.
    template <class Task>
    void post(const Strand& strand, Task task) noexcept {
        try {
            const std::lock_guard lock(gate_);
            if (!ended_) {
                asio::post(strand, std::move(task));
            }
        } catch (...) {  // no memory: the connection goes with the task
        }
    }
    void leave(Connection* connection) noexcept;
    void count_gave_way() { ++gave_way_; }

    // Bytes of bodies and of answers, by which they have grown. False when there are too many then.
    bool take_body(std::size_t bytes) {
        return bodies_.fetch_add(bytes) + bytes <= options_.max_bodies_bytes;
    }
    void give_body(std::size_t bytes) { bodies_ -= bytes; }

  private:
    void accept();
    void await_client();
    void make_room();
    void on_accept(const ErrorCode& error, Socket socket);
    void sweep();
    void close_doors();
    void warn(const std::string& text) const;
    std::vector<std::shared_ptr<Connection>> connections();

    const HttpServerOptions options_;
    const HttpHandler handler_;
    asio::io_context io_;
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    const Strand control_;
    Acceptor acceptor_;
    Timer sweep_;
    std::unique_ptr<ServerTlsFiles> tls_;
    std::uint16_t port_ = 0;
    bool accepting_ = false;  // these three on control_
    bool awaiting_ = false;
    bool sweeping_ = true;
    std::vector<std::thread> threads_;

    std::atomic<bool> stopping_ = false;
    std::atomic<bool> cut_off_ = false;
    std::atomic<std::uint64_t> accepted_ = 0;
    std::atomic<std::uint64_t> requests_ = 0;
    std::atomic<std::uint64_t> refused_ = 0;
    std::atomic<std::uint64_t> gave_way_ = 0;
    std::atomic<std::size_t> bodies_ = 0;

    mutable std::mutex mutex_;  // for the next three
    std::unordered_set<Connection*> open_;
    bool full_ = false;
    bool doors_closed_ = false;
    std::condition_variable changed_;

    std::mutex gate_;
    bool ended_ = false;
};

class Connection : public std::enable_shared_from_this<Connection> {
  public:
    Connection(std::shared_ptr<Server> server, Socket socket)
        : server_(std::move(server)),
          socket_(std::move(socket)),
          reader_({server_->options().max_header_bytes, server_->options().max_body_bytes}),
          buffer_(server_->options().max_header_bytes) {
        expire_after(server_->options().header_timeout);
    }
    ~Connection() {
        drop_body();
        drop_answer();
        server_->leave(this);
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    Strand strand() { return socket_.get_executor(); }
    bool is_due(std::int64_t now) const { return now >= deadline_; }
    // Since when a whole request is awaited; kNever: it is being served.
    std::int64_t waiting_since() const { return waiting_since_; }

    // On the strand, all but answer().
    void begin(SSL_CTX* tls);
    void expire();
    void finish();  // the server stops: ends when no request is under way
    void cut();     // at once
    void give_way();
    void answer(std::uint64_t request, HttpResponse response);

  private:
    enum class Phase { handshake, idle, head, body, handling, writing, lingering, closed };

    void read();
    void on_read(const ErrorCode& error, std::size_t count);
    void process();
    void read_body();
    void handle();
    void deliver(std::uint64_t request, HttpResponse response);
    void refuse(const Refusal& refusal);
    void send(HttpResponse response);
    void write();
    void on_written(const ErrorCode& error, std::size_t count);
    void after_answer();
    void linger();
    void end_sending();
    void discard();
    void close();
    bool count_body();
    void drop_body();
    bool count_answer(const HttpResponse& response);
    void drop_answer();
    void expire_after(Nanoseconds time) { deadline_ = now_ns() + std::min(time, kLongest).value(); }

    // Runs `then(error, count)`, a member, and keeps the connection until then.
    auto bound(void (Connection::*then)(const ErrorCode&, std::size_t)) {
        return [self = shared_from_this(), then](const ErrorCode& error, std::size_t count) {
            (self.get()->*then)(error, count);
        };
    }

    const std::shared_ptr<Server> server_;
    Socket socket_;
    std::optional<TlsStream> tls_;
    std::string peer_;
    RequestReader reader_;
    ReadBuffer buffer_;
    Phase phase_ = Phase::idle;
    std::atomic<std::int64_t> deadline_ = kNever;
    std::atomic<std::int64_t> waiting_since_ = now_ns();
    std::size_t counted_ = 0;         // bytes of the body that the server counts for us
    std::size_t answer_counted_ = 0;  // and of the answer
    bool timed_out_ = false;          // while a read is being given up
    bool in_handler_ = false;
    bool last_ = false;                     // no request follows this answer
    std::uint64_t request_id_ = 0;          // late answers to earlier requests are dropped
    std::optional<HttpResponse> answered_;  // while in the handler
    std::string head_;
    std::string body_;
    std::array<asio::const_buffer, 2> out_;  // what is still to be written of both
};

}  // namespace tessera::serving
