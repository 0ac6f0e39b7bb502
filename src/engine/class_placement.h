// A class on chosen devices, as the ledger takes it.
#pragma once

#include "engine/cluster.h"
#include "model/demand_class.h"
#include "model/placement.h"
#include "policy/scorer.h"

namespace tessera {

// The devices go to the requests one after the other, as many to each as it asks.
Placement placement_of(const DemandClass& wanted, const Cluster& cluster, NodeIndex node,
                       const DeviceList& devices);

}  // namespace tessera
