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

}  // namespace tessera
