#include "policy/fgd.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/assert.h"
#include "policy/assignment.h"

namespace tessera {
namespace {

constexpr int kValues = 1001;  // device values 0..1000

// Tables of F for one mix on one cluster's kinds.
class FragmentTables {
  public:
    FragmentTables(const std::vector<TypicalClass>& mix, const Catalog& catalog) {
        for (const TypicalClass& c : mix) {
            total_ += c.count;
            cores_.push_back(c.cpu_milli);
        }
        std::sort(cores_.begin(), cores_.end());
        cores_.erase(std::unique(cores_.begin(), cores_.end()), cores_.end());
        buckets_ = cores_.size() + 1;
        devices_.resize(catalog.kinds.size() * kValues * buckets_);
        empties_.resize(catalog.kinds.size() * (kMaxGpusPerNode + 1) * buckets_);
        for (std::size_t kind = 0; kind < catalog.kinds.size(); ++kind) {
            fill(mix, kind, catalog.kinds[kind].model);
        }
        for (int score = 1; score < 100; ++score) {
            const double odds = std::log(score / (100.0 - score));
            thresholds_[static_cast<std::size_t>(score - 1)] =
                static_cast<std::int64_t>(std::ceil(1000.0 * static_cast<double>(total_) * odds));
        }
    }

    // How many of the mix's core requests the free cores satisfy.
    std::size_t bucket(std::int64_t cores) const {
        return static_cast<std::size_t>(std::upper_bound(cores_.begin(), cores_.end(), cores) -
                                        cores_.begin());
    }
    std::size_t buckets() const { return buckets_; }
    std::int64_t device(KindIndex kind, int value, std::size_t bucket) const {
        return devices_[(kind.slot() * kValues + static_cast<std::size_t>(value)) * buckets_ +
                        bucket];
    }
    std::int64_t empties(KindIndex kind, int count, std::size_t bucket) const {
        return empties_[(kind.slot() * (kMaxGpusPerNode + 1) + static_cast<std::size_t>(count)) *
                            buckets_ +
                        bucket];
    }
    // floor(100 sigmoid(gain / 1000)), gain in units of W x milli.
    int score(std::int64_t gain) const {
        if (total_ == 0) {
            return 50;  // nothing seen, nothing fragments
        }
        return static_cast<int>(std::upper_bound(thresholds_.begin(), thresholds_.end(), gain) -
                                thresholds_.begin());
    }

  private:
    void fill(const std::vector<TypicalClass>& mix, std::size_t kind, ModelIndex model) {
        for (std::size_t b = 0; b < buckets_; ++b) {
            std::array<std::int64_t, kValues> served{};  // w_m by the value from which they fit
            std::array<std::int64_t, kMaxGpusPerNode + 1> multi{};
            for (const TypicalClass& c : mix) {
                const bool cores = b > 0 && c.cpu_milli <= cores_[b - 1];
                if (!cores || c.gpus == 0 || !c.allows(model)) {
                    continue;
                }
                if (c.gpus == 1) {
                    served[static_cast<std::size_t>(c.milli)] += c.count;
                } else if (c.gpus <= kMaxGpusPerNode) {
                    multi[static_cast<std::size_t>(c.gpus)] += c.count;
                }
            }
            std::int64_t weight = 0;
            for (int value = 0; value < kValues; ++value) {
                weight += served[static_cast<std::size_t>(value)];
                devices_[(kind * kValues + static_cast<std::size_t>(value)) * buckets_ + b] =
                    (total_ - weight) * value;
            }
            std::int64_t hosted = 0;
            for (int n = 0; n <= kMaxGpusPerNode; ++n) {
                hosted += multi[static_cast<std::size_t>(n)];
                empties_[(kind * (kMaxGpusPerNode + 1) + static_cast<std::size_t>(n)) * buckets_ +
                         b] = -hosted * 1000 * n;
            }
        }
    }

    std::int64_t total_ = 0;
    std::vector<std::int64_t> cores_;
    std::size_t buckets_ = 1;
    std::vector<std::int64_t> devices_;  // [kind][value][bucket]
    std::vector<std::int64_t> empties_;  // [kind][empty devices][bucket]
    std::array<std::int64_t, 99> thresholds_{};
};

class FgdScorer final : public Scorer {
  public:
    FgdScorer(const std::vector<TypicalClass>& mix, const Catalog& catalog)
        : tables_(mix, catalog), catalog_(catalog) {
        for (const NodeShape& shape : catalog.shapes) {
            uniform_.push_back(
                std::all_of(shape.kinds.begin(), shape.kinds.end(), [&](KindIndex kind) {
                    return catalog.kinds[kind.slot()].model ==
                           catalog.kinds[shape.kinds.front().slot()].model;
                }));
        }
    }

