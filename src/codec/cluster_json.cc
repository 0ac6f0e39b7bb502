#include "codec/cluster_json.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "base/text.h"
#include "codec/constraint_walk.h"
#include "codec/timestamp.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 4> kAccessModes{"ReadWriteOnce", "ReadOnlyMany",
                                                       "ReadWriteMany", "ReadWriteOncePod"};
// Before classes had a field of their own.
constexpr std::string_view kClassAnnotation = "volume.beta.kubernetes.io/storage-class";

struct OwnerDraft {
    std::string uid;
    bool controls = false;
};

// A driver of a CSINode; -1: it says nothing of a limit.
struct DriverDraft {
    std::string name;
    std::int32_t limit = -1;
};

class ClusterReader : public ConstraintWalk {
  public:
    bool read(std::string_view text, DisruptionBudget& out) {
        return whole(text, out, &ClusterReader::budget_spec, &ClusterReader::budget_status);
    }
    bool read(std::string_view text, VolumeClaim& out) {
        if (!whole(text, out, &ClusterReader::claim_spec, &ClusterReader::phase<VolumeClaim>)) {
            return false;
        }
        if (const std::string* old = find(out.meta.annotations, kClassAnnotation)) {
            out.storage_class = *old;
        }
        return true;
    }
    bool read(std::string_view text, Volume& out) {
        return whole(text, out, &ClusterReader::volume_spec, &ClusterReader::phase<Volume>);
    }
    bool read(std::string_view text, VolumeLimits& out) {
        return whole(text, out, &ClusterReader::csi_spec, nullptr);
    }
    bool read(std::string_view text, Namespace& out) { return whole(text, out, nullptr, nullptr); }
    bool read(std::string_view text, PodGroup& out) {
        return whole(text, out, &ClusterReader::group_spec, nullptr);
    }
    bool read(std::string_view text, StorageClass& out) {
        static constexpr std::array<ClusterRule<StorageClass>, 4> kRules{
            {{"metadata", &ClusterReader::metadata<StorageClass>},
             {"provisioner", &ClusterReader::text_of<&StorageClass::provisioner>},
             {"volumeBindingMode", &ClusterReader::binding_mode},
             {"allowedTopologies", &ClusterReader::topologies}}};
        return document(text, [&](JsonItem item) {
            return object<ClusterReader, StorageClass>(item, out, kRules) && named(out);
        });
    }
    bool read(std::string_view text, PriorityClass& out) {
        static constexpr std::array<ClusterRule<PriorityClass>, 4> kRules{
            {{"metadata", &ClusterReader::metadata<PriorityClass>},
             {"value", &ClusterReader::number_of<&PriorityClass::value>},
             {"globalDefault", &ClusterReader::truth_of<&PriorityClass::usual>},
             {"preemptionPolicy", &ClusterReader::preemption}}};
        return document(text, [&](JsonItem item) {
            return object<ClusterReader, PriorityClass>(item, out, kRules) && named(out);
        });
    }

  private:
    friend class JsonWalk;
    template <class T>
    using ClusterRule = Rule<ClusterReader, T>;
    template <class T>
    using ReadPart = bool (ClusterReader::*)(JsonItem, T&);

    template <class T>
    bool named(const T& out) {
        return !out.meta.name.empty() || fail_here("metadata.name is missing");
    }
    template <class T>
    bool whole(std::string_view text, T& out, std::type_identity_t<ReadPart<T>> spec,
               std::type_identity_t<ReadPart<T>> status) {
        const std::array<ClusterRule<T>, 3> rules{
            {{"metadata", &ClusterReader::metadata<T>}, {"spec", spec}, {"status", status}}};
        return document(text, [&](JsonItem item) {
            return object<ClusterReader, T>(item, out, rules) && named(out);
        });
    }

    // --- metadata

