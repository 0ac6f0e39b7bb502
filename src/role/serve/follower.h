// Follows nodes, pods and ConfigMaps of the API server into a mirror, on a thread of its own.
//
//   Follower follower(std::move(http), {mirror, mutex}, {.reflector = ..., .log = log});
//   follower.start();
//   follower.list_pods_anew([] { ... });     // on the follower's thread, when it has been applied
//   follower.stop();
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kube/reflector.h"
#include "net/http_client.h"
#include "role/feed/feed.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace tessera {

class Follower {
  public:
    Follower(std::unique_ptr<HttpClient> http, FeedTarget target, ReflectorOptions reflector,
             Log& log);
    ~Follower();  // stops
    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;

    // `tick` is called about every second, on the follower's thread.
    void start(std::function<void()> tick);
    // Nothing is called any more when it returns. Not from the follower's thread, nor while holding
    // the mirror's mutex.
    void stop();

    // Lists all pods by a read that begins after this call; `done` is told when that list, or a
    // later one, has been applied. Asked again before that, only the later `done` is told.
    void list_pods_anew(std::function<void()> done);

    // From any thread.
    bool synced() const { return feed_.synced(); }
    // Why what we know may be old; empty when it is not.
    std::string why_stale() const;
    // False for the moments in which a watch is opened again, and longer if that fails.
    bool current() const;
    // What happened to pods before then has been applied, all of it (Reflector::told_until()).
    Nanoseconds pods_heard() const;
    Nanoseconds last_tick() const { return Nanoseconds(last_tick_); }
    // As metrics; they refer to this object.
    void tell(Metrics& metrics) const;

  private:
    struct Kind {
        std::string_view name;
        std::unique_ptr<Reflector> reflector;
        std::unique_ptr<RepeatedLine> trouble;
    };

    void tick();
    void applied();

    const std::unique_ptr<HttpClient> http_;
    const Clock clock_;
    Feed feed_;
    std::array<Kind, 3> kinds_;
    std::function<void()> on_tick_;
    std::atomic<std::int64_t> last_tick_ = 0;
    // Of the follower's thread.
    std::function<void()> on_list_;
    std::uint64_t lists_wanted_ = 0;
};

}  // namespace tessera
