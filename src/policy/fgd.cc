#include "policy/fgd.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/assert.h"
#include "base/step_counter.h"
#include "policy/assignment.h"
#include "policy/device_views.h"
#include "policy/share_choice.h"

namespace tessera {
namespace {

constexpr std::size_t kValues = 1001;  // device values 0..1000

// Tables of F for one mix on one cluster's kinds. Kinds that serve the same part of the mix share
// a table, so that what one decision reads stays in the nearest cache.
class FragmentTables {
  public:
    FragmentTables(const std::vector<TypicalClass>& mix, const Catalog& catalog) {
        std::vector<std::int64_t> cores;
        for (const TypicalClass& c : mix) {
            total_ += c.count;
            cores.push_back(c.cpu_milli);
        }
        cores_ = StepCounter(std::move(cores));
        buckets_ = cores_.size() + 1;
        std::vector<std::vector<bool>> served;  // by table: which classes of the mix
        for (const DeviceKind& kind : catalog.kinds) {
            std::vector<bool> allowed;
            for (const TypicalClass& c : mix) {
                allowed.push_back(c.allows(kind.model));
            }
            const auto known = std::find(served.begin(), served.end(), allowed);
            table_of_kind_.push_back(static_cast<std::size_t>(known - served.begin()));
            if (known == served.end()) {
                fill(mix, allowed);
                served.push_back(std::move(allowed));
            }
        }
        std::vector<std::int64_t> thresholds;
        for (int score = 1; score < 100 && total_ > 0; ++score) {
            const double odds = std::log(score / (100.0 - score));
            thresholds.push_back(
                static_cast<std::int64_t>(std::ceil(1000.0 * static_cast<double>(total_) * odds)));
        }
        thresholds_ = StepCounter(std::move(thresholds));
    }

    // How many of the mix's core requests the free cores satisfy.
    std::size_t bucket(std::int64_t cores) const { return cores_.count(cores); }
    std::size_t buckets() const { return buckets_; }
    // F of one device of this value, by bucket.
    const std::int64_t* device(KindIndex kind, int value) const {
        return devices_.data() +
               (table_of_kind_[kind.slot()] * kValues + static_cast<std::size_t>(value)) * buckets_;
    }
    // What so many empty devices take off F, by bucket.
    const std::int64_t* empties(KindIndex kind, int count) const {
        return empties_.data() + (table_of_kind_[kind.slot()] * (kMaxGpusPerNode + 1) +
                                  static_cast<std::size_t>(count)) *
                                     buckets_;
    }
    // floor(100 sigmoid(gain / 1000)), gain in units of W x milli.
    int score(std::int64_t gain) const {
        // Nothing seen, nothing fragments.
        return total_ == 0 ? 50 : static_cast<int>(thresholds_.count(gain));
    }

  private:
    // Appends the table of kinds that these classes of the mix may use.
    void fill(const std::vector<TypicalClass>& mix, const std::vector<bool>& allowed) {
        const std::size_t device_rows = devices_.size();
        const std::size_t empties_rows = empties_.size();
        devices_.resize(device_rows + kValues * buckets_);
        empties_.resize(empties_rows + (kMaxGpusPerNode + 1) * buckets_);
        for (std::size_t b = 0; b < buckets_; ++b) {
            std::array<std::int64_t, kValues> served{};  // w_m by the value from which they fit
            std::array<std::int64_t, kMaxGpusPerNode + 1> multi{};
            for (std::size_t i = 0; i < mix.size(); ++i) {
                const TypicalClass& c = mix[i];
                const bool cores = b > 0 && c.cpu_milli <= cores_.thresholds()[b - 1];
                if (!cores || c.gpus == 0 || !allowed[i]) {
                    continue;
                }
                if (c.gpus == 1) {
                    served[static_cast<std::size_t>(c.milli)] += c.count;
                } else if (c.gpus <= kMaxGpusPerNode) {
                    multi[static_cast<std::size_t>(c.gpus)] += c.count;
                }
            }
            std::int64_t weight = 0;
            for (std::size_t value = 0; value < kValues; ++value) {
                weight += served[value];
                devices_[device_rows + value * buckets_ + b] =
                    (total_ - weight) * static_cast<std::int64_t>(value);
            }
            std::int64_t hosted = 0;
            for (std::size_t n = 0; n <= kMaxGpusPerNode; ++n) {
                hosted += multi[n];
                empties_[empties_rows + n * buckets_ + b] =
                    -hosted * 1000 * static_cast<std::int64_t>(n);
            }
        }
    }