    void score(const NodeState& node, std::span<const ClassIndex> classes,
               std::span<Key> keys) const override {
        const Evaluation evaluation(tables_, node);
        const std::int64_t before = evaluation.now();
        for (std::size_t i = 0; i < classes.size(); ++i) {
            const std::int64_t after = least_after(evaluation, node, classes[i]);
            keys[i] = static_cast<Key>(tables_.score(before - after) + 1);
        }
    }

    void choose(const NodeState& node, ClassIndex demand_class, const LinkMatrix& links,
                std::uint64_t, DeviceList& devices) const override {
        const DemandClass& wanted = (*catalog_.classes)[demand_class];
        if (wanted.footprint != Footprint::share) {
            assign_devices(node, wanted, catalog_, links, devices);
            return;
        }
        // The published rule: the lowest index among the best INTEGER scores.
        const Evaluation evaluation(tables_, node);
        const ClassBrief& brief = catalog_.classes->brief(demand_class);
        const std::size_t bucket = tables_.bucket(node.free_cpu_milli - brief.cpu_milli);
        const DeviceMask mask = fitting_devices(node, wanted, catalog_);
        int best = -1;
        devices.assign(mask == 0 ? 0 : 1, GpuIndex());
        for (int gpu = 0; gpu < node.gpu_count; ++gpu) {
            if (((mask >> gpu) & 1) == 0) {
                continue;
            }
            const std::int64_t after =
                share_after(evaluation, node.gpus[static_cast<std::size_t>(gpu)], brief, bucket);
            const int value = tables_.score(evaluation.now() - after);
            if (value > best) {
                best = value;
                devices[0] = GpuIndex(static_cast<std::uint8_t>(gpu));
            }
        }
    }

    std::vector<TermValue> explain(const NodeState& node, ClassIndex demand_class) const override {
        const Evaluation evaluation(tables_, node);
        const std::int64_t after = least_after(evaluation, node, demand_class);
        return {{"fragmentation", static_cast<double>(tables_.score(evaluation.now() - after))}};
    }

  private:
    // F of one node for any bucket of cores.
    class Evaluation {
      public:
        Evaluation(const FragmentTables& tables, const NodeState& node)
            : tables_(tables), node_(node), bucket_now_(tables.bucket(node.free_cpu_milli)) {
            for (std::size_t gpu = 1; gpu < node.gpu_count; ++gpu) {
                one_kind_ = one_kind_ && node.gpus[gpu].kind == node.gpus[0].kind;
            }
        }

        KindIndex kind() const { return node_.gpus[0].kind; }
        int empties() const { return node_.empty_gpus; }
        std::int64_t now() const { return devices(bucket_now_) + multi(empties(), bucket_now_); }
        // The sum over devices is made once per bucket; most classes share a few.
        std::int64_t devices(std::size_t bucket) const {
            if (bucket >= kKept) {
                return sum(bucket);
            }
            if ((known_ >> bucket & 1) == 0) {
                known_ |= std::uint64_t{1} << bucket;
                sums_[bucket] = sum(bucket);
            }
            return sums_[bucket];
        }
        bool one_kind() const { return one_kind_; }
        std::int64_t multi(int empties, std::size_t bucket) const {
            return node_.gpu_count == 0 ? 0 : tables_.empties(kind(), empties, bucket);
        }

      private:
        static constexpr std::size_t kKept = 64;

        std::int64_t sum(std::size_t bucket) const {
            std::int64_t total = 0;
            for (std::size_t gpu = 0; gpu < node_.gpu_count; ++gpu) {
                total += tables_.device(node_.gpus[gpu].kind, node_.gpus[gpu].value, bucket);
            }
            return total;
        }

        const FragmentTables& tables_;
        const NodeState& node_;
        std::size_t bucket_now_;
        bool one_kind_ = true;
        mutable std::uint64_t known_ = 0;  // bit per bucket
        mutable std::array<std::int64_t, kKept> sums_;
    };

    std::int64_t share_after(const Evaluation& evaluation, const GpuState& device,
                             const ClassBrief& brief, std::size_t bucket) const {
        const DeviceKind& kind = catalog_.kinds[device.kind.slot()];
        const int value = value_with_part(device, brief, kind.memory.value());
        const bool opens = device.empty() && kind.health == Health::ok;
        return evaluation.devices(bucket) - tables_.device(device.kind, device.value, bucket) +
               tables_.device(device.kind, value, bucket) +
               evaluation.multi(evaluation.empties() - (opens ? 1 : 0), bucket);
    }