    template <class T>
    bool metadata(JsonItem value, T& target) {
        return meta(value, target.meta);
    }
    bool meta(JsonItem value, ObjectMeta& target) {
        static constexpr std::array<ClusterRule<ObjectMeta>, 8> kRules{
            {{"name", &ClusterReader::text_of<&ObjectMeta::name>},
             {"namespace", &ClusterReader::text_of<&ObjectMeta::space>},
             {"uid", &ClusterReader::text_of<&ObjectMeta::uid>},
             {"labels", &ClusterReader::strings_of<&ObjectMeta::labels>},
             {"annotations", &ClusterReader::strings_of<&ObjectMeta::annotations>},
             {"ownerReferences", &ClusterReader::owners},
             {"creationTimestamp", &ClusterReader::creation},
             {"deletionTimestamp", &ClusterReader::deletion}}};
        return object<ClusterReader, ObjectMeta>(value, target, kRules);
    }
    bool owners(JsonItem value, ObjectMeta& target) {
        static constexpr std::array<ClusterRule<OwnerDraft>, 2> kRules{
            {{"uid", &ClusterReader::text_of<&OwnerDraft::uid>},
             {"controller", &ClusterReader::truth_of<&OwnerDraft::controls>}}};
        return list(value, [&](JsonItem item) {
            OwnerDraft owner;
            if (!object<ClusterReader, OwnerDraft>(item, owner, kRules)) {
                return false;
            }
            if (owner.controls) {
                target.controller = std::move(owner.uid);
            }
            return true;
        });
    }
    bool creation(JsonItem value, ObjectMeta& target) {
        std::string when;
        if (!text(value, when)) {
            return false;
        }
        const auto seconds = parse_timestamp(when);
        target.created_s = seconds.value_or(0);
        return seconds || fail_here("{} is not accepted: a time like 2026-01-31T23:59:59Z is",
                                    in_quotes(when));
    }
    bool deletion(JsonItem value, ObjectMeta& target) {
        std::string when;
        target.deleting = true;
        return text(value, when);
    }

    // --- budgets

    bool budget_spec(JsonItem value, DisruptionBudget& budget) {
        static constexpr std::array<ClusterRule<DisruptionBudget>, 1> kRules{
            {{"selector", &ClusterReader::label_selector_of<&DisruptionBudget::pods>}}};
        return object<ClusterReader, DisruptionBudget>(value, budget, kRules);
    }
    bool budget_status(JsonItem value, DisruptionBudget& budget) {
        static constexpr std::array<ClusterRule<DisruptionBudget>, 2> kRules{
            {{"disruptionsAllowed", &ClusterReader::number_of<&DisruptionBudget::allowed>},
             {"disruptedPods", &ClusterReader::disrupted}}};
        return object<ClusterReader, DisruptionBudget>(value, budget, kRules);
    }
    bool disrupted(JsonItem value, DisruptionBudget& budget) {
        return members(value, [&](std::string_view name, JsonItem) {
            budget.disrupted.emplace_back(name);
            return true;
        });
    }

    // --- volumes

    template <class T>
    bool access_modes(JsonItem value, T& target) {
        return list(value, [&](JsonItem item) {
            std::string word;
            if (!text(item, word)) {
                return false;
            }
            const auto found = std::find(kAccessModes.begin(), kAccessModes.end(), word);
            if (found == kAccessModes.end()) {
                return fail_here("{} is not accepted: {} are", in_quotes(word),
                                 fmt::join(kAccessModes, ", "));
            }
            const auto mode = static_cast<AccessMode>(found - kAccessModes.begin());
            target.modes = static_cast<AccessModes>(target.modes | bit(mode));
            return true;
        });
    }
    template <class T>
    bool volume_mode(JsonItem value, T& target) {
        std::string word;
        if (!text(value, word)) {
            return false;
        }
        target.block = word == "Block";
        return target.block || word == "Filesystem" ||
               fail_here("{} is not accepted: Filesystem or Block is", in_quotes(word));
    }
    template <class T>
    bool phase(JsonItem value, T& target) {
        static constexpr std::array<ClusterRule<std::string>, 1> kRules{
            {{"phase", &ClusterReader::only_text}}};
        return object<ClusterReader, std::string>(value, target.phase, kRules);
    }
    bool only_text(JsonItem value, std::string& out) { return text(value, out); }
    bool storage_of(JsonItem value, Quantity& out) {
        ResourceList all;
        if (!amounts(value, all)) {
            return false;
        }
        const Quantity* storage = find(all, "storage");
        out = storage == nullptr ? Quantity() : *storage;
        return true;
    }
    bool claim_class(JsonItem value, VolumeClaim& claim) {
        return text(value, claim.storage_class.emplace());
    }
    bool claim_amounts(JsonItem value, VolumeClaim& claim) {
        static constexpr std::array<ClusterRule<Quantity>, 1> kRules{
            {{"requests", &ClusterReader::storage_of}}};
        return object<ClusterReader, Quantity>(value, claim.asked, kRules);
    }
    bool claim_spec(JsonItem value, VolumeClaim& claim) {
        static constexpr std::array<ClusterRule<VolumeClaim>, 7> kRules{
            {{"volumeName", &ClusterReader::text_of<&VolumeClaim::volume>},
             {"storageClassName", &ClusterReader::claim_class},
             {"volumeAttributesClassName", &ClusterReader::text_of<&VolumeClaim::attributes_class>},
             {"selector", &ClusterReader::label_selector_of<&VolumeClaim::selector>},
             {"accessModes", &ClusterReader::access_modes<VolumeClaim>},
             {"resources", &ClusterReader::claim_amounts},
             {"volumeMode", &ClusterReader::volume_mode<VolumeClaim>}}};
        return object<ClusterReader, VolumeClaim>(value, claim, kRules);
    }
    bool volume_capacity(JsonItem value, Volume& volume) {
        return storage_of(value, volume.capacity);
    }
    bool claim_reference(JsonItem value, Volume& volume) {
        static constexpr std::array<ClusterRule<Volume>, 3> kRules{
            {{"namespace", &ClusterReader::text_of<&Volume::claim_space>},
             {"name", &ClusterReader::text_of<&Volume::claim_name>},
             {"uid", &ClusterReader::text_of<&Volume::claim_uid>}}};
        return object<ClusterReader, Volume>(value, volume, kRules);
    }
    bool volume_nodes(JsonItem value, Volume& volume) {
        static constexpr std::array<ClusterRule<Terms>, 1> kRules{
            {{"required", &ClusterReader::volume_terms}}};
        return object<ClusterReader, Terms>(value, volume.node_terms, kRules);
    }
    bool volume_terms(JsonItem value, Terms& terms) { return node_selector(value, terms); }
    bool csi_source(JsonItem value, Volume& volume) {
        static constexpr std::array<ClusterRule<Volume>, 1> kRules{
            {{"driver", &ClusterReader::text_of<&Volume::driver>}}};
        return object<ClusterReader, Volume>(value, volume, kRules);
    }
    bool volume_spec(JsonItem value, Volume& volume) {
        static constexpr std::array<ClusterRule<Volume>, 8> kRules{
            {{"capacity", &ClusterReader::volume_capacity},
             {"claimRef", &ClusterReader::claim_reference},
             {"nodeAffinity", &ClusterReader::volume_nodes},
             {"storageClassName", &ClusterReader::text_of<&Volume::storage_class>},
             {"volumeAttributesClassName", &ClusterReader::text_of<&Volume::attributes_class>},
             {"accessModes", &ClusterReader::access_modes<Volume>},
             {"volumeMode", &ClusterReader::volume_mode<Volume>},
             {"csi", &ClusterReader::csi_source}}};
        return object<ClusterReader, Volume>(value, volume, kRules);
    }

