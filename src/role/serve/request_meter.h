// Counts requests and their time, by route and status, around any handler.
//
//   RequestMeter meter(metrics, boot_time_now);
//   HttpServer::start(options, meter.around(handler));
//
// The time is from the whole request to its answer, also when the answer comes later and from
// another thread. Routes are the extender's: what a client makes up is "other".
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "kube/clock.h"
#include "net/http_server.h"
#include "telemetry/metrics.h"

namespace tessera {

struct Answered {
    std::string_view route;
    int status = 0;
    Nanoseconds took{};
};
class RequestMeter {
  public:
    // The metrics outlive every answer.
    using OnAnswer = std::function<void(const Answered&)>;
    RequestMeter(Metrics& metrics, Clock clock, OnAnswer on_answer = {});
    ~RequestMeter();

    // The handler that is returned may outlive this.
    HttpHandler around(HttpHandler inner);

  private:
    struct Shared;
    std::shared_ptr<Shared> shared_;
};

}  // namespace tessera