    // F when only cores were taken.
    std::int64_t unmoved(const Evaluation& evaluation, std::size_t bucket) const {
        return evaluation.devices(bucket) + evaluation.multi(evaluation.empties(), bucket);
    }

    // F after the placement on the best device of the node.
    std::int64_t least_after(const Evaluation& evaluation, const NodeState& node,
                             ClassIndex demand_class) const {
        const ClassBrief& brief = catalog_.classes->brief(demand_class);
        const std::size_t bucket = tables_.bucket(node.free_cpu_milli - brief.cpu_milli);
        if (brief.admin_access) {
            return unmoved(evaluation, bucket);
        }
        switch (brief.footprint) {
            case Footprint::no_gpu:
                return unmoved(evaluation, bucket);
            case Footprint::share:
                return least_share(evaluation, node, demand_class, bucket);
            case Footprint::whole:
                if (brief.tolerates_no_new || !uniform_[node.shape.slot()]) {
                    break;
                }
                return evaluation.devices(bucket) +
                       brief.gpus * (tables_.device(evaluation.kind(), 0, bucket) -
                                     tables_.device(evaluation.kind(), 1000, bucket)) +
                       evaluation.multi(evaluation.empties() - brief.gpus, bucket);
            case Footprint::spread:
            case Footprint::compound:
                break;
        }
        return coupled_after(node, demand_class, bucket);
    }

    std::int64_t least_share(const Evaluation& evaluation, const NodeState& node,
                             ClassIndex demand_class, std::size_t bucket) const {
        const ClassBrief& brief = catalog_.classes->brief(demand_class);
        std::int64_t least = INT64_MAX;
        const GpuState* last = nullptr;
        for (std::size_t gpu = 0; gpu < node.gpu_count; ++gpu) {
            const GpuState& device = node.gpus[gpu];
            if (!usable(evaluation, device, demand_class, brief)) {
                continue;
            }
            if (last != nullptr && last->idle_milli == device.idle_milli &&
                last->kind == device.kind && last->empty() == device.empty() &&
                last->free_memory_mib == device.free_memory_mib &&
                (last->free_slots == 1) == (device.free_slots == 1)) {
                continue;
            }
            last = &device;
            least = std::min(least, share_after(evaluation, device, brief, bucket));
        }
        return least;
    }

    // On a node of one kind the class may use any device: it would not fit there otherwise.
    bool usable(const Evaluation& evaluation, const GpuState& device, ClassIndex demand_class,
                const ClassBrief& brief) const {
        const DeviceKind& kind = catalog_.kinds[device.kind.slot()];
        return room_for_part(device, brief, kind.memory.value()) &&
               (evaluation.one_kind() || may_use((*catalog_.classes)[demand_class], kind));
    }

    // Several parts: the devices are chosen by the plain rule, then F is taken anew.
    std::int64_t coupled_after(const NodeState& node, ClassIndex demand_class,
                               std::size_t bucket) const {
        NodeState after = node;
        apply_class(after, (*catalog_.classes)[demand_class], catalog_);
        const Evaluation evaluation(tables_, after);
        return evaluation.devices(bucket) + evaluation.multi(after.empty_gpus, bucket);
    }

    FragmentTables tables_;
    Catalog catalog_;
    std::vector<bool> uniform_;  // by shape: all devices of one model
};

}  // namespace

std::shared_ptr<const Scorer> FgdPolicy::scorer(const Catalog& catalog) {
    return std::make_shared<FgdScorer>(mix_, catalog);
}

void FgdPolicy::arrived(ClassIndex demand_class) {
    if (learns_) {
        learner_.arrived(demand_class);
    }
}

PolicyUpdate FgdPolicy::update(const Catalog& catalog, const Census&) {
    if (!learns_ || !learner_.due()) {
        return {};
    }
    if (!learner_.moved(*catalog.classes)) {
        learner_.learned(catalog.nodes);
        return {};
    }
    learner_.adopt();
    std::vector<ClassCount> counts;
    for (std::size_t i = 0; i < learner_.counts().size(); ++i) {
        const std::int64_t pods =
            (learner_.counts()[i] + MixLearner::kUnit / 2) / MixLearner::kUnit;
        if (pods > 0) {
            counts.push_back({(*catalog.classes)[ClassIndex(static_cast<std::uint32_t>(i))], pods});
        }
    }
    mix_ = typical_mix(counts);
    learner_.learned(catalog.nodes);
    return {scorer(catalog), {}};
}

}  // namespace tessera
