// The two halves of the edge joined: dialects, which see no JSON, and codecs, which know no
// vocabulary. Every door takes nodes in, writes placements down and reads them back through here.
#pragma once

#include <optional>
#include <string_view>

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

// Everything to write on a placed pod: its dialect's own keys, and tessera.dev/placement, signed
// where there is a key. A pod that needs a port of its node gets it from `ports`, and keeps it
// until it is released there.
Expected<PlacementMarks> placement_writes(PlacedPod placed, const DialectContext& context,
                                          PortBook& ports, std::string_view signing_key = {});

// What a bound pod holds.
struct Held {
    Placement placement;
    // By our own record, about this very pod, signed where there is a key. Otherwise another system
    // placed it: a foreigner, whose share counts and who gets nothing on its word alone.
    bool ours = false;
    // It asks for GPUs, but nothing tells which it has, or not for all of them.
    bool devices_unknown = false;
};
// A foreign record, and one of ours that is not signed with the key where there is one, tells the
// devices, and the pod's demand how much of them: the larger counts, lest a forged one takes more
// than it says.
Expected<Held> read_held(const Pod& pod, const NodeSpec& node, DialectContext& context,
                         std::string_view signing_key = {});

}  // namespace tessera
