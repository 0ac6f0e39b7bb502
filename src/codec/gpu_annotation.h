// The node annotation tessera.dev/gpus: a node's devices and how they are connected.
//
//   {"version":1,
//    "gpus":[{"uuid":"GPU-1","model":"A100","memoryMib":81920,"numa":0,"health":"ok","slots":48}],
//    "links":[{"a":0,"b":1,"level":"nvlink","lanes":12}]}
//
// The agent writes it, an operator may. docs/annotations.md has every key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/gpu.h"
#include "model/ids.h"
#include "model/topology.h"

namespace tessera {

struct GpuInventory {
    std::vector<GpuSpec> gpus;
    LinkMatrix links;
};

Expected<GpuInventory> read_gpu_annotation(std::string_view text, Vocabulary& names);
std::string write_gpu_annotation(const GpuInventory& inventory, const Vocabulary& names);

}  // namespace tessera
