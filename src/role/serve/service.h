// The extender as a running service: the cluster followed, decisions made, pods bound.
//
//   TESSERA_TRY(auto service, Service::start(options, log));
//   fmt::print("listening on port {}\n", service->port());
//   ...
//   service->stop(Nanoseconds(10'000'000'000));
//
// Threads: one follows the cluster (watches), one binds, one keeps the Lease, some serve HTTP. They
// have connections of their own to the API server, so that a burst of events delays no bind and a
// burst of binds does not cost the Lease. They share the mirror, behind a mutex that nobody holds
// while he waits for the API server.
//
// Who may decide. Without election everybody, once everything has been listed. With it the holder
// of the Lease alone; the others follow the cluster and are warm. A new leader's view may lag
// behind the last binds of the old one: the API server would refuse to bind a pod twice, but not to
// give one GPU to two pods. So it lists all pods anew, by a consistent read that was begun after it
// had the Lease, and decides only when that list has been applied. The old one sends nothing after
// its renew deadline and hangs up on what is under way, 3 s before the Lease runs out: binds that
// the API server has carried out by then are in the list. One that it took up and still works on
// when it reads that list is not, nor one whose sender was frozen on the way from its last look at
// the clock to the wire. The API server drops a request whose client has hung up, if it learns of
// that, and others after a minute, which is longer than a take-over may last. So such a bind may
// meet another pod on its GPU; the watch tells of both, and the device counts as over-committed.
//
// A stop, in order: not ready, no new requests, binds under way end, the Lease is given back. When
// binds did not end in time the Lease is kept and runs out by itself: they could still succeed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "kube/binder.h"
#include "kube/clock.h"
#include "kube/lease.h"
#include "kube/reflector.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "role/intake/live_policies.h"
#include "role/mirror/mirror.h"
#include "role/scheduler/scheduler.h"
#include "telemetry/log.h"

namespace tessera {

struct ServiceOptions {
    HttpClientOptions api;
    HttpServerOptions server{};
    MirrorOptions mirror{};
    // Those that the mirror's options name; files among them are looked at now and then.
    std::shared_ptr<LivePolicies> policies{};
    Nanoseconds policy_look{3'000'000'000};
    std::optional<LeaseOptions> election{};  // nothing: this copy always decides
    BinderOptions binder{};
    bool extender = true;
    std::optional<SchedulerOptions> scheduler{};  // nothing: only the extender decides
    ReflectorOptions reflector{};                 // for all three; the path is ours
    std::string version{};
    std::uint64_t seed = 1;
    Clock clock = boot_time_now;
    Clock wall = wall_time_now;
};

class Service {
  public:
    // The API server need not be there yet. An error: what is asked for cannot be (the port is
    // taken, a certificate cannot be read).
    static Expected<std::unique_ptr<Service>> start(ServiceOptions options, Log& log);
    virtual ~Service() = default;  // without patience, if not stopped

    virtual std::uint16_t port() const = 0;
    // Why this copy does not decide now; empty when it does.
    virtual std::string why_not_ready() const = 0;
    // Once. False when something was cut off.
    virtual bool stop(Nanoseconds patience) = 0;
};

}  // namespace tessera
