// Devices for the classes that no single table row can judge: parts of several devices, and
// several requests (containers) that may land on different ones.
#pragma once

#include "policy/catalog.h"
#include "policy/devices.h"

namespace tessera {

// Devices for a class by the plain rule: shares go to the tightest devices that fit, whole
// devices are the lowest-numbered empty ones. False when the class does not fit.
bool assign_devices(const NodeState& node, const DemandClass& demand_class, const Catalog& catalog,
                    DeviceList& devices);

// The same, with several whole devices chosen by how well they are connected.
void place_devices(const NodeState& node, const DemandClass& demand_class, const Catalog& catalog,
                   const LinkMatrix& links, DeviceList& devices);

// Puts the class on a copy of a node's state, on the given devices.
void apply_devices(NodeState& node, const DemandClass& demand_class, const Catalog& catalog,
                   const DeviceList& devices);
// The same, devices chosen by the plain rule.
void apply_class(NodeState& node, const DemandClass& demand_class, const Catalog& catalog);

// Whether the class fits on the node now: the plain rule that the engine's bit rows must equal.
bool fits(const NodeState& node, const DemandClass& demand_class, const Catalog& catalog);

}  // namespace tessera
