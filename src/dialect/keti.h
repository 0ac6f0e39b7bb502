// KETI's GPU-Scheduler: limits keti.com/mpsgpu (GPUs shared by CUDA MPS) and plain annotations.
#pragma once

#include "dialect/dialect.h"

namespace tessera {

Dialect keti_dialect();

}  // namespace tessera
