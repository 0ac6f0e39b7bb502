#include "kube/lease.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <optional>
#include <random>
#include <utility>

#include "base/assert.h"
#include "base/rng.h"
#include "kube/api_client.h"
#include "kube/backoff.h"
#include "kube/lease_record.h"
#include "kube/paths.h"

namespace tessera {
namespace {

constexpr std::string_view kGroup = "coordination.k8s.io/v1";
// Another holder's duration is respected up to this: what stands in a Lease may be anything.
constexpr Nanoseconds kDurationMost{60'000'000'000};

}  // namespace

// Everything but what is marked otherwise happens on the client's thread, one thing after the
// other: at any time there is one call or one timer under way, and a second timer for the renew
// deadline.
class LeaderElector::State : public std::enable_shared_from_this<State> {
  public:
    State(HttpClient& http, LeaseOptions options)
        : options_(std::move(options)),
          http_(http),
          api_(http, options_.clock, options_.seed),
          rng_(options_.seed),
          path_(ObjectPath{
              .group = kGroup, .resource = "leases", .space = options_.space, .name = options_.name}
                    .text()) {
        TESSERA_ASSERT(
            !options_.identity.empty() && !options_.space.empty() && !options_.name.empty(),
            "an election has a Lease and an identity");
        TESSERA_ASSERT(options_.retry > Nanoseconds(0) &&
                           options_.retry * 2 < options_.renew_deadline &&
                           options_.renew_deadline < options_.duration,
                       "a leader retries, and gives up before another may take over");
    }

    // From any thread.
    void start() {
        TESSERA_ASSERT(!started_.exchange(true), "an election is started once");
        post([](State& self) { self.look(); });
    }
    void resign() {
        if (!stopping_.exchange(true)) {
            post([](State& self) { self.begin_release(); });
        }
    }
    bool wait_released(Nanoseconds patience) {
        const bool started = started_;
        std::unique_lock lock(mutex_);
        const bool released = released_.wait_for(
            lock, std::chrono::nanoseconds(std::max<std::int64_t>(0, patience.value())),
            [&] { return is_released_ || !started; });
        ended_ = true;
        return released;
    }
    void end() {
        const std::lock_guard lock(mutex_);
        ended_ = true;
    }
    bool leading() const {
        const std::int64_t until = until_;
        return !stopping_ && options_.clock() < Nanoseconds(until);
    }
    std::string holder() const {
        const std::lock_guard lock(text_mutex_);
        return holder_;
    }
    std::string last_error() const {
        const std::lock_guard lock(text_mutex_);
        return last_error_;
    }
    std::uint64_t gained() const { return gained_; }

  private:
    using Task = void (*)(State&);

    // Whatever runs on the client's thread runs under the mutex, so that it has ended, and nothing
    // begins, when wait_released() or end() returns.
    template <class Function>
    void guarded(Function function) {
        const std::lock_guard lock(mutex_);
        if (!ended_) {
            function();
        }
    }
    HttpClient::CallId later(Nanoseconds delay, Task task) {
        return http_.later(
            delay, [self = shared_from_this(), task] { self->guarded([&] { task(*self); }); });
    }
    void post(Task task) { later(Nanoseconds(0), task); }
    void next_look_in(Nanoseconds delay) {
        next_ = later(delay, [](State& self) { self.look(); });
    }
    void send(ApiCall call, std::function<void(State&, ApiResult<std::string>)> then) {
        busy_ = true;
        // Time for a second attempt within one retry.
        call.http.timeout = Nanoseconds(options_.retry.value() * 3 / 4);
        api_.send(std::move(call),
                  [self = shared_from_this(), then = std::move(then)](ApiResult<std::string> got) {
                      self->guarded([&] {
                          self->busy_ = false;
                          self->check_deadline();
                          then(*self, std::move(got));
                      });
                  });
    }

