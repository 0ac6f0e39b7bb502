// The flags of tessera serve, from the command line and from a file with the same keys.
//
// A flag on the command line wins over the file. What is wrong in the file is told with its name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "role/cli/command.h"

namespace tessera::cli {

struct ServeFlags {
    bool extender = false;
    bool scheduler = false;
    std::vector<std::string> scheduler_names;
    std::string config;
    std::string kubeconfig;
    std::string context;
    std::string listen = "127.0.0.1:39999";
    std::string tls_cert;
    std::string tls_key;
    std::string client_ca;
    std::string signing_key_file;
    bool leader_elect = false;
    std::string lease_namespace;  // empty: our own
    std::string lease_name = "tessera-extender";
    std::string lease_duration = "10s";
    std::string lease_renew_deadline;  // empty: seven tenths of the duration
    std::string lease_retry;           // empty: a fifth of it
    std::vector<std::string> policies;
    std::string gpushare_unit;
    std::string hold_for = "20s";
    std::string max_body = "64Mi";
    std::size_t max_connections = 1024;
    std::size_t threads = 2;
    std::string request_timeout = "30s";
    std::string idle_timeout = "120s";
    std::string stop_timeout = "10s";
    std::string log_level = "info";
    std::string log_format = "text";
};

// An exit code when the command is done already (help, or wrong use, both printed).
std::variant<ServeFlags, int> parse_serve_flags(const Arguments& arguments);

// "500ms", "20s", "5m", "1h".
Expected<Nanoseconds> parse_duration(std::string_view flag, std::string_view text);

struct ListenAddress {
    std::string address;
    std::uint16_t port = 0;
};
// "127.0.0.1:39999", "[::1]:0", ":12345" for all addresses.
Expected<ListenAddress> parse_listen(std::string_view text);

}  // namespace tessera::cli
