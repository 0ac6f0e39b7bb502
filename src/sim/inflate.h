// The arrival-only protocol: pods come one by one, nothing leaves, what does not fit is lost.
//
// As in the published experiments of FGD (Weng et al., ATC 2023); see curve.h for how results are
// read off and orders.h for how the order of arrival is made.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/curve.h"
#include "sim/orders.h"
#include "sim/workload.h"
#include "sim/world.h"

namespace tessera {

// What every run needs: whose pods, on which nodes, and where to count progress.
struct RunSetup {
    const Workload* workload = nullptr;
    const std::vector<NodeSpec>* nodes = nullptr;
    std::uint64_t seed = 42;
    std::atomic<std::uint64_t>* arrivals_done = nullptr;  // may be null
    StateRequest state = {};
};

// Sums at one moment of a run.
struct InflateState {
    std::int64_t gpu_milli = 0;
    std::int64_t core_milli = 0;
    std::int64_t memory_mib = 0;
    std::int64_t refused = 0;
};

struct InflateRun {
    std::uint64_t seed = 0;
    std::int64_t arrivals = 0;
    std::int64_t arrived_milli = 0;
    std::int64_t gpus_touched = 0;
    InflateState at_capacity;  // after the last arrival with no more demand than capacity
    InflateState end;
    double first_refusal_percent = 0;  // arrived % at the first refusal; at the end without one
    double decisions_per_second = 0;   // CPU time of the deciding thread
    Curve allocated;                   // % of GPU capacity
    // Only when asked for: % of GPU capacity, and % of what is idle.
    Curve fragmented{Curve::Events::exact};
    Curve fragmented_of_idle;
};

struct InflateOptions {
    bool fragmentation = false;
};

InflateRun run_inflate(const RunSetup& setup, const RunOrder& order, std::unique_ptr<Policy> policy,
                       const InflateOptions& options);

// CPU seconds of the calling thread.
double thread_cpu_seconds();

}  // namespace tessera
