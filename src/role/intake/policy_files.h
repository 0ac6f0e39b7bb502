// Files of other systems that tune their policies here: KubeShare's topology, KETI's ConfigMap.
//
//   TESSERA_TRY(const CellTree tree, read_topology(text, "kubeshare-config.yaml"));
//   TESSERA_TRY(const TopologyUse use, use_topology(tree, nodes, models));
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/cell_tree.h"
#include "model/ids.h"
#include "model/node.h"
#include "policy/formulas/keti.h"

namespace tessera {

// Errors begin with the file's name.
Expected<CellTree> read_topology(std::string_view text, std::string_view file);

struct TopologyUse {
    std::vector<std::int32_t> model_priority;  // by ModelIndex, 0..100; for policy `kubeshare`
    std::vector<std::string> notes;            // what the file says of nodes that are not there
};

// Gives the nodes that have none the links that the file tells. An error when the file is about
// other nodes and other models altogether.
Expected<TopologyUse> use_topology(const CellTree& tree, std::vector<NodeSpec>& nodes,
                                   const Interner<ModelIndex>& models);

struct KetiConfig {
    KetiPolicy policy;
    std::vector<std::string> notes;  // keys without an effect on placement
};

// The ConfigMap gpu-scheduler-policy among the file's documents, for policy `keti`; the code's own
// defaults for keys that it leaves out. Errors begin with the file's name.
Expected<KetiConfig> read_keti_config(std::string_view text, std::string_view file);

}  // namespace tessera
