// Follows all objects of one kind: lists them, page by page, then watches what changes, and tells
// a sink, for as long as it runs and whatever happens on the way.
//
//   Reflector pods(*http, sink, {.path = "/api/v1/pods", .seed = seed});
//   pods.start();
//
// A watch that ends, is cut or falls silent goes on from the version seen last. When that is too
// old (410), or a line cannot be read, everything is listed again. Nothing is ever left out: the
// version moves on only with what the sink was told. At most one page, or one line, is in memory.
//
// The sink is called on the client's thread. stop() waits for a call of it that runs, so it is not
// to be called while holding what the sink waits for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/units.h"
#include "kube/backoff.h"
#include "kube/clock.h"
#include "kube/object_sink.h"
#include "net/http_client.h"

namespace tessera {

struct ReflectorOptions {
    std::string path;  // "/api/v1/pods"
    std::string label_selector{};
    std::string field_selector{};
    // Halved for the rest of a list when an answer is more than the client takes.
    std::int32_t page_size = 500;
    // How long the API server is asked to keep a watch, drawn from this range.
    Nanoseconds watch_least{300'000'000'000};
    Nanoseconds watch_most{600'000'000'000};
    // The first watch after a failure ends early, as a sign of life that needs no event.
    Nanoseconds watch_after_failure{5'000'000'000};
    // Bookmarks come every minute: a watch without a byte for so long is dead, or might be.
    Nanoseconds silence{100'000'000'000};
    Nanoseconds list_timeout{60'000'000'000};
    BackoffRange backoff{Nanoseconds(200'000'000), Nanoseconds(30'000'000'000)};
    // Failing for so long is not healthy.
    Nanoseconds grace{30'000'000'000};
    std::uint64_t seed = 1;
    Clock clock = boot_time_now;
};

struct ReflectorCounts {
    std::uint64_t lists = 0;  // whole ones
    std::uint64_t pages = 0;
    std::uint64_t listed = 0;  // objects in them
    std::uint64_t watches = 0;
    std::uint64_t events = 0;  // without bookmarks
    std::uint64_t bookmarks = 0;
    // What went wrong.
    std::uint64_t expired = 0;    // 410
    std::uint64_t throttled = 0;  // 429
    std::uint64_t failed = 0;     // 5xx
    std::uint64_t refused = 0;    // other statuses: a role that is missing
    std::uint64_t lost = 0;       // no connection, or cut
    std::uint64_t silent = 0;     // cut by us
    std::uint64_t malformed = 0;  // what could not be read
};

class Reflector {
  public:
    // Client and sink outlive it.
    Reflector(HttpClient& http, ObjectSink& sink, ReflectorOptions options);
    ~Reflector();  // stops
    Reflector(const Reflector&) = delete;
    Reflector& operator=(const Reflector&) = delete;

    void start();
    // The sink is not called any more when it returns.
    void stop();

    // From any thread.
    bool synced() const;  // a whole list was told
    // Synced, and not failing for longer than the grace.
    bool healthy() const;
    // Synced, and a watch is open now: what happened before a moment ago has been told.
    bool current() const;
    // When the API server was last heard of, by the clock; 0: never. What came may have been a page
    // of many, or an old event.
    Nanoseconds last_contact() const;
    // The sink has been told of everything that happened before, by the clock; 0: of nothing yet.
    // Moves with a whole list, to when its first page was asked for, and with a bookmark, to when
    // it came: the API server's view lags behind its store by moments. An event says nothing of
    // those that follow it, nor does a watch's end: the API server ends one in order, too, whose
    // reader is slow, and drops what it had for it.
    Nanoseconds told_until() const;
    ReflectorCounts counts() const;
    std::string last_error() const;  // empty when all is well

  private:
    class State;
    std::shared_ptr<State> state_;
};

}  // namespace tessera
