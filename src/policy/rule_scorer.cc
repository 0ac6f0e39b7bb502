#include "policy/rule_scorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/floor_divide.h"
#include "base/rng.h"
#include "policy/assignment.h"

namespace tessera {
namespace {

Extent largest_node(const Catalog& catalog) {
    Extent extent;
    for (std::size_t i = 0; i < catalog.shapes.size(); ++i) {
        if (catalog.nodes_of_shape[i] == 0) {
            continue;  // such nodes are gone
        }
        const NodeShape& shape = catalog.shapes[i];
        extent.cpu_milli = std::max(extent.cpu_milli, static_cast<double>(shape.cpu.value()));
        extent.memory_mib = std::max(extent.memory_mib, static_cast<double>(shape.memory.value()));
        extent.gpu_milli =
            std::max(extent.gpu_milli, 1000.0 * static_cast<double>(shape.kinds.size()));
    }
    return extent;
}

constexpr int kIdleBits = 8;
constexpr std::int32_t kIdleStep = 64;
static_assert(kMaxGpusPerNode * 1000 / kIdleStep < 1 << kIdleBits);

// Packed from the first tie down: each has the bits that it needs, age what is left.
Tie pack_ties(const NodeState& node, const std::vector<TieRule>& ties) {
    const bool alone = ties.size() == 1;
    Tie packed = 0;
    for (const TieRule rule : ties) {
        const int bits = rule == TieRule::least_idle || rule == TieRule::most_idle ? kIdleBits
                         : alone                                                   ? 32
                                                                                   : 32 - kIdleBits;
        const std::uint64_t most = (std::uint64_t{1} << bits) - 1;
        const auto idle = std::min(most, static_cast<std::uint64_t>(node.idle_value / kIdleStep));
        const std::uint64_t start = std::min(node.oldest_start, most);
        switch (rule) {
            case TieRule::least_idle:
                packed = static_cast<Tie>(std::uint64_t{packed} << bits | (most - idle));
                break;
            case TieRule::most_idle:
                packed = static_cast<Tie>(std::uint64_t{packed} << bits | idle);
                break;
            case TieRule::oldest:
                packed = static_cast<Tie>(std::uint64_t{packed} << bits | (most - start));
                break;
            case TieRule::newest:
                packed = static_cast<Tie>(std::uint64_t{packed} << bits |
                                          (node.oldest_start == kNeverStarted ? 0 : start));
                break;
            case TieRule::order:
                break;
        }
    }
    return packed;
}

std::string_view tie_words(TieRule tie) {
    switch (tie) {
        case TieRule::least_idle:
            return "least idle GPU (in steps of 64 milli)";
        case TieRule::most_idle:
            return "most idle GPU (in steps of 64 milli)";
        case TieRule::oldest:
            return "the oldest GPU pod";
        case TieRule::newest:
            return "the youngest oldest GPU pod";
        case TieRule::order:
            break;
    }
    return "the node added first";
}

class RuleScorer final : public Scorer {
  public:
    RuleScorer(std::shared_ptr<const RuleSet> rules, const Catalog& catalog)
        : rules_(std::move(rules)), catalog_(catalog), largest_(largest_node(catalog)) {}

    Selection selection() const override { return rules_->selection; }

    void score(const NodeState& node, std::span<const ClassIndex> classes,
               std::span<Key> keys) const override {
        for (std::size_t i = 0; i < classes.size(); ++i) {
            const RuleInput input{node, (*catalog_.classes)[classes[i]], catalog_, largest_};
            std::int64_t sum = 0;
            for (const WeightedRule& rule : rules_->rules) {
                sum += rule.weight * rule.score(input);
            }
            keys[i] = key_of(floor_divide(sum, rules_->step));
        }
    }

    Tie tie(const NodeState& node) const override { return pack_ties(node, rules_->ties); }

    std::string order() const override {
        std::string sentence =
            rules_->step == 1
                ? "of equal scores: "
                : fmt::format("scores are compared in steps of {}; within one: ", rules_->step);
        for (const TieRule tie : rules_->ties) {
            if (tie == TieRule::order) {
                break;
            }
            sentence += std::string(tie_words(tie)) + ", then ";
        }
        return sentence + "the node added first";
    }

    void choose(const NodeState& node, ClassIndex demand_class, const LinkMatrix& links,
                std::uint64_t draw, DeviceList& devices) const override {
        const DemandClass& wanted = (*catalog_.classes)[demand_class];
        if (wanted.footprint != Footprint::share || rules_->devices == DeviceRule::tightest) {
            assign_devices(node, wanted, catalog_, links, devices);
            return;
        }
        const DeviceMask mask = fitting_devices(node, wanted, catalog_);
        take_only(mask == 0 ? -1 : device_of(node, wanted, mask, draw), devices);
    }

    std::vector<TermValue> explain(const NodeState& node, ClassIndex demand_class) const override {
        const RuleInput input{node, (*catalog_.classes)[demand_class], catalog_, largest_};
        std::vector<TermValue> terms;
        for (const WeightedRule& rule : rules_->rules) {
            terms.push_back({rule.name, static_cast<double>(rule.weight * rule.score(input))});
        }
        return terms;
    }

  private:
    int device_of(const NodeState& node, const DemandClass& wanted, DeviceMask mask,
                  std::uint64_t draw) const {
        switch (rules_->devices) {
            case DeviceRule::emptiest:
                return emptiest_device(node, mask);
            case DeviceRule::least_memory:
                return wanted.gpu_memory.value() > 0 || wanted.gpu_memory_ppm > 0
                           ? best_device(node, mask,
                                         [](const GpuState& device) {
                                             return -std::int64_t{device.free_memory_mib};
                                         })
                           : tightest_device(node, mask);
            case DeviceRule::by_lot:
                return nth_device(mask, static_cast<int>(Rng(draw).below(
                                            static_cast<std::uint64_t>(std::popcount(mask)))));
            case DeviceRule::tightest:
                break;
        }
        return tightest_device(node, mask);
    }

    std::shared_ptr<const RuleSet> rules_;
    Catalog catalog_;
    Extent largest_;
};

}  // namespace

std::shared_ptr<const Scorer> RulePolicy::scorer(const Catalog& catalog) {
    return std::make_shared<RuleScorer>(rules_, catalog);
}

DemandClass RulePolicy::adapt(DemandClass demand_class) const {
    demand_class = Policy::adapt(std::move(demand_class));
    if (!rules_->whole_devices || !demand_class.wants_gpu()) {
        return demand_class;
    }
    for (GpuRequest& request : demand_class.requests) {
        request.milli = kWholeGpu;
    }
    return with_requests(std::move(demand_class));
}

}  // namespace tessera
