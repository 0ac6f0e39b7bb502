// What people are told of a pod that the scheduler decided about: events, and the condition
// PodScheduled where it found no place.
//
//   PodReports reports(writer, {.wall = wall_time_now});
//   reports.placed(key, "gpu-a");
//   reports.refused(key, {"Unschedulable", "0/12 nodes are available: ..."});
//   reports.forget(key.uid);
//
// In kube-scheduler's words (Scheduled, FailedScheduling), with names that begin with the pod's: so
// tools and tests find them. A pod that goes on waiting has one event, which is brought up to date
// when the reason changes, and not more often than people read.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "kube/background_writer.h"
#include "kube/clock.h"
#include "role/mirror/mirror.h"

namespace tessera {

struct PodReportsOptions {
    std::string component = "tessera";
    Clock clock = boot_time_now;
    Clock wall = wall_time_now;
    Nanoseconds again_after{10'000'000'000};    // another message about the same pod
    Nanoseconds repeat_after{300'000'000'000};  // the same message: it still waits
};

struct PodRefusal {
    std::string_view reason;  // of the condition: "Unschedulable", or "SchedulerError"
    std::string message;
};

class PodReports {
  public:
    PodReports(BackgroundWriter& writer, PodReportsOptions options);
    PodReports(const PodReports&) = delete;
    PodReports& operator=(const PodReports&) = delete;

    // From any thread.
    void placed(const PodKey& pod, std::string_view node);
    void refused(const PodKey& pod, const PodRefusal& why);
    void forget(std::string_view uid);
    // Whether a refusal would be told now, so that nobody looks for words that nobody hears.
    bool listens(std::string_view uid) const;
    std::size_t remembered() const;

  private:
    struct Told {
        std::string message;
        Nanoseconds at{};
        Nanoseconds first_wall{};
        std::uint32_t count = 0;
    };
    enum class Way : std::uint8_t { create, update };

    void tell_event(const PodKey& pod, const Told& told, Way way);
    void tell_condition(const PodKey& pod, const PodRefusal& why);

    BackgroundWriter& writer_;
    const PodReportsOptions options_;
    mutable std::mutex mutex_;
    tsl::robin_map<std::string, Told, std::hash<std::string_view>, std::equal_to<>>
        told_;  // by uid
};

}  // namespace tessera
