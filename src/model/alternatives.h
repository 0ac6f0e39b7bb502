// The rule for a demand with alternatives: they are tried in order, and the first that fits
// somewhere is served, however well a later one would do.
//
// Whoever decides about a demand, or tells how it would be decided, does so by first_that_fits(): a
// door and an explanation cannot differ. Classes have no containers (demand_class.h), so it is also
// here that a placement gets their names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "model/demand.h"
#include "model/placement.h"

namespace tessera {

// Puts the names of the demand's requests on the grants of a placement of its class. The grants are
// in the order of requests, a device each, and of the alternative that the placement names.
void name_grants(const Demand& demand, Placement& placement);

// `choose(i)` gives the placement of alternative i (of 0 alone when no GPU is asked for), or
// nothing when it fits nowhere. The result says which alternative it is, and for which request each
// grant.
template <class Choose>
std::optional<Placement> first_that_fits(const Demand& demand, Choose&& choose) {
    const std::size_t end =
        std::clamp<std::size_t>(demand.alternatives.size(), 1, kMaxAlternatives);
    for (std::size_t i = 0; i < end; ++i) {
        std::optional<Placement> placement = choose(i);
        if (placement) {
            placement->alternative = static_cast<std::uint8_t>(i);
            name_grants(demand, *placement);
            return placement;
        }
    }
    return std::nullopt;
}

}  // namespace tessera
