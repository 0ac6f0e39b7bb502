// Writes that can wait: events, conditions. They yield to what matters more.
//
//   BackgroundWriter writer(*http, {.busy = [&] { return binder.counts().in_flight > 0; }});
//   writer.write(ApiCall::create(path, event), [](const ApiResult<std::string>&) {});
//
// The queue is bounded, and what does not find room in it is dropped and counted: nothing that is
// written through here may be needed for a decision. While busy() holds nothing is begun, until the
// oldest has waited for `patience`; from then on one at a time, so that a stream of binds without
// an end does not silence everything else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/units.h"
#include "kube/api_client.h"
#include "kube/clock.h"
#include "net/http_client.h"

namespace tessera {

struct BackgroundWriterOptions {
    std::size_t max_waiting = 32'768;
    std::size_t max_in_flight = 8;
    std::function<bool()> busy{};               // empty: never
    Nanoseconds look_again{20'000'000};         // while it is busy
    Nanoseconds patience{30'000'000'000};       // of the oldest
    Nanoseconds call_deadline{30'000'000'000};  // of one write with its repetitions
    // Told of each write that was refused or given up, on the client's thread.
    std::function<void(const ApiError&)> on_failed{};
    Clock clock = boot_time_now;
    std::uint64_t seed = 1;
};

struct BackgroundWriterCounts {
    std::uint64_t written = 0;
    std::uint64_t failed = 0;   // refused, or given up
    std::uint64_t dropped = 0;  // for want of room
    std::size_t waiting = 0;
    std::size_t in_flight = 0;
    Nanoseconds last_written{};  // by the clock; 0: never
};

class BackgroundWriter {
  public:
    using Done = std::function<void(const ApiResult<std::string>&)>;

    // The client outlives it.
    BackgroundWriter(HttpClient& http, BackgroundWriterOptions options);
    ~BackgroundWriter();  // stops
    BackgroundWriter(const BackgroundWriter&) = delete;
    BackgroundWriter& operator=(const BackgroundWriter&) = delete;

    // From any thread. `done` runs on the client's thread, and not at all for what is dropped.
    bool write(ApiCall call, Done done = {});

    // Begins nothing any more; what waits is dropped. Before the client is closed.
    void stop();

    BackgroundWriterCounts counts() const;

  private:
    class State;
    std::shared_ptr<State> state_;
};

}  // namespace tessera
