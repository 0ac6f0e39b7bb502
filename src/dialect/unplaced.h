// GPUs of vendors that no dialect knows.
//
// Kubernetes' own scheduler places these by counting them. Here such a pod reads as one without a
// GPU, and whoever asks about it must be told.
#pragma once

#include <string>
#include <vector>

#include "model/pod.h"

namespace tessera {

// Resources of such GPUs that a container asks for, each once: "amd.com/gpu".
std::vector<std::string> unplaced_resources(const Pod& pod);

// What pods may ask with instead, from the table of dialects: "nvidia.com/gpu, tessera.dev/gpu".
std::string placed_resources();

}  // namespace tessera
