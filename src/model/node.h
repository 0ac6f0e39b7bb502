// A node: its capacity (NodeSpec), its shape, and what is left (NodeState).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/units.h"
#include "model/gpu.h"
#include "model/ids.h"
#include "model/node_traits.h"
#include "model/topology.h"

namespace tessera {

struct NodeSpec {
    std::string name;
    MilliCpu cpu;
    MemoryMib memory;
    std::int32_t pods = 110;
    bool schedulable = true;  // false: closed to everyone; a cordon is a taint, which some tolerate
    std::vector<GpuSpec> gpus;
    LinkMatrix links;  // empty = nothing known
    NodeTraits traits;

    friend bool operator==(const NodeSpec&, const NodeSpec&) = default;
};

// Nodes of equal capacity. Scores that depend on what a node IS, not on its load, go by shape.
struct NodeShape {
    MilliCpu cpu;
    MemoryMib memory;
    std::vector<KindIndex> kinds;  // one per GPU, in order
    // Of partitions: those with the same number are parts of one device. Empty: there are none.
    std::vector<std::uint8_t> parents{};

    friend bool operator==(const NodeShape&, const NodeShape&) = default;
};

inline constexpr std::uint8_t kNoParent = 255;  // a device that is no partition
// For NodeShape: partitions of one device have the number of the first of them.
std::vector<std::uint8_t> parents_of(const std::vector<GpuSpec>& gpus);

inline constexpr std::uint64_t kNeverStarted = std::numeric_limits<std::uint64_t>::max();

// What is left of a node. A pure score reads this and the class, nothing else.
struct NodeState {
    std::int64_t free_memory_mib = 0;
    std::int64_t free_cpu_milli = 0;
    std::uint64_t oldest_start = kNeverStarted;  // sequence of the oldest GPU pod still here
    std::int32_t free_pods = 0;
    std::int32_t idle_value = 0;  // sum of the devices' values: idle GPU in milli
    std::int32_t gpu_pods = 0;
    std::uint32_t sizes = 0;  // which pod sizes live here: bit 0 shares, bit j pods of j devices
    ShapeIndex shape;
    std::uint8_t gpu_count = 0;
    std::uint8_t empty_gpus = 0;  // devices without any share, healthy ones only
    bool schedulable = true;
    std::array<GpuState, kMaxGpusPerNode> gpus{};
};

}  // namespace tessera
