// NVIDIA's own resource, nvidia.com/gpu, with HAMi's additions for parts of a device.
#pragma once

#include "dialect/dialect.h"

namespace tessera {

Dialect nvidia_dialect();

}  // namespace tessera
