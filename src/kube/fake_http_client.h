// An HttpClient for tests, without threads, sockets or waiting: time is virtual, and a function of
// the test is the server.
//
//   VirtualTime time;
//   FakeHttpClient http(time, [](FakeHttpClient& to, const FakeCall& call) {
//       to.answer(call.id, {.status = 200, .body = "{}"});
//   });
//   http.send({.path = "/"}, done);
//   time.run_for(seconds(1));                       // done has been called
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/assert.h"
#include "kube/clock.h"
#include "net/http_client.h"

namespace tessera {

constexpr Nanoseconds milliseconds(std::int64_t n) { return Nanoseconds(n * 1'000'000); }
constexpr Nanoseconds seconds(std::int64_t n) { return Nanoseconds(n * 1'000'000'000); }

// Things to be done, in the order of their time; of one time in the order they came.
class VirtualTime {
  public:
    Nanoseconds now() const { return now_; }
    Clock clock() const {
        return [this] { return now_; };
    }
    void after(Nanoseconds delay, std::function<void()> task) {
        tasks_.emplace(std::pair(now_ + std::max(delay, Nanoseconds(0)), ++last_), std::move(task));
    }
    bool step() {
        if (tasks_.empty()) {
            return false;
        }
        auto entry = tasks_.extract(tasks_.begin());
        now_ = entry.key().first;
        entry.mapped()();
        return true;
    }
    void run_for(Nanoseconds span) {
        const Nanoseconds end = now_ + span;
        while (!tasks_.empty() && tasks_.begin()->first.first <= end) {
            step();
        }
        now_ = end;
    }
    // False when it has not come true after `span`.
    bool run_until(const std::function<bool()>& condition, Nanoseconds span) {
        const Nanoseconds end = now_ + span;
        while (!condition()) {
            if (tasks_.empty() || tasks_.begin()->first.first > end) {
                return false;
            }
            step();
        }
        return true;
    }

  private:
    Nanoseconds now_{1'000'000'000'000};
    std::uint64_t last_ = 0;
    std::map<std::pair<Nanoseconds, std::uint64_t>, std::function<void()>> tasks_;
};

struct FakeCall {
    HttpClient::CallId id{};
    ClientCall call;
    bool streams = false;
};

class FakeHttpClient final : public HttpClient {
  public:
    // Called when a request reaches the server, also if the client has given it up by then.
    using Server = std::function<void(FakeHttpClient&, const FakeCall&)>;

    FakeHttpClient(VirtualTime& time, Server server) : time_(time), server_(std::move(server)) {}

    // How long a request takes to the server; the test may draw it.
    std::function<Nanoseconds()> latency = [] { return milliseconds(1); };

    // The server's side. Nothing happens to calls that are over.
    void answer(CallId id, ClientAnswer answer, Nanoseconds after = milliseconds(1)) {
        later_if_open(id, after, [this, id, answer = std::move(answer)]() mutable {
            end(id, std::move(answer));
        });
    }
    void cut(CallId id, Nanoseconds after = milliseconds(1)) {
        later_if_open(id, after, [this, id] {
            end(id, fail(ErrorKind::environment, "the connection was cut"));
        });
    }
    void refuse(CallId id, Error error) {
        later_if_open(id, milliseconds(1), [this, id, error = std::move(error)]() mutable {
            end(id, tl::unexpected(std::move(error)));
        });
    }
    // A stream's answer begins.
    void open(CallId id, Nanoseconds after = Nanoseconds(0)) {
        later_if_open(id, after, [this, id] {
            if (const auto& told = calls_.at(id).on_open) {
                told();
            }
        });
    }
    void line(CallId id, std::string text, Nanoseconds after = Nanoseconds(0)) {
        later_if_open(id, after, [this, id, text = std::move(text)] {
            Open& open = calls_.at(id);
            open.last_byte = time_.now();
            if (!open.on_line(text) && calls_.contains(id)) {
                end(id, ClientAnswer{.status = 200, .body = {}});
            }
        });
    }
    bool is_open(CallId id) const { return calls_.contains(id); }
    std::size_t open_calls() const { return calls_.size(); }

    CallId send(ClientCall call, Done done) override {
        return start(std::move(call), nullptr, std::move(done));
    }
    CallId stream(ClientCall call, OnLine on_line, Done done) override {
        return start(std::move(call), std::move(on_line), std::move(done));
    }
    CallId later(Nanoseconds delay, std::function<void()> task) override {
        const CallId id = next_id();
        timers_.insert(id);
        time_.after(delay, [this, id, task = std::move(task)] {
            if (timers_.erase(id) != 0) {
                task();
            }
        });
        return id;
    }
    void cancel(CallId call) override {
        timers_.erase(call);
        if (const auto found = calls_.find(call); found != calls_.end()) {
            found->second.on_line = [](std::string_view) { return true; };
            time_.after(Nanoseconds(0), [this, call] {
                end(call, fail(ErrorKind::conflict, "the call was cancelled"));
            });
        }
    }
    Expected<ClientAnswer> call(ClientCall call) override {
        std::optional<Expected<ClientAnswer>> got;
        send(std::move(call), [&](Expected<ClientAnswer> answer) { got = std::move(answer); });
        TESSERA_ASSERT(time_.run_until([&] { return got.has_value(); }, seconds(100'000)),
                       "a call ends");
        return std::move(*got);
    }
    void close() override {
        timers_.clear();
        closed_ = true;
        while (!calls_.empty()) {
            end(calls_.begin()->first, fail(ErrorKind::conflict, "the client was closed"));
        }
    }

  private:
    struct Open {
        OnLine on_line;
        std::function<void()> on_open;
        Done done;
        Nanoseconds timeout;
        Nanoseconds last_byte;
    };

    CallId next_id() { return CallId(++last_id_); }
    CallId start(ClientCall call, OnLine on_line, Done done) {
        const CallId id = next_id();
        const bool streams = on_line != nullptr;
        calls_.emplace(
            id, Open{std::move(on_line), call.on_open, std::move(done), call.timeout, time_.now()});
        if (closed_) {
            later_if_open(id, Nanoseconds(0), [this, id] {
                end(id, fail(ErrorKind::conflict, "the client was closed"));
            });
            return id;
        }
        watch_time(id);
        time_.after(latency(), [this, sent = FakeCall{id, std::move(call), streams}] {
            if (!closed_) {
                server_(*this, sent);
            }
        });
        return id;
    }
    void watch_time(CallId id) {
        const Open& open = calls_.at(id);
        later_if_open(id, open.last_byte + open.timeout - time_.now(), [this, id] {
            const Open& now = calls_.at(id);
            if (now.last_byte + now.timeout > time_.now()) {
                watch_time(id);
                return;
            }
            end(id, fail(ErrorKind::environment, "nothing came in time"));
        });
    }
    template <class Task>
    void later_if_open(CallId id, Nanoseconds after, Task task) {
        time_.after(after, [this, id, task = std::move(task)]() mutable {
            if (calls_.contains(id)) {
                task();
            }
        });
    }
    void end(CallId id, Expected<ClientAnswer> answer) {
        if (auto entry = calls_.extract(id); !entry.empty()) {
            entry.mapped().done(std::move(answer));
        }
    }

    VirtualTime& time_;
    Server server_;
    std::map<CallId, Open> calls_;
    std::set<CallId> timers_;
    std::uint64_t last_id_ = 0;
    bool closed_ = false;
};

}  // namespace tessera
