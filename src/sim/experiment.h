// An experiment: some policies, some seeds, one protocol, on the same nodes and pods.
//
// Runs are independent and go to several threads, each with its own engine. Policies of one seed
// meet the same pods in the same order on the same node order, so that they can be compared
// pairwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "policy/formulas/keti.h"
#include "sim/metrics.h"
#include "sim/orders.h"
#include "sim/policy_source.h"
#include "sim/stream.h"
#include "sim/waiting_line.h"
#include "sim/workload.h"
#include "sim/world.h"

namespace tessera {

enum class Protocol : std::uint8_t { inflate, churn, queue };
std::string_view to_string(Protocol protocol);

struct Experiment {
    Protocol protocol = Protocol::inflate;
    std::vector<PolicySource> policies;
    std::vector<std::uint64_t> seeds;
    std::size_t threads = 0;  // 0: one per core
    // What a policy's own file says: priorities by model (`kubeshare`), settings (`keti`).
    std::vector<std::int32_t> model_priority{};
    KetiPolicy keti{};
    // inflate
    double ratio = 1.3;
    std::string orders;           // a directory; empty: our own draws
    std::string orders_workload;  // name in the files
    bool fragmentation = false;
    // churn and queue
    double load = 1.0;
    std::size_t arrivals = 40000;
    Lifetimes lifetimes = Lifetimes::exp;
    // queue
    Discipline discipline = Discipline::backfill;
    bool trace_times = false;          // the trace's own submit times and durations
    std::optional<double> trace_load;  // stretched to this load
    StateRequest state = {};           // of the only run: for one policy and one seed
};

struct ExperimentInputs {
    std::vector<NodeSpec> nodes;  // each passes Cluster::check()
    Workload workload;
};

// Values against arrived %, mean over the seeds. Empty where not measured.
struct CurveSet {
    std::vector<double> allocated;
    std::vector<double> fragmented;
    std::vector<double> fragmented_of_idle;
};

struct PolicyResult {
    std::string policy;
    std::vector<std::uint64_t> seeds;
    std::vector<Metrics> runs;  // by seed
    Metrics mean;
    CurveSet curves;
    std::size_t untimed = 0;  // pods of the trace left out for want of times
};

// Counts up while the experiment runs; for a progress bar.
struct ExperimentProgress {
    std::atomic<std::uint64_t> arrivals_done{0};
    std::atomic<std::uint64_t> arrivals_total{0};  // 0 until known; an estimate
};

// By policy, in the order named.
Expected<std::vector<PolicyResult>> run_experiment(const ExperimentInputs& inputs,
                                                   const Experiment& experiment,
                                                   ExperimentProgress& progress);

// Whether every policy can be made; the error is the user's.
Expected<void> check_policies(std::span<const PolicySource> policies, const Workload& workload);

}  // namespace tessera
