// How many members of a gang a node can take, and on which of its devices they go together.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/cluster.h"
#include "model/demand_class.h"
#include "model/ids.h"
#include "policy/devices.h"

namespace tessera {

// No more pods of the class than this fit on the node, `most` at most. Exact for shares of one
// device, and for whole devices that need not be of one group; 0 says that none fits.
std::int64_t room_for(const Cluster& cluster, NodeIndex node, const DemandClass& wanted,
                      std::int64_t most);
// Whether room_for() is exact, whatever devices are chosen.
bool room_is_exact(const DemandClass& wanted);

// No more pods than this find room on the node, if each takes at least so much.
struct LeastAsked {
    std::int64_t cpu_milli = INT64_MAX;
    std::int64_t memory_mib = INT64_MAX;
    std::int64_t gpu_milli = INT64_MAX;  // of all its devices
};
std::int64_t room_for(const Cluster& cluster, NodeIndex node, const LeastAsked& least,
                      std::int64_t most);

// The device that a share goes to when `count` of them are to be together: one that the gang is on
// already, then the fullest that takes all of them, then the one that takes most. None when it is
// no share, or fits nowhere.
std::optional<GpuIndex> device_for_shares(const Cluster& cluster, NodeIndex node,
                                          const DemandClass& wanted, const Catalog& catalog,
                                          std::int64_t count, DeviceMask held_by_gang);

}  // namespace tessera
