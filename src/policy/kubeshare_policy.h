// KubeShare's policy: opportunistic pods pack, guaranteed ones prefer idle GPUs of good models that
// are near their group (formulas/kubeshare.h). Model priorities come from its topology file, and so
// do the cells by which distances are measured (GpuSpec::cell).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "policy/policy.h"

namespace tessera {

class KubesharePolicy final : public Policy {
  public:
    // Priority 0..100 by model; models beyond the list have 0.
    explicit KubesharePolicy(std::vector<std::int32_t> model_priority = {})
        : model_priority_(
              std::make_shared<const std::vector<std::int32_t>>(std::move(model_priority))) {}

    std::string_view name() const override { return "kubeshare"; }
    std::shared_ptr<const Scorer> scorer(const Catalog& catalog) override;
    // Both kinds of pods are told apart.
    DemandClass adapt(DemandClass demand_class) const override { return demand_class; }

  private:
    std::shared_ptr<const std::vector<std::int32_t>> model_priority_;
};

}  // namespace tessera
