// KubeShare's topology file (kubeshare-config.yaml) into a CellConfig.
//
//   cellTypes:
//     2-V100-NODE: {childCellType: V100, childCellNumber: 2, childCellPriority: 60,
//                   isNodeLevel: true}
//   cells:
//   - {cellType: 2-V100-NODE, cellId: apple}
// Errors name the line. A key that KubeShare does not know is an error too: a misspelt one would
// silently give another topology. What the cells mean together is checked by CellTree::build.
#pragma once

#include <string_view>

#include "base/error.h"
#include "model/cell_tree.h"

namespace tessera {

Expected<CellConfig> parse_cell_yaml(std::string_view text, const CellLimits& limits = {});

}  // namespace tessera
