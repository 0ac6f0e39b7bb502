#include "engine/node_copy.h"

#include "engine/class_placement.h"
#include "policy/assignment.h"

namespace tessera {

NodeCopy::NodeCopy(const Cluster& cluster, NodeIndex node) : copy_(cluster.options()) {
    copy_.add_node(cluster.spec(node));
}

void NodeCopy::take(Placement placement, std::uint64_t start) {
    placement.node = kHere;
    copy_.take(placement, start);
}

void NodeCopy::give(Placement placement, std::uint64_t start) {
    placement.node = kHere;
    copy_.give(placement, start);
}

bool NodeCopy::fits(const DemandClass& wanted) const {
    const Catalog catalog = copy_.catalog(no_classes_);
    if (!wanted.wants_spare()) {
        return tessera::fits(state(), wanted, catalog);
    }
    DeviceList devices;
    return tessera::fits(state(), wanted, catalog) &&
           assign_devices(state(), wanted, catalog, copy_.links(kHere), devices) &&
           copy_.fits(placement_of(wanted, copy_, kHere, devices));
}

}  // namespace tessera
