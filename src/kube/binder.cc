#include "kube/binder.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/assert.h"
#include "kube/binder_binding.h"

namespace tessera {
namespace {

// Of what a bind cannot do without; the uid is what keeps it from binding another pod.
std::string_view missing_field(const BindRequest& request) {
    return request.space.empty()  ? "a namespace"
           : request.name.empty() ? "a name"
           : request.uid.empty()  ? "a uid"
           : request.node.empty() ? "a node"
                                  : "";
}

}  // namespace

std::string_view bind_end_name(WriteEnd end) {
    switch (end) {
        case WriteEnd::done:
            return "bound";
        case WriteEnd::refused:
            return "refused";
        case WriteEnd::unknown:
            break;
    }
    return "unknown";
}

class Binder::State : public std::enable_shared_from_this<State> {
  public:
    struct Job {
        std::shared_ptr<const BindRequest> request;
        std::vector<Write> first;
        Done done;
        Nanoseconds until{};
    };

    State(HttpClient& http, BinderOptions options)
        : options_(std::move(options)), tools_(std::make_shared<BindingTools>(http, options_)) {
        TESSERA_ASSERT(options_.max_in_flight > 0, "at least one bind can run");
    }

    void submit(BindRequest request, std::vector<Write> first, Done done) {
        const std::string why_not = refusal(request);
        Job job{std::make_shared<const BindRequest>(std::move(request)), std::move(first),
                std::move(done), tools_->clock() + options_.deadline};
        if (!why_not.empty()) {
            refuse(job, why_not);
            return;
        }
        switch (admit(job)) {
            case Admission::start:
                start(std::move(job));
                break;
            case Admission::wait:
                break;
            case Admission::stopping:
                refuse(job, "this program is about to end and takes no new binds; try again");
                break;
            case Admission::full:
                refuse(job,
                       fmt::format("{} binds wait already; try again later", options_.max_waiting));
                break;
        }
    }

    bool drain(Nanoseconds patience) {
        std::unique_lock lock(mutex_);
        draining_ = true;
        return idle_.wait_for(lock,
                              std::chrono::nanoseconds(std::max<std::int64_t>(0, patience.value())),
                              [this] { return in_flight_ == 0; });
    }

    BinderCounts counts() const {
        const std::lock_guard lock(mutex_);
        BinderCounts counts = counts_;
        counts.looked = tools_->looked;
        counts.in_flight = in_flight_;
        counts.waiting = waiting_.size();
        return counts;
    }

  private:
    enum class Admission : std::uint8_t { start, wait, stopping, full };

    static std::string refusal(const BindRequest& request) {
        const std::string_view missing = missing_field(request);
        return missing.empty() ? "" : fmt::format("a bind needs {}", missing);
    }
    // Takes the job if it has to wait.
    Admission admit(Job& job) {
        const std::lock_guard lock(mutex_);
        if (draining_) {
            return Admission::stopping;
        }
        if (in_flight_ < options_.max_in_flight) {
            ++in_flight_;
            return Admission::start;
        }
        if (waiting_.size() >= options_.max_waiting) {
            return Admission::full;
        }
        waiting_.push_back(std::move(job));
        return Admission::wait;
    }
    void start(Job job) {
        std::vector<Write> writes = std::move(job.first);
        writes.push_back(binding_write(tools_, job.request, touched(*job.request)));
        WriteListOptions list{
            .clock = tools_->clock, .until = job.until, .undo_patience = options_.undo_patience};
        if (options_.journal) {
            list.journal = [self = shared_from_this(),
                            request = job.request](const JournalEntry& entry) {
                self->options_.journal(*request, entry);
            };
        }
        run_writes(std::move(writes), std::move(list),
                   [self = shared_from_this(), job = std::move(job)](const WriteOutcome& outcome) {
                       self->ended(job, outcome);
                       self->start_next();
                   });
    }
    // Those whose time is over have nobody waiting for them any more.
    void start_next() {
        while (auto job = take_next()) {
            if (tools_->clock() < job->until) {
                start(std::move(*job));
                return;
            }
            refuse(*job, "too many binds: its turn did not come in time");
        }
    }
    // The place of the one that ended goes to the next, or is free.
    std::optional<Job> take_next() {
        const std::lock_guard lock(mutex_);
        if (waiting_.empty()) {
            --in_flight_;
            // Under the lock: who waits may destroy us.
            idle_.notify_all();
            return std::nullopt;
        }
        Job job = std::move(waiting_.front());
        waiting_.pop_front();
        return job;
    }
    void ended(const Job& job, const WriteOutcome& outcome) {
        {
            const std::lock_guard lock(mutex_);
            if (outcome.end != WriteEnd::refused && touched_.insert(job.request->uid).second) {
                touched_order_.push_back(job.request->uid);
            }
            if (touched_order_.size() > kTouchedMost) {
                touched_.erase(touched_order_.front());
                touched_order_.pop_front();
            }
        }
        tell(job, outcome);
    }
    bool touched(const BindRequest& request) const {
        const std::lock_guard lock(mutex_);
        return request.touched || touched_.contains(request.uid);
    }
    // Without a call. What an earlier bind of the pod may have done is still open.
    void refuse(const Job& job, std::string why) {
        tell(job, {touched(*job.request) ? WriteEnd::unknown : WriteEnd::refused, std::move(why)});
    }
    void tell(const Job& job, const WriteOutcome& outcome) {
        {
            const std::lock_guard lock(mutex_);
            ++(outcome.end == WriteEnd::done      ? counts_.bound
               : outcome.end == WriteEnd::refused ? counts_.refused
                                                  : counts_.unknown);
        }
        job.done(outcome);
    }

    const BinderOptions options_;
    const std::shared_ptr<BindingTools> tools_;
    mutable std::mutex mutex_;  // never held during a call or a callback
    std::condition_variable idle_;
    std::deque<Job> waiting_;
    std::size_t in_flight_ = 0;
    bool draining_ = false;
    // The last pods that we bound, or may have: the next bind of one, which kube-scheduler may ask
    // for, must not take "this attempt did nothing" for "nothing was done". A uid never comes
    // again.
    static constexpr std::size_t kTouchedMost = 16'384;
    std::unordered_set<std::string> touched_;
    std::deque<std::string> touched_order_;
    BinderCounts counts_;
};

Binder::Binder(HttpClient& http, BinderOptions options)
    : state_(std::make_shared<State>(http, std::move(options))) {}

Binder::~Binder() = default;

void Binder::bind(BindRequest request, Done done) {
    state_->submit(std::move(request), {}, std::move(done));
}

void Binder::bind(BindRequest request, std::vector<Write> first, Done done) {
    state_->submit(std::move(request), std::move(first), std::move(done));
}

bool Binder::drain(Nanoseconds patience) { return state_->drain(patience); }

BinderCounts Binder::counts() const { return state_->counts(); }

}  // namespace tessera
