#include "kube/reflector.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "base/rng.h"
#include "kube/api_client.h"
#include "kube/object_json.h"
#include "kube/paths.h"

namespace tessera {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

// The version may be one that the server will never know again (its store was set back), which it
// answers with 5xx: after so many in a row a list helps.
constexpr int kFailedWatchesMost = 5;

// A watch that ends sooner, without a word, is not begun again at once.
constexpr Nanoseconds kShortWatch{1'000'000'000};

std::string number_text(std::int64_t number) { return std::to_string(number); }

}  // namespace

// Everything but the getters runs on the client's thread, under `mutex_`, which stop() takes.
class Reflector::State : public std::enable_shared_from_this<Reflector::State> {
  public:
    State(HttpClient& http, ObjectSink& sink, ReflectorOptions options)
        : http_(http),
          sink_(sink),
          options_(std::move(options)),
          rng_(options_.seed),
          list_backoff_(options_.backoff),
          watch_backoff_(options_.backoff) {}

    void start() {
        const std::lock_guard lock(mutex_);
        if (running_) {
            return;
        }
        running_ = true;
        wait(Nanoseconds(0), &State::list_anew);
    }
    void stop() {
        const std::lock_guard lock(mutex_);
        running_ = false;
        ++round_;
        http_.cancel(pending_);
    }

    bool synced() const { return synced_; }
    bool healthy() const {
        const std::int64_t since = failing_since_;
        return synced_ &&
               (since == 0 || options_.clock().value() - since <= options_.grace.value());
    }
    bool current() const { return synced_ && watching_; }
    Nanoseconds last_contact() const { return Nanoseconds(last_contact_); }
    Nanoseconds told_until() const { return Nanoseconds(told_until_); }
    ReflectorCounts counts() const {
        const std::lock_guard lock(report_mutex_);
        return counts_;
    }
    std::string last_error() const {
        const std::lock_guard lock(report_mutex_);
        return last_error_;
    }

  private:
    using Step = void (State::*)();
    // A callback for what is begun now: nothing happens if by then we stopped or began otherwise.
    template <class... Args, class Callback>
    auto guarded(Callback callback) {
        return [self = shared_from_this(), round = round_, callback](Args... args) {
            const std::lock_guard lock(self->mutex_);
            if (self->running_ && self->round_ == round) {
                callback(*self, std::forward<Args>(args)...);
            }
        };
    }
    void wait(Nanoseconds delay, Step step) {
        ++round_;
        pending_ = http_.later(delay, guarded<>([step](State& self) { (self.*step)(); }));
    }
    void count(std::uint64_t ReflectorCounts::* counter, std::uint64_t by = 1) {
        const std::lock_guard lock(report_mutex_);
        counts_.*counter += by;
    }

    // The server answered in a way that shows that all is well.
    void contact() {
        last_contact_ = options_.clock().value();
        failing_since_ = 0;
        failed_watches_ = 0;
        const std::lock_guard lock(report_mutex_);
        last_error_.clear();
    }
    void failure(std::string message, Nanoseconds delay, Step next) {
        if (failing_since_ == 0) {
            failing_since_ = std::max<std::int64_t>(1, options_.clock().value());
        }
        {
            const std::lock_guard lock(report_mutex_);
            last_error_ = std::move(message);
        }
        wait(delay, next);
    }

    // Lists ----------------------------------------------------------------------------------

