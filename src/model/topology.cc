#include "model/topology.h"

#include <algorithm>

namespace tessera {

LinkMatrix with_numa(const LinkMatrix& links, std::span<const GpuSpec> gpus) {
    const bool told = std::ranges::any_of(
        gpus, [&](const GpuSpec& gpu) { return gpu.numa != gpus.front().numa; });
    if (!told) {
        return links;
    }
    const int count = static_cast<int>(gpus.size());
    LinkMatrix result = links.empty() ? LinkMatrix(count) : links;
    for (int a = 0; a < count; ++a) {
        for (int b = a + 1; b < count; ++b) {
            if (result.at(a, b).level == LinkLevel::unknown) {
                const bool near = gpus[static_cast<std::size_t>(a)].numa ==
                                  gpus[static_cast<std::size_t>(b)].numa;
                result.set(a, b, {near ? LinkLevel::numa : LinkLevel::system, 0});
            }
        }
    }
    return result;
}

}  // namespace tessera
