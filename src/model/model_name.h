// The one spelling of a GPU model's name.
//
// The driver says "Tesla V100 SXM2", node labels and KubeShare's files "Tesla-V100-SXM2": a label
// cannot hold a blank. Names are compared with dashes, wherever they come from.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/intern.h"
#include "model/ids.h"

namespace tessera {

// Blanks around the name fall away, those inside become one dash each run.
std::string canonical_model(std::string_view name);

// An index counts 2^16 models; what others write must not use them up.
inline constexpr std::size_t kModelsMax = 60'000;

// The name's index, in its one spelling; none for an empty name.
Expected<ModelIndex> intern_model(std::string_view written, Interner<ModelIndex>& models,
                                  std::size_t most = kModelsMax);

}  // namespace tessera