    void list_anew() {
        continue_.clear();
        version_.clear();
        page_size_ = options_.page_size;
        sink_.list_begins();
        next_page();
    }
    void next_page() {
        if (continue_.empty()) {
            list_asked_ = options_.clock();
        }
        ClientCall call{
            .path = with_query(options_.path, {{"limit", number_text(page_size_)},
                                               {"labelSelector", options_.label_selector},
                                               {"fieldSelector", options_.field_selector},
                                               {"continue", continue_}}),
            .timeout = options_.list_timeout};
        ++round_;
        pending_ = http_.send(
            call, guarded<Expected<ClientAnswer>>([call](State& self, Expected<ClientAnswer> got) {
                self.page_came(std::move(got), call);
            }));
    }
    void page_came(Expected<ClientAnswer> got, const ClientCall& call) {
        auto body = api_answer(std::move(got), call);
        if (!body) {
            const ApiError& error = body.error();
            count(counter_of(error));
            if (too_large(error) && page_size_ > 1) {
                page_size_ /= 2;
                next_page();
                return;
            }
            // A page that is refused will not come: the list took too long (410), or its token is
            // not understood. Otherwise the same page is asked for again.
            const bool anew = !error.passing() && !continue_.empty();
            failure(error.error.message, list_backoff_.next(rng_, error.retry_after),
                    anew ? &State::list_anew : &State::next_page);
            return;
        }
        const std::uint64_t round = round_;
        const auto page =
            reader_.page(*body, [this](std::string_view object) { sink_.listed(object); });
        if (round_ != round) {
            return;  // the sink has stopped us
        }
        if (!page) {
            count(&ReflectorCounts::malformed);
            failure(options_.path + ": " + page.error().message, list_backoff_.next(rng_),
                    &State::list_anew);
            return;
        }
        list_backoff_.reset();
        contact();
        count(&ReflectorCounts::pages);
        count(&ReflectorCounts::listed, page->items);
        if (version_.empty()) {
            version_ = page->resource_version;  // that of the first page: all are of one moment
        }
        continue_ = page->next;
        if (!continue_.empty()) {
            next_page();
            return;
        }
        sink_.list_ends();
        told_until_ = list_asked_.value();
        count(&ReflectorCounts::lists);
        synced_ = true;
        if (round_ == round) {
            watch();
        }
    }
    // Or what else the client would not take a second time either: fewer objects do no harm then.
    static bool too_large(const ApiError& error) {
        return error.status == 0 && error.error.kind == ErrorKind::invalid;
    }
    static std::uint64_t ReflectorCounts::* counter_of(const ApiError& error) {
        if (error.status == 0) {
            return error.error.kind == ErrorKind::invalid ? &ReflectorCounts::malformed
                                                          : &ReflectorCounts::lost;
        }
        return error.status == 410   ? &ReflectorCounts::expired
               : error.status == 429 ? &ReflectorCounts::throttled
               : error.status >= 500 ? &ReflectorCounts::failed
                                     : &ReflectorCounts::refused;
    }

    // Watches --------------------------------------------------------------------------------

    void watch() {
        const auto span = static_cast<std::uint64_t>(
            std::max<std::int64_t>(0, (options_.watch_most - options_.watch_least).value()));
        Nanoseconds last =
            options_.watch_least + Nanoseconds(static_cast<std::int64_t>(rng_.below(span + 1)));
        if (failing_since_ != 0) {
            last = options_.watch_after_failure;
        }
        const auto whole_seconds = std::max<std::int64_t>(1, last.value() / kNanosecondsPerSecond);
        ClientCall call{
            .path = with_query(options_.path, {{"watch", "1"},
                                               {"allowWatchBookmarks", "true"},
                                               {"resourceVersion", version_},
                                               {"timeoutSeconds", number_text(whole_seconds)},
                                               {"labelSelector", options_.label_selector},
                                               {"fieldSelector", options_.field_selector}}),
            .timeout = options_.silence};
        count(&ReflectorCounts::watches);
        watching_ = false;
        watch_began_ = last_line_ = options_.clock();
        lines_ = 0;
        verdict_.reset();
        ++round_;
        call.on_open = guarded<>([](State& self) { self.watching_ = true; });
        // A line is answered, so it has a guard of its own.
        auto on_line = [self = shared_from_this(), round = round_](std::string_view line) {
            const std::lock_guard lock(self->mutex_);
            return self->running_ && self->round_ == round && self->take_line(line);
        };
        pending_ = http_.stream(
            call, std::move(on_line),
            guarded<Expected<ClientAnswer>>([call](State& self, Expected<ClientAnswer> got) {
                self.watch_ended(std::move(got), call);
            }));
    }

