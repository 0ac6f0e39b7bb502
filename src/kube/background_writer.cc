#include "kube/background_writer.h"

#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace tessera {

class BackgroundWriter::State : public std::enable_shared_from_this<State> {
  public:
    State(HttpClient& http, BackgroundWriterOptions options)
        : options_(std::move(options)), http_(http), api_(http, options_.clock, options_.seed) {}

    bool write(ApiCall call, Done done) {
        {
            const std::lock_guard lock(mutex_);
            if (stopped_ || waiting_.size() >= options_.max_waiting) {
                ++counts_.dropped;
                return false;
            }
            waiting_.push_back({std::move(call), std::move(done), options_.clock()});
        }
        begin_some();
        return true;
    }

    void stop() {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        counts_.dropped += waiting_.size();
        waiting_.clear();
    }

    BackgroundWriterCounts counts() const {
        const std::lock_guard lock(mutex_);
        BackgroundWriterCounts counts = counts_;
        counts.waiting = waiting_.size();
        counts.in_flight = in_flight_;
        return counts;
    }

  private:
    struct Job {
        ApiCall call;
        Done done;
        Nanoseconds since{};
    };

    void begin_some() {
        const bool busy = options_.busy && options_.busy();
        while (auto job = next(busy)) {
            begin(std::move(*job));
        }
    }
    // Who may begin now; while it is busy a timer looks again.
    std::optional<Job> next(bool busy) {
        const std::lock_guard lock(mutex_);
        if (waiting_.empty()) {
            return std::nullopt;
        }
        const bool late = options_.clock() - waiting_.front().since >= options_.patience;
        const std::size_t most = !busy ? options_.max_in_flight : late ? 1 : 0;
        if (in_flight_ >= most) {
            if (busy && !looking_again_) {
                looking_again_ = true;
                http_.later(options_.look_again,
                            [self = shared_from_this()] { self->look_again(); });
            }
            return std::nullopt;
        }
        ++in_flight_;
        Job job = std::move(waiting_.front());
        waiting_.pop_front();
        return job;
    }
    void look_again() {
        {
            const std::lock_guard lock(mutex_);
            looking_again_ = false;
        }
        begin_some();
    }
    void begin(Job job) {
        api_.send(std::move(job.call).within(options_.call_deadline),
                  [self = shared_from_this(), done = std::move(job.done)](
                      const ApiResult<std::string>& result) { self->ended(result, done); });
    }
    void ended(const ApiResult<std::string>& result, const Done& done) {
        {
            const std::lock_guard lock(mutex_);
            --in_flight_;
            ++(result ? counts_.written : counts_.failed);
            if (result) {
                counts_.last_written = options_.clock();
            }
        }
        if (!result && options_.on_failed) {
            options_.on_failed(result.error());
        }
        if (done) {
            done(result);
        }
        begin_some();
    }

    const BackgroundWriterOptions options_;
    HttpClient& http_;
    ApiClient api_;
    mutable std::mutex mutex_;  // never held during a call or a callback
    std::deque<Job> waiting_;
    std::size_t in_flight_ = 0;
    bool looking_again_ = false;
    bool stopped_ = false;
    BackgroundWriterCounts counts_;
};

BackgroundWriter::BackgroundWriter(HttpClient& http, BackgroundWriterOptions options)
    : state_(std::make_shared<State>(http, std::move(options))) {}

BackgroundWriter::~BackgroundWriter() { stop(); }

void BackgroundWriter::stop() { state_->stop(); }

bool BackgroundWriter::write(ApiCall call, Done done) {
    return state_->write(std::move(call), std::move(done));
}

BackgroundWriterCounts BackgroundWriter::counts() const { return state_->counts(); }

}  // namespace tessera
