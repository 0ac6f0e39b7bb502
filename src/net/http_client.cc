#include "net/http_client.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "net/curl_transfer.h"

namespace tessera {
namespace {

constexpr std::int64_t kNanosecondsPerMillisecond = 1'000'000;
constexpr std::int64_t kPollMillisecondsMax = 60'000;

bool start_curl() {
    static const bool started = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    return started;
}

struct MultiFree {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};

// A call from send() or stream() to its end.
struct Call {
    std::uint64_t id = 0;
    ClientCall request;
    HttpClient::OnLine on_line;
    HttpClient::Done done;
    std::unique_ptr<CurlTransfer> transfer{};  // nullptr: it waits for a connection
    std::int64_t deadline = 0;
};

// Other threads leave orders in a queue and wake the client's thread up; all that belongs to
// libcurl is touched by that thread alone. Timers are under the lock, so that one that has been
// cancelled is never run afterwards.
class CurlClient final : public HttpClient {
  public:
    CurlClient(std::unique_ptr<CurlTarget> target, CURLM* multi)
        : target_(std::move(target)), multi_(multi), thread_([this] { run(); }) {}
    ~CurlClient() override {
        TESSERA_ASSERT(!on_own_thread(), "a client is not destroyed by one of its callbacks");
        close();
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        curl_multi_wakeup(multi_.get());
        thread_.join();
    }
    CurlClient(const CurlClient&) = delete;
    CurlClient& operator=(const CurlClient&) = delete;

    CallId send(ClientCall call, Done done) override {
        return start(std::move(call), nullptr, std::move(done));
    }
    CallId stream(ClientCall call, OnLine on_line, Done done) override {
        TESSERA_ASSERT(on_line != nullptr, "a stream's lines are told to somebody");
        return start(std::move(call), std::move(on_line), std::move(done));
    }
    CallId later(Nanoseconds delay, std::function<void()> task) override;
    void cancel(CallId call) override;
    Expected<ClientAnswer> call(ClientCall call) override;
    void close() override;

  private:
    struct Order {
        std::unique_ptr<Call> start;  // or
        std::uint64_t cancel = 0;
    };
    using Timers = std::map<std::pair<std::int64_t, std::uint64_t>, std::function<void()>>;

    bool on_own_thread() const { return std::this_thread::get_id() == thread_id_.load(); }
    CallId start(ClientCall request, OnLine on_line, Done done);
    void wake(bool needed);

    // On the client's thread.
    void run();
    void obey();
    void begin_waiting();
    void begin(std::unique_ptr<Call> call);
    void collect();
    void end_late();
    void fire_timers();
    void end_all();
    void end(std::uint64_t id, Expected<ClientAnswer> answer);
    std::unique_ptr<CurlTransfer> take_transfer();
    void set_deadline(Call& call, std::int64_t deadline);
    Error late(const Call& call) const;
    int patience_ms();

    const std::unique_ptr<CurlTarget> target_;
    const std::unique_ptr<CURLM, MultiFree> multi_;

    std::mutex mutex_;
    std::condition_variable closed_changed_;
    std::vector<Order> orders_;
    Timers timers_;
    std::unordered_map<std::uint64_t, std::int64_t> timer_due_;
    std::uint64_t last_id_ = 0;
    bool closing_ = false;
    bool closed_ = false;
    bool stopping_ = false;

    // Of the client's thread.
    std::unordered_map<std::uint64_t, std::unique_ptr<Call>> calls_;
    std::deque<std::uint64_t> waiting_;
    std::set<std::pair<std::int64_t, std::uint64_t>> deadlines_;
    std::vector<std::unique_ptr<CurlTransfer>> spare_;
    std::unordered_map<CURL*, std::uint64_t> active_;

