// Asio stays in this file: it takes half a minute to compile.
//
// All threads run one io_context. Each connection has a strand: its handlers never run at the same
// time, so its state needs no lock. One more strand, `control_`, accepts and looks for connections
// whose time is up: that is one number to set for each step of a connection, and no timer.
#include "net/http_server.h"

#include <array>
#include <atomic>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/strand.hpp>
#include <cctype>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "net/http_answer.h"
#include "net/read_buffer.h"
#include "net/request_reader.h"
#include "net/server_tls.h"

namespace tessera {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Strand = asio::strand<asio::io_context::executor_type>;
using Socket = asio::basic_stream_socket<asio::ip::tcp, Strand>;
using Acceptor = asio::basic_socket_acceptor<asio::ip::tcp, Strand>;
using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Strand>;
using TlsStream = asio::ssl::stream<Socket&>;

constexpr std::size_t kBodyBuffer = 256 << 10;  // what one read of a large body takes
constexpr Nanoseconds kLinger{1'000'000'000};   // for the client to read our last answer
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

std::int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
        .count();
}

// Assigning an empty string would keep the memory.
void release(std::string& text) { std::string().swap(text); }

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

  private:
    void accept();
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
    bool accepting_ = false;  // these two on control_
    bool sweeping_ = true;
    std::vector<std::thread> threads_;

    std::atomic<bool> stopping_ = false;
    std::atomic<bool> cut_off_ = false;
    std::atomic<std::uint64_t> accepted_ = 0;
    std::atomic<std::uint64_t> requests_ = 0;
    std::atomic<std::uint64_t> refused_ = 0;

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
    ~Connection() { server_->leave(this); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    Strand strand() { return socket_.get_executor(); }
    bool is_due(std::int64_t now) const { return now >= deadline_; }

    // On the strand, all but answer().
    void begin(SSL_CTX* tls);
    void expire();
    void finish();  // the server stops: ends when no request is under way
    void cut();     // at once
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
    void expire_after(Nanoseconds time) { deadline_ = now_ns() + time.value(); }

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
    bool timed_out_ = false;  // while a read is being given up
    bool in_handler_ = false;
    bool last_ = false;                     // no request follows this answer
    std::uint64_t request_id_ = 0;          // late answers to earlier requests are dropped
    std::optional<HttpResponse> answered_;  // while in the handler
    std::string head_;
    std::string body_;
    std::array<asio::const_buffer, 2> out_;  // what is still to be written of both
};

// --- One connection -------------------------------------------------------------------------

class AnswerTarget : public Responder::Target {
  public:
    AnswerTarget(std::shared_ptr<Connection> connection, std::uint64_t request)
        : connection_(std::move(connection)), request_(request) {}
    void answer(HttpResponse response) override {
        connection_->answer(request_, std::move(response));
    }

