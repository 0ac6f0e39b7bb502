// Listens, accepts, watches the clock and stops.
#include "net/http_server.h"

#include <cctype>
#include <exception>

#include "net/http_server_core.h"

namespace tessera {
namespace serving {

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
            return await_client();  // leave() comes back, too
        }
    }
    accepting_ = true;
    acceptor_.async_accept(asio::make_strand(io_), [this](const ErrorCode& error, Socket socket) {
        accepting_ = false;
        on_accept(error, std::move(socket));
    });
}

// Full. Nobody has to go before somebody else is there.
void Server::await_client() {
    if (awaiting_) {
        return;
    }
    awaiting_ = true;
    acceptor_.async_wait(Acceptor::wait_read, [this](const ErrorCode& error) {
        awaiting_ = false;
        if (!error && !stopping_) {
            make_room();
        }
    });
}

// When nobody has waited long enough, sweep() tries again.
void Server::make_room() {
    std::shared_ptr<Connection> slowest;
    for (auto& connection : connections()) {
        if (slowest == nullptr || connection->waiting_since() < slowest->waiting_since()) {
            slowest = std::move(connection);
        }
    }
    const std::int64_t latest = now_ns() - std::min(options_.give_way_after, kLongest).value();
    if (slowest != nullptr && slowest->waiting_since() <= latest) {
        asio::post(slowest->strand(), [slowest] { slowest->give_way(); });
    }
}

void Server::on_accept(const ErrorCode& error, Socket socket) {
    if (stopping_) {
        return;
    }
    if (error) {
        if (error == asio::error::connection_aborted) {
            return accept();
        }
        // No descriptors or memory left, most likely: sweep() tries again.
        return warn(fmt::format("cannot accept a connection: {}", error.message()));
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
    const auto shortest =
        std::min({options_.header_timeout, options_.body_timeout, options_.idle_timeout,
                  options_.write_timeout, options_.give_way_after});
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
    patience = std::min(patience, kLongest);
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
    return {accepted_, open_.size(), requests_, refused_, gave_way_};
}

void Server::warn(const std::string& text) const {
    if (options_.on_warning) {
        options_.on_warning(text);
    }
}

}  // namespace serving

namespace {

class ServerHandle : public HttpServer {
  public:
    explicit ServerHandle(std::shared_ptr<serving::Server> server) : server_(std::move(server)) {}
    ~ServerHandle() override { server_->stop(Nanoseconds(0)); }

    std::uint16_t port() const override { return server_->port(); }
    HttpServerCounts counts() const override { return server_->counts(); }
    bool stop(Nanoseconds patience) override { return server_->stop(patience); }

  private:
    const std::shared_ptr<serving::Server> server_;
};

}  // namespace

Expected<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options,
                                                        HttpHandler handler) {
    auto server = std::make_shared<serving::Server>(std::move(options), std::move(handler));
    TESSERA_CHECK(server->listen());
    server->run();
    return std::make_unique<ServerHandle>(std::move(server));
}

}  // namespace tessera
