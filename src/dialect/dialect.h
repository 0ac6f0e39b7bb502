// Dialects: the vocabularies in which pods ask for GPUs.
//
// One file per vocabulary, each a Dialect of plain functions; the table is in dialect.cc. A dialect
// reads model/pod.h and sees no JSON. It fills in what its own keys say; what every pod has (CPU,
// memory, priority, node constraints, our own modifiers such as tessera.dev/app) is added once, by
// pod_demand(). docs/dialects.md says what each manifest means here.
//
//   DialectContext context{names, filters, {}};
//   auto asked = pod_demand(pod, context);        // Expected<PodDemand>
//   ...the engine decides...
//   auto marks = placement_marks({pod, *asked, placement, node, now}, context);
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "model/cell_tree.h"
#include "model/demand.h"
#include "model/ids.h"
#include "model/node.h"
#include "model/node_filter.h"
#include "model/placement.h"
#include "model/pod.h"

namespace tessera {

enum class MemoryUnit : std::uint8_t { gib, mib };

// What the wire alone does not tell.
struct DialectOptions {
    // Unit of aliyun.com/gpu-mem, the device plugin's -memory-unit; nodes show it (gpushare_unit).
    MemoryUnit gpushare_unit = MemoryUnit::gib;
    // Slots per card of keti.com/mpsgpu, the device plugin's -ketimpsgpu.
    int keti_slots = 10;
    // KubeShare's topology file, where there is one: names the cells in its annotations.
    const CellTree* cells = nullptr;
};

struct DialectContext {
    Vocabulary& names;
    FilterTable& filters;
    DialectOptions options;
};

// A request that belongs to no single container: all that ask use it. No container has this name.
inline constexpr std::string_view kPodRequest = "*";

// Several containers may use one request, one container several.
struct ContainerUse {
    RequestIndex container;
    RequestIndex request;

    friend bool operator==(const ContainerUse&, const ContainerUse&) = default;
};

struct PodDemand {
    Demand demand;
    std::vector<ContainerUse> uses;
    // By the dialect's own keys; pod_demand() puts them into the demand.
    std::string pinned_node;
    std::optional<std::int32_t> priority;
};

// A decision about a pod, for writing it down.
struct PlacedPod {
    const Pod& pod;
    const PodDemand& asked;
    const Placement& placement;
    const NodeSpec& node;
    Nanoseconds now;  // since 1970
    // Of the node's pool (model/port_pool.h), for a pod that KubeShare's hook serves.
    std::optional<std::uint16_t> manager_port{};
};

// What to write on a placed pod besides our own record.
struct PlacementMarks {
    StringMap annotations;
    StringMap labels;
};

struct Dialect {
    std::string_view name;
    // Schedulers whose pods speak it, also those that ask for no GPU.
    std::vector<std::string_view> schedulers;
    // By what pods ask first, for people: "nvidia.com/gpu".
    std::string_view asked_by;
    // The first key by which the pod asks for GPUs in this vocabulary; empty when it does not.
    std::string (*asks)(const Pod&);
    // GPU requests, uses, and what else the vocabulary says (models, gang, priority, class).
    Expected<PodDemand> (*demand)(const Pod&, DialectContext&);
    Expected<PlacementMarks> (*marks)(const PlacedPod&, const DialectContext&);
    // Grants that the vocabulary's own annotations record; nullopt when they record none.
    Expected<std::optional<Grants>> (*read_back)(const Pod&, const NodeSpec&, DialectContext&);
    // Devices by the vocabulary's own rule; empty when the node says nothing in it.
    Expected<std::vector<GpuSpec>> (*node_gpus)(const Node&, DialectContext&);
};

// All of them, in the order in which a node's devices are looked for.
std::span<const Dialect> dialects();

// nullptr when there is none of that name. "coscheml" is gpushare.
const Dialect* find_dialect(std::string_view name);

// The dialect a pod speaks: by what it asks with, else by its scheduler's name, else native.
// An error when it asks in two vocabularies at once.
Expected<const Dialect*> dialect_of(const Pod& pod);

// Whether some dialect counts this resource of pods and nodes; all others are counted as they are.
bool counts_resource(std::string_view name);

// "pod NAMESPACE/NAME", for messages.
std::string describe(const Pod& pod);

Expected<PodDemand> pod_demand(const Pod& pod, DialectContext& context);
Expected<PlacementMarks> placement_marks(const PlacedPod& placed, const DialectContext& context);

// The placement of a bound pod as its dialect's annotations record it; nullopt for a pod without
// GPUs recorded. `node` is where it runs.
Expected<std::optional<Placement>> read_back(const Pod& pod, const NodeSpec& node,
                                             DialectContext& context);

// Capacity, and the devices by the first dialect that knows them. Devices listed in the node's own
// annotation (codec/gpu_annotation.h) replace these.
Expected<NodeSpec> node_spec(const Node& node, DialectContext& context);

}  // namespace tessera
