// FGD as published, to the last bit: fragmentation gradient descent (Weng et al., ATC 2023).
//
// The authors add floating-point sums in a certain order and cut the score to an integer; many
// placements change fragmentation by nearly nothing, and then the sign of a rounding error decides
// between 49 and 50, and with it the rest of the run. So this scorer keeps their arithmetic: seven
// sums, class by class in order of falling count, no fused multiply-add. It is slow and knows the
// whole mix beforehand; use `fgd` for anything but repeating the published runs.
#pragma once

#include <memory>
#include <vector>

#include "policy/policy.h"
#include "policy/typical_mix.h"

namespace tessera {

class FgdPublishedPolicy final : public Policy {
  public:
    explicit FgdPublishedPolicy(std::vector<TypicalClass> mix)
        : mix_(std::make_shared<const std::vector<TypicalClass>>(std::move(mix))) {}

    std::string_view name() const override { return "fgd-published"; }
    std::shared_ptr<const Scorer> scorer(const Catalog& catalog) override;

  private:
    std::shared_ptr<const std::vector<TypicalClass>> mix_;
};

}  // namespace tessera
