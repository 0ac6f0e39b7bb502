// Our own vocabulary: limits tessera.dev/gpu, and keys for parts of a device.
#pragma once

#include "dialect/dialect.h"

namespace tessera {

Dialect native_dialect();

}  // namespace tessera
