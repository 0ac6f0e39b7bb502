// What a pod was understood to ask for, in words.
#pragma once

#include <string>

#include "model/demand.h"
#include "model/ids.h"

namespace tessera::cli {

// "300 MiB of one GPU, compute shared; 1 core, 1 024 MiB of node memory"
std::string demand_text(const Demand& demand, const Vocabulary& names);

}  // namespace tessera::cli
