// What is known of GPU models by their names, for lists that name a model and no memory.
//
// Names are those of the public traces, and common short ones. Memory is what the driver leaves for
// use. G2 and G3 of Alibaba's trace are undisclosed parts; theirs are the stand-ins of the
// simulator that was published with it (FGD, Weng et al., ATC 2023), and so is the size taken for
// "A100".
#pragma once

#include <optional>
#include <string_view>

#include "base/units.h"

namespace tessera {

// Nothing for a model that is not known.
std::optional<MemoryMib> usual_memory(std::string_view model);

}  // namespace tessera
