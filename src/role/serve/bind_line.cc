#include "role/serve/bind_line.h"

#include <utility>

#include "dialect/own_keys.h"

namespace tessera {
namespace {

BinderCounts sum(BinderCounts a, const BinderCounts& b) {
    a.bound += b.bound;
    a.refused += b.refused;
    a.unknown += b.unknown;
    a.looked += b.looked;
    a.in_flight += b.in_flight;
    a.waiting += b.waiting;
    return a;
}

}  // namespace

BindLine::BindLine(HttpClientOptions api, BinderOptions options, Log& log)
    : api_(std::move(api)),
      options_(std::move(options)),
      log_(log),
      failures_(log, LogLevel::warning, "a pod was not bound") {}

BindLine::~BindLine() { cut(); }

Expected<void> BindLine::open() {
    const std::lock_guard lock(mutex_);
    if (side_ != nullptr) {
        return {};
    }
    auto side = std::make_shared<Side>();
    HttpClientOptions api = api_;
    // Each bind has one call at a time.
    api.max_connections = options_.max_in_flight;
    TESSERA_TRY(side->http, HttpClient::open(std::move(api)));
    side->binder = std::make_unique<Binder>(*side->http, options_);
    side_ = std::move(side);
    return {};
}

std::shared_ptr<BindLine::Side> BindLine::side() const {
    const std::lock_guard lock(mutex_);
    return side_;
}

void BindLine::bind(BindPlan plan, std::function<void(WriteOutcome)> done) {
    const auto side = this->side();
    if (side == nullptr) {
        done({plan.in_doubt ? WriteEnd::unknown : WriteEnd::refused,
              "this copy is not the leader any more; try again"});
        return;
    }
    BindRequest request{.space = std::move(plan.space),
                        .name = std::move(plan.name),
                        .uid = std::move(plan.uid),
                        .node = std::move(plan.node),
                        .annotations = std::move(plan.annotations),
                        .labels = std::move(plan.labels),
                        .record = std::string(kOwnPlacement),
                        .touched = plan.in_doubt};
    const std::string pod = request.space + '/' + request.name;
    const std::string node = request.node;
    side->binder->bind(std::move(request),
                       [this, pod, node, done = std::move(done)](const WriteOutcome& outcome) {
                           if (outcome.end == WriteEnd::done) {
                               log_.debug("pod bound", {{"pod", pod}, {"node", node}});
                           } else {
                               failures_.tell({{"pod", pod},
                                               {"node", node},
                                               {"end", bind_end_name(outcome.end)},
                                               {"reason", outcome.message}});
                           }
                           done(outcome);
                       });
}

void BindLine::cut() {
    std::shared_ptr<Side> side;
    {
        const std::lock_guard lock(mutex_);
        side = std::exchange(side_, nullptr);
    }
    if (side != nullptr) {
        side->http->close();
        BinderCounts last = side->binder->counts();
        last.in_flight = last.waiting = 0;
        const std::lock_guard lock(mutex_);
        before_ = sum(before_, last);
    }
}

bool BindLine::drain(Nanoseconds patience) {
    const auto side = this->side();
    return side == nullptr || side->binder->drain(patience);
}

BinderCounts BindLine::counts() const {
    const std::lock_guard lock(mutex_);
    return side_ == nullptr ? before_ : sum(before_, side_->binder->counts());
}

}  // namespace tessera
