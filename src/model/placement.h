// Where a demand went: a node, and for each request the devices and what it got of each.
#pragma once

#include <cstdint>

#include "base/inline_vector.h"
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

using Grants = InlineVector<DeviceGrant, 2>;  // one or two devices: no allocation

struct Placement {
    NodeIndex node;
    MilliCpu cpu;
    MemoryMib memory;
    std::uint8_t pods = 1;         // of the node's pod count; a device claim takes none
    std::uint8_t alternative = 0;  // which of the demand's alternatives was served
    bool admin_access = false;     // grants are use without a share: they occupy nothing
    Grants grants;                 // by request in the demand's order, then device

    friend bool operator==(const Placement&, const Placement&) = default;
};

}  // namespace tessera
