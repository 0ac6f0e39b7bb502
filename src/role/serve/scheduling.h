// The scheduler as a part of a running service: its thread, and its line for events and conditions.
//
//   Scheduling scheduling({mirror, mutex}, options, {.bind = ..., .why_not_ready = ...});
//   TESSERA_CHECK(scheduling.open(api));
//   scheduling.start();               // before anything is told to the mirror
//   scheduling.wake();                // it may decide now, or again
//   scheduling.stop();                // nothing is decided any more
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kube/background_writer.h"
#include "net/http_client.h"
#include "role/scheduler/pod_reports.h"
#include "role/scheduler/scheduler.h"
#include "role/serve/runner.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace tessera {

struct SchedulingPorts {
    BindPort bind;
    std::function<std::string()> why_not_ready;
    std::function<bool()> busy;  // binds are under way: what can wait does
};

class Scheduling {
  public:
    Scheduling(FeedTarget cluster, SchedulerOptions options, SchedulingPorts ports, Log& log);
    ~Scheduling();  // stops
    Scheduling(const Scheduling&) = delete;
    Scheduling& operator=(const Scheduling&) = delete;

    Expected<void> open(HttpClientOptions api);
    void start() { runner_.start(); }
    void wake() { runner_.wake(Nanoseconds(0)); }
    void stop();
    // As metrics; they refer to this object.
    void tell(Metrics& metrics);

  private:
    FeedTarget cluster_;
    const SchedulerOptions options_;
    const SchedulingPorts ports_;
    RepeatedLine trouble_;
    std::unique_ptr<HttpClient> http_;
    std::unique_ptr<BackgroundWriter> writer_;
    std::unique_ptr<PodReports> reports_;
    std::unique_ptr<Scheduler> scheduler_;
    Runner runner_;
};

}  // namespace tessera
