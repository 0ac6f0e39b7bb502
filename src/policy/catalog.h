// What a policy may know of the cluster besides one node's state: kinds, shapes, classes, totals.
#pragma once

#include <cstdint>
#include <span>

#include "base/units.h"
#include "model/demand_class.h"
#include "model/gpu.h"
#include "model/node.h"

namespace tessera {

struct Catalog {
    std::span<const DeviceKind> kinds;
    std::span<const NodeShape> shapes;
    std::span<const std::size_t> nodes_of_shape;
    const ClassTable* classes = nullptr;
    std::size_t nodes = 0;
    std::int64_t gpus = 0;
    MilliCpu cpu;
    MemoryMib memory;
};

// How many nodes could take a class right now. The engine keeps these counts anyway.
class Census {
  public:
    virtual ~Census() = default;
    virtual std::int64_t hosts(ClassIndex demand_class) const = 0;
};

}  // namespace tessera