  private:
    const std::shared_ptr<Connection> connection_;
    const std::uint64_t request_;
};

void Connection::begin(SSL_CTX* tls) {
    if (tls == nullptr) {
        return read();
    }
    SSL_CTX_up_ref(tls);
    asio::ssl::context context(tls);  // owns what it is given
    tls_.emplace(socket_, context);
    phase_ = Phase::handshake;
    tls_->async_handshake(asio::ssl::stream_base::server,
                          [self = shared_from_this()](const ErrorCode& error) {
                              if (self->phase_ == Phase::closed) {
                                  return;
                              }
                              if (error) {
                                  self->server_->count_refusal();
                                  return self->close();
                              }
                              self->phase_ = Phase::idle;
                              self->peer_ = verified_peer(self->tls_->native_handle());
                              self->read();
                          });
}

void Connection::read() {
    const auto room = buffer_.room();
    const auto into = asio::buffer(room.data(), room.size());
    if (tls_) {
        tls_->async_read_some(into, bound(&Connection::on_read));
    } else {
        socket_.async_read_some(into, bound(&Connection::on_read));
    }
}

void Connection::on_read(const ErrorCode& error, std::size_t count) {
    if (phase_ == Phase::closed) {
        return;
    }
    if (timed_out_) {
        return refuse({408, "the request took too long to arrive"});
    }
    if (error) {
        // A client that has ended its half may still read why its half request is no good.
        return phase_ == Phase::idle ? close() : refuse({400, "the request ended half-way"});
    }
    buffer_.filled(count);
    process();
}

void Connection::process() {
    if (phase_ == Phase::idle && !buffer_.bytes().empty()) {
        if (request_id_ > 0) {  // for the first request the time runs since the connection
            expire_after(server_->options().header_timeout);
        }
        phase_ = Phase::head;
    }
    buffer_.consume(reader_.read(buffer_.bytes()));
    if (reader_.state() == RequestReader::State::body && phase_ == Phase::head) {
        phase_ = Phase::body;
        expire_after(server_->options().body_timeout);
        if (reader_.expects_continue() && buffer_.bytes().empty()) {
            head_ = "HTTP/1.1 100 Continue\r\n\r\n";
            out_ = {asio::buffer(head_), asio::const_buffer()};
            return write();
        }
        buffer_.consume(reader_.read(buffer_.bytes()));
    }
    switch (reader_.state()) {
        case RequestReader::State::head:
            return read();
        case RequestReader::State::body:
            return read_body();
        case RequestReader::State::complete:
            return handle();
        case RequestReader::State::refused:
            return refuse(reader_.refusal());
    }
}

void Connection::read_body() {
    if (reader_.body_left() > buffer_.capacity()) {
        buffer_.resize(std::min(reader_.body_left(), kBodyBuffer));
    }
    read();
}

void Connection::handle() {
    phase_ = Phase::handling;
    deadline_ = kNever;  // the handler's own
    buffer_.resize(server_->options().max_header_bytes);
    server_->count_request();
    HttpRequest& request = reader_.request();
    request.peer = peer_;
    const std::uint64_t id = ++request_id_;
    in_handler_ = true;
    try {
        server_->handler()(request,
                           Responder(std::make_unique<AnswerTarget>(shared_from_this(), id)));
    } catch (...) {
        last_ = true;
        answered_ = {500, "{\"Error\":\"the request could not be handled\"}\n", "application/json"};
    }
    in_handler_ = false;
    release(request.body);
    if (answered_) {
        send(*std::exchange(answered_, std::nullopt));
    }
}

void Connection::answer(std::uint64_t request, HttpResponse response) {
    if (strand().running_in_this_thread()) {
        return deliver(request, std::move(response));
    }
    server_->post(strand(),
                  [self = shared_from_this(), request, response = std::move(response)]() mutable {
                      self->deliver(request, std::move(response));
                  });
}

void Connection::deliver(std::uint64_t request, HttpResponse response) {
    if (phase_ != Phase::handling || request != request_id_) {
        return;
    }
    if (in_handler_) {
        answered_ = std::move(response);  // sent when the handler has returned
    } else {
        send(std::move(response));
    }
}

void Connection::refuse(const Refusal& refusal) {
    server_->count_refusal();
    last_ = true;
    send({refusal.status, fmt::format("{{\"Error\":\"{}\"}}\n", refusal.reason),
          "application/json"});
}

void Connection::send(HttpResponse response) {
    last_ = last_ || !reader_.keep_alive() || server_->stopping();
    phase_ = Phase::writing;
    expire_after(server_->options().write_timeout);
    head_ = answer_head(response, last_                 ? Afterwards::close
                                  : reader_.is_http10() ? Afterwards::say_keep_alive
                                                        : Afterwards::keep_alive);
    if (has_body(response.status) && !reader_.is_head()) {
        body_ = std::move(response.body);
    }
    if (tls_) {  // a record is one piece anyway
        head_ += body_;
        body_.clear();
    }
    out_ = {asio::buffer(head_), asio::buffer(body_)};
    write();
}

void Connection::write() {
    if (tls_) {
        tls_->async_write_some(out_[0], bound(&Connection::on_written));
    } else {
        socket_.async_write_some(out_, bound(&Connection::on_written));
    }
}

void Connection::on_written(const ErrorCode& error, std::size_t count) {
    if (phase_ == Phase::closed) {
        return;
    }
    if (error) {
        return close();
    }
    for (asio::const_buffer& part : out_) {
        const std::size_t done = std::min(count, part.size());
        part += done;
        count -= done;
    }
    if (out_[0].size() + out_[1].size() > 0) {
        write();
    } else if (phase_ == Phase::body) {  // that was "100 Continue"
        read_body();
    } else {
        after_answer();
    }
}

void Connection::after_answer() {
    release(head_);
    release(body_);
    if (last_ || server_->stopping()) {
        return linger();
    }
    reader_.next();
    phase_ = Phase::idle;
    expire_after(server_->options().idle_timeout);
    process();
}

// A socket closed with bytes unread sends a reset, and that can overtake our answer. So the client
// is told that nothing follows, and what it still sends is thrown away for a moment.
void Connection::linger() {
    phase_ = Phase::lingering;
    expire_after(std::min(kLinger, server_->options().header_timeout));
    if (tls_) {
        tls_->async_shutdown(
            [self = shared_from_this()](const ErrorCode&) { self->end_sending(); });
    } else {
        end_sending();
    }
}

void Connection::end_sending() {
    ErrorCode ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
    discard();
}

void Connection::discard() {
    if (phase_ == Phase::closed) {
        return;
    }
    buffer_.consume(buffer_.bytes().size());
    const auto room = buffer_.room();
    socket_.async_read_some(asio::buffer(room.data(), room.size()),
                            [self = shared_from_this()](const ErrorCode& error, std::size_t) {
                                return error ? self->close() : self->discard();
                            });
}

void Connection::expire() {
    if (!is_due(now_ns())) {
        return;  // something happened meanwhile
    }
    switch (phase_) {
        case Phase::head:
        case Phase::body: {
            timed_out_ = true;
            deadline_ = kNever;
            ErrorCode ignored;
            socket_.cancel(ignored);  // on_read() answers
            return;
        }
        case Phase::handshake:
            server_->count_refusal();
            return close();
        case Phase::writing: {
            server_->count_refusal();
            ErrorCode ignored;  // what it does not read is not kept for it
            socket_.set_option(asio::socket_base::linger(true, 0), ignored);
            return close();
        }
        default:
            return close();
    }
}

void Connection::finish() {
    if (phase_ == Phase::idle || phase_ == Phase::handshake) {
        close();
    }
}

void Connection::cut() {
    if (phase_ == Phase::head || phase_ == Phase::body || phase_ == Phase::handling ||
        phase_ == Phase::writing) {
        server_->count_cut();
    }
    close();
}

void Connection::close() {
    phase_ = Phase::closed;
    deadline_ = kNever;
    ErrorCode ignored;
    socket_.close(ignored);
    server_->leave(this);
}

// --- The server -----------------------------------------------------------------------------

Expected<void> Server::listen() {
    const bool is_v6 = options_.address.find(':') != std::string::npos;
    const auto where = fmt::format("{}{}{}:{}", is_v6 ? "[" : "", options_.address,
                                   is_v6 ? "]" : "", options_.port);
    ErrorCode error;
    const auto address = asio::ip::make_address(options_.address, error);
    if (error) {
        return fail(ErrorKind::invalid, "cannot listen on {}: the address is no IP address", where);
    }
    if (!options_.tls.certificate_file.empty()) {
        TESSERA_TRY(tls_, ServerTlsFiles::open(options_.tls,
                                               [this](const std::string& text) { warn(text); }));
    }
    const asio::ip::tcp::endpoint endpoint(address, options_.port);
    const auto attempt = [&](auto&& step) {
        if (!error) {
            step();
        }
    };
    acceptor_.open(endpoint.protocol(), error);
    attempt([&] { acceptor_.set_option(asio::socket_base::reuse_address(true), error); });
    // Accepted sockets inherit these two from the one that listens: no call for each of them.
    attempt([&] { acceptor_.set_option(asio::ip::tcp::no_delay(true), error); });
    attempt([&] { acceptor_.set_option(asio::socket_base::keep_alive(true), error); });
    attempt([&] { acceptor_.bind(endpoint, error); });
    attempt([&] { acceptor_.listen(asio::socket_base::max_listen_connections, error); });
    attempt([&] { port_ = acceptor_.local_endpoint(error).port(); });
    if (error) {
        std::string reason = error.message();
        reason[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(reason[0])));
        return fail(ErrorKind::environment, "cannot listen on {}: {}", where, reason);
    }
    return {};
}

