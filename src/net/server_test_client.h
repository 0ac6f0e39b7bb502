// A client for tests of the server that sends any bytes.
//
//   RawClient client(server->port());
//   client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
//   EXPECT_EQ(client.answer().status, 200);
#pragma once

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.h"

namespace tessera {

class RawClient {
  public:
    struct Answer {
        int status = 0;  // 0: the connection ended
        std::string head;
        std::string body;
    };

    explicit RawClient(std::uint16_t port) {
        socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const timeval guard{60, 0};  // a test that would hang fails instead
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &guard, sizeof guard);
        ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &guard, sizeof guard);
        const int one = 1;  // two sends are two pieces, at once
        ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    }
    ~RawClient() { close(); }
    RawClient(const RawClient&) = delete;
    RawClient& operator=(const RawClient&) = delete;

    bool connected() const { return connected_; }
    int descriptor() const { return socket_; }
    void close() {
        if (socket_ >= 0) {
            ::close(std::exchange(socket_, -1));
        }
    }
    void reset() {  // ends with a reset instead of an orderly close
        const linger now{1, 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        close();
    }
    void end_sending() { ::shutdown(socket_, SHUT_WR); }

    bool send(std::string_view bytes) {
        while (!bytes.empty()) {
            const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) {
                return false;
            }
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }
    Answer answer(bool has_body = true) {
        std::size_t end = std::string::npos;
        while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
            if (!read_more()) {
                return {};
            }
        }
        Answer found{std::stoi(buffer_.substr(9, 3)), buffer_.substr(0, end + 4), ""};
        buffer_.erase(0, end + 4);
        const std::size_t told = found.head.find("Content-Length: ");
        if (has_body && told != std::string::npos) {
            const std::size_t length = std::stoul(found.head.substr(told + 16));
            while (buffer_.size() < length) {
                if (!read_more()) {
                    return {};
                }
            }
            found.body = buffer_.substr(0, length);
            buffer_.erase(0, length);
        }
        return found;
    }
    // All that still comes until the server closes the connection.
    std::string rest() {
        while (read_more()) {
        }
        return std::exchange(buffer_, {});
    }
    std::uint32_t segments_with_data() const {
        tcp_info info{};
        socklen_t size = sizeof info;
        ::getsockopt(socket_, IPPROTO_TCP, TCP_INFO, &info, &size);
        return info.tcpi_data_segs_in;
    }

  private:
    bool read_more() {
        char bytes[65536];
        const auto got = ::recv(socket_, bytes, sizeof bytes, 0);
        TESSERA_ASSERT(got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK),
                       "the server answers or closes within a minute");
        if (got <= 0) {
            return false;
        }
        buffer_.append(bytes, static_cast<std::size_t>(got));
        return true;
    }

    int socket_ = -1;
    bool connected_ = false;
    std::string buffer_;
};

}  // namespace tessera
