// The pod annotation tessera.dev/placement: where a pod went and what it holds.
//
//   {"version":1,"owner":"default/train/6f1c…","node":"gpu-a","dialect":"elastic",
//    "cpuMilli":4000,"memoryMib":8192,
//    "grants":[{"request":"main","gpu":0,"uuid":"GPU-1","milli":500,"limitMilli":1000,
//               "memoryMib":4096}],
//    "containers":{"main":["main"],"prepare":["main"]}}
//
// We write it, users may not. docs/annotations.md has every key.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "model/placement_record.h"

namespace tessera {

Expected<PlacementRecord> read_placement_annotation(std::string_view text);
std::string write_placement_annotation(const PlacementRecord& record);

// The annotation scheduler.framework.gpushare.allocation that a later gpushare writes:
// container index -> {device index: units}.
struct DeviceUnits {
    std::int64_t gpu = 0;
    std::int64_t units = 0;
};
Expected<std::vector<DeviceUnits>> read_gpushare_allocation(std::string_view text);

}  // namespace tessera
