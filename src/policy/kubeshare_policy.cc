#include "policy/kubeshare_policy.h"

#include <array>
#include <bit>

#include "policy/assignment.h"
#include "policy/formulas/kubeshare.h"

namespace tessera {
namespace {

constexpr GroupDistances kNoGroupPlaced{};

class KubeshareScorer final : public Scorer, private GroupTerm {
  public:
    KubeshareScorer(std::shared_ptr<const std::vector<std::int32_t>> priority,
                    const Catalog& catalog)
        : priority_(std::move(priority)), catalog_(catalog) {}

    void score(const NodeState& node, std::span<const ClassIndex> classes,
               std::span<Key> keys) const override {
        for (std::size_t i = 0; i < classes.size(); ++i) {
            keys[i] = key_of(points(node, classes[i], kNoGroupPlaced));
        }
    }

    void choose(const NodeState& node, ClassIndex demand_class, const LinkMatrix& links,
                std::uint64_t, DeviceList& devices) const override {
        choose(node, demand_class, links, kNoGroupPlaced, devices);
    }

    std::vector<TermValue> explain(const NodeState& node, ClassIndex demand_class) const override {
        return {{"leaves", static_cast<double>(points(node, demand_class, kNoGroupPlaced))}};
    }

    const GroupTerm* group_term() const override { return this; }

  private:
    bool concerns(ClassIndex demand_class) const override {
        const DemandClass& wanted = (*catalog_.classes)[demand_class];
        return wanted.wants_gpu() && wanted.service != ServiceClass::opportunistic;
    }

    Key score(const NodeState& node, ClassIndex demand_class,
              const GroupDistances& distances) const override {
        return key_of(points(node, demand_class, distances));
    }

    void choose(const NodeState& node, ClassIndex demand_class, const LinkMatrix& links,
                const GroupDistances& distances, DeviceList& devices) const override {
        const DemandClass& wanted = (*catalog_.classes)[demand_class];
        if (wanted.footprint == Footprint::compound || wanted.footprint == Footprint::no_gpu ||
            wanted.requests.front().rule != GroupRule::none) {
            assign_devices(node, wanted, catalog_, links, devices);
            return;
        }
        DeviceMask mask = fitting_devices(node, wanted, catalog_);
        const Leaves leaves = leaves_of(node, distances);
        if (wanted.gpus > 1 && alike(leaves, mask)) {
            assign_devices(node, wanted, catalog_, links, devices);
            return;
        }
        // The best leaves, one after the other; of equal ones the first.
        devices.clear();
        for (int taken = 0; taken < wanted.gpus && mask != 0; ++taken) {
            const int best = best_leaf(leaves, wanted, mask);
            devices.push_back(GpuIndex(static_cast<std::uint8_t>(best)));
            mask &= ~(DeviceMask{1} << best);
        }
    }

    std::vector<TermValue> explain(const NodeState& node, ClassIndex demand_class,
                                   const GroupDistances& distances) const override {
        const std::int64_t alone = points(node, demand_class, kNoGroupPlaced);
        const std::int64_t pull = points(node, demand_class, distances) - alone;
        return {{"leaves", static_cast<double>(alone)}, {"distance", static_cast<double>(pull)}};
    }

    using Leaves = std::array<LeafView, kMaxGpusPerNode>;

    // Whether KubeShare has no preference among these for a pod of several. It sorts them in no
    // certain order then, so that the best connected may be taken.
    static bool alike(const Leaves& leaves, DeviceMask mask) {
        if (mask == 0) {
            return true;
        }
        const LeafView& first = leaves[static_cast<std::size_t>(std::countr_zero(mask))];
        for (; mask != 0; mask &= mask - 1) {
            if (leaves[static_cast<std::size_t>(std::countr_zero(mask))] != first) {
                return false;
            }
        }
        return true;
    }

    static int best_leaf(const Leaves& leaves, const DemandClass& wanted, DeviceMask mask) {
        const bool several = wanted.footprint == Footprint::whole && wanted.gpus > 1;
        int best = -1;
        std::int64_t best_score = 0;
        for (; mask != 0; mask &= mask - 1) {
            const int gpu = std::countr_zero(mask);
            const std::int64_t value = kubeshare_leaf_score_milli(
                wanted.service, several, leaves[static_cast<std::size_t>(gpu)]);
            if (best < 0 || value > best_score) {
                best = gpu;
                best_score = value;
            }
        }
        return best;
    }

    LeafView leaf(const GpuState& device, std::int64_t distance_milli) const {
        const ModelIndex model = catalog_.kinds[device.kind.slot()].model;
        const bool known = model.valid() && model.slot() < priority_->size();
        return {.milli_available = device.idle_milli,
                .priority = known ? (*priority_)[model.slot()] : 0,
                .distance_milli = distance_milli};
    }

    Leaves leaves_of(const NodeState& node, const GroupDistances& distances) const {
        Leaves leaves;
        for (std::size_t gpu = 0; gpu < node.gpu_count; ++gpu) {
            leaves[gpu] = leaf(node.gpus[gpu], distances[gpu]);
        }
        return leaves;
    }

    // In thousandths of KubeShare's points.
    std::int64_t points(const NodeState& node, ClassIndex demand_class,
                        const GroupDistances& distances) const {
        const DemandClass& wanted = (*catalog_.classes)[demand_class];
        if (!wanted.wants_gpu()) {
            return 1000 * kubeshare_regular_score(node.gpu_count > 0);
        }
        Leaves leaves;
        std::size_t count = 0;
        for (std::size_t gpu = 0; gpu < node.gpu_count; ++gpu) {
            if (may_use(wanted, catalog_.kinds[node.gpus[gpu].kind.slot()])) {
                leaves[count++] = leaf(node.gpus[gpu], distances[gpu]);
            }
        }
        return kubeshare_node_score_milli(wanted.service, std::span(leaves).first(count))
            .value_or(0);
    }

    std::shared_ptr<const std::vector<std::int32_t>> priority_;
    Catalog catalog_;
};

}  // namespace

std::shared_ptr<const Scorer> KubesharePolicy::scorer(const Catalog& catalog) {
    return std::make_shared<KubeshareScorer>(model_priority_, catalog);
}

}  // namespace tessera
