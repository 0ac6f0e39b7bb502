// Elastic GPU and its past, nano-gpu: gpu-core (100 = one card) and gpu-memory (MiB) per container.
#pragma once

#include "dialect/dialect.h"

namespace tessera {

Dialect elastic_dialect();

}  // namespace tessera
