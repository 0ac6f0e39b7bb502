// The two halves of the edge joined: dialects, which see no JSON, and codecs, which know no
// vocabulary. Every door takes nodes in, writes placements down and reads them back through here.
#pragma once

#include <optional>

#include "base/error.h"
#include "dialect/dialect.h"
#include "model/node.h"
#include "model/placement.h"
#include "model/pod.h"
#include "role/intake/port_book.h"

namespace tessera {

// The node with its devices: those of its annotation tessera.dev/gpus where it has one, else by
// the dialects' rules.
Expected<NodeSpec> take_node(const Node& node, DialectContext& context);

// Everything to write on a placed pod: its dialect's own keys, and tessera.dev/placement. A pod
// that needs a port of its node gets it from `ports`, and keeps it until it is released there.
Expected<PlacementMarks> placement_writes(PlacedPod placed, const DialectContext& context,
                                          PortBook& ports);

// What a bound pod holds.
struct Held {
    Placement placement;
    // By our own record, about this very pod. Otherwise another system placed it: a foreigner,
    // whose share counts and who gets nothing on its word alone.
    bool ours = false;
    // It asks for GPUs, but nothing tells which it has.
    bool devices_unknown = false;
};
Expected<Held> read_held(const Pod& pod, const NodeSpec& node, DialectContext& context);

}  // namespace tessera
