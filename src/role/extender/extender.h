// What a stock kube-scheduler asks an HTTP extender, answered by a mirror of the cluster.
//
//   Extender extender(mirror, mutex, {.now = boot_time_now, .bind = ..., .why_not_ready = ...});
//   HttpServer::start(options, [&](HttpRequest& request, Responder respond) {
//       extender.handle(request, std::move(respond));
//   });
//
// The routes of gpushare and of Elastic GPU have the shape of their originals, under /tessera are
// our own; routes.cc lists them. From any thread. The mutex guards the mirror and is held for the
// time of a decision, never while anybody waits for the API server.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "kube/binder_writes.h"
#include "kube/clock.h"
#include "net/http_server.h"
#include "role/mirror/mirror.h"

namespace tessera {

// Makes a plan real and tells how it went, once, from any thread. A call that is dropped untold
// ends as unknown.
using BindPort = std::function<void(BindPlan, std::function<void(WriteOutcome)>)>;

struct ExtenderPorts {
    Clock now;  // that nobody sets: the time since boot
    BindPort bind;
    // Why this copy must not decide now, in a sentence ("this copy is not the leader"); empty when
    // it may.
    std::function<std::string()> why_not_ready;
    std::function<std::string()> metrics;  // Prometheus' text format
    std::string version;
    // False: what is known of the cluster may be some moments old. Empty: always true.
    std::function<bool()> current{};
};

class Extender {
  public:
    // Binds that are under way end in here: stop the server and the binder first.
    Extender(Mirror& mirror, std::mutex& mutex, ExtenderPorts ports);
    ~Extender();
    Extender(const Extender&) = delete;
    Extender& operator=(const Extender&) = delete;

    void handle(HttpRequest& request, Responder respond);
    std::size_t binds_in_flight() const;
    // Whether the path is one of those by which kube-scheduler has decisions made.
    static bool decides(std::string_view path);

  private:
    std::unique_ptr<class Desk> desk_;
};

}  // namespace tessera
