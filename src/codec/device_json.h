// A device and a link between two, as members of our JSON: in the annotation tessera.dev/gpus and
// in state files.
#pragma once

#include <string>

#include "base/error.h"
#include "codec/json_value.h"
#include "model/gpu.h"
#include "model/ids.h"
#include "model/topology.h"

namespace tessera {

// Whether a device may leave its memory open.
enum class DeviceMemory : std::uint8_t { known, may_be_unknown };

// uuid, model, memoryMib, numa, slots, health, allocator and spare; the caller reads what else
// there is and calls object.done().
Expected<GpuSpec> read_device(JsonObject& object, DeviceMemory memory, Vocabulary& names);

// a, b, level and lanes.
Expected<void> read_link(const JsonValue& value, std::string where, LinkMatrix& links);

}  // namespace tessera
