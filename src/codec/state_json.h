// State files: a cluster with its pods as versioned JSON, exact in both directions.
//
//   {"version":1,"policy":"tessera","seed":"42",
//    "nodes":[{"name":"gpu-a","cpuMilli":96000,"memoryMib":786432,"pods":110,
//              "gpus":[{"count":8,"model":"A100","memoryMib":81920}],
//              "links":[{"a":0,"b":1,"level":"nvlink","lanes":12}]}],
//    "demands":[{"cpuMilli":4000,"memoryMib":8192,"alternatives":[[{"gpus":1,"milli":500}]]}],
//    "pods":[{"name":"default/train","demand":0,
//             "placement":{"node":0,"cpuMilli":4000,"memoryMib":8192,"grants":[{"gpu":3,"milli":500}]}}],
//    "history":[0]}
//
// docs/explain.md has every key. An unknown key, a wrong type or a number out of range is an error
// that names the place. Labels, taints and node constraints: constraint_json.h.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "model/cluster_state.h"
#include "model/ids.h"

namespace tessera {

Expected<ClusterState> read_state_json(std::string_view text, Vocabulary& names);
// Lines of moderate length, so that two files can be compared by eye.
std::string write_state_json(const ClusterState& state, const Vocabulary& names);

// One of its demands, on one line.
std::string write_demand_json(const Demand& demand, const Vocabulary& names,
                              const FilterTable& filters);

}  // namespace tessera