    std::atomic<std::thread::id> thread_id_;
    std::thread thread_;  // last: it uses all of the above
};

HttpClient::CallId CurlClient::start(ClientCall request, OnLine on_line, Done done) {
    TESSERA_ASSERT(done != nullptr, "somebody is told how a call ended");
    auto call = std::make_unique<Call>();
    call->request = std::move(request);
    call->on_line = std::move(on_line);
    call->done = std::move(done);
    call->deadline = steady_now_ns() + call->request.timeout.value();
    std::uint64_t id = 0;
    bool first = false;
    {
        const std::lock_guard lock(mutex_);
        id = call->id = ++last_id_;
        first = orders_.empty();
        orders_.push_back({std::move(call)});
    }
    wake(first);
    return CallId(id);
}

HttpClient::CallId CurlClient::later(Nanoseconds delay, std::function<void()> task) {
    std::uint64_t id = 0;
    bool first = false;
    {
        const std::lock_guard lock(mutex_);
        id = ++last_id_;
        if (!closing_) {
            const std::int64_t due = steady_now_ns() + std::max<std::int64_t>(0, delay.value());
            const auto entry = timers_.emplace(std::pair(due, id), std::move(task)).first;
            timer_due_.emplace(id, due);
            first = entry == timers_.begin();
        }
    }
    wake(first);
    return CallId(id);
}

void CurlClient::cancel(CallId call) {
    const auto id = static_cast<std::uint64_t>(call);
    std::function<void()> task;  // ends outside the lock: it may own anything
    bool first = false;
    {
        const std::lock_guard lock(mutex_);
        if (const auto due = timer_due_.find(id); due != timer_due_.end()) {
            const auto entry = timers_.find({due->second, id});
            task = std::move(entry->second);
            timers_.erase(entry);
            timer_due_.erase(due);
            return;
        }
        first = orders_.empty();
        orders_.push_back({nullptr, id});
    }
    if (on_own_thread()) {
        // From now on, not from the next round: the caller may be about to forget its state.
        const auto found = calls_.find(id);
        if (found != calls_.end() && found->second->transfer != nullptr) {
            found->second->transfer->mute();
        }
    }
    wake(first);
}

Expected<ClientAnswer> CurlClient::call(ClientCall call) {
    TESSERA_ASSERT(!on_own_thread(), "a callback cannot wait for its own thread");
    std::promise<Expected<ClientAnswer>> promise;
    auto answer = promise.get_future();
    send(std::move(call),
         [&promise](Expected<ClientAnswer> got) { promise.set_value(std::move(got)); });
    return answer.get();
}

void CurlClient::close() {
    std::unique_lock lock(mutex_);
    closing_ = true;
    if (on_own_thread()) {
        return;  // done in the next round
    }
    curl_multi_wakeup(multi_.get());
    closed_changed_.wait(lock, [this] { return closed_; });
}

void CurlClient::wake(bool needed) {
    if (needed && !on_own_thread()) {
        curl_multi_wakeup(multi_.get());
    }
}

void CurlClient::run() {
    // OpenSSL writes to connections that the server has closed: an error, not the end of the
    // program.
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    thread_id_.store(std::this_thread::get_id());
    for (;;) {
        obey();
        bool closing = false;
        bool stop = false;
        {
            const std::lock_guard lock(mutex_);
            closing = closing_;
            stop = stopping_ && orders_.empty();
        }
        if (closing) {
            end_all();
        }
        if (stop) {
            break;
        }
        int running = 0;
        curl_multi_perform(multi_.get(), &running);
        collect();
        end_late();
        fire_timers();
        if (const int patience = patience_ms(); patience > 0) {
            curl_multi_poll(multi_.get(), nullptr, 0, patience, nullptr);
        }
    }
    spare_.clear();
}

// Does what was ordered since the last round.
void CurlClient::obey() {
    std::vector<Order> orders;
    {
        const std::lock_guard lock(mutex_);
        orders.swap(orders_);
    }
    for (Order& order : orders) {
        if (order.start != nullptr) {
            Call& call = *order.start;
            waiting_.push_back(call.id);
            deadlines_.emplace(call.deadline, call.id);
            calls_.emplace(call.id, std::move(order.start));
        } else if (const auto found = calls_.find(order.cancel); found != calls_.end()) {
            end(order.cancel, fail(ErrorKind::conflict, "{}: the call was cancelled",
                                   describe(*target_, found->second->request)));
        }
    }
    begin_waiting();
}

void CurlClient::begin_waiting() {
    while (!waiting_.empty() && active_.size() < target_->options.max_connections) {
        const std::uint64_t id = waiting_.front();
        waiting_.pop_front();
        const auto found = calls_.find(id);
        if (found == calls_.end()) {
            continue;  // ended while it waited
        }
        Call& call = *found->second;
        call.transfer = take_transfer();
        if (call.transfer == nullptr) {
            end(id, fail(ErrorKind::environment, "{}: libcurl could not make a handle",
                         describe(*target_, call.request)));
            continue;
        }
        auto begun = call.transfer->begin(call.request, call.on_line ? &call.on_line : nullptr);
        if (!begun) {
            end(id, tl::unexpected(std::move(begun.error())));
            continue;
        }
        active_.emplace(call.transfer->handle(), id);
        curl_multi_add_handle(multi_.get(), call.transfer->handle());
    }
}

// What libcurl has finished.
void CurlClient::collect() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
        if (message->msg != CURLMSG_DONE) {
            continue;
        }
        const std::uint64_t id = active_.at(message->easy_handle);
        const CURLcode code = message->data.result;  // the message ends with the handle's stay
        end(id, calls_.at(id)->transfer->end(code));
    }
    begin_waiting();
}