    std::int64_t total_ = 0;
    StepCounter cores_;
    std::size_t buckets_ = 1;
    std::vector<std::size_t> table_of_kind_;
    std::vector<std::int64_t> devices_;  // [table][value][bucket]
    std::vector<std::int64_t> empties_;  // [table][empty devices][bucket]
    StepCounter thresholds_;             // of the scores 1 to 99
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

    Key largest_key() const override { return 101; }
    void score(const NodeState& node, std::span<const ClassIndex> classes,
               std::span<Key> keys) const override;
    void choose(const NodeState& node, ClassIndex demand_class, const LinkMatrix& links,
                std::uint64_t draw, DeviceList& devices) const override;
    std::vector<TermValue> explain(const NodeState& node, ClassIndex demand_class) const override;

  private:
    class Evaluation;

    FragmentTables tables_;
    Catalog catalog_;
    std::vector<bool> uniform_;  // by shape: all devices of one model
};

// F of one node, before and after any class. Classes come sorted by what they ask of GPUs, then by
// cores (index.h), so that most share their predecessor's answer.
class FgdScorer::Evaluation {
  public:
    Evaluation(const FgdScorer& scorer, const NodeState& node)
        : scorer_(scorer),
          tables_(scorer.tables_),
          node_(node),
          views_(node, scorer.catalog_),
          now_(node.gpu_count == 0 ? 0 : unmoved(tables_.bucket(node.free_cpu_milli))) {}

    int score(ClassIndex demand_class) {
        const ClassBrief& brief = scorer_.catalog_.classes->brief(demand_class);
        const bool alike = views_.alike(brief.ask, ask_);
        if (alike && brief.cpu_milli == cpu_milli_) {
            return score_;
        }
        cpu_milli_ = brief.cpu_milli;
        const std::size_t bucket = tables_.bucket(node_.free_cpu_milli - brief.cpu_milli);
        if (!alike) {
            ask_ = brief.ask;
            find_moves(demand_class, brief);
        } else if (bucket == bucket_) {
            return score_;
        }
        bucket_ = bucket;
        score_ = tables_.score(now_ - after(demand_class, bucket));
        return score_;
    }

    // Of a share on one device.
    int score_on(const GpuState& device, const ClassBrief& brief) const {
        const std::size_t bucket = tables_.bucket(node_.free_cpu_milli - brief.cpu_milli);
        const DeviceKind& kind = scorer_.catalog_.kinds[device.kind.slot()];
        const Move move{.before = tables_.device(device.kind, device.value),
                        .after = tables_.device(
                            device.kind, value_with_part(device, brief, kind.memory.value())),
                        .empties = empties_after(device.empty() && kind.health == Health::ok)};
        return tables_.score(now_ - (devices(bucket) + move.change(bucket)));
    }

  private:
    static constexpr std::size_t kKept = 64;

    // One device's change, as rows by bucket of cores.
    struct Move {
        const std::int64_t* before;
        const std::int64_t* after;
        const std::int64_t* empties;  // what the empty devices left take off

        std::int64_t change(std::size_t bucket) const {
            return after[bucket] - before[bucket] + empties[bucket];
        }
    };

    enum class Asked : std::uint8_t { nothing, share, whole, coupled };

    KindIndex kind() const { return node_.gpus[0].kind; }
    const std::int64_t* empties_after(int taken) const {
        return tables_.empties(kind(), node_.empty_gpus - taken);
    }

