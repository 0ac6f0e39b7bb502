// FGD in integers: fragmentation gradient descent (Weng et al., ATC 2023), fast and equal on every
// machine.
//
// F of a node is a sum over its devices once the free cores are fixed:
//   F = sum_i [ W r_i - r_i * sum{ w_m : one device, g_m <= r_i, cores ok, model ok } ]
//       - sum{ w_m : k_m >= 2 devices, k_m <= n, cores ok, model ok } * 1000 n
// with r_i what is idle of device i, n the empty devices, w_m the count of class m in the mix and
// W their total. So F comes from two tables, by device value and by n, per bucket of free cores,
// and the published score floor(100 sigmoid((F before - F after) / 1000)) from 99 thresholds.
// The mix is given (the oracle of the published experiment) or learnt from arrivals.
#pragma once

#include <memory>
#include <vector>

#include "policy/mix_learner.h"
#include "policy/policy.h"
#include "policy/typical_mix.h"

namespace tessera {

class FgdPolicy final : public Policy {
  public:
    FgdPolicy() = default;  // learns
    explicit FgdPolicy(std::vector<TypicalClass> mix) : mix_(std::move(mix)), learns_(false) {}

    std::string_view name() const override { return "fgd"; }
    std::shared_ptr<const Scorer> scorer(const Catalog& catalog) override;
    void arrived(ClassIndex demand_class) override;
    PolicyUpdate update(const Catalog& catalog, const Census& census) override;

  private:
    std::vector<TypicalClass> mix_;
    MixLearner learner_;
    bool learns_ = true;
};

}  // namespace tessera
