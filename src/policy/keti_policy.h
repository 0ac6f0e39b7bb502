// KETI's policy without live metrics: free cores and memory of the node, pods and what they were
// granted on its GPUs, weighted as its ConfigMap says (formulas/keti.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "policy/formulas/keti.h"
#include "policy/policy.h"

namespace tessera {

// Whether the policy does all that the settings ask for; the error names the key that it does not
// serve. docs/policies.md says what each key does.
Expected<void> check_keti(const KetiPolicy& settings);

// What is accepted and has no effect on the choice of a node, in a sentence each.
std::vector<std::string> keti_notes(const KetiPolicy& settings);

class KetiStaticPolicy final : public Policy {
  public:
    explicit KetiStaticPolicy(KetiPolicy settings = {}) : settings_(settings) {}

    std::string_view name() const override { return "keti"; }
    std::shared_ptr<const Scorer> scorer(const Catalog& catalog) override;

  private:
    KetiPolicy settings_;
};

}  // namespace tessera
