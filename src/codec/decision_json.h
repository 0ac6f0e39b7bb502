// A decision as JSON: for `explain --json`, the decision log and dashboards.
//
//   {"outcome":"placed","node":"gpu-a","grants":[{"gpu":3,"milli":500,"memoryMib":8192}],
//    "candidates":[{"node":"gpu-a","score":81.4,"terms":{"gap":60,"stranding":21.4}}], ...}
// or
//   {"outcome":"refused","kind":"preemption may help",
//    "refusals":[{"code":"GpuMemoryInsufficient","nodes":12,"nodesAny":14,"gpus":31}],
//    "wouldFitIf":[{"fix":"LessGpuMemory","asked":8192,"to":6144,"nodes":12,"gpus":31}], ...}
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "model/decision.h"
#include "model/ids.h"

namespace tessera {

// The names behind the indices.
struct DecisionNames {
    std::function<std::string_view(NodeIndex)> node;
    const Vocabulary& vocabulary;
};

void write_decision(const Decision& decision, const DecisionNames& names, JsonWriter& json);

// The parts, for reports that are made of them.
void write_placement(const Placement& placement, const DecisionNames& names, JsonWriter& json);
void write_candidate(const Candidate& candidate, const DecisionNames& names, JsonWriter& json);
void write_devices(const DeviceChoice& devices, JsonWriter& json);

// "gpu=only:NoSchedule", "zone=x", "zone" or a node's name: an obstacle, by the code of its
// refusal.
std::string obstacle_text(RefusalCode code, const Obstacle& obstacle, const Vocabulary& names);
// "gpu=only", or "gpu" where the value is empty.
std::string pair_text(LabelKey key, LabelValue value, const Vocabulary& names);

std::string_view to_string(LinkLevel level);  // "nvlink", "pcie-switch", ...

}  // namespace tessera
