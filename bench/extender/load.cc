// Sends prepared requests to an HTTP server on loopback and measures it: latencies of the calls,
// and the CPU time that the server's process took for them.
//
//   bench_extender_load PORT CONNECTIONS CALLS [--new-connection] [--pid PID] FILE...
//
// Each FILE is one whole HTTP/1.1 request, bytes as they are sent. Calls take them in turn, over
// blocking sockets, one thread per connection. Prints one JSON object.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using SteadyClock = std::chrono::steady_clock;

struct Plan {
    std::uint16_t port = 0;
    int connections = 1;
    std::int64_t calls = 0;
    bool new_connection = false;
    int pid = 0;  // 0: no CPU time is read
    std::vector<std::string> requests;
};

struct Worker {
    std::vector<double> microseconds;
    std::int64_t answer_bytes = 0;  // bodies
    std::int64_t failed = 0;        // not 200, or no answer
};

class Connection {
  public:
    explicit Connection(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const int on = 1;
        ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        open_ = socket_ >= 0 && ::connect(socket_, reinterpret_cast<const sockaddr*>(&address),
                                          sizeof(address)) == 0;
    }
    ~Connection() { ::close(socket_); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    // The size of the answer's body; -1 when there is none, or it is not 200.
    std::int64_t call(std::string_view request) {
        if (!open_ || !send_all(request)) {
            return fail();
        }
        received_.clear();
        std::size_t head = std::string::npos;
        while ((head = received_.find("\r\n\r\n")) == std::string::npos) {
            if (!receive()) {
                return fail();
            }
        }
        if (!received_.starts_with("HTTP/1.1 200")) {
            return fail();
        }
        const std::int64_t length = content_length(std::string_view(received_).substr(0, head));
        if (length < 0) {
            return read_chunks(head + 4);
        }
        while (received_.size() < head + 4 + static_cast<std::size_t>(length)) {
            if (!receive()) {
                return fail();
            }
        }
        return length;
    }
    bool open() const { return open_; }

  private:
    std::int64_t fail() {
        open_ = false;
        return -1;
    }
    bool send_all(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) {
                return false;
            }
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }
    bool receive() {
        char buffer[1 << 16];
        const ssize_t got = ::recv(socket_, buffer, sizeof(buffer), 0);
        if (got <= 0) {
            return false;
        }
        received_.append(buffer, static_cast<std::size_t>(got));
        return true;
    }
    // How Go sends what it does not know the length of: the answers are JSON, which has no line
    // ends.
    std::int64_t read_chunks(std::size_t body) {
        while (!received_.ends_with("\r\n0\r\n\r\n")) {
            if (!receive()) {
                return fail();
            }
        }
        return static_cast<std::int64_t>(received_.size() - body);
    }
    static std::int64_t content_length(std::string_view head) {
        std::string lower(head);
        std::transform(lower.begin(), lower.end(), lower.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        constexpr std::string_view kName = "\r\ncontent-length: ";
        const std::size_t at = lower.find(kName);
        std::int64_t length = -1;
        if (at != std::string::npos) {
            const char* from = lower.data() + at + kName.size();
            std::from_chars(from, lower.data() + lower.size(), length);
        }
        return length;
    }

    int socket_;
    bool open_ = false;
    std::string received_;
};

// CPU time of all threads of the process, those that ended not counted; in microseconds.
double cpu_microseconds(int pid) {
    double sum = 0;
    std::error_code gone;
    for (const auto& task :
         std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), gone)) {
        std::ifstream file(task.path() / "schedstat");
        double nanoseconds = 0;
        file >> nanoseconds;
        sum += nanoseconds / 1000;
    }
    return sum;
}

void run(const Plan& plan, std::atomic<std::int64_t>& next, Worker& worker) {
    auto connection = std::make_unique<Connection>(plan.port);
    for (std::int64_t i = next++; i < plan.calls; i = next++) {
        const auto& request = plan.requests[static_cast<std::size_t>(i) % plan.requests.size()];
        const auto begin = SteadyClock::now();
        if (plan.new_connection || !connection->open()) {
            connection = std::make_unique<Connection>(plan.port);
        }
        const std::int64_t bytes = connection->call(request);
        const std::chrono::duration<double, std::micro> took = SteadyClock::now() - begin;
        worker.microseconds.push_back(took.count());
        worker.answer_bytes += std::max<std::int64_t>(0, bytes);
        worker.failed += bytes < 0 ? 1 : 0;
    }
}

double quantile(const std::vector<double>& sorted, double part) {
    const auto last = static_cast<double>(sorted.size() - 1);
    return sorted[static_cast<std::size_t>(part * last)];
}

Plan read_plan(const std::vector<std::string>& words) {
    Plan plan;
    std::vector<std::string> plain;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == "--new-connection") {
            plan.new_connection = true;
        } else if (words[i] == "--pid") {
            plan.pid = std::stoi(words.at(++i));
        } else {
            plain.push_back(words[i]);
        }
    }
    if (plain.size() < 4) {
        throw std::invalid_argument(
            "usage: bench_extender_load PORT CONNECTIONS CALLS [--new-connection] [--pid PID] "
            "FILE...");
    }
    plan.port = static_cast<std::uint16_t>(std::stoi(plain[0]));
    plan.connections = std::stoi(plain[1]);
    plan.calls = std::stoll(plain[2]);
    for (std::size_t i = 3; i < plain.size(); ++i) {
        std::ifstream file(plain[i], std::ios::binary);
        if (!file) {
            throw std::invalid_argument(plain[i] + ": cannot be read");
        }
        plan.requests.emplace_back(std::istreambuf_iterator<char>(file),
                                   std::istreambuf_iterator<char>());
    }
    return plan;
}

void measure(const Plan& plan) {
    std::vector<Worker> workers(static_cast<std::size_t>(plan.connections));
    std::atomic<std::int64_t> next = 0;
    const double cpu_before = plan.pid > 0 ? cpu_microseconds(plan.pid) : 0;
    const auto begin = SteadyClock::now();
    {
        std::vector<std::jthread> threads;
        for (Worker& worker : workers) {
            threads.emplace_back([&] { run(plan, next, worker); });
        }
    }
    const std::chrono::duration<double> wall = SteadyClock::now() - begin;
    const double cpu = plan.pid > 0 ? cpu_microseconds(plan.pid) - cpu_before : 0;
    std::vector<double> all;
    std::int64_t bytes = 0;
    std::int64_t failed = 0;
    for (const Worker& worker : workers) {
        all.insert(all.end(), worker.microseconds.begin(), worker.microseconds.end());
        bytes += worker.answer_bytes;
        failed += worker.failed;
    }
    std::sort(all.begin(), all.end());
    const auto calls = static_cast<double>(all.size());
    fmt::print(
        "{{\"calls\":{},\"failed\":{},\"p50_us\":{:.1f},\"p99_us\":{:.1f},"
        "\"cpu_us\":{:.1f},\"answer_bytes\":{:.0f},\"calls_per_second\":{:.0f}}}\n",
        all.size(), failed, quantile(all, 0.5), quantile(all, 0.99), cpu / calls,
        static_cast<double>(bytes) / calls, calls / wall.count());
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const Plan plan = read_plan({argv + 1, argv + argc});
        measure(plan);
    } catch (const std::exception& wrong) {
        fmt::print(stderr, "{}\n", wrong.what());
        return 2;
    }
    return EXIT_SUCCESS;
}
