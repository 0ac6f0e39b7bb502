// Node lists in one line: "64x8g96c768Gi,12x4g48c384Gi:A100".
//
// Items are joined by commas. Each is [COUNT x] GPUS g CORES c MEMORY [: MODEL] [@ GPU MEMORY]:
// COUNT nodes (1 when left out), each with so many GPUs, cores and memory, and GPUs of that model
// with so much memory each. Memory is a whole number of Mi, Gi or Ti; that of the GPUs is the
// model's usual one when left out (model/gpu_models.h), and unknown without either.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/ids.h"
#include "model/node.h"

namespace tessera {

inline constexpr std::size_t kNodeSpecNodesMax = 1'000'000;

Expected<std::vector<NodeSpec>> parse_node_spec(std::string_view text,
                                                Interner<ModelIndex>& models);

// The shortest line for these nodes: equal neighbours are counted together. A node has one kind of
// GPU here, and whole cores.
std::string format_node_spec(const std::vector<NodeSpec>& nodes,
                             const Interner<ModelIndex>& models);

// Whether the text is meant as a node list in one line rather than as the name of a file.
bool looks_like_node_spec(std::string_view text);

}  // namespace tessera
