#include "model/decision.h"

namespace tessera {
namespace {

using enum RefusalCode;
using enum RefusalKind;

constexpr auto kTable = std::to_array<RefusalInfo>({
    {node_unschedulable, not_now, "NodeUnschedulable", "the node takes no new pods now"},
    {node_name_mismatch, never_here, "NodeNameMismatch", "the pod is pinned to another node"},
    {node_selector_mismatch, never_here, "NodeSelectorMismatch",
     "the node has not all the labels of the pod's node selector"},
    {node_affinity_mismatch, never_here, "NodeAffinityMismatch",
     "the node matches no term of the pod's required node affinity"},
    {node_tainted, never_here, "NodeTainted",
     "the node has a taint that the pod does not tolerate"},
    {node_has_no_gpu, never_here, "NodeHasNoGpu", "the node has no GPU"},
    {gpu_count_insufficient, never_here, "GpuCountInsufficient",
     "the node has fewer GPUs than the pod asks for"},
    {node_cpu_too_small, never_here, "NodeCpuTooSmall",
     "the whole node has fewer cores than the pod asks for"},
    {node_memory_too_small, never_here, "NodeMemoryTooSmall",
     "the whole node has less memory than the pod asks for"},
    {node_pods_full, preemption_may_help, "NodePodsFull",
     "the node runs as many pods as it may already"},
    {node_cpu_insufficient, preemption_may_help, "NodeCpuInsufficient", "too few cores are free"},
    {node_memory_insufficient, preemption_may_help, "NodeMemoryInsufficient",
     "too little node memory is free"},
    {storage_too_small, never_here, "EphemeralStorageTooSmall",
     "the whole node has less ephemeral storage than the pod asks for"},
    {storage_insufficient, preemption_may_help, "EphemeralStorageInsufficient",
     "too little ephemeral storage is free"},
    {resource_too_small, never_here, "ExtendedResourceTooSmall",
     "the whole node has less of an extended resource than the pod asks for"},
    {resource_insufficient, preemption_may_help, "ExtendedResourceInsufficient",
     "too little of an extended resource is free"},
    {host_port_in_use, preemption_may_help, "HostPortInUse",
     "a port of the node that the pod asks for is in use"},
    {topology_key_missing, never_here, "TopologyKeyMissing",
     "the node has not the label by which the pod's rules about other pods group nodes"},
    {topology_spread, preemption_may_help, "TopologySpread",
     "the pod's kind would be spread too unevenly"},
    {pod_affinity, not_now, "PodAffinity", "no pod that the pod must be near to runs there"},
    {pod_anti_affinity, preemption_may_help, "PodAntiAffinity",
     "a pod runs there that the pod must be apart from"},
    {existing_anti_affinity, preemption_may_help, "ExistingAntiAffinity",
     "a pod runs there that must be apart from the pod"},
    {volume_node_affinity, never_here, "VolumeNodeAffinity",
     "a volume of the pod cannot be reached from the node"},
    {volume_not_ready, not_now, "VolumeNotReady",
     "a volume claim of the pod does not exist, or is not bound yet"},
    {volume_in_use, preemption_may_help, "VolumeInUse",
     "a volume that only one pod may use at a time is in use"},
    {allocator_mismatch, never_here, "AllocatorMismatch",
     "the GPU is handed out through device claims only"},
    {gpu_model_mismatch, never_here, "GpuModelMismatch",
     "the GPU is of a model that the pod does not allow"},
    {gpu_memory_unknown, never_here, "GpuMemoryUnknown",
     "the pod asks for GPU memory, and that of the GPU is not known"},
    {gpu_memory_too_small, never_here, "GpuMemoryTooSmall",
     "the whole GPU has less memory than the pod asks for"},
    {gpu_unhealthy, not_now, "GpuUnhealthy", "the GPU is unhealthy or being drained"},
    {gpu_held_whole, preemption_may_help, "GpuHeldWhole", "one owner has the whole GPU"},
    {gpu_slots_full, preemption_may_help, "GpuSlotsFull",
     "the GPU serves as many clients as it can already"},
    {gpu_not_empty, preemption_may_help, "GpuNotEmpty",
     "a whole GPU is asked for and part of this one is in use"},
    {gpu_memory_insufficient, preemption_may_help, "GpuMemoryInsufficient",
     "too little GPU memory is free"},
    {gpu_compute_insufficient, preemption_may_help, "GpuComputeInsufficient",
     "too little of the GPU's compute is free"},
    {gpu_capacity_insufficient, preemption_may_help, "GpuCapacityInsufficient",
     "too little of another capacity of the GPU (slices, encoders) is free"},
    {gpu_topology_unsatisfied, preemption_may_help, "GpuTopologyUnsatisfied",
     "GPUs are free, but not together as the pod asks for them"},
    {gang_too_large, never_here, "GangTooLarge",
     "the group has more members than the cluster can hold even when empty"},
    {gang_incomplete, preemption_may_help, "GangIncomplete",
     "not enough members of the group fit at the same time"},
});

static_assert(kTable.size() == kRefusalCodes);
static_assert([] {
    for (std::size_t i = 0; i < kTable.size(); ++i) {
        if (static_cast<std::size_t>(kTable[i].code) != i) {
            return false;
        }
    }
    return true;
}());

}  // namespace

std::span<const RefusalInfo> refusal_table() { return kTable; }

const RefusalInfo& refusal_info(RefusalCode code) { return kTable[static_cast<std::size_t>(code)]; }

RefusalCode first_reason(RefusalSet reasons) {
    for (const RefusalKind kind : {never_here, not_now, preemption_may_help, internal}) {
        for (const RefusalInfo& info : kTable) {
            if (info.kind == kind && reasons.has(info.code)) {
                return info.code;
            }
        }
    }
    return node_unschedulable;
}

std::string_view to_string(RefusalKind kind) {
    switch (kind) {
        case not_now:
            return "not now";
        case preemption_may_help:
            return "preemption may help";
        case never_here:
            return "never on this node";
        case internal:
            break;
    }
    return "internal";
}

std::string_view to_string(FixKind kind) {
    switch (kind) {
        case FixKind::less_gpu_memory:
            return "LessGpuMemory";
        case FixKind::less_gpu_compute:
            return "LessGpuCompute";
        case FixKind::less_cpu:
            return "LessCpu";
        case FixKind::less_memory:
            return "LessMemory";
        case FixKind::fewer_gpus:
            return "FewerGpus";
        case FixKind::other_model:
            return "OtherModel";
        case FixKind::tolerate_taint:
            return "TolerateTaint";
        case FixKind::without_selector:
            return "WithoutNodeSelector";
        case FixKind::without_affinity:
            return "WithoutNodeAffinity";
        case FixKind::without_pin:
            return "WithoutPin";
        case FixKind::healthy_gpu:
            return "HealthyGpu";
        case FixKind::open_node:
            return "OpenNode";
        case FixKind::others_leave:
            break;
    }
    return "OthersLeave";
}

}  // namespace tessera
