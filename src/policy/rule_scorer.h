// Policies that are a formula: an integer score of (node, class), and a way to choose devices.
//
// Most published policies are of this kind. A rule is a plain function that fits on a screen
// (rules.cc); the registry lists them by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "policy/policy.h"

namespace tessera {

// The largest node of the cluster: published formulas are normalised by it.
struct Extent {
    double cpu_milli = 1;
    double memory_mib = 1;
    double gpu_milli = 1;
};

struct RuleInput {
    const NodeState& node;
    const DemandClass& demand;
    const Catalog& catalog;
    const Extent& largest;
};

// Larger is better, any sign, below 2^31 in size when weighted (beyond, scores are equal).
using RuleScore = std::int64_t (*)(const RuleInput&);

enum class DeviceRule : std::uint8_t { tightest, emptiest, by_lot };

struct WeightedRule {
    std::string_view name;
    RuleScore score = nullptr;
    std::int64_t weight = 1;
};

struct RuleSet {
    std::string name;
    std::vector<WeightedRule> rules;  // none: every node that fits is as good as another
    DeviceRule devices = DeviceRule::tightest;
    Selection selection = Selection::best;
    bool whole_devices = false;  // shares become whole devices
};

class RulePolicy final : public Policy {
  public:
    explicit RulePolicy(RuleSet rules) : rules_(std::make_shared<RuleSet>(std::move(rules))) {}

    std::string_view name() const override { return rules_->name; }
    std::shared_ptr<const Scorer> scorer(const Catalog& catalog) override;
    DemandClass adapt(DemandClass demand_class) const override;

  private:
    std::shared_ptr<const RuleSet> rules_;
};

}  // namespace tessera
