// The stand-alone scheduler: pods that name it wait in a queue, get a place, and are bound.
//
//   Scheduler scheduler({mirror, mutex}, {.names = {{"tessera", ""}}}, ports);
//   mirror.tell(scheduler);
//   ...
//   scheduler.run();            // whenever ports.wake asked for it; then returns soon
//
// The life of a pod, each step one function of scheduler.cc:
//
//   pod_waits     the API tells of a pod that names us: into the queue, by its priority
//   decide        its turn: the mirror finds the best of all nodes and assumes the share there
//   park          or it fits nowhere: it waits in line with its equals, and its owner is told why
//   bind          one Binding with the placement inside, off the cycle, many side by side
//   bind_ended    bound: the share is confirmed; refused: given back, and the pod is tried again;
//                 unknown: the share stays until the watch tells
//   pod_settled   the watch shows it bound, or gone
//
// What happens in the cluster marks who may be helped by it; a run serves the marks. So nothing is
// decided while the cluster is being told of, and a burst of events costs one run.
//
// The mirror's mutex guards everything in here, and nobody holds it while he waits for the API
// server: binds go out, and come back, without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/wait_queue.h"
#include "role/extender/extender.h"
#include "role/feed/feed.h"
#include "role/mirror/mirror_observer.h"
#include "role/scheduler/pod_reports.h"

namespace tessera {

struct SchedulerOptions {
    // Names that pods may call us by, and the policy of each; empty: that of the pod's dialect.
    StringMap names{};
    WaitQueueOptions queue{};
    // Decisions ahead of the binds: more would be made on a view that is older by then.
    std::size_t max_binding = 256;
    // Decisions of one run, between which the mirror is free for others.
    std::size_t run_length = 32;
    // A net below everything: who waited for so long is tried again whatever happened.
    Nanoseconds longest_parked{300'000'000'000};
    // The words for those who wait in one line are found anew after so long.
    Nanoseconds words_last{1'000'000'000};
    Clock clock = boot_time_now;
    Clock wall = wall_time_now;
};

struct SchedulerPorts {
    BindPort bind;
    // Asks for a run after this time; asked again, the earlier time counts.
    std::function<void(Nanoseconds)> wake;
    // Why this copy must not decide now; empty when it may.
    std::function<std::string()> why_not_ready;
};

struct SchedulerCounts {
    WaitQueue::Counts queue;
    std::size_t binding = 0;
    std::uint64_t decided = 0;  // found a place
    std::uint64_t parked = 0;   // found none
    std::uint64_t bound = 0;
    std::uint64_t failed = 0;  // binds that were refused, or whose end is unknown
};

class Scheduler final : public MirrorObserver {
  public:
    Scheduler(FeedTarget cluster, PodReports& reports, SchedulerOptions options,
              SchedulerPorts ports);
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    // One thread at a time, without the mirror's mutex.
    void run();

    // With the mirror's mutex, which takes care of them (mirror_observer.h).
    void pod_waits(PodIndex index, const Pod& pod) override;
    void pod_settled(PodIndex index) override;
    void asks_changed() override;
    void neighbours_changed() override;
    void room_appeared() override;

    SchedulerCounts counts() const;  // takes the mutex
    // Told how long each decision took. To be set before the first run.
    std::function<void(Nanoseconds)> on_decision{};

  private:
    // What is known of a pod besides its place in the queue; by PodIndex.
    struct Waiting {
        std::string_view policy;  // of the name that it calls us by
        std::uint64_t trait = 0;  // of what can change while it waits
        bool binding = false;
    };
    // Pods that ask for the same: they fit or do not fit together.
    struct Line {
        Ask ask;
        std::string words;  // why nothing fits, as found at `words_at`
        Nanoseconds words_at{};
    };
    struct Refused {
        PodKey pod;
        PodRefusal why;
    };
    // What one run brings about, carried out when the mutex is free again.
    struct Outcome {
        std::vector<std::pair<PodIndex, BindPlan>> plans;
        std::vector<Refused> refused;
    };

    static UnitIndex unit_of(PodIndex pod) { return UnitIndex(pod.value()); }
    static PodIndex pod_of(UnitIndex unit) { return PodIndex(unit.value()); }

    std::optional<std::string_view> policy_of(const Pod& pod) const;
    Nanoseconds first_seen(const Pod& pod) const;
    LineKey line_of(const Ask& ask);
    std::string words_of(LineKey key, PodIndex pod);
    std::string words_about(PodIndex pod);
    void drop_empty_lines();
    void wake_who_has_room();
    Outcome decide_some();
    void decide(PodIndex pod, Outcome& outcome);
    void park(PodIndex pod, Outcome& outcome);
    void bind(PodIndex pod, BindPlan plan);
    void bind_ended(PodIndex pod, const PodKey& key, const std::string& node, WriteOutcome ending);
    void wake_again();

    Mirror& mirror_;
    std::mutex& mutex_;
    PodReports& reports_;
    const SchedulerOptions options_;
    const SchedulerPorts ports_;
    WaitQueue queue_;
    std::vector<Waiting> waiting_;
    std::map<Ask, LineKey> line_keys_;
    std::map<LineKey, Line> lines_;
    std::uint64_t last_line_ = 0;
    std::size_t binding_ = 0;
    bool room_ = false;
    bool neighbours_ = false;  // have changed since
    SchedulerCounts counts_;
};

}  // namespace tessera
