// The policies by name: one explicit table, readable as a list of features.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/error.h"
#include "policy/formulas/keti.h"
#include "policy/policy.h"
#include "policy/typical_mix.h"

namespace tessera {

struct PolicyContext {
    // The whole mix, for policies that may know it beforehand (the simulator's oracle). Empty:
    // `fgd` learns it, and `fgd-published` is refused.
    std::span<const ClassCount> mix{};
    // For `kubeshare`: priorities 0..100 by model, from its topology file.
    std::span<const std::int32_t> model_priority{};
    // For `keti`: what its ConfigMap says.
    KetiPolicy keti{};
};

struct PolicyInfo {
    std::string_view name;
    std::string_view summary;
};

std::span<const PolicyInfo> known_policies();
// The one lookup of a name: nobody's policy, and one that comes later, are told in the same words
// wherever they are named.
Expected<PolicyInfo> find_policy(std::string_view name);
Expected<std::unique_ptr<Policy>> make_policy(std::string_view name, const PolicyContext& context);

}  // namespace tessera
