// Nodes and pods as a user names them: a file, a generated workload, or a node list in one line.
#pragma once

#include <string>

#include "base/error.h"
#include "policy/formulas/keti.h"
#include "sim/experiment.h"
#include "sim/generate.h"

namespace tessera::cli {

struct InputNames {
    std::string nodes = "openb";  // FILE, a named list or "64x8g96c768Gi,..."
    std::string pods = "openb";   // FILE or a workload kind
    std::string workload;         // name in results and order files; by default from `pods`
    std::size_t generated_pods = kGeneratedPods;
    std::uint64_t generator_seed = 1;
    bool lenient = false;
    std::string topology;     // FILE: KubeShare's cells; empty: none
    std::string keti_policy;  // FILE: KETI's ConfigMap; empty: its defaults
};

struct LoadedInputs {
    ExperimentInputs inputs;
    Interner<ModelIndex> models;
    std::vector<std::int32_t> model_priority;  // by model, from the topology
    KetiPolicy keti;
    std::vector<std::string> notes;  // rows skipped and the like, for the user
};

Expected<LoadedInputs> load_inputs(const InputNames& names);

// Whether the pods are drawn rather than read.
bool generates_pods(const InputNames& names);

// The parts, for `tessera trace`.
Expected<PodTrace> load_pods(const InputNames& names, Interner<ModelIndex>& models);
Expected<NodeTrace> load_nodes(const InputNames& names, Interner<ModelIndex>& models);

}  // namespace tessera::cli