    // Whether the watch is to go on.
    bool take_line(std::string_view line) {
        last_line_ = options_.clock();
        if (line.find_first_not_of(" \t") == std::string_view::npos) {
            return true;
        }
        const auto event = reader_.event(line);
        if (!event) {
            count(&ReflectorCounts::malformed);
            verdict_ = Verdict{options_.path + ": " + event.error().message, &State::list_anew, {}};
            return false;
        }
        if (event->kind == WatchKind::error) {
            take_error(event->object);
            return false;
        }
        ++lines_;
        contact();
        // Not with the first line: what breaks every watch soon must not cause a list each time.
        if (last_line_ - watch_began_ >= options_.backoff.most) {
            watch_backoff_.reset();
        }
        if (event->kind == WatchKind::bookmark) {
            count(&ReflectorCounts::bookmarks);
            told_until_ = last_line_.value();
        } else {
            count(&ReflectorCounts::events);
            if (event->kind == WatchKind::deleted) {
                sink_.deleted(event->object);
            } else {
                sink_.changed(event->object);
            }
        }
        version_ = event->resource_version;
        return running_;
    }
    // An ERROR event holds the Status that an answer would have had.
    void take_error(std::string_view object) {
        const auto status = read_status(object);
        const ClientAnswer answer{.status = status && status->code != 0 ? status->code : 500,
                                  .body = std::string(object)};
        judge(api_error(answer, {.method = "WATCH", .path = options_.path}));
    }
    // What an error of a watch leads to.
    void judge(const ApiError& error) {
        count(counter_of(error));
        const bool answered = error.status != 0;
        failed_watches_ += answered ? 1 : 0;
        const bool again = error.passing() && failed_watches_ < kFailedWatchesMost;
        verdict_ = Verdict{error.error.message, again ? &State::watch : &State::list_anew,
                           error.retry_after};
    }
    void watch_ended(Expected<ClientAnswer> got, const ClientCall& call) {
        watching_ = false;
        const Nanoseconds now = options_.clock();
        if (!verdict_ && !got && got.error().kind == ErrorKind::environment &&
            now - last_line_ >= options_.silence) {
            // Nothing may have happened there, or the connection is dead: the next one, a short
            // one, will tell.
            count(&ReflectorCounts::silent);
            failure(options_.path + ": the watch fell silent",
                    jittered(options_.backoff.first, rng_), &State::watch);
            return;
        }
        if (!verdict_) {
            auto body = api_answer(std::move(got), call);
            if (!body) {
                judge(body.error());
            } else if (!body->empty()) {
                // Half a line at the end: its event comes again, as the version has not moved.
                count(&ReflectorCounts::malformed);
                verdict_ =
                    Verdict{options_.path + ": the watch ended within a line", &State::watch, {}};
            }
        }
        if (verdict_) {
            const Verdict verdict = *std::exchange(verdict_, std::nullopt);
            failure(verdict.message, watch_backoff_.next(rng_, verdict.asked), verdict.next);
            return;
        }
        contact();
        watch_backoff_.reset();
        const bool at_once = lines_ > 0 || now - watch_began_ >= kShortWatch;
        wait(at_once ? Nanoseconds(0) : jittered(kShortWatch, rng_), &State::watch);
    }

    struct Verdict {
        std::string message;
        Step next;
        std::optional<Nanoseconds> asked;
    };

    HttpClient& http_;
    ObjectSink& sink_;
    const ReflectorOptions options_;

    std::recursive_mutex mutex_;  // a sink may stop us
    Rng rng_;
    Backoff list_backoff_;
    Backoff watch_backoff_;
    ObjectReader reader_;
    HttpClient::CallId pending_{};
    std::uint64_t round_ = 0;  // of what is begun; what was begun before is not heeded
    bool running_ = false;
    std::string version_;   // of the last thing told
    std::string continue_;  // of the next page
    std::int32_t page_size_ = 0;
    Nanoseconds list_asked_{};        // its first page
    std::optional<Verdict> verdict_;  // why the watch is to end
    int failed_watches_ = 0;
    std::uint64_t lines_ = 0;
    Nanoseconds watch_began_{};
    Nanoseconds last_line_{};

    std::atomic<bool> synced_ = false;
    std::atomic<bool> watching_ = false;           // the API server has begun to answer a watch
    std::atomic<std::int64_t> failing_since_ = 0;  // 0: not failing
    std::atomic<std::int64_t> last_contact_ = 0;
    std::atomic<std::int64_t> told_until_ = 0;
    mutable std::mutex report_mutex_;
    ReflectorCounts counts_;
    std::string last_error_;
};

Reflector::Reflector(HttpClient& http, ObjectSink& sink, ReflectorOptions options)
    : state_(std::make_shared<State>(http, sink, std::move(options))) {}
Reflector::~Reflector() { stop(); }

void Reflector::start() { state_->start(); }
void Reflector::stop() { state_->stop(); }
bool Reflector::synced() const { return state_->synced(); }
bool Reflector::healthy() const { return state_->healthy(); }
bool Reflector::current() const { return state_->current(); }
Nanoseconds Reflector::last_contact() const { return state_->last_contact(); }
Nanoseconds Reflector::told_until() const { return state_->told_until(); }
ReflectorCounts Reflector::counts() const { return state_->counts(); }
std::string Reflector::last_error() const { return state_->last_error(); }

}  // namespace tessera
