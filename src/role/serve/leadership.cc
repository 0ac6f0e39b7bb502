#include "role/serve/leadership.h"

#include <utility>

namespace tessera {

Leadership::Leadership(HttpClient& http, LeaseOptions lease, LeadershipPorts ports, Log& log)
    : ports_(std::move(ports)),
      log_(log),
      trouble_(log, LogLevel::warning, "the Lease cannot be looked after") {
    lease.on_gained = [this] { gained(); };
    lease.on_lost = [this](const std::string& why) { lost(why); };
    lease.on_trouble = [this](const std::string& why) { trouble_.tell({{"error", why}}); };
    elector_ = std::make_unique<LeaderElector>(http, std::move(lease));
}
Leadership::~Leadership() = default;

void Leadership::gained() {
    const std::uint64_t term = ++term_;
    log_.info("this copy has the Lease; it lists all pods before it decides");
    if (ports_.gained) {
        ports_.gained();
    }
    ports_.catch_up([this, term] {
        caught_up_in_ = term;
        if (deciding()) {
            log_.info("this copy leads and decides");
        }
    });
}

void Leadership::lost(const std::string& why) {
    ++term_;
    log_.warning("this copy leads no more", {{"reason", why}});
    ports_.lost();
}

std::string Leadership::why_not() const {
    if (deciding()) {
        return {};
    }
    if (elector_->leading()) {
        return "this copy leads and lists all pods first: try again in a moment";
    }
    const std::string holder = elector_->holder();
    const std::string error = elector_->last_error();
    return holder.empty() ? fmt::format("nobody leads yet{}{}", error.empty() ? "" : ": ", error)
                          : fmt::format("this copy stands by; the leader is {}", holder);
}

void Leadership::tell(Metrics& metrics) const {
    metrics.pull({"tessera_leader", "1 while this copy holds the Lease."}, MetricKind::gauge,
                 [this](const Metrics::Tell& tell) { tell({}, elector_->leading() ? 1 : 0); });
    metrics.pull(
        {"tessera_leader_gained_total", "How often this copy got the Lease."}, MetricKind::counter,
        [this](const Metrics::Tell& tell) { tell({}, static_cast<double>(elector_->gained())); });
}

}  // namespace tessera
