// What bench/bind.py measures with: a client that only binds, and a watch that only counts.
//
//   bench_bind_client raw KUBECONFIG CONNECTIONS < lines of "NAMESPACE NAME UID NODE"
//       posts a Binding for each line, so many at a time; prints the failures as JSON
//   bench_bind_client watch KUBECONFIG COUNT
//       prints "watching", and when COUNT pods have a node how long that took from the first to the
//       last, as JSON; none has one when it starts
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <iostream>
#include <mutex>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kube/access.h"
#include "kube/binder_binding.h"
#include "kube/clock.h"
#include "kube/paths.h"
#include "kube/reflector.h"

namespace tessera {
namespace {

using Arguments = std::span<char*>;

std::unique_ptr<HttpClient> open_client(const char* kubeconfig, std::size_t connections) {
    auto access = find_kube_access({kubeconfig, {}, {}});
    if (!access) {
        fmt::print(stderr, "{}\n", access.error().message);
        return nullptr;
    }
    access->http.max_connections = connections;
    auto client = HttpClient::open(std::move(access->http));
    return client ? std::move(*client) : nullptr;
}

std::size_t number(std::string_view text) {
    std::size_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::vector<BindRequest> read_requests() {
    std::vector<BindRequest> requests;
    for (std::string line; std::getline(std::cin, line);) {
        BindRequest one;
        std::istringstream(line) >> one.space >> one.name >> one.uid >> one.node;
        requests.push_back(std::move(one));
    }
    return requests;
}

// All Bindings, `connections` of them under way at a time.
class Raw {
  public:
    Raw(HttpClient& http, std::vector<BindRequest> requests)
        : http_(http), requests_(std::move(requests)) {}

    std::size_t run(std::size_t connections) {
        for (std::size_t i = 0; i < connections; ++i) {
            next();
        }
        std::unique_lock lock(mutex_);
        finished_.wait(lock, [&] { return ended_ == requests_.size(); });
        return failed_;
    }

  private:
    void next() {
        std::size_t at = 0;
        {
            const std::lock_guard lock(mutex_);
            if (begun_ == requests_.size()) {
                return;
            }
            at = begun_++;
        }
        const BindRequest& one = requests_[at];
        http_.send(
            {.method = "POST",
             .path =
                 ObjectPath{
                     .resource = "pods", .space = one.space, .name = one.name, .sub = "binding"}
                     .text(),
             .content_type = "application/json",
             .body = binding_json(one)},
            [this](const Expected<ClientAnswer>& answer) { ended(answer); });
    }
    void ended(const Expected<ClientAnswer>& answer) {
        next();
        const std::lock_guard lock(mutex_);
        failed_ += answer && answer->status == 201 ? 0 : 1;
        if (++ended_ == requests_.size()) {
            finished_.notify_all();
        }
    }

    HttpClient& http_;
    const std::vector<BindRequest> requests_;
    std::mutex mutex_;
    std::condition_variable finished_;
    std::size_t begun_ = 0;
    std::size_t ended_ = 0;
    std::size_t failed_ = 0;
};

int run_raw(Arguments arguments) {
    const std::size_t connections = number(arguments[3]);
    const auto client = open_client(arguments[2], connections);
    if (client == nullptr) {
        return 3;
    }
    const std::size_t failed = Raw(*client, read_requests()).run(connections);
    fmt::print("{{\"failed\":{}}}\n", failed);
    return failed == 0 ? 0 : 1;
}

std::string_view text_after(std::string_view line, std::string_view mark) {
    const std::size_t at = line.find(mark);
    if (at == std::string_view::npos) {
        return {};
    }
    const std::string_view rest = line.substr(at + mark.size());
    return rest.substr(0, rest.find('"'));
}

// Pods that have got a node since the first list, and when.
class BoundPods final : public ObjectSink {
  public:
    explicit BoundPods(std::size_t wanted) : wanted_(wanted) {}

    void list_begins() override {}
    void listed(std::string_view json) override { changed(json); }
    void list_ends() override {
        if (!std::exchange(listed_, true)) {
            fmt::print("watching\n");
            std::fflush(stdout);
        }
    }
    void changed(std::string_view json) override {
        if (text_after(json, R"("nodeName":")").empty()) {
            return;
        }
        const std::lock_guard lock(mutex_);
        if (uids_.emplace(text_after(json, R"("uid":")")).second) {
            last_ = boot_time_now();
            first_ = uids_.size() == 1 ? last_ : first_;
            all_.notify_all();
        }
    }
    void deleted(std::string_view) override {}

    // False when they did not come within this time.
    bool wait(std::chrono::seconds patience) {
        std::unique_lock lock(mutex_);
        return all_.wait_for(lock, patience, [&] { return uids_.size() >= wanted_; });
    }
    std::size_t count() const { return uids_.size(); }
    double seconds() const { return static_cast<double>((last_ - first_).value()) / 1e9; }

  private:
    const std::size_t wanted_;
    bool listed_ = false;
    std::mutex mutex_;
    std::condition_variable all_;
    std::unordered_set<std::string> uids_;
    Nanoseconds first_{};
    Nanoseconds last_{};
};

int run_watch(Arguments arguments) {
    constexpr std::chrono::seconds kPatience{600};
    const auto client = open_client(arguments[2], 2);
    if (client == nullptr) {
        return 3;
    }
    BoundPods pods(number(arguments[3]));
    Reflector reflector(*client, pods, {.path = "/api/v1/pods"});
    reflector.start();
    const bool all = pods.wait(kPatience);
    reflector.stop();
    fmt::print("{{\"bound\":{},\"seconds\":{:.6f}}}\n", pods.count(), pods.seconds());
    return all ? 0 : 1;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
    const tessera::Arguments arguments(argv, static_cast<std::size_t>(argc));
    if (arguments.size() == 4 && std::string_view(arguments[1]) == "raw") {
        return tessera::run_raw(arguments);
    }
    if (arguments.size() == 4 && std::string_view(arguments[1]) == "watch") {
        return tessera::run_watch(arguments);
    }
    fmt::print(stderr, "usage: see the head of bench/bind/client.cc\n");
    return 2;
}
