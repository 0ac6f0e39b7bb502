// The devices that a class takes on a node, and what is left then.
//
// One rule for all policies that have none of their own: shares go to the tightest devices that
// fit; several whole devices to the best connected ones (topology_choice.h), the lowest-numbered
// where nothing is known of links; the requests of one pod to any devices that hold them all.
#pragma once

#include "model/topology.h"
#include "policy/catalog.h"
#include "policy/devices.h"

namespace tessera {

// False, and an empty list, when the class does not fit.
bool assign_devices(const NodeState& node, const DemandClass& demand_class, const Catalog& catalog,
                    const LinkMatrix& links, DeviceList& devices);

// What a request holds of a device of this size: all of it, a fixed amount, or a part.
MemoryMib memory_held(const GpuRequest& request, MemoryMib device);

// Puts the class on a copy of a node's state, on the given devices.
void apply_devices(NodeState& node, const DemandClass& demand_class, const Catalog& catalog,
                   const DeviceList& devices);
// The same, devices chosen by the plain rule.
void apply_class(NodeState& node, const DemandClass& demand_class, const Catalog& catalog);

// Whether the class fits on the node now: the plain rule that the engine's bit rows must equal.
bool fits(const NodeState& node, const DemandClass& demand_class, const Catalog& catalog);

}  // namespace tessera
