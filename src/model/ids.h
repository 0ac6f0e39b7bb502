// The core's identities: dense indices, given out at the edge, never strings.
#pragma once

#include <cstdint>

#include "base/intern.h"
#include "base/strong_id.h"

namespace tessera {

using NodeIndex = StrongId<struct NodeTag>;
using GpuIndex = StrongId<struct GpuTag, std::uint8_t>;       // within its node
using ModelIndex = StrongId<struct ModelTag, std::uint16_t>;  // "A100", "T4"
using KindIndex = StrongId<struct KindTag, std::uint16_t>;    // devices that fit alike (gpu.h)
using ShapeIndex = StrongId<struct ShapeTag>;                 // nodes of equal capacity (node.h)
using ClassIndex = StrongId<struct ClassTag>;                 // demands that are equal
using AskIndex = StrongId<struct AskTag>;                     // demands on a device
using FilterIndex = StrongId<struct FilterTag>;               // equal node constraints
using LabelKey = StrongId<struct LabelKeyTag>;                // of a label or taint
using LabelValue = StrongId<struct LabelValueTag>;            // its value, a node's name or address
using RequestIndex = StrongId<struct RequestTag>;             // name of a container or request
using SpaceIndex = StrongId<struct SpaceTag>;                 // a namespace
using ResourceIndex = StrongId<struct ResourceTag>;           // an extended resource
using GroupIndex = StrongId<struct GroupTag>;                 // a gang
using AppIndex = StrongId<struct AppTag>;                     // an application profile
using AttributeIndex = StrongId<struct AttributeTag, std::uint8_t>;  // what devices may share
using ShareId = StrongId<struct ShareTag, std::uint64_t>;

// The names behind the indices. One per engine; only the edge reads it.
struct Vocabulary {
    Interner<NodeIndex> nodes;
    Interner<ModelIndex> models;
    Interner<RequestIndex> requests;
    Interner<GroupIndex> groups;
    Interner<AppIndex> apps;
    Interner<LabelKey> label_keys;
    Interner<LabelValue> label_values;
    Interner<SpaceIndex> spaces;
    Interner<ResourceIndex> resources;
};

}  // namespace tessera
