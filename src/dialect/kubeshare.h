// KubeShare: labels sharedgpu/* of version 2.0, annotations kubeshare/* of version 1.0.
//
// A pod with a limit up to 1 shares one GPU under the hook; above 1 it gets whole GPUs. Memory that
// is not given is the request's part of the card. Pods are bound as they are, never deleted and
// made anew; the environment comes from the agent. kubeshare_ask.h has the rules of the keys.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dialect/dialect.h"
#include "model/cell_tree.h"

namespace tessera {

Dialect kubeshare_dialect();

// The leaf of each GPU of the node in the topology file; none beyond what it describes.
std::vector<CellIndex> leaves_of(const NodeSpec& node, const CellTree& cells,
                                 const Interner<ModelIndex>& models);

// Cells of the node's GPUs as the topology file tells them (context.options.cells), and links where
// nothing better is known. node_spec() does this; call it again after replacing the node's devices.
void add_cells(NodeSpec& node, const DialectContext& context);
void add_cells(NodeSpec& node, const CellTree& cells, const Interner<ModelIndex>& models);

// Whether a placed pod needs a port of the node's pool: one that KubeShare's hook serves.
bool kubeshare_needs_port(const PlacedPod& placed);

// The port that a placed pod holds, to rebuild the pool; nullopt without one that is of the pool.
std::optional<std::uint16_t> kubeshare_port(const Pod& pod);

}  // namespace tessera
