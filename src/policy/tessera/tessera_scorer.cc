#include "policy/tessera/tessera_scorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "base/floor_divide.h"
#include "policy/assignment.h"
#include "policy/device_views.h"
#include "policy/share_choice.h"

namespace tessera {
namespace {

// Scores are compared in steps of 40 milli; what is closer than that goes by the tie-breaks.
constexpr std::int64_t kQuantum = 40 * kUnit;
constexpr std::int32_t kIdleQuantum = 200;

// A key is 13 bits of score, which is a loss far more often than a gain, then 3 for little idle
// GPU: scores are often equal, and a decision looks at the tie of each node whose key is.
constexpr std::int64_t kScoreOffset = 6 << 10;
constexpr std::int64_t kMostScore = (8 << 10) - 1;
constexpr int kIdleBits = 3;
constexpr std::int32_t kMostIdle = 255;

// From 0, for 51 GPUs and more, to 255 for none.
std::int32_t little_idle(const NodeState& node) {
    return kMostIdle - std::min(kMostIdle, node.idle_value / kIdleQuantum);
}

// The same in few bits: none, one step, two or three, four to seven ...
Key idle_bits(const NodeState& node) {
    constexpr int most = (1 << kIdleBits) - 1;
    const auto steps = static_cast<std::uint32_t>(kMostIdle - little_idle(node));
    return static_cast<Key>(most - std::min(most, static_cast<int>(std::bit_width(steps))));
}

Key make_key(std::int64_t gain, Key idle) {
    const std::int64_t score = floor_divide(gain, kQuantum) + kScoreOffset;
    return static_cast<Key>(std::clamp<std::int64_t>(score, 1, kMostScore)) << kIdleBits | idle;
}

Leftovers leftovers(const NodeState& node) {
    return {.cpu_milli = node.free_cpu_milli,
            .memory_mib = node.free_memory_mib,
            .idle = node.idle_value,
            .gpu_pods = node.gpu_pods,
            .empties = node.empty_gpus,
            .shape = node.shape};
}

}  // namespace

// One node, many classes. Classes come sorted by what they ask of GPUs, then by cores (index.h):
// the devices' part is found once per ask, and classes that differ in little share their answer.
class TesseraScorer::Evaluation {
  public:
    Evaluation(const TesseraScorer& scorer, const NodeState& node)
        : scorer_(scorer),
          potential_(*scorer.potential_),
          node_(node),
          views_(node, scorer.catalog_),
          memory_matters_(potential_.memory_matters(node.empty_gpus)),
          before_(potential_.node_value(leftovers(node), node.gpu_count)) {}

    std::int64_t gain(ClassIndex index) {
        const ClassBrief& brief = scorer_.catalog_.classes->brief(index);
        const std::int64_t cores = node_.free_cpu_milli - brief.cpu_milli;
        const std::int64_t memory = memory_matters_ ? node_.free_memory_mib - brief.memory_mib : 0;
        const bool alike = views_.alike(brief.ask, ask_);
        if (alike && cores == cores_ && memory == memory_) {
            return gain_;
        }
        if (!alike) {
            ask_ = brief.ask;
            find_moves(index, brief);
        }
        cores_ = cores;
        memory_ = memory;
        gain_ = moves_ == 0 ? scorer_.coupled_gain(node_, index) : best_gain();
        return gain_;
    }

    // Gain of a share on one device.
    std::int64_t device_gain(const GpuState& device, const ClassBrief& brief) const {
        const DeviceKind& kind = scorer_.catalog_.kinds[device.kind.slot()];
        const DeviceView view{&device, &kind, kind.memory.value(), kind.health == Health::ok};
        const std::int64_t cores = node_.free_cpu_milli - brief.cpu_milli;
        return gain_of(
            move_to(view, brief), cores,
            potential_.room(cores, node_.free_memory_mib - brief.memory_mib, node_.empty_gpus));
    }

  private:
    // What a placement leaves of the devices, whatever cores and memory the class takes.
    struct Move {
        std::int64_t gain;  // by all terms that only the devices decide
        std::int32_t idle;
        std::int32_t empties;
    };

