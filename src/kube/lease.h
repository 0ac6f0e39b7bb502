// One leader among several copies, by a Lease of the API server.
//
//   LeaderElector elector(*http, {.space = "kube-system", .name = "tessera-extender",
//                                 .identity = process_identity(), .on_gained = ..., .on_lost =
//                                 ...});
//   elector.start();
//   if (elector.leading()) { ... }
//   elector.stop(patience);                          // releases: another takes over at its next
//   look
//
// Who holds the Lease writes it anew every now and then. Another may take it only after it has
// *seen* it unchanged for the whole duration by a clock of its own; what time the holder wrote into
// it is not looked at, so clocks may differ. The holder counts from before it sent its last good
// write, and stops at the renew deadline, which is shorter than the duration: it has stopped before
// another can begin, also when it was suspended, cut off, or its callbacks are late. Clocks may run
// at rates that differ by less than duration / renew_deadline.
//
// A Lease that is deleted while it is held is made again by its holder; others that had seen it
// held wait for its duration. Only a copy that starts in that very moment, and has never seen it,
// cannot know: do not delete the Lease of running copies.
//
// Needs get, create and patch of leases in its namespace.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/units.h"
#include "kube/clock.h"
#include "net/http_client.h"

namespace tessera {

struct LeaseOptions {
    std::string space;
    std::string name;
    std::string identity;                       // unique to this process, see process_identity()
    Nanoseconds duration{10'000'000'000};       // whole seconds
    Nanoseconds renew_deadline{7'000'000'000};  // shorter than the duration
    Nanoseconds retry{2'000'000'000};           // shorter than half the renew deadline
    // On the client's thread, in turns, beginning with gained. on_lost says why.
    std::function<void()> on_gained{};
    std::function<void(const std::string&)> on_lost{};
    // A call that failed: may come every retry.
    std::function<void(const std::string&)> on_trouble{};
    Clock clock = boot_time_now;  // must go on while the machine sleeps
    Clock wall = wall_time_now;   // for people who look at the Lease
    std::uint64_t seed = 1;       // of the jitter; not equal in all copies
};

class LeaderElector {
  public:
    // The client outlives it.
    LeaderElector(HttpClient& http, LeaseOptions options);
    ~LeaderElector();  // without a release: stop() does that
    LeaderElector(const LeaderElector&) = delete;
    LeaderElector& operator=(const LeaderElector&) = delete;

    void start();
    // Leads no more from now on (on_lost is called), and begins to give the Lease back if it is
    // ours. From any thread; does not wait.
    void resign();
    // resign(), and waits for its end. False when the Lease could not be given back within
    // `patience`: others wait for the duration then. Not from the client's thread. The callbacks
    // are not called any more when it returns, so it is not to be called holding what they wait
    // for.
    bool stop(Nanoseconds patience);

    // From any thread. Never true for two at one time.
    bool leading() const;
    // Who holds it, as seen last; empty: nobody, or it is not known yet.
    std::string holder() const;
    std::string last_error() const;  // empty when the last call went well
    std::uint64_t gained() const;    // how often

  private:
    class State;
    std::shared_ptr<State> state_;
};

// "HOSTNAME_" and 128 random bits: of no other process, nor of this one started again.
std::string process_identity();

}  // namespace tessera
