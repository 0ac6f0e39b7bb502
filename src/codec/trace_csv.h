// Readers for public GPU cluster traces, and for files in the same form.
//
// Pods: the openb form (Alibaba's GPU-sharing trace and what `tessera trace generate` writes), the
// Philly job list and the Alibaba v2025 instance list. Nodes: the openb form and the Alibaba spot
// list. The header tells which. Columns are found by name, in any order; a file may leave out the
// optional ones (the openb multigpu files have no gpu_spec). GPUs have the memory of a column
// gpu_memory_mib of ours, else what is usual for their model (model/gpu_models.h), else unknown.
//
// A broken row is named with file, line and column. All of them are reported, not the first only;
// with `lenient` they are skipped and counted instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "model/ids.h"
#include "model/node.h"

namespace tessera {

enum class TraceFormat : std::uint8_t { openb, philly, v2025 };
std::string_view to_string(TraceFormat format);

// Philly's list has no cores and no memory; these are assumed per GPU. Jobs wider than a node are
// split into pods of at most kPhillyPodGpus that run alone (no gangs).
inline constexpr int kPhillyCoresPerGpu = 6;
inline constexpr int kPhillyGibPerGpu = 48;
inline constexpr int kPhillyPodGpus = 8;
// The spot list has no memory; assumed per core.
inline constexpr int kSpotGibPerCore = 8;
// What the published simulator gives every node: never reached in practice.
inline constexpr std::int32_t kTracePodsPerNode = 1001;

struct TracePod {
    std::string name;
    MilliCpu cpu;
    MemoryMib memory;
    std::uint16_t gpus = 0;
    MilliGpu gpu_milli;              // per GPU; below 1000 = a share
    std::vector<ModelIndex> models;  // allowed; empty = any
    std::int32_t priority = 0;       // from qos: LS and Guaranteed 2, Burstable 1, BE 0
    std::optional<double> submit_s;
    std::optional<double> duration_s;
    std::uint32_t row = 0;  // of the file, from 0, the header not counted

    std::int64_t gpu_milli_total() const {
        return std::int64_t{gpus} * std::int64_t{gpu_milli.value()};
    }
    friend bool operator==(const TracePod&, const TracePod&) = default;
};

struct TraceReadOptions {
    std::string_view file;  // for messages
    bool lenient = false;
};

// What a lenient reader passed over.
struct SkippedRows {
    std::size_t count = 0;
    std::vector<std::string> samples;  // the first few, as messages
};

struct PodTrace {
    TraceFormat format = TraceFormat::openb;
    std::vector<TracePod> pods;
    std::size_t rows = 0;  // of the file, broken ones too
    SkippedRows skipped;
};

struct NodeTrace {
    std::vector<NodeSpec> nodes;  // in the file's order
    std::size_t rows = 0;         // of the file, broken ones too
    SkippedRows skipped;
};

Expected<PodTrace> read_pod_trace(std::string_view text, const TraceReadOptions& options,
                                  Interner<ModelIndex>& models);
Expected<NodeTrace> read_node_trace(std::string_view text, const TraceReadOptions& options,
                                    Interner<ModelIndex>& models);

// Whether the header is that of a node list.
bool is_node_trace(std::string_view text);

// An order file: one column of row numbers (pod_row or node_row), each below `rows`.
struct OrderReadOptions {
    std::string_view file;
    std::string_view column;
    std::size_t rows = 0;
};
Expected<std::vector<std::uint32_t>> read_order(std::string_view text,
                                                const OrderReadOptions& options);

// A file with more GPU models than this is not a node or pod list.
inline constexpr std::size_t kTraceModelsMax = 1000;

// The openb form. Columns of times are there when some pod has a time, empty where it has none.
std::string write_pod_trace(const std::vector<TracePod>& pods, const Interner<ModelIndex>& models);
std::string write_node_trace(const std::vector<NodeSpec>& nodes,
                             const Interner<ModelIndex>& models);

}  // namespace tessera