    // None when the devices that the class takes depend on each other.
    void find_moves(ClassIndex index, const ClassBrief& brief) {
        moves_ = 0;
        if (brief.admin_access || brief.footprint == Footprint::no_gpu) {
            move_[moves_++] = move_of({});
        } else if (brief.footprint == Footprint::whole && brief.tolerates == Health::ok) {
            move_[moves_++] = move_of(
                {.idle = brief.gpus * kWholeGpu.value(), .empties = brief.gpus, .gpu_pods = 1});
        } else if (brief.footprint == Footprint::share) {
            views_.each_usable(index,
                               [&](const DeviceView& view) { add_move(move_to(view, brief)); });
        }
    }

    struct Taken {
        std::int64_t gap = 0;   // gained by the devices' own costs
        std::int32_t idle = 0;  // of the node's idle GPU
        std::int32_t empties = 0;
        std::int32_t gpu_pods = 0;
    };
    Move move_of(const Taken& taken) const {
        const Leftovers after{.idle = node_.idle_value - taken.idle,
                              .gpu_pods = node_.gpu_pods + taken.gpu_pods,
                              .shape = node_.shape};
        return {.gain = taken.gap + before_ - potential_.device_terms(after, node_.gpu_count),
                .idle = after.idle,
                .empties = node_.empty_gpus - taken.empties};
    }
    Move move_to(const DeviceView& view, const ClassBrief& brief) const {
        const int value = view.value_with(brief);
        const std::int32_t* cost = potential_.gap_costs(view.device->kind);
        return move_of({.gap = cost[view.device->value] - cost[value],
                        .idle = view.counts ? view.device->value - value : 0,
                        .empties = view.counts && view.empty() ? 1 : 0,
                        .gpu_pods = 1});
    }

    // Of devices that differ by their gap's cost alone the best is enough.
    void add_move(const Move& move) {
        for (std::size_t i = 0; i < moves_; ++i) {
            if (move_[i].idle == move.idle && move_[i].empties == move.empties) {
                move_[i].gain = std::max(move_[i].gain, move.gain);
                return;
            }
        }
        move_[moves_++] = move;
    }

    std::int64_t gain_of(const Move& move, std::int64_t cores, const Potential::Room& room) const {
        return move.gain - potential_.room_terms({.cpu_milli = cores,
                                                  .idle = move.idle,
                                                  .empties = move.empties,
                                                  .shape = node_.shape},
                                                 room);
    }

    std::int64_t best_gain() const {
        const Potential::Room room = potential_.room(cores_, memory_, node_.empty_gpus);
        std::int64_t best = gain_of(move_[0], cores_, room);
        for (std::size_t i = 1; i < moves_; ++i) {
            best = std::max(best, gain_of(move_[i], cores_, room));
        }
        return best;
    }

