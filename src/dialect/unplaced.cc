#include "dialect/unplaced.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "dialect/dialect.h"

namespace tessera {
namespace {

// Beginnings: vendors have a resource for every kind of part (gpu.intel.com/i915, /xe).
constexpr std::array<std::string_view, 3> kOthers{"amd.com/gpu", "gpu.intel.com/", "habana.ai/"};

bool of_another_vendor(std::string_view resource) {
    return std::ranges::any_of(kOthers,
                               [&](std::string_view begin) { return resource.starts_with(begin); });
}

}  // namespace

std::vector<std::string> unplaced_resources(const Pod& pod) {
    std::vector<std::string> found;
    for (const auto* containers : {&pod.init_containers, &pod.containers}) {
        for (const Container& container : *containers) {
            for (const ResourceList* list : {&container.requests, &container.limits}) {
                for (const auto& [resource, amount] : *list) {
                    if (of_another_vendor(resource) && amount > Quantity::of(0) &&
                        std::ranges::find(found, resource) == found.end()) {
                        found.push_back(resource);
                    }
                }
            }
        }
    }
    return found;
}

std::string placed_resources() {
    std::string list;
    for (const Dialect& dialect : dialects()) {
        list += list.empty() ? "" : ", ";
        list += dialect.asked_by;
    }
    return list;
}

}  // namespace tessera
