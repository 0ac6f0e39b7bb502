// A device and a link between two, as members of our JSON: in the annotation tessera.dev/gpus and
// in state files.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

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

// A list of a, b, level and lanes. Links that all say nothing are no matrix: the same as no list.
Expected<LinkMatrix> read_links(const std::vector<JsonValue>& items, const std::string& where,
                                std::size_t gpus);

}  // namespace tessera
