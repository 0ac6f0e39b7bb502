// Which devices of a node a class may use, and the common ways to choose among them.
#pragma once

#include <cstdint>

#include "model/demand_class.h"
#include "model/node.h"
#include "policy/catalog.h"
#include "policy/scorer.h"

namespace tessera {

using DeviceMask = std::uint32_t;  // bit i = device i

// Whether the class may use devices of this kind at all: model, health, allocator.
bool may_use(const DemandClass& demand_class, const DeviceKind& kind);

// Devices on which one part of a (non-compound) class fits now.
DeviceMask fitting_devices(const NodeState& node, const DemandClass& demand_class,
                           const Catalog& catalog);

// Device of `mask` with the least value left, lowest index on ties; -1 for an empty mask.
int tightest_device(const NodeState& node, DeviceMask mask);
// Device of `mask` with the most value left, lowest index on ties.
int emptiest_device(const NodeState& node, DeviceMask mask);
// The i-th set bit, counted from 0.
int nth_device(DeviceMask mask, int i);

}  // namespace tessera
