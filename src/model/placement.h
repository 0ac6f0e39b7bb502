// Where a demand went: a node, and for each request the devices and what it got of each.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "model/gpu.h"
#include "model/ids.h"

namespace tessera {

// Part of one device, for one request of one owner.
struct DeviceGrant {
    RequestIndex request;
    GpuIndex gpu;
    MilliGpu milli;
    MemoryMib memory;
    SpareAmounts spare{};

    friend bool operator==(const DeviceGrant&, const DeviceGrant&) = default;
};

struct Placement {
    NodeIndex node;
    MilliCpu cpu;
    MemoryMib memory;
    std::uint8_t alternative = 0;      // which of the demand's alternatives was served
    bool admin_access = false;         // grants are use without a share: they occupy nothing
    std::vector<DeviceGrant> grants;   // by request, then device

    friend bool operator==(const Placement&, const Placement&) = default;
};

}  // namespace tessera