void Server::run() {
    asio::post(control_, [this] {
        accept();
        sweep();
    });
    for (int i = 0; i < std::max(1, options_.threads); ++i) {
        threads_.emplace_back([this] {
            for (;;) {
                try {
                    io_.run();
                    return;
                } catch (const std::exception& fault) {  // its connection is gone
                    warn(fmt::format("a connection was dropped: {}", fault.what()));
                }
            }
        });
    }
}

void Server::accept() {
    if (accepting_ || stopping_) {
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        full_ = open_.size() >= std::max<std::size_t>(1, options_.max_connections);
        if (full_) {
            return;  // leave() comes back
        }
    }
    accepting_ = true;
    acceptor_.async_accept(asio::make_strand(io_), [this](const ErrorCode& error, Socket socket) {
        accepting_ = false;
        on_accept(error, std::move(socket));
    });
}

void Server::on_accept(const ErrorCode& error, Socket socket) {
    if (stopping_) {
        return;
    }
    if (error) {
        if (error == asio::error::connection_aborted) {
            accept();
        }
        return;  // no descriptors or memory left: sweep() tries again
    }
    ++accepted_;
    const auto connection = std::make_shared<Connection>(shared_from_this(), std::move(socket));
    {
        const std::lock_guard lock(mutex_);
        open_.insert(connection.get());
    }
    accept();
    const auto context = tls_ != nullptr ? tls_->current() : nullptr;
    asio::dispatch(connection->strand(),
                   [connection, context] { connection->begin(context.get()); });
}

