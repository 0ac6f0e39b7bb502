// A bound pod in one string: what tells its share, should the devices of its node be described
// anew. A Pod of the same content takes several times the memory, and there are many of them.
//
//   record.packed = pack_bound(pod);
//   const Pod again = unpack_bound(record.packed);
//
// The rules by which it was placed (selectors, tolerations, ports) are left out: it is placed.
#pragma once

#include <string>
#include <string_view>

#include "model/pod.h"

namespace tessera {

std::string pack_bound(const Pod& pod);
// Of what pack_bound() made; anything else is a fault of ours.
Pod unpack_bound(std::string_view packed);

}  // namespace tessera