    // --- classes and limits

    bool binding_mode(JsonItem value, StorageClass& made) {
        std::string word;
        if (!text(value, word)) {
            return false;
        }
        made.waits = word == "WaitForFirstConsumer";
        return made.waits || word == "Immediate" ||
               fail_here("{} is not accepted: Immediate or WaitForFirstConsumer is",
                         in_quotes(word));
    }
    // Each is a list of labels with the values that are allowed.
    bool topology_labels(JsonItem value, NodeSelectorTerm& term) {
        static constexpr std::array<ClusterRule<NodeRequirement>, 2> kRules{
            {{"key", &ClusterReader::text_of<&NodeRequirement::key>},
             {"values", &ClusterReader::texts_of<&NodeRequirement::values>}}};
        return list(value, [&](JsonItem item) {
            return object<ClusterReader, NodeRequirement>(item, term.labels.emplace_back(), kRules);
        });
    }
    bool topologies(JsonItem value, StorageClass& made) {
        static constexpr std::array<ClusterRule<NodeSelectorTerm>, 1> kRules{
            {{"matchLabelExpressions", &ClusterReader::topology_labels}}};
        return list(value, [&](JsonItem item) {
            return object<ClusterReader, NodeSelectorTerm>(item, made.allowed.emplace_back(),
                                                           kRules);
        });
    }
    bool driver_limit(JsonItem value, DriverDraft& driver) {
        static constexpr std::array<ClusterRule<DriverDraft>, 1> kRules{
            {{"count", &ClusterReader::number_of<&DriverDraft::limit>}}};
        return object<ClusterReader, DriverDraft>(value, driver, kRules);
    }
    bool drivers(JsonItem value, VolumeLimits& limits) {
        static constexpr std::array<ClusterRule<DriverDraft>, 2> kRules{
            {{"name", &ClusterReader::text_of<&DriverDraft::name>},
             {"allocatable", &ClusterReader::driver_limit}}};
        return list(value, [&](JsonItem item) {
            DriverDraft driver;
            if (!object<ClusterReader, DriverDraft>(item, driver, kRules)) {
                return false;
            }
            if (driver.limit >= 0) {
                limits.by_driver[driver.name] = driver.limit;
            }
            return true;
        });
    }
    bool csi_spec(JsonItem value, VolumeLimits& limits) {
        static constexpr std::array<ClusterRule<VolumeLimits>, 1> kRules{
            {{"drivers", &ClusterReader::drivers}}};
        return object<ClusterReader, VolumeLimits>(value, limits, kRules);
    }
    bool preemption(JsonItem value, PriorityClass& made) {
        std::string word;
        if (!text(value, word)) {
            return false;
        }
        made.preempts = word != "Never";
        return !made.preempts || word == "PreemptLowerPriority" ||
               fail_here("{} is not accepted: PreemptLowerPriority or Never is", in_quotes(word));
    }

