// Nodes, GPUs and who has what of them, as JSON: what /tessera/inspect and tessera inspect --json
// answer. inspect.cc has an example.
#pragma once

#include <span>
#include <string>

#include "role/mirror/mirror.h"

namespace tessera {

// The mirror is synced and knows the nodes.
std::string inspect_json(const Mirror& mirror, std::span<const NodeIndex> nodes);

}  // namespace tessera
