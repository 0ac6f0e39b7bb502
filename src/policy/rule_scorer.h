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

// The device for a share. By memory: the least free memory that suffices, in MiB and whatever the
// size of the device; a share that asks for no memory goes to the tightest.
enum class DeviceRule : std::uint8_t { tightest, emptiest, least_memory, by_lot };

// What a user may weigh: the scores by name, with the range of their values.
struct RuleInfo {
    std::string_view name;
    RuleScore score = nullptr;
    std::int64_t low = 0;
    std::int64_t high = 0;
    std::string_view summary;
};

// Decides between nodes of equal score. Idle GPU counts in steps of 64 milli; ages are told apart
// up to 2^24 starts (2^32 when nothing else decides), beyond which all are equally young.
enum class TieRule : std::uint8_t {
    least_idle,
    most_idle,
    oldest,  // the node whose oldest GPU pod started first; those without one last
    newest,
    order,  // the node added first, which is what happens anyway
};

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
    bool whole_devices = false;   // shares become whole devices
    std::vector<TieRule> ties{};  // first one first; at most one by idle GPU and one by age
    std::int64_t step = 1;        // scores are compared in steps of this
};

class RulePolicy final : public Policy {
  public:
    explicit RulePolicy(RuleSet rules) : rules_(std::make_shared<RuleSet>(std::move(rules))) {}

    std::string_view name() const override { return rules_->name; }
    std::shared_ptr<const Scorer> scorer(const Catalog& catalog) override;
    DemandClass adapt(DemandClass demand_class) const override;
    const RuleSet& rules() const { return *rules_; }

  private:
    std::shared_ptr<const RuleSet> rules_;
};

}  // namespace tessera
