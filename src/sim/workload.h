// A workload: the pods of a trace, with the classes they fall into.
//
// Equal demands share a class; runs count by class and never look at strings. One workload serves
// many runs at once, so it does not change after it is made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "codec/trace_csv.h"
#include "model/demand_class.h"
#include "model/node.h"
#include "policy/typical_mix.h"

namespace tessera {

// Sizes by which results are told apart: CPU only, a share, then whole GPUs.
inline constexpr std::size_t kSizeKeys = 2 + kMaxGpusPerNode;
std::string size_key_name(std::size_t key);  // "0", "share", "1", "2", ...

struct Workload {
    std::string name;
    TraceFormat format = TraceFormat::openb;
    std::vector<TracePod> pods;
    std::vector<ClassCount> mix;            // distinct classes and how many pods have each
    std::vector<std::uint32_t> class_of;    // by pod, into mix
    std::vector<std::int64_t> gpu_milli;    // by pod, over all its GPUs
    std::vector<std::uint8_t> size_key;     // by pod
    std::vector<std::uint32_t> pod_of_row;  // by row of the file; kNoPod for a skipped row
    std::size_t dropped = 0;                // pods left out because they fit on no empty node
    std::int64_t gpu_milli_total = 0;
};
inline constexpr std::uint32_t kNoPod = UINT32_MAX;

DemandClass class_of_pod(const TracePod& pod);

Workload make_workload(std::string name, PodTrace trace);

// The same without the pods that fit on none of the nodes, even empty.
Workload without_misfits(const Workload& workload, const std::vector<NodeSpec>& nodes);

std::int64_t gpu_milli_capacity(const std::vector<NodeSpec>& nodes);

// "openb_pod_list_default.csv" -> "default": how order files and results name a workload.
std::string workload_name(std::string_view path);

}  // namespace tessera
