// A decision, and why: what a person, the log and a dashboard are told.
//
// A refusal has a stable code; each code has a kind (what can be done about it) and a sentence. A
// node that does not fit has one first reason, so that counts by first reason add up to the nodes
// that refused, and all the reasons that hold there. Fixes are single changes that were tried and
// make the demand fit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/demand_class.h"
#include "model/gpu.h"
#include "model/ids.h"
#include "model/node_traits.h"
#include "model/placement.h"
#include "model/topology.h"

namespace tessera {

enum class RefusalKind : std::uint8_t {
    not_now,              // passes by itself: a GPU returns, a node is opened again
    preemption_may_help,  // others hold what is asked for
    never_here,           // the node, as it is built, cannot serve this
    internal,             // a fault of ours
};

// Node-wide checks first, then those of a GPU in the order in which they are made: a GPU refused
// by a later one is nearer to fitting.
enum class RefusalCode : std::uint8_t {
    node_unschedulable,
    node_name_mismatch,
    node_selector_mismatch,
    node_affinity_mismatch,
    node_tainted,
    node_has_no_gpu,
    gpu_count_insufficient,
    node_cpu_too_small,
    node_memory_too_small,
    node_pods_full,
    node_cpu_insufficient,
    node_memory_insufficient,
    storage_too_small,
    storage_insufficient,
    resource_too_small,
    resource_insufficient,
    host_port_in_use,
    topology_key_missing,
    topology_spread,
    pod_affinity,
    pod_anti_affinity,
    existing_anti_affinity,
    volume_node_affinity,
    volume_not_ready,
    volume_in_use,
    allocator_mismatch,
    gpu_model_mismatch,
    gpu_memory_unknown,
    gpu_memory_too_small,
    gpu_unhealthy,
    gpu_held_whole,
    gpu_slots_full,
    gpu_not_empty,
    gpu_memory_insufficient,
    gpu_compute_insufficient,
    gpu_capacity_insufficient,
    gpu_topology_unsatisfied,
    gang_too_large,
    gang_incomplete,
};
inline constexpr std::size_t kRefusalCodes = 39;

struct RefusalInfo {
    RefusalCode code;
    RefusalKind kind;
    std::string_view name;      // stable, for programs: "GpuMemoryInsufficient"
    std::string_view sentence;  // for people
};

// Every code, in order.
std::span<const RefusalInfo> refusal_table();
const RefusalInfo& refusal_info(RefusalCode code);
std::string_view to_string(RefusalKind kind);  // "not now", "preemption may help", ...

// A set of codes.
class RefusalSet {
  public:
    void add(RefusalCode code) { bits_ |= bit(code); }
    bool has(RefusalCode code) const { return (bits_ & bit(code)) != 0; }
    bool empty() const { return bits_ == 0; }
    friend bool operator==(RefusalSet, RefusalSet) = default;

  private:
    static std::uint64_t bit(RefusalCode code) {
        return std::uint64_t{1} << static_cast<unsigned>(code);
    }
    std::uint64_t bits_ = 0;
};
static_assert(kRefusalCodes <= 64);

// Of a node's reasons, the one that counts: what it can never serve comes before what it cannot
// serve now. The first code where there is no reason.
RefusalCode first_reason(RefusalSet reasons);

// What stands in a pod's way on a node: an untolerated taint, the pair of the node selector that is
// missing, the label that the node affinity asks about, or the node that the pod is pinned to.
struct Obstacle {
    LabelKey key{};      // none(): the node is meant
    LabelValue value{};  // none(): the label alone is meant
    TaintEffect effect = TaintEffect::no_schedule;

    friend auto operator<=>(const Obstacle&, const Obstacle&) = default;
};

struct RefusalCount {
    RefusalCode code;
    std::int64_t nodes = 0;              // refused first for this
    std::int64_t nodes_any = 0;          // where it holds at all, of the node or of one of its GPUs
    std::int64_t gpus = 0;               // GPUs refused first for this
    std::optional<Obstacle> obstacle{};  // the same on most of nodes_any, by the node's traits
    std::int64_t obstacle_nodes = 0;     // on so many

    friend bool operator==(const RefusalCount&, const RefusalCount&) = default;
};

enum class FixKind : std::uint8_t {
    less_gpu_memory,
    less_gpu_compute,
    less_cpu,
    less_memory,
    fewer_gpus,
    other_model,
    tolerate_taint,
    without_selector,  // one pair of it
    without_affinity,
    without_pin,
    healthy_gpu,   // wait until a GPU that takes nothing now is well
    open_node,     // wait until a cordoned node is opened
    others_leave,  // wait until pods that hold what is asked for have gone
};
std::string_view to_string(FixKind kind);  // stable: "LessGpuMemory"

// One change that makes the demand fit; anything smaller of its kind does not.
struct Fix {
    FixKind kind;
    std::int64_t asked = 0;  // MiB, milli or GPUs, by kind; 0 where there is no amount
    std::int64_t to = 0;     // the most that fits
    bool relative = false;   // GPU memory in millionths of the GPU instead of MiB
    ModelIndex model = ModelIndex::none();  // other_model
    LabelKey key = LabelKey::none();        // tolerate_taint, without_selector
    LabelValue value = LabelValue::none();  // of these two; without_pin: the node's name
    std::int64_t nodes = 0;                 // on how many it would fit then
    std::int64_t gpus = 0;                  // and on how many GPUs of those, each taken alone

    friend bool operator==(const Fix&, const Fix&) = default;
};

struct ScoreTerm {
    std::string name;
    double value = 0;

    friend bool operator==(const ScoreTerm&, const ScoreTerm&) = default;
};

// A node that fits, with its score.
struct Candidate {
    NodeIndex node;
    std::uint32_t key = 0;           // what is compared first
    std::uint64_t tie = 0;           // then this; of equal ones the node added first wins
    std::vector<ScoreTerm> terms{};  // in the policy's own unit; larger is better
    double score = 0;                // their sum
};

// A device that was taken, as it was before.
struct DeviceReason {
    GpuIndex gpu;
    MilliGpu idle;
    MemoryMib free_memory;  // meaningless where the GPU's memory is not known
    std::int32_t shares = 0;
    bool memory_known = true;
};

struct DeviceChoice {
    std::vector<DeviceReason> taken;
    std::int32_t fitting = 0;               // devices of the node that would have served
    bool tightest = false;                  // none of those has less left
    bool emptiest = false;                  // none has more
    std::optional<LinkLevel> slowest_link;  // between those taken, where links are known
};

struct Refusal {
    RefusalKind kind = RefusalKind::internal;  // what can be done, over all nodes
    std::vector<RefusalCount> counts;          // most nodes first; codes that do not occur are out
    std::int64_t gpus_fitting = 0;             // GPUs that would serve, on nodes that do not
    std::vector<Fix> fixes;                    // smallest change first
};

struct Decision {
    // Inputs: the same ones give the same decision.
    std::uint64_t sequence = 0;  // changes of the cluster before this
    ClassIndex demand_class;
    std::uint64_t seed = 0;
    std::uint64_t draw = 0;  // the random number that policies by lot used
    std::string policy;
    std::uint64_t policy_epoch = 0;

    std::int64_t nodes = 0;  // looked at
    std::int64_t nodes_fitting = 0;
    std::optional<Placement> placement;  // nothing: refused
    // When placed: the chosen node first, then the next best.
    std::vector<Candidate> candidates;
    std::string order{};  // how they were compared where scores are near each other
    DeviceChoice devices;
    // Nodes that do not fit, also when others do.
    Refusal refusal;

    bool placed() const { return placement.has_value(); }
};

}  // namespace tessera
