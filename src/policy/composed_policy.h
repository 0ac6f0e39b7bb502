// Policies that a user composes: a spec is checked, and made into a policy.
//
//   TESSERA_TRY(PolicySpec spec, parse_policy_yaml(text, "mine.yaml"));
//   TESSERA_TRY(auto policy, build_policy(spec, context));
//
// Errors name the line and what is accepted: "mine.yaml:7: score "binpak" is not known; ...".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "model/policy_spec.h"
#include "policy/policy.h"
#include "policy/registry.h"

namespace tessera {

// Whether a policy can be made of it.
Expected<void> check_policy(const PolicySpec& spec);
Expected<std::unique_ptr<Policy>> build_policy(const PolicySpec& spec,
                                               const PolicyContext& context);

// A shipped policy written as a user would write it, to start from.
Expected<PolicySpec> shipped_policy(std::string_view name);

// A number of policy `tessera` that a file may set.
struct ParameterInfo {
    std::string_view name;
    double low = 0;
    double high = 0;
    double standard = 0;
    std::string_view summary;
};
std::span<const ParameterInfo> tessera_parameters();

// For `tessera serve`, which reloads policy files; the simulator reads each once.
// The policy in force, and what was offered since. A bad one is refused with its reason and changes
// nothing: the last good one stays.
class PolicyHolder {
  public:
    static Expected<PolicyHolder> start(PolicySpec first);

    // What was read from the file now; an error of reading counts as a bad policy. True when it is
    // another policy than before, which is then in force.
    Expected<bool> offer(Expected<PolicySpec> read);

    const PolicySpec& in_force() const { return spec_; }
    std::uint64_t generation() const { return generation_; }
    // Why the last offer was refused; nothing when it was good.
    const std::optional<Error>& refused() const { return refused_; }

  private:
    explicit PolicyHolder(PolicySpec first) : spec_(std::move(first)) {}

    PolicySpec spec_;
    std::uint64_t generation_ = 1;
    std::optional<Error> refused_;
};

}  // namespace tessera
