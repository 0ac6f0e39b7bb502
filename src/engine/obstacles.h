// What of a node's traits stands in a pod's way, in the codes of refusals.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "base/function_ref.h"
#include "model/decision.h"
#include "model/node_filter.h"

namespace tessera {

// Calls visit(code, obstacle) once for each code that applies, with the first obstacle of its kind;
// never when the filter admits the node. A cordon is NodeUnschedulable, whatever else there is.
void each_obstacle(const NodeFilter& filter, const NodeTraits& node,
                   FunctionRef<void(RefusalCode, const Obstacle&)> visit);

class ObstacleTally {
  public:
    void add(const NodeFilter& filter, const NodeTraits& node);
    // Puts the obstacle into the count if the same one is met on more than half of its nodes.
    void name_most_common(RefusalCount& count) const;

  private:
    std::array<std::map<Obstacle, std::int64_t>, kRefusalCodes> seen_;
};

}  // namespace tessera
