// Reads the other kinds of objects that a scheduler watches (model/cluster_objects.h) from JSON:
// one object each, whose kind is known. Of their fields only those that are used are looked at.
#pragma once

#include <string_view>

#include "base/error.h"
#include "model/cluster_objects.h"

namespace tessera {

Expected<DisruptionBudget> read_disruption_budget_json(std::string_view text);
Expected<VolumeClaim> read_volume_claim_json(std::string_view text);
Expected<Volume> read_volume_json(std::string_view text);
Expected<StorageClass> read_storage_class_json(std::string_view text);
Expected<VolumeLimits> read_csi_node_json(std::string_view text);
Expected<Namespace> read_namespace_json(std::string_view text);
Expected<PriorityClass> read_priority_class_json(std::string_view text);
Expected<PodGroup> read_pod_group_json(std::string_view text);

}  // namespace tessera