    void look() {
        if (!busy_) {
            send(ApiCall::get(path_),
                 [](State& self, const ApiResult<std::string>& got) { self.looked(got); });
        }
    }
    void looked(const ApiResult<std::string>& got) {
        if (!got && got.error().status == 404) {
            absent();
        } else if (!got) {
            failed(got.error(), "get");
        } else if (observe(*got)) {
            decide();
        }
    }
    // False when it could not be read.
    bool observe(const std::string& body) {
        auto lease = read_lease_json(body);
        if (!lease) {
            trouble(lease.error().message);
            next_look_in(options_.retry);
            return false;
        }
        absent_since_.reset();
        if (!seen_ || seen_->version != lease->version) {
            seen_ = std::move(*lease);
            seen_at_ = options_.clock();
            const std::lock_guard lock(text_mutex_);
            holder_ = seen_->holder;
        }
        const std::lock_guard lock(text_mutex_);
        last_error_.clear();
        return true;
    }
    void decide() {
        const bool ours = seen_->holder == options_.identity;
        if (!ours) {
            tell_lost(seen_->holder.empty() ? "somebody released the Lease"
                                            : "the Lease is held by " + seen_->holder);
        }
        if (stopping_) {
            ours ? release() : released();
            return;
        }
        if (ours || seen_->holder.empty()) {
            write();
            return;
        }
        const Nanoseconds rest = seen_at_ + held_for() - options_.clock();
        if (rest <= Nanoseconds(0)) {
            write();
        } else {
            next_look_in(std::min(rest, jittered(options_.retry, rng_)));
        }
    }
    Nanoseconds held_for() const {
        const Nanoseconds told(std::int64_t{seen_->duration_seconds} * 1'000'000'000);
        return std::max(options_.duration, std::min(told, kDurationMost));
    }

    // The Lease does not exist. Where it did, its holder may not know yet that it was deleted.
    void absent() {
        const Nanoseconds now = options_.clock();
        const bool was_held = seen_ && !seen_->holder.empty() && seen_->holder != options_.identity;
        if (stopping_) {
            released();
            return;
        }
        if (!absent_since_) {
            absent_since_ = now;
        }
        const Nanoseconds rest = *absent_since_ + (was_held ? held_for() : Nanoseconds(0)) - now;
        if (rest > Nanoseconds(0)) {
            next_look_in(std::min(rest, jittered(options_.retry, rng_)));
            return;
        }
        const std::string all = path_.substr(0, path_.rfind('/'));
        const Nanoseconds sent = options_.clock();
        send(ApiCall::create(all, new_lease_json(options_.space, options_.name, next_record())),
             [sent](State& self, const ApiResult<std::string>& got) {
                 if (!got && got.error().status == 404) {
                     self.trouble(
                         fmt::format("the namespace {} of the Lease does not exist: create "
                                     "it, or name another",
                                     self.options_.space));
                     self.next_look_in(self.options_.retry);
                     return;
                 }
                 self.written(got, sent, "create");
             });
    }

    LeaseRecord next_record() const {
        LeaseRecord record = seen_.value_or(LeaseRecord{});
        record.duration_seconds =
            static_cast<std::int32_t>(options_.duration.value() / 1'000'000'000);
        record.renewed = micro_time(options_.wall());
        if (record.holder != options_.identity) {
            record.holder = options_.identity;
            record.acquired = record.renewed;
            const bool first = record.version.empty();
            const bool full = record.transitions == std::numeric_limits<std::int32_t>::max();
            record.transitions += first || full ? 0 : 1;
        }
        return record;
    }
    // Takes the Lease, or renews it.
    void write() {
        const Nanoseconds sent = options_.clock();  // before: nobody can see it earlier
        send(ApiCall::merge_patch(path_, lease_patch_json(next_record())),
             [sent](State& self, const ApiResult<std::string>& got) {
                 self.written(got, sent, "patch");
             });
    }
    void written(const ApiResult<std::string>& got, Nanoseconds sent, std::string_view verb) {
        if (!got) {
            const int status = got.error().status;
            if (status == 409 || status == 404) {  // somebody was faster: see who
                next_look_in(jittered(kSoon, rng_));
            } else {
                failed(got.error(), verb);
            }
            return;
        }
        if (!observe(*got)) {
            return;
        }
        if (seen_->holder != options_.identity || stopping_) {
            decide();
            return;
        }
        renewed(sent);
    }
    void renewed(Nanoseconds sent) {
        const Nanoseconds until = sent + options_.renew_deadline;
        if (options_.clock() >= until) {  // we slept: it may be another's by now
            next_look_in(Nanoseconds(0));
            return;
        }
        until_ = until.value();
        arm_deadline();
        next_ = later(jittered(options_.retry, rng_), [](State& self) {
            if (!self.busy_) {
                self.stopping_ ? self.begin_release() : self.write();
            }
        });
        if (!told_) {
            told_ = true;
            ++gained_;
            call(options_.on_gained);
        }
    }

    void arm_deadline() {
        http_.cancel(deadline_);
        deadline_ = later(std::max(Nanoseconds(1), Nanoseconds(until_) - options_.clock()),
                          [](State& self) {
                              self.check_deadline();
                              if (self.told_) {
                                  self.arm_deadline();
                              }
                          });
    }
    void check_deadline() {
        if (told_ && options_.clock() >= Nanoseconds(until_)) {
            const std::string why = last_error();
            tell_lost(fmt::format("the Lease was not renewed for {} s{}{}",
                                  options_.renew_deadline.value() / 1'000'000'000,
                                  why.empty() ? "" : ": ", why));
        }
    }
    void tell_lost(const std::string& why) {
        until_ = 0;
        if (std::exchange(told_, false)) {
            http_.cancel(deadline_);
            call(options_.on_lost, why);
        }
    }

    void failed(const ApiError& error, std::string_view verb) {
        trouble(error.status == 403
                    ? fmt::format("the role of this program lacks {} on leases in namespace {}: {}",
                                  verb, options_.space, error.error.message)
                    : error.error.message);
        // A leader, and one that is about to end, has no time to lose.
        const bool hurry = told_ || stopping_;
        next_look_in(
            jittered(hurry ? Nanoseconds(options_.retry.value() / 4) : options_.retry, rng_));
    }
    void trouble(const std::string& why) {
        {
            const std::lock_guard lock(text_mutex_);
            last_error_ = why;
        }
        call(options_.on_trouble, why);
    }
    template <class Function, class... Args>
    static void call(const Function& function, const Args&... args) {
        if (function) {
            function(args...);
        }
    }

    // What is under way may have written: its end leads here again, by decide().
    void begin_release() {
        tell_lost("it was stopped");
        if (!busy_) {
            http_.cancel(next_);
            look();
        }
    }
    void release() {
        LeaseRecord record = *seen_;
        record.holder.clear();
        record.duration_seconds = 1;  // nobody waits for nobody
        record.renewed = micro_time(options_.wall());
        send(ApiCall::merge_patch(path_, lease_patch_json(record)),
             [](State& self, const ApiResult<std::string>& got) {
                 if (got) {
                     self.released();
                 } else {
                     self.failed(got.error(), "patch");
                 }
             });
    }
    void released() {
        is_released_ = true;
        released_.notify_all();
    }

    static constexpr Nanoseconds kSoon{50'000'000};

    const LeaseOptions options_;
    HttpClient& http_;
    ApiClient api_;
    Rng rng_;
    const std::string path_;

    // For any thread.
    std::atomic<std::int64_t> until_ = 0;  // leads until then, by the clock
    std::atomic<bool> started_ = false;
    std::atomic<bool> stopping_ = false;
    std::atomic<std::uint64_t> gained_ = 0;
    mutable std::mutex text_mutex_;
    std::string holder_;
    std::string last_error_;

    std::mutex mutex_;  // of all that follows
    std::condition_variable released_;
    bool is_released_ = false;
    bool ended_ = false;
    bool busy_ = false;  // a call is under way
    bool told_ = false;  // that we lead
    std::optional<LeaseRecord> seen_;
    Nanoseconds seen_at_{};  // when this version of it was seen first
    std::optional<Nanoseconds> absent_since_;
    HttpClient::CallId next_ = HttpClient::CallId::none;
    HttpClient::CallId deadline_ = HttpClient::CallId::none;
};

LeaderElector::LeaderElector(HttpClient& http, LeaseOptions options)
    : state_(std::make_shared<State>(http, std::move(options))) {}

LeaderElector::~LeaderElector() { state_->end(); }

void LeaderElector::start() { state_->start(); }
void LeaderElector::resign() { state_->resign(); }

bool LeaderElector::stop(Nanoseconds patience) {
    state_->resign();
    return state_->wait_released(patience);
}

bool LeaderElector::leading() const { return state_->leading(); }
std::string LeaderElector::holder() const { return state_->holder(); }
std::string LeaderElector::last_error() const { return state_->last_error(); }
std::uint64_t LeaderElector::gained() const { return state_->gained(); }

std::string process_identity() {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0 || host[0] == '\0') {
        host = {'t', 'e', 's', 's', 'e', 'r', 'a'};
    }
    std::random_device random;
    std::string identity = std::string(host.data()) + "_";
    for (int i = 0; i < 4; ++i) {
        identity += fmt::format("{:08x}", random());
    }
    return identity;
}

}  // namespace tessera