    const TesseraScorer& scorer_;
    const Potential& potential_;
    const NodeState& node_;
    DeviceViews views_;
    bool memory_matters_;
    std::int64_t before_;  // node-level terms as the node is
    // Of the class scored last.
    AskIndex ask_;
    std::int64_t cores_ = 0;   // left by it
    std::int64_t memory_ = 0;  // the same; 0 where it does not matter
    std::int64_t gain_ = 0;
    std::size_t moves_ = 0;
    std::array<Move, kMaxGpusPerNode> move_;
};

void TesseraScorer::score(const NodeState& node, std::span<const ClassIndex> classes,
                          std::span<Key> keys) const {
    Evaluation evaluation(*this, node);
    const Key idle = idle_bits(node);
    for (std::size_t i = 0; i < classes.size(); ++i) {
        keys[i] = make_key(evaluation.gain(classes[i]), idle);
    }
}

Key TesseraScorer::largest_key() const { return ((kMostScore + 1) << kIdleBits) - 1; }

// Little idle GPU first, in steps of 200 milli. Then the node whose oldest GPU pod started first;
// nodes without GPU pods last. A start never changes, and young nodes are left to drain. Beyond
// 2^32 starts all are equally young.
Tie TesseraScorer::tie(const NodeState& node) const {
    constexpr int kAgeBits = 32;
    constexpr std::uint64_t latest = (std::uint64_t{1} << kAgeBits) - 1;
    return static_cast<Tie>(little_idle(node)) << kAgeBits |
           (latest - std::min(node.oldest_start, latest));
}

std::string TesseraScorer::order() const {
    return fmt::format(
        "scores are compared in steps of {}; within one, least idle GPU (in steps of {} milli), "
        "then the oldest GPU pod, then the node added first",
        kQuantum / kUnit, kIdleQuantum);
}

void TesseraScorer::choose(const NodeState& node, ClassIndex demand_class, const LinkMatrix& links,
                           std::uint64_t, DeviceList& devices) const {
    // The best score in steps of the quantum.
    const auto score = [&] {
        return [evaluation = Evaluation(*this, node)](const GpuState& device,
                                                      const ClassBrief& brief) {
            return floor_divide(evaluation.device_gain(device, brief), kQuantum);
        };
    };
    choose_by_score({node, demand_class, catalog_, links}, score, devices);
}

std::int64_t TesseraScorer::plain_potential(const NodeState& node) const {
    std::int64_t sum = potential_->node_value(leftovers(node), node.gpu_count);
    for (std::size_t gpu = 0; gpu < node.gpu_count; ++gpu) {
        sum += potential_->gap_costs(node.gpus[gpu].kind)[node.gpus[gpu].value];
    }
    return sum;
}

std::int64_t TesseraScorer::coupled_gain(const NodeState& node, ClassIndex demand_class) const {
    NodeState after = node;
    apply_class(after, (*catalog_.classes)[demand_class], catalog_);
    return plain_potential(node) - plain_potential(after);
}

std::vector<TermValue> TesseraScorer::explain(const NodeState& node,
                                              ClassIndex demand_class) const {
    NodeState after = node;
    const DemandClass& wanted = (*catalog_.classes)[demand_class];
    DeviceList devices;
    choose(node, demand_class, LinkMatrix(), 0, devices);
    apply_devices(after, wanted, catalog_, devices);
    const auto milli = [](std::int64_t before, std::int64_t now) {
        return static_cast<double>(before - now) / static_cast<double>(kUnit);
    };
    std::int64_t gap_before = 0;
    std::int64_t gap_after = 0;
    for (std::size_t gpu = 0; gpu < node.gpu_count; ++gpu) {
        gap_before += potential_->gap_costs(node.gpus[gpu].kind)[node.gpus[gpu].value];
        gap_after += potential_->gap_costs(after.gpus[gpu].kind)[after.gpus[gpu].value];
    }
    const Potential& p = *potential_;
    const auto stranding = [&](const NodeState& s) {
        return p.stranding.value(s.idle_value, s.free_cpu_milli);
    };
    const auto scarcity = [&](const NodeState& s) {
        return p.scarcity.value(s.shape, s.idle_value);
    };
    const auto host = [&](const NodeState& s) { return -p.host.value(leftovers(s)); };
    const auto drain = [&](const NodeState& s) { return p.drain.value(s.gpu_count, s.gpu_pods); };
    const auto admission = [&](const NodeState& s) {
        return p.core_admission.value(s.idle_value, s.free_cpu_milli) +
               p.memory_admission.value(s.idle_value, s.free_memory_mib);
    };
    const auto even = [&](const NodeState& s) {
        return p.even_cores.value(s.free_cpu_milli) + p.even_memory.value(s.free_memory_mib);
    };
    return {{"gap", milli(gap_before, gap_after)},
            {"stranding", milli(stranding(node), stranding(after))},
            {"scarcity", milli(scarcity(node), scarcity(after))},
            {"host", milli(host(node), host(after))},
            {"drain", milli(drain(node), drain(after))},
            {"admission", milli(admission(node), admission(after))},
            {"even", milli(even(node), even(after))}};
}

}  // namespace tessera
