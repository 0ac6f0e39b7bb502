// The member "spare" of a device or a grant in our JSON: amounts in a driver's own units.
#pragma once

#include "base/error.h"
#include "base/json_writer.h"
#include "codec/json_value.h"
#include "model/gpu.h"

namespace tessera {

// Nothing of each when the key is absent.
Expected<SpareAmounts> read_spare(JsonObject& object);
// Writes no key when there is nothing.
void write_spare(const SpareAmounts& spare, JsonWriter& json);

}  // namespace tessera
