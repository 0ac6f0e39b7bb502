// KETI GPU-Scheduler's scores, in thousandths of its points, and its choice of GPUs.
//
// Those of its newer version, the one whose policy is a ConfigMap of eleven keys: node = 100 per
// free share of memory, CPU and storage (0..300); GPU = what pods and load say. What its collector
// reads off the cards (clock, cores, bus, temperature, power) is not known here and left out. The
// older version (2021) scored free memory of GPUs instead; nothing is taken from it.
//   node total = round(node * wN + GPUs * wG);  a pod without GPU: node * wN, rounded down.
// Not kept: hotter, busier and fuller GPUs scoring higher; several GPUs taken in map order; a pod
// that asks for three GPUs getting an empty element in its list.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/topology.h"
#include "policy/devices.h"

namespace tessera {

enum class KetiAllocate : std::uint8_t { spread, binpack };

// The live policy, a ConfigMap of eleven keys (dialect/keti_policy.h reads it). Defaults are those
// of its code. Which of them the policy serves: check_keti() in policy/keti_policy.h.
struct KetiPolicy {
    std::int32_t node_weight_milli = 400;  // node-gpu-score-weight
    std::int32_t gpu_weight_milli = 600;
    std::int32_t nvlink_percent = 10;  // nvlink-weight-percentage
    KetiAllocate allocate = KetiAllocate::spread;
    bool node_reservation = false;       // a pod that fits nowhere keeps its best node
    bool reschedule = true;              // a pod that failed to start is placed again
    bool avoid_nvlink_one_gpu = false;   // one GPU: not out of an NVLink pair
    bool multi_node_allocation = false;  // a pod's GPUs may be on several nodes
    bool prefer_non_gpu_node = true;     // for pods without GPU
    bool prefer_multi_gpu_node = true;   // nodes with more GPUs score higher, for pods with a GPU
    bool prefer_least_score = false;     // the lowest total wins
    bool avoid_high_score = false;       // the second best wins

    friend bool operator==(const KetiPolicy&, const KetiPolicy&) = default;
};

// Free share of a resource, as a fraction; a total of 0 is "not known" and scores nothing.
struct KetiShare {
    std::int64_t free = 0;
    std::int64_t total = 0;
};

struct KetiNode {
    KetiShare cpu;
    KetiShare memory;
    KetiShare storage;
};

std::int64_t keti_node_score_milli(const KetiNode& node);

struct KetiGpu {
    std::int32_t pods = 0;
    std::int32_t used_milli = 0;  // granted; stands for utilisation, which is not measured
};

// An empty GPU has 11 points; others one for each tenth that is not in use, less one per pod.
std::int64_t keti_gpu_score_milli(const KetiGpu& gpu);

// A GPU to choose from.
struct KetiCandidate {
    int gpu = 0;  // index in its node
    std::int64_t score_milli = 0;
    std::int32_t pods = 0;
};

struct KetiChoice {
    DeviceMask gpus = 0;
    std::int64_t score_milli = 0;  // of the set
};

// `count` of the candidates: one by score, several as pairs, where an NVLink pair's mean is raised
// by nvlink_percent. nullopt when there are too few.
std::optional<KetiChoice> keti_choose(std::span<const KetiCandidate> candidates,
                                      const LinkMatrix& links, int count, const KetiPolicy& policy);

// Score after the policy's adjustments for one GPU: NVLink avoided, binpack.
std::int64_t keti_adjusted_milli(const KetiCandidate& candidate, const LinkMatrix& links, int count,
                                 const KetiPolicy& policy);

// The node's score where nodes with several GPUs are preferred: a tenth more for each of the GPUs
// that the pod could use. (The original computes this and then throws it away.)
std::int64_t keti_with_gpus_milli(std::int64_t node_milli, int usable, const KetiPolicy& policy);

// In whole points.
std::int64_t keti_total(std::int64_t node_milli, std::int64_t gpu_milli, const KetiPolicy& policy);
std::int64_t keti_total_without_gpu(std::int64_t node_milli, const KetiPolicy& policy);

}  // namespace tessera
