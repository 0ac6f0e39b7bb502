// The queue protocol: pods that do not fit wait; how long, is the result.
//
// With a drawn stream, waits are measured over the last 60 % of the arrivals, in % of a mean
// lifetime, up to the last arrival: a pod that waits then counts its wait so far. With a trace's
// own times, all pods are measured, in seconds, until the last has finished.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/inflate.h"
#include "sim/stream.h"
#include "sim/waiting_line.h"

namespace tessera {

struct WaitSummary {
    std::int64_t pods = 0;
    double mean = 0;
    double p50 = 0;
    double p95 = 0;
    double p99 = 0;
};
// Percentiles by the nearest rank.
WaitSummary summarise_waits(std::vector<double> waits);

struct QueueRun {
    std::uint64_t seed = 0;
    std::int64_t arrivals = 0;
    std::int64_t waiting_at_end = 0;  // at the last arrival
    WaitSummary wait;
    std::array<WaitSummary, kSizeKeys> by_size{};
    double completion_mean = 0;  // wait and life
    double makespan = 0;         // from the start until the last pod has finished
    double alloc_percent = 0;    // mean over the measured time
    double decisions_per_second = 0;
};

QueueRun run_queue(const RunSetup& setup, const Stream& stream, std::unique_ptr<Policy> policy,
                   Discipline discipline);

}  // namespace tessera
