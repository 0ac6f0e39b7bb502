// KETI's policy without live metrics: free cores and memory of the node, free memory and pods of
// its GPUs, weighted as its ConfigMap says (formulas/keti.h).
#pragma once

#include <memory>

#include "policy/formulas/keti.h"
#include "policy/policy.h"

namespace tessera {

class KetiStaticPolicy final : public Policy {
  public:
    explicit KetiStaticPolicy(KetiPolicy settings = {}) : settings_(settings) {}

    std::string_view name() const override { return "keti"; }
    std::shared_ptr<const Scorer> scorer(const Catalog& catalog) override;

  private:
    KetiPolicy settings_;
};

}  // namespace tessera