    void find_moves(ClassIndex demand_class, const ClassBrief& brief) {
        asked_ = Asked::coupled;
        moves_ = 0;
        gpus_ = brief.gpus;
        if (brief.admin_access || brief.footprint == Footprint::no_gpu) {
            asked_ = Asked::nothing;
        } else if (brief.footprint == Footprint::whole && brief.tolerates == Health::ok &&
                   scorer_.uniform_[node_.shape.slot()]) {
            asked_ = Asked::whole;
        } else if (brief.footprint == Footprint::share) {
            asked_ = Asked::share;
            views_.each_usable(demand_class, [&](const DeviceView& view) {
                const KindIndex kind = view.device->kind;
                move_[moves_++] = {.before = tables_.device(kind, view.device->value),
                                   .after = tables_.device(kind, view.value_with(brief)),
                                   .empties = empties_after(view.empty() && view.counts ? 1 : 0)};
            });
        }
    }

    // F after the placement on the best device of the node.
    std::int64_t after(ClassIndex demand_class, std::size_t bucket) {
        if (node_.gpu_count == 0) {
            return 0;
        }
        switch (asked_) {
            case Asked::nothing:
                return unmoved(bucket);
            case Asked::whole:
                return devices(bucket) +
                       gpus_ * (tables_.device(kind(), 0)[bucket] -
                                tables_.device(kind(), 1000)[bucket]) +
                       empties_after(gpus_)[bucket];
            case Asked::share: {
                TESSERA_ASSERT(moves_ > 0, "only a class that fits is scored");
                std::int64_t least = move_[0].change(bucket);
                for (std::size_t i = 1; i < moves_; ++i) {
                    least = std::min(least, move_[i].change(bucket));
                }
                return devices(bucket) + least;
            }
            case Asked::coupled:
                break;
        }
        // Several parts: the devices are chosen by the plain rule, then F is taken anew.
        NodeState left = node_;
        apply_class(left, (*scorer_.catalog_.classes)[demand_class], scorer_.catalog_);
        return sum(left, bucket) + tables_.empties(kind(), left.empty_gpus)[bucket];
    }

    // F when only cores were taken.
    std::int64_t unmoved(std::size_t bucket) const {
        return devices(bucket) + empties_after(0)[bucket];
    }

    // The sum over devices is made once per bucket; most classes share a few.
    std::int64_t devices(std::size_t bucket) const {
        if (bucket >= kKept) {
            return sum(node_, bucket);
        }
        if ((known_ >> bucket & 1) == 0) {
            known_ |= std::uint64_t{1} << bucket;
            sums_[bucket] = sum(node_, bucket);
        }
        return sums_[bucket];
    }

    std::int64_t sum(const NodeState& node, std::size_t bucket) const {
        std::int64_t total = 0;
        for (std::size_t gpu = 0; gpu < node.gpu_count; ++gpu) {
            total += tables_.device(node.gpus[gpu].kind, node.gpus[gpu].value)[bucket];
        }
        return total;
    }

    const FgdScorer& scorer_;
    const FragmentTables& tables_;
    const NodeState& node_;
    DeviceViews views_;
    mutable std::uint64_t known_ = 0;  // bit per bucket
    mutable std::array<std::int64_t, kKept> sums_;
    std::int64_t now_;
    // Of the class scored last.
    AskIndex ask_;
    Asked asked_ = Asked::nothing;
    int gpus_ = 0;
    std::int64_t cpu_milli_ = 0;
    std::size_t bucket_ = 0;
    int score_ = 0;
    std::size_t moves_ = 0;
    std::array<Move, kMaxGpusPerNode> move_;
};

void FgdScorer::score(const NodeState& node, std::span<const ClassIndex> classes,
                      std::span<Key> keys) const {
    Evaluation evaluation(*this, node);
    for (std::size_t i = 0; i < classes.size(); ++i) {
        keys[i] = static_cast<Key>(evaluation.score(classes[i]) + 1);
    }
}

void FgdScorer::choose(const NodeState& node, ClassIndex demand_class, const LinkMatrix& links,
                       std::uint64_t, DeviceList& devices) const {
    // The published rule: the lowest index among the best INTEGER scores.
    const auto score = [&] {
        return [evaluation = Evaluation(*this, node)](const GpuState& device,
                                                      const ClassBrief& brief) {
            return evaluation.score_on(device, brief);
        };
    };
    choose_by_score({node, demand_class, catalog_, links}, score, devices);
}

std::vector<TermValue> FgdScorer::explain(const NodeState& node, ClassIndex demand_class) const {
    return {{"fragmentation", static_cast<double>(Evaluation(*this, node).score(demand_class))}};
}

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
