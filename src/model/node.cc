#include "model/node.h"

#include <algorithm>

namespace tessera {

std::vector<std::uint8_t> parents_of(const std::vector<GpuSpec>& gpus) {
    std::vector<std::uint8_t> parents;
    for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
        if (gpus[gpu].parent.empty()) {
            continue;
        }
        parents.resize(gpus.size(), kNoParent);
        const auto first = std::find_if(gpus.begin(), gpus.end(), [&](const GpuSpec& other) {
            return other.parent == gpus[gpu].parent;
        });
        parents[gpu] = static_cast<std::uint8_t>(first - gpus.begin());
    }
    return parents;
}

}  // namespace tessera
