// Streams of pods in time: who comes when, and for how long.
//
// Drawn streams are Poisson arrivals of pods picked from the workload, with lifetimes whose mean
// over the arrivals is 1; the arrival rate makes offered GPU-time / capacity equal to the load. The
// start is not empty: an equilibrium population for load min(load, 0.9) with residual lives stands
// at time 0, so that a run need not rise first. A stream depends on the seed alone, so that
// policies meet the same pods. A trace with submit times and durations is a stream as it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sim/workload.h"

namespace tessera {

enum class Lifetimes : std::uint8_t {
    exp,
    logn,      // log-normal, sigma 2
    exp_size,  // times sqrt(GPUs), at least 0.1 GPU
    logn_size,
};
std::optional<Lifetimes> parse_lifetimes(std::string_view text);

struct StreamPod {
    double time = 0;
    double life = 0;
    std::uint32_t pod = 0;  // of the workload
};

struct Stream {
    std::vector<StreamPod> standing;   // at time 0, with residual lives
    std::vector<StreamPod> arrivals;   // by time
    std::vector<std::uint32_t> nodes;  // in tie-break order
    bool in_seconds = false;           // a trace's own times
    std::size_t untimed = 0;           // pods of the trace without times, left out
};

inline constexpr double kStandingLoadMax = 0.9;
inline constexpr double kMeasuredPart = 0.6;  // the last 60 % of the arrivals

struct StreamOptions {
    std::uint64_t seed = 42;
    double load = 1.0;
    std::size_t arrivals = 40000;
    Lifetimes lifetimes = Lifetimes::exp;
};
// The workload must ask for GPUs and the nodes must have some.
Expected<Stream> draw_stream(const Workload& workload, const std::vector<NodeSpec>& nodes,
                             const StreamOptions& options);

struct TraceStreamOptions {
    std::uint64_t seed = 42;     // for the order of the nodes
    std::optional<double> load;  // stretches the submit times to this load
};
Expected<Stream> trace_stream(const Workload& workload, const std::vector<NodeSpec>& nodes,
                              const TraceStreamOptions& options);

}  // namespace tessera
