// The server's side of TLS: its certificate, and whose certificates it accepts, from files that
// may be replaced while it runs.
//
//   TESSERA_TRY(auto tls, ServerTlsFiles::open({"tls.crt", "tls.key", "ca.crt"}));
//   SSL* ssl = SSL_new(tls->current().get());    // for each connection
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "net/http_server.h"

struct ssl_ctx_st;
struct ssl_st;

namespace tessera {

class ServerTlsFiles {
  public:
    using Warn = std::function<void(const std::string&)>;

    // TLS 1.2 and later, HTTP/1.1 and nothing else. The error names the file and what is wrong.
    static Expected<std::unique_ptr<ServerTlsFiles>> open(ServerTls files, Warn warn);

    // For a new connection. Looks whether the files have changed (three calls of stat, little
    // beside a handshake) and reads them anew; bad ones are reported once and the old ones stay.
    // Not to be called by two threads at once.
    std::shared_ptr<ssl_ctx_st> current();

  private:
    struct Stamp {
        std::array<std::int64_t, 12> values{};
        bool operator==(const Stamp&) const = default;
    };

    ServerTlsFiles(ServerTls files, Warn warn)
        : files_(std::move(files)), warn_(std::move(warn)), stamp_(stamp_of_files()) {}
    Stamp stamp_of_files() const;

    const ServerTls files_;
    const Warn warn_;
    Stamp stamp_;
    std::shared_ptr<ssl_ctx_st> context_;
};

// The common name of the certificate that the client showed and we verified; empty without.
std::string verified_peer(const ssl_st* connection);

}  // namespace tessera
