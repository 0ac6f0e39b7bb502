// Binds pods to nodes: the one place that makes a decision real.
//
//   Binder binder(*http, {.journal = ...});
//   binder.bind({.space = "default", .name = "a", .uid = uid, .node = "n1",
//                .annotations = {{kPlacementKey, record}}, .record = kPlacementKey},
//               [](const WriteOutcome& outcome) { ... });
//
// A bind is a list of writes (kube/binder_writes.h), today one: a Binding with the annotations
// inside, so that there is no half-way state. Its uid is the precondition: a pod that was made anew
// under the same name is never bound. What the end means:
//   done     the pod is on that node, with our record; also when an earlier call did it
//   refused  it is not, and no write of ours can still make it so: the share may be given back
//   unknown  nobody knows yet: keep the share until the watch tells
// After a lost answer the pod is looked at before anything is repeated. No lock is held during
// calls and binds run side by side, up to a bound; more wait in order, and their deadline runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/units.h"
#include "kube/backoff.h"
#include "kube/binder_writes.h"
#include "kube/clock.h"
#include "model/pod.h"
#include "net/http_client.h"

namespace tessera {

struct BindRequest {
    std::string space;
    std::string name;
    std::string uid;
    std::string node;
    StringMap annotations{};
    StringMap labels{};
    // The annotation that says which devices: a pod on that node with another value there was bound
    // by somebody else. Empty: all annotations must be the same.
    std::string record{};
    // An earlier bind of the pod may still be carried out, by another binder, too: as long as that
    // is not ruled out, the end is unknown and not refused.
    bool touched = false;
};

std::string_view bind_end_name(WriteEnd end);  // for metrics and logs

struct BinderOptions {
    // Of the whole bind, waiting included: kube-scheduler gives up after 5 s.
    Nanoseconds deadline{4'000'000'000};
    Nanoseconds undo_patience{3'000'000'000};
    // One call; the rest of the deadline is for finding out what became of it.
    Nanoseconds call_timeout{1'500'000'000};
    BackoffRange backoff{Nanoseconds(50'000'000), Nanoseconds(1'000'000'000)};
    std::size_t max_in_flight = 32;
    std::size_t max_waiting = 4096;  // more are refused
    // Asked before every POST, repeats included, on the client's thread: whether this copy may
    // still write. Empty: it always may.
    std::function<bool()> may_write{};
    // After each write and undo, on the client's thread.
    std::function<void(const BindRequest&, const JournalEntry&)> journal{};
    Clock clock = boot_time_now;
    std::uint64_t seed = 1;
};

struct BinderCounts {
    std::uint64_t bound = 0;
    std::uint64_t refused = 0;
    std::uint64_t unknown = 0;
    std::uint64_t looked = 0;  // pods looked at because an answer left a doubt
    std::size_t in_flight = 0;
    std::size_t waiting = 0;
};

class Binder {
  public:
    using Done = std::function<void(const WriteOutcome&)>;

    // The client outlives all binds: close it, or drain(), before it goes.
    Binder(HttpClient& http, BinderOptions options);
    ~Binder();
    Binder(const Binder&) = delete;
    Binder& operator=(const Binder&) = delete;

    // From any thread. `done` is called once: on the client's thread, or at once when the bind is
    // refused without a call. It must not block.
    void bind(BindRequest request, Done done);
    // The same with writes of the caller's around the binding: `first` before it, in order.
    void bind(BindRequest request, std::vector<Write> first, Done done);

    // Takes no new binds from now on and waits for those that were accepted. False when some still
    // run after `patience`. Not from the client's thread.
    bool drain(Nanoseconds patience);

    BinderCounts counts() const;

  private:
    class State;
    std::shared_ptr<State> state_;
};

}  // namespace tessera
