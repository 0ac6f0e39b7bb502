// Kube-Knots as the resource-aware scheduler speaks it: label GPU_MEM_REQ, in MiB.
#pragma once

#include "dialect/dialect.h"

namespace tessera {

Dialect kube_knots_dialect();

}  // namespace tessera