void CurlClient::end_late() {
    const std::int64_t now = steady_now_ns();
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        Call& call = *calls_.at(deadlines_.begin()->second);
        // A stream's deadline is moved when it comes, not with every byte.
        const bool streams = call.on_line != nullptr && call.transfer != nullptr;
        const std::int64_t last_byte = streams ? call.transfer->last_byte_ns() : 0;
        const std::int64_t deadline = last_byte + call.request.timeout.value();
        if (last_byte > 0 && deadline > now) {
            set_deadline(call, deadline);
            continue;
        }
        end(call.id, tl::unexpected(late(call)));
    }
}

Error CurlClient::late(const Call& call) const {
    const std::string where = describe(*target_, call.request);
    const std::int64_t ms = call.request.timeout.value() / kNanosecondsPerMillisecond;
    if (call.transfer == nullptr) {
        return {ErrorKind::environment,
                fmt::format("{}: none of the {} connections became free within {} ms", where,
                            target_->options.max_connections, ms)};
    }
    return {ErrorKind::environment,
            fmt::format("{}: {} within {} ms", where,
                        call.on_line ? "the server sent nothing" : "no whole answer came", ms)};
}

void CurlClient::set_deadline(Call& call, std::int64_t deadline) {
    deadlines_.erase({call.deadline, call.id});
    call.deadline = deadline;
    deadlines_.emplace(deadline, call.id);
}

void CurlClient::fire_timers() {
    const std::int64_t now = steady_now_ns();  // those set by the tasks wait for the next round
    for (;;) {
        std::function<void()> task;
        {
            const std::lock_guard lock(mutex_);
            if (closing_ || timers_.empty() || timers_.begin()->first.first > now) {
                return;
            }
            const auto first = timers_.begin();
            timer_due_.erase(first->first.second);
            task = std::move(first->second);
            timers_.erase(first);
        }
        task();
    }
}

// Ends one call: its handle is free for others before its callback runs.
void CurlClient::end(std::uint64_t id, Expected<ClientAnswer> answer) {
    auto entry = calls_.extract(id);
    Call& call = *entry.mapped();
    deadlines_.erase({call.deadline, id});
    if (call.transfer != nullptr) {
        if (active_.erase(call.transfer->handle()) != 0) {
            curl_multi_remove_handle(multi_.get(), call.transfer->handle());
        }
        spare_.push_back(std::move(call.transfer));
    }
    call.done(std::move(answer));
}

void CurlClient::end_all() {
    Timers timers;
    {
        const std::lock_guard lock(mutex_);
        timers.swap(timers_);
        timer_due_.clear();
    }
    timers.clear();
    while (!calls_.empty()) {
        const auto& [id, call] = *calls_.begin();
        end(id, fail(ErrorKind::conflict, "{}: the client was closed",
                     describe(*target_, call->request)));
    }
    {
        const std::lock_guard lock(mutex_);
        closed_ = closed_ || orders_.empty();  // what the callbacks began ends in the next round
    }
    closed_changed_.notify_all();
}

std::unique_ptr<CurlTransfer> CurlClient::take_transfer() {
    if (spare_.empty()) {
        return CurlTransfer::make(*target_);
    }
    auto transfer = std::move(spare_.back());
    spare_.pop_back();
    return transfer;
}

// How long there is nothing to do; 0: there is something now.
int CurlClient::patience_ms() {
    std::int64_t until = INT64_MAX;
    {
        const std::lock_guard lock(mutex_);
        if (!orders_.empty() || (closing_ && !closed_) || stopping_) {
            return 0;
        }
        if (!timers_.empty()) {
            until = timers_.begin()->first.first;
        }
    }
    if (!deadlines_.empty()) {
        until = std::min(until, deadlines_.begin()->first);
    }
    const std::int64_t wait =
        std::max<std::int64_t>(0, until == INT64_MAX ? until : until - steady_now_ns());
    const std::int64_t ms = wait / kNanosecondsPerMillisecond;
    return static_cast<int>(std::min(ms, kPollMillisecondsMax - 1) + 1);  // never too early
}

}  // namespace

Expected<std::unique_ptr<HttpClient>> HttpClient::open(HttpClientOptions options) {
    TESSERA_ASSERT(options.max_connections > 0, "a client without a connection");
    if (!start_curl()) {
        return fail(ErrorKind::environment, "libcurl could not be started");
    }
    TESSERA_TRY(auto target, CurlTarget::make(std::move(options)));
    if (CurlTransfer::make(*target) == nullptr) {
        return fail(ErrorKind::environment,
                    "libcurl refuses the options; was it built without OpenSSL?");
    }
    CURLM* multi = curl_multi_init();
    if (multi == nullptr) {
        return fail(ErrorKind::environment, "libcurl could not be started");
    }
    const auto connections = static_cast<long>(target->options.max_connections);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, connections);
    curl_multi_setopt(multi, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
    return std::make_unique<CurlClient>(std::move(target), multi);
}

}  // namespace tessera
