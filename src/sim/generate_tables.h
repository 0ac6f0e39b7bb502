// The figures behind generated workloads: small tables of ours, so that nothing has to be fetched.
//
// openb: counted once over the 8,152 pods of the default list of Alibaba's GPU-sharing trace
// (published with FGD, Weng et al., ATC 2023): pods grouped by GPU size, the frequent pairs of
// cores and memory kept per group, rare ones merged into their nearest neighbour, cores rounded to
// 0.1 and memory to whole GiB. A draw from the tables asks 14 cores and 49 GiB per GPU, as the list
// does. Philly: sizes and durations of the jobs of Microsoft's trace (Jeon et al., ATC 2019),
// counted over a public list of 82,247 of them, jobs wider than 8 GPUs split.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tessera {

struct PodRecipe {
    std::int32_t weight = 0;
    std::uint16_t gpus = 0;
    std::int32_t gpu_milli = 0;
    std::int32_t cpu_milli = 0;
    std::int32_t memory_gib = 0;
};

struct ModelRecipe {
    std::int32_t weight = 0;
    std::string_view models;  // joined by |
};

// The four groups of the openb population; weights count within a group.
struct OpenbTables {
    std::span<const PodRecipe> cpu_only;
    std::span<const PodRecipe> share;
    std::span<const PodRecipe> single;
    std::span<const PodRecipe> multi;
    std::span<const ModelRecipe> models;  // of restricted pods
};
OpenbTables openb_tables();

// Pods of each group in the default list.
inline constexpr std::int32_t kOpenbCpuOnly = 1088;
inline constexpr std::int32_t kOpenbShare = 3078;
inline constexpr std::int32_t kOpenbSingle = 3911;
inline constexpr std::int32_t kOpenbMulti = 75;

struct PhillySize {
    std::int32_t weight = 0;
    std::uint16_t gpus = 0;
    double mean_duration_s = 0;
};
std::span<const PhillySize> philly_sizes();
inline constexpr double kPhillyJobsPerDay = 755;
inline constexpr double kPhillyDurationSigma = 2.16;  // of the logarithm

// Node inventories in the form of codec/node_spec.h.
struct NamedNodes {
    std::string_view name;
    std::string_view spec;
    std::string_view about;
};
std::span<const NamedNodes> named_node_lists();

}  // namespace tessera
