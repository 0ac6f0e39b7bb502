#include "model/gpu_models.h"

#include <algorithm>
#include <array>
#include <string>

#include "model/model_name.h"

namespace tessera {

namespace {

struct ModelMemory {
    std::string_view name;
    std::int64_t mib;
};

constexpr auto kModels = std::to_array<ModelMemory>({
    {"T4", 15109},
    {"V100M16", 16160},
    {"P100", 16280},
    {"G2", 20000},
    {"A10", 22731},
    {"L4", 23034},
    {"A30", 24268},
    {"G3", 30000},
    {"V100M32", 32510},
    {"A40", 46068},
    {"L40S", 46068},
    {"A100", 81251},
    {"A100-SXM4-80GB", 81251},
    {"A800", 81251},
    {"H100", 81559},
    {"H800", 81559},
    {"H200", 143771},
});

}  // namespace

std::optional<MemoryMib> usual_memory(std::string_view model) {
    const std::string name = canonical_model(model);
    const auto found = std::find_if(kModels.begin(), kModels.end(),
                                    [&](const ModelMemory& known) { return known.name == name; });
    return found == kModels.end() ? std::nullopt : std::optional(MemoryMib(found->mib));
}

}  // namespace tessera
