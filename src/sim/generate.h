// Workloads of any size from small tables (generate_tables.h), seeded and equal on every machine.
//
//   auto trace = generate_pods({"openb", 8152, 1}, models);
//
// Kinds: openb and its variants gpushareNN (NN % of the GPU demand shares GPUs), multigpuNN (NN %
// of it asks for several), cpuNNN (NNN tenths of a percent of the pods are CPU-only), gpuspecNN (NN
// % of the GPU pods name GPU models); llm, sevenths, notebooks and philly.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "codec/trace_csv.h"
#include "model/ids.h"
#include "model/node.h"

namespace tessera {

inline constexpr std::size_t kGeneratedPods = 8152;  // unless asked otherwise
inline constexpr std::size_t kGeneratedPodsMax = 10'000'000;

struct GenerateOptions {
    std::string kind = "openb";
    std::size_t pods = kGeneratedPods;
    std::uint64_t seed = 1;
};

struct WorkloadKind {
    std::string_view name;  // "gpushareNN" stands for a family
    std::string_view about;
};
std::span<const WorkloadKind> workload_kinds();
bool is_workload_kind(std::string_view name);

// Only philly has submit times and durations.
Expected<PodTrace> generate_pods(const GenerateOptions& options, Interner<ModelIndex>& models);

// The inventories of generate_tables.h by name, or nodes from one line ("64x8g96c768Gi").
Expected<std::vector<NodeSpec>> generate_nodes(std::string_view name_or_spec,
                                               Interner<ModelIndex>& models);
bool is_node_list_name(std::string_view name);
std::vector<std::string_view> node_list_names();

}  // namespace tessera
