// Labels, taints and node constraints in state files (state_json.h), by Kubernetes' own keys.
//
//   of a node: "labels":{"zone":"x"},"taints":[{"key":"gpu","value":"only","effect":"NoSchedule"}]
//   of a demand: "constraints":{"nodeName":"gpu-a","nodeSelector":{"zone":"x"},
//                 "nodeSelectorTerms":[{"matchExpressions":[{"key":"gen","operator":"Gt",
//                                                            "values":["3"]}]}],
//                 "tolerations":[{"key":"gpu","operator":"Exists"}]}
#pragma once

#include "base/error.h"
#include "base/json_writer.h"
#include "codec/json_value.h"
#include "model/node_constraints.h"

namespace tessera {

// Labels and taints out of a node's object.
Expected<void> read_traits(JsonObject& object, Node& node);
// The member "constraints" of a demand's object; empty when it is not there.
Expected<NodeConstraints> read_constraints(JsonObject& object);

// The members, within an open object; none where there is nothing to say.
void write_traits(const NodeTraits& traits, const Vocabulary& names, JsonWriter& json);
void write_constraints(const NodeFilter& filter, const Vocabulary& names, JsonWriter& json);

}  // namespace tessera
