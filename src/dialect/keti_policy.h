// KETI's live policy: the ConfigMap gpu-scheduler-policy with its eleven keys.
//
// Both spellings of the weights are read, "0.4:0.6" and the older "0.3 0.7" (whose map is called
// gpu-scheduler-configmap and has two keys). A key that is absent keeps its default. A key that is
// malformed or unknown is an error, and then the policy in force stays.
#pragma once

#include <string_view>

#include "base/error.h"
#include "model/pod.h"
#include "policy/formulas/keti.h"

namespace tessera {

// Whether a ConfigMap of this name holds the policy.
bool is_keti_policy(std::string_view config_map_name);

Expected<KetiPolicy> parse_keti_policy(const StringMap& data, const KetiPolicy& defaults = {});

}  // namespace tessera
