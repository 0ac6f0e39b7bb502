// Devices by a policy's own score for shares, by the plain rule for all else.
#pragma once

#include "model/topology.h"
#include "policy/assignment.h"
#include "policy/devices.h"

namespace tessera {

struct DeviceQuestion {
    const NodeState& node;
    ClassIndex demand_class;
    const Catalog& catalog;
    const LinkMatrix& links;
};

// A share goes to the device for which the score of (device, class) is largest, the lowest index on
// ties. `make_score` makes that function, and is called for shares only: it may be dear.
template <class MakeScore>
void choose_by_score(const DeviceQuestion& asked, const MakeScore& make_score,
                     DeviceList& devices) {
    const auto& [node, demand_class, catalog, links] = asked;
    const DemandClass& wanted = (*catalog.classes)[demand_class];
    if (wanted.footprint != Footprint::share) {
        assign_devices(node, wanted, catalog, links, devices);
        return;
    }
    const auto score = make_score();
    const ClassBrief& brief = catalog.classes->brief(demand_class);
    take_only(best_device(node, fitting_devices(node, wanted, catalog),
                          [&](const GpuState& device) { return score(device, brief); }),
              devices);
}

}  // namespace tessera
