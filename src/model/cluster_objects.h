// The other kinds of objects that a scheduler looks at, as far as it does: budgets, volumes and
// their claims and classes, namespaces, priority classes, groups. codec/cluster_json.h reads them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "model/pod.h"
#include "model/pod_rules.h"

namespace tessera {

struct ObjectMeta {
    std::string space = "default";  // meaningless for kinds that have none
    std::string name;
    std::string uid;
    StringMap labels;
    StringMap annotations;
    std::string controller;      // uid of the owner that controls it
    std::int64_t created_s = 0;  // since 1970; 0: not told
    bool deleting = false;
};

// PodDisruptionBudget.
struct DisruptionBudget {
    ObjectMeta meta;
    std::optional<LabelSelector> pods;   // nothing: none
    std::int32_t allowed = 0;            // disruptions, as its controller counted them
    std::vector<std::string> disrupted;  // names of pods whose eviction it has counted already
};

enum class AccessMode : std::uint8_t { once, read_many, many, once_pod };
using AccessModes = std::uint8_t;  // bit per mode
constexpr AccessModes bit(AccessMode mode) {
    return static_cast<AccessModes>(1U << static_cast<unsigned>(mode));
}

// PersistentVolumeClaim.
struct VolumeClaim {
    ObjectMeta meta;
    std::string volume;                        // spec.volumeName: which it has, or wants
    std::optional<std::string> storage_class;  // "": none at all
    std::string attributes_class;              // volumeAttributesClassName
    std::optional<LabelSelector> selector;     // of volumes
    AccessModes modes = 0;
    Quantity asked;
    bool block = false;  // volumeMode Block
    std::string phase;

    // Whether the volume's side agreed, so that a pod can use it.
    bool bound() const { return !volume.empty() && meta.annotations.contains(kBindCompleted); }
    static constexpr const char* kBindCompleted = "pv.kubernetes.io/bind-completed";
};

// PersistentVolume.
struct Volume {
    ObjectMeta meta;
    std::vector<NodeSelectorTerm> node_terms;  // where it can be reached; none: everywhere
    std::string claim_space;                   // claimRef; empty: nobody's
    std::string claim_name;
    std::string claim_uid;  // empty: kept for a claim that is still to come
    std::string storage_class;
    std::string attributes_class;
    AccessModes modes = 0;
    Quantity capacity;
    bool block = false;
    std::string driver;  // of CSI; else empty
    std::string phase;
};

struct StorageClass {
    ObjectMeta meta;
    std::string provisioner;
    bool waits = false;                     // volumeBindingMode WaitForFirstConsumer
    std::vector<NodeSelectorTerm> allowed;  // allowedTopologies; none: everywhere

    static constexpr const char* kNoProvisioner = "kubernetes.io/no-provisioner";
};

// CSINode: how many volumes of each driver a node can have attached.
struct VolumeLimits {
    ObjectMeta meta;
    std::map<std::string, std::int32_t> by_driver;
};

struct Namespace {
    ObjectMeta meta;
};

struct PriorityClass {
    ObjectMeta meta;
    std::int32_t value = 0;
    bool usual = false;    // globalDefault
    bool preempts = true;  // preemptionPolicy
};

// PodGroup of scheduling.k8s.io/v1alpha2.
struct PodGroup {
    ObjectMeta meta;
    std::int32_t minimum = 0;  // gang.minCount; 0: its pods are placed each by itself
    std::string topology_key;  // all members in one domain of it; empty: anywhere
    bool as_one = false;       // disruptionMode PodGroup: members are evicted together
    std::string priority_class;
    std::optional<std::int32_t> priority;
    std::vector<std::string> resource_claims;  // names
};

}  // namespace tessera