    // --- groups

    bool gang_minimum(JsonItem value, PodGroup& group) {
        return number(value, group.minimum) &&
               (group.minimum > 0 || fail_here("{} is not accepted: 1 or more is", group.minimum));
    }
    bool gang(JsonItem value, PodGroup& group) {
        static constexpr std::array<ClusterRule<PodGroup>, 1> kRules{
            {{"minCount", &ClusterReader::gang_minimum}}};
        return object<ClusterReader, PodGroup>(value, group, kRules) &&
               (group.minimum > 0 || fail_here("minCount is missing: 1 or more is accepted"));
    }
    bool group_policy(JsonItem value, PodGroup& group) {
        static constexpr std::array<ClusterRule<PodGroup>, 1> kRules{
            {{"gang", &ClusterReader::gang}}};
        return object<ClusterReader, PodGroup>(value, group, kRules);
    }
    bool group_topology(JsonItem value, PodGroup& group) {
        static constexpr std::array<ClusterRule<PodGroup>, 1> kRules{
            {{"key", &ClusterReader::text_of<&PodGroup::topology_key>}}};
        return list(value, [&](JsonItem item) {
            return (group.topology_key.empty() ||
                    fail_here("more than one topology is not accepted: one is")) &&
                   object<ClusterReader, PodGroup>(item, group, kRules);
        });
    }
    bool group_constraints(JsonItem value, PodGroup& group) {
        static constexpr std::array<ClusterRule<PodGroup>, 1> kRules{
            {{"topology", &ClusterReader::group_topology}}};
        return object<ClusterReader, PodGroup>(value, group, kRules);
    }
    bool group_disruption(JsonItem value, PodGroup& group) {
        std::string word;
        if (!text(value, word)) {
            return false;
        }
        group.as_one = word == "PodGroup";
        return group.as_one || word == "Pod" ||
               fail_here("{} is not accepted: Pod or PodGroup is", in_quotes(word));
    }
    bool group_priority(JsonItem value, PodGroup& group) {
        return number(value, group.priority.emplace());
    }
    bool group_claims(JsonItem value, PodGroup& group) {
        static constexpr std::array<ClusterRule<std::string>, 1> kRules{
            {{"name", &ClusterReader::only_text}}};
        return list(value, [&](JsonItem item) {
            return object<ClusterReader, std::string>(item, group.resource_claims.emplace_back(),
                                                      kRules);
        });
    }
    bool group_spec(JsonItem value, PodGroup& group) {
        static constexpr std::array<ClusterRule<PodGroup>, 6> kRules{
            {{"schedulingPolicy", &ClusterReader::group_policy},
             {"schedulingConstraints", &ClusterReader::group_constraints},
             {"disruptionMode", &ClusterReader::group_disruption},
             {"priorityClassName", &ClusterReader::text_of<&PodGroup::priority_class>},
             {"priority", &ClusterReader::group_priority},
             {"resourceClaims", &ClusterReader::group_claims}}};
        return object<ClusterReader, PodGroup>(value, group, kRules);
    }
};

template <class T>
Expected<T> read_one(std::string_view text) {
    ClusterReader reader;
    T result;
    if (!reader.read(text, result)) {
        return fail(ErrorKind::invalid, "{}", reader.take_error().to_string());
    }
    return result;
}

}  // namespace

Expected<DisruptionBudget> read_disruption_budget_json(std::string_view text) {
    return read_one<DisruptionBudget>(text);
}
Expected<VolumeClaim> read_volume_claim_json(std::string_view text) {
    return read_one<VolumeClaim>(text);
}
Expected<Volume> read_volume_json(std::string_view text) { return read_one<Volume>(text); }
Expected<StorageClass> read_storage_class_json(std::string_view text) {
    return read_one<StorageClass>(text);
}
Expected<VolumeLimits> read_csi_node_json(std::string_view text) {
    return read_one<VolumeLimits>(text);
}
Expected<Namespace> read_namespace_json(std::string_view text) { return read_one<Namespace>(text); }
Expected<PriorityClass> read_priority_class_json(std::string_view text) {
    return read_one<PriorityClass>(text);
}
Expected<PodGroup> read_pod_group_json(std::string_view text) { return read_one<PodGroup>(text); }

}  // namespace tessera
