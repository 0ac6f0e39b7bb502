// Keys in the vocabularies that we know which none of them has: most likely misspelt.
//
// Whoever wrote sharedgpu/gpu_reqest asks for nothing by it, and should be told.
#pragma once

#include <string>
#include <vector>

#include "model/pod.h"

namespace tessera {

// A sentence for each such label, annotation or resource of the pod, with the key that was probably
// meant where one is near.
std::vector<std::string> unknown_key_notes(const Pod& pod);

}  // namespace tessera