void Server::leave(Connection* connection) noexcept {
    bool was_full = false;
    {
        const std::lock_guard lock(mutex_);
        if (open_.erase(connection) == 0) {
            return;
        }
        was_full = std::exchange(full_, false);
        changed_.notify_all();
    }
    if (was_full) {
        post(control_, [this] { accept(); });
    }
}

std::vector<std::shared_ptr<Connection>> Server::connections() {
    std::vector<std::shared_ptr<Connection>> found;
    const std::lock_guard lock(mutex_);
    found.reserve(open_.size());
    for (Connection* connection : open_) {
        if (auto alive = connection->weak_from_this().lock()) {
            found.push_back(std::move(alive));
        }
    }
    return found;
}

void Server::sweep() {
    const auto now = now_ns();
    for (auto& connection : connections()) {
        if (connection->is_due(now)) {
            const Strand strand = connection->strand();
            asio::post(strand, [connection = std::move(connection)] { connection->expire(); });
        }
    }
    accept();
    const auto shortest = std::min({options_.header_timeout, options_.body_timeout,
                                    options_.idle_timeout, options_.write_timeout});
    sweep_.expires_after(std::clamp<Clock::duration>(std::chrono::nanoseconds(shortest.value() / 4),
                                                     std::chrono::milliseconds(5),
                                                     std::chrono::seconds(1)));
    sweep_.async_wait([this](const ErrorCode&) {
        if (sweeping_) {
            sweep();
        }
    });
}

void Server::close_doors() {
    ErrorCode ignored;
    acceptor_.close(ignored);
    for (const auto& connection : connections()) {
        asio::post(connection->strand(), [connection] { connection->finish(); });
    }
    const std::lock_guard lock(mutex_);
    doors_closed_ = true;
    changed_.notify_all();
}

bool Server::stop(Nanoseconds patience) {
    if (stopping_.exchange(true)) {
        return !cut_off_;
    }
    asio::post(control_, [this] { close_doors(); });
    {
        std::unique_lock lock(mutex_);
        const auto all_gone = [this] { return doors_closed_ && open_.empty(); };
        if (!changed_.wait_for(lock, std::chrono::nanoseconds(patience.value()), all_gone)) {
            changed_.wait(lock, [this] { return doors_closed_; });
            lock.unlock();
            for (const auto& connection : connections()) {
                asio::post(connection->strand(), [connection] { connection->cut(); });
            }
            lock.lock();
            changed_.wait(lock, all_gone);
        }
    }
    asio::post(control_, [this] {
        sweeping_ = false;
        sweep_.cancel();
    });
    work_.reset();
    for (std::thread& thread : threads_) {
        thread.join();
    }
    {
        const std::lock_guard lock(gate_);
        ended_ = true;
    }
    io_.restart();
    io_.poll();  // what came between
    return !cut_off_;
}

HttpServerCounts Server::counts() const {
    const std::lock_guard lock(mutex_);
    return {accepted_, open_.size(), requests_, refused_};
}

void Server::warn(const std::string& text) const {
    if (options_.on_warning) {
        options_.on_warning(text);
    }
}

class ServerHandle : public HttpServer {
  public:
    explicit ServerHandle(std::shared_ptr<Server> server) : server_(std::move(server)) {}
    ~ServerHandle() override { server_->stop(Nanoseconds(0)); }

    std::uint16_t port() const override { return server_->port(); }
    HttpServerCounts counts() const override { return server_->counts(); }
    bool stop(Nanoseconds patience) override { return server_->stop(patience); }

  private:
    const std::shared_ptr<Server> server_;
};

}  // namespace

Expected<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options,
                                                        HttpHandler handler) {
    auto server = std::make_shared<Server>(std::move(options), std::move(handler));
    TESSERA_CHECK(server->listen());
    server->run();
    return std::make_unique<ServerHandle>(std::move(server));
}

}  // namespace tessera
