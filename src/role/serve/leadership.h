// Whether this copy may decide: it holds the Lease, and what it knows is not older than that.
//
//   Leadership leadership(http, lease, {.catch_up = ..., .lost = ...}, log);
//   leadership.start();
//   leadership.why_not();             // "the leader is tessera-0_5f…; this copy stands by"
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "kube/lease.h"
#include "net/http_client.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace tessera {

struct LeadershipPorts {
    // Brings what we know up to date, by a read that begins now, and calls `done` then.
    std::function<void(std::function<void()> done)> catch_up;
    // Before catch_up: gets ready to bind.
    std::function<void()> gained{};
    // Leads no more: to drop what is held and to stop sending.
    std::function<void()> lost;
};

class Leadership {
  public:
    Leadership(HttpClient& http, LeaseOptions lease, LeadershipPorts ports, Log& log);
    ~Leadership();
    Leadership(const Leadership&) = delete;
    Leadership& operator=(const Leadership&) = delete;

    void start() { elector_->start(); }
    // Gives the Lease back, so that another may take it at once.
    bool release(Nanoseconds patience) { return elector_->stop(patience); }

    // From any thread.
    bool deciding() const { return elector_->leading() && caught_up_in_ == term_; }
    std::string why_not() const;
    void tell(Metrics& metrics) const;

  private:
    void gained();
    void lost(const std::string& why);

    const LeadershipPorts ports_;
    Log& log_;
    RepeatedLine trouble_;
    // Each gain and each loss begins a term; what was learnt in another one does not count.
    std::atomic<std::uint64_t> term_ = 1;
    std::atomic<std::uint64_t> caught_up_in_ = 0;
    std::unique_ptr<LeaderElector> elector_;
};

}  // namespace tessera
