// A server for tests of the client that can misbehave: each connection is a socket, plain or TLS,
// and a function of the test says byte by byte what happens on it.
//
//   ScriptedServer server([](ServedConnection& peer, const std::string& request) {
//       peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
//       return true;                                        // and the next request
//   });
//   HttpClient::open({.base_url = server.url()});
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "net/http_client.h"

namespace tessera {

// One accepted connection. write() and read_request() are false or empty once it has gone.
class ServedConnection {
  public:
    ServedConnection(int socket, SSL_CTX* tls) : socket_(socket) {
        const int one = 1;
        ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (tls != nullptr) {
            ssl_ = SSL_new(tls);
            SSL_set_fd(ssl_, socket_);
            failed_ = SSL_accept(ssl_) != 1;
        }
    }
    ~ServedConnection() {
        SSL_free(ssl_);
        ::close(socket_);
    }
    ServedConnection(const ServedConnection&) = delete;
    ServedConnection& operator=(const ServedConnection&) = delete;

    bool write(const std::string& bytes) {
        std::size_t sent = 0;
        while (!failed_ && sent < bytes.size()) {
            const auto left = bytes.size() - sent;
            const auto now = ssl_ != nullptr
                                 ? SSL_write(ssl_, bytes.data() + sent, static_cast<int>(left))
                                 : ::send(socket_, bytes.data() + sent, left, MSG_NOSIGNAL);
            failed_ = now <= 0;
            sent += failed_ ? 0 : static_cast<std::size_t>(now);
        }
        return !failed_;
    }
    bool write_chunk(const std::string& bytes) {
        char size[32];
        std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
        return write(size + bytes + "\r\n");
    }
    // Head and body; empty when the client has gone.
    std::string read_request() {
        std::size_t end = std::string::npos;
        while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
            if (!read_more()) {
                return {};
            }
        }
        std::size_t length = end + 4;
        const std::size_t told = buffer_.find("Content-Length: ");
        if (told < end) {
            length += std::stoul(buffer_.substr(told + 16));
        }
        while (buffer_.size() < length) {
            if (!read_more()) {
                return {};
            }
        }
        std::string request = buffer_.substr(0, length);
        buffer_.erase(0, length);
        return request;
    }
    // Waits until the client closes the connection (or the server is stopped).
    void await_end() {
        while (read_more()) {
        }
    }

  private:
    bool read_more() {
        char bytes[4096];
        const auto got = failed_           ? -1
                         : ssl_ != nullptr ? SSL_read(ssl_, bytes, sizeof bytes)
                                           : ::recv(socket_, bytes, sizeof bytes, 0);
        if (got <= 0) {
            failed_ = true;
            return false;
        }
        buffer_.append(bytes, static_cast<std::size_t>(got));
        return true;
    }

    int socket_;
    SSL* ssl_ = nullptr;
    bool failed_ = false;
    std::string buffer_;
};

class ScriptedServer {
  public:
    // For each request; false closes the connection. Runs on a thread per connection.
    using Script = std::function<bool(ServedConnection&, const std::string&)>;

    explicit ScriptedServer(Script script, SSL_CTX* tls = nullptr)
        : script_(std::move(script)), tls_(tls) {
        listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* plain = reinterpret_cast<sockaddr*>(&address);
        TESSERA_ASSERT(::bind(listener_, plain, sizeof address) == 0, "a port of our own");
        TESSERA_ASSERT(::listen(listener_, 128) == 0, "a socket that listens");
        socklen_t length = sizeof address;
        ::getsockname(listener_, plain, &length);
        port_ = ntohs(address.sin_port);
        accepting_ = std::thread([this] { accept_all(); });
    }
    ~ScriptedServer() {
        ::shutdown(listener_, SHUT_RDWR);
        accepting_.join();
        {
            const std::lock_guard lock(mutex_);
            for (const int socket : sockets_) {
                ::shutdown(socket, SHUT_RDWR);
            }
        }
        for (auto& thread : threads_) {
            thread.join();
        }
        ::close(listener_);
    }
    ScriptedServer(const ScriptedServer&) = delete;
    ScriptedServer& operator=(const ScriptedServer&) = delete;

    std::uint16_t port() const { return port_; }
    std::string url() const {
        return (tls_ != nullptr ? "https://127.0.0.1:" : "http://127.0.0.1:") +
               std::to_string(port_);
    }
    int connections() const { return connections_; }
    int requests() const { return requests_; }

  private:
    void accept_all() {
        for (;;) {
            const int socket = ::accept(listener_, nullptr, nullptr);
            if (socket < 0) {
                return;
            }
            ++connections_;
            const std::lock_guard lock(mutex_);
            sockets_.push_back(socket);
            threads_.emplace_back([this, socket] { serve(socket); });
        }
    }
    void serve(int socket) {
        sigset_t pipe;  // for OpenSSL, which knows no MSG_NOSIGNAL
        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
        {
            ServedConnection peer(::dup(socket), tls_);
            for (;;) {
                const std::string request = peer.read_request();
                if (request.empty()) {
                    break;
                }
                ++requests_;
                if (!script_(peer, request)) {
                    break;
                }
            }
        }
        const std::lock_guard lock(mutex_);
        std::erase(sockets_, socket);
        ::shutdown(socket, SHUT_RDWR);
        ::close(socket);
    }

    const Script script_;
    SSL_CTX* const tls_;
    int listener_ = -1;
    std::uint16_t port_ = 0;
    std::atomic<int> connections_ = 0;
    std::atomic<int> requests_ = 0;
    std::mutex mutex_;
    std::vector<int> sockets_;
    std::vector<std::thread> threads_;
    std::thread accepting_;
};

}  // namespace tessera

// What calls need besides: clients, answers, values that callbacks will bring.
namespace tessera::testing {

inline constexpr auto kPatience = std::chrono::seconds(60);
inline constexpr Nanoseconds kMillisecond{1'000'000};

inline std::unique_ptr<HttpClient> client_of(HttpClientOptions options) {
    auto client = HttpClient::open(std::move(options));
    EXPECT_TRUE(client) << client.error().message;
    return std::move(*client);
}

inline std::string answer_text(int status, const std::string& body,
                               const std::string& headers = "") {
    return "HTTP/1.1 " + std::to_string(status) + " Because\r\n" + headers +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

inline ScriptedServer::Script always(std::string text) {
    return [text = std::move(text)](ServedConnection& peer, const std::string&) {
        return peer.write(text);
    };
}

inline const std::string kChunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

// A value that a callback will bring.
template <class T>
class Awaited {
  public:
    void set(T value) {
        const std::lock_guard lock(state_->mutex);
        state_->values.push_back(std::move(value));
        state_->changed.notify_all();
    }
    // The n-th that came.
    T get(std::size_t n = 0) const {
        std::unique_lock lock(state_->mutex);
        const bool came =
            state_->changed.wait_for(lock, kPatience, [&] { return state_->values.size() > n; });
        TESSERA_ASSERT(came, "the callback has not run");
        return state_->values[n];
    }
    std::size_t count() const {
        const std::lock_guard lock(state_->mutex);
        return state_->values.size();
    }

  private:
    struct State {
        std::mutex mutex;
        std::condition_variable changed;
        std::vector<T> values;
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

using Answer = Expected<ClientAnswer>;

inline HttpClient::Done to(Awaited<Answer> target) {
    return [target](Answer answer) mutable { target.set(std::move(answer)); };
}

inline ScriptedServer::Script silent() {
    return [](ServedConnection& peer, const std::string&) {
        peer.await_end();
        return false;
    };
}

}  // namespace tessera::testing
