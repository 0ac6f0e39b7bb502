#include "policy/tessera/tessera_scorer.h"

#include <algorithm>
#include <limits>

#include "policy/assignment.h"

namespace tessera {
namespace {

// Scores are compared in steps of 40 milli; what is closer than that goes by the tie-breaks.
constexpr std::int64_t kQuantum = 40 * kUnit;
constexpr std::int32_t kIdleQuantum = 200;

// The key, most significant first: 14 bits of score, 8 bits for little idle GPU (in steps of
// 200 milli).
constexpr int kIdleBits = 8;
constexpr std::int64_t kScoreOffset = 1 << 13;

std::int64_t floored(std::int64_t gain) {
    return gain >= 0 ? gain / kQuantum : -((-gain + kQuantum - 1) / kQuantum);
}

Key idle_bits(const NodeState& node) {
    constexpr std::int32_t most = (1 << kIdleBits) - 1;
    return static_cast<Key>(most - std::min(most, node.idle_value / kIdleQuantum));
}

Key make_key(std::int64_t gain, Key idle) {
    const std::int64_t score =
        std::clamp<std::int64_t>(floored(gain) + kScoreOffset, 1, 2 * kScoreOffset - 1);
    return static_cast<Key>(score) << kIdleBits | idle;
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

// One node, many classes: what they share is computed once.
class TesseraScorer::Evaluation {
  public:
    Evaluation(const TesseraScorer& scorer, const NodeState& node)
        : scorer_(scorer),
          potential_(*scorer.potential_),
          node_(node),
          before_(potential_.node_value(leftovers(node), node.gpu_count)) {
        // Devices of equal state serve alike; one of each is enough.
        for (std::size_t gpu = 0; gpu < node.gpu_count; ++gpu) {
            const GpuState& device = node.gpus[gpu];
            one_kind_ = one_kind_ && device.kind == node.gpus[0].kind;
            if (device.free_slots > 0 && !seen(device)) {
                distinct_[count_++] = &device;
            }
        }
    }

    std::int64_t gain(ClassIndex index) const {
        const ClassBrief& brief = scorer_.catalog_.classes->brief(index);
        Leftovers after = leftovers(node_);
        after.cpu_milli -= brief.cpu_milli;
        after.memory_mib -= brief.memory_mib;
        if (brief.admin_access) {
            return before_ - potential_.node_value(after, node_.gpu_count);
        }
        switch (brief.footprint) {
            case Footprint::no_gpu:
                return before_ - potential_.node_value(after, node_.gpu_count);
            case Footprint::whole:
                if (brief.tolerates_no_new) {
                    break;  // which devices count depends on which are taken
                }
                after.idle -= brief.gpus * kWholeGpu.value();
                after.empties -= brief.gpus;
                ++after.gpu_pods;
                return before_ - potential_.node_value(after, node_.gpu_count);
            case Footprint::share:
                ++after.gpu_pods;
                return share_gain(index, brief, after);
            case Footprint::spread:
            case Footprint::compound:
                break;
        }
        return scorer_.coupled_gain(node_, index);
    }

    // Gain of a share on one device; `after` has cores, memory and pods taken already.
    std::int64_t device_gain(const GpuState& device, const ClassBrief& brief,
                             Leftovers after) const {
        const int value = value_after(device, brief);
        if (healthy(device)) {
            after.idle -= device.value - value;
            after.empties -= device.empty() ? 1 : 0;
        }
        const std::int32_t* cost = potential_.gap_costs(device.kind);
        return cost[device.value] - cost[value] + before_ -
               potential_.node_value(after, node_.gpu_count);
    }

  private:
    int value_after(const GpuState& device, const ClassBrief& brief) const {
        return value_with_part(device, brief,
                               scorer_.catalog_.kinds[device.kind.slot()].memory.value());
    }

    // The best device. All devices in use that give up equally much differ by their gap's cost
    // alone, so the node-level terms are computed once for them and once for an empty device.
    std::int64_t share_gain(ClassIndex index, const ClassBrief& brief,
                            const Leftovers& after) const {
        std::int64_t best = INT64_MIN;
        std::int32_t known_idle = -1;  // never negative
        std::int64_t known_node = 0;
        for (std::size_t i = 0; i < count_; ++i) {
            const GpuState& device = *distinct_[i];
            if (!usable(device, index, brief)) {
                continue;
            }
            if (device.empty() || !healthy(device)) {
                best = std::max(best, device_gain(device, brief, after));
                continue;
            }
            const int value = value_after(device, brief);
            const std::int32_t idle = after.idle - (device.value - value);
            if (idle != known_idle) {
                Leftovers left = after;
                left.idle = idle;
                known_idle = idle;
                known_node = before_ - potential_.node_value(left, node_.gpu_count);
            }
            const std::int32_t* cost = potential_.gap_costs(device.kind);
            best = std::max(best, cost[device.value] - cost[value] + known_node);
        }
        return best;
    }

    // A node's idle GPU and empty devices are counted over healthy ones.
    bool healthy(const GpuState& device) const {
        return scorer_.catalog_.kinds[device.kind.slot()].health == Health::ok;
    }

    // On a node of one kind the class may use any device: it would not fit there otherwise.
    bool usable(const GpuState& device, ClassIndex index, const ClassBrief& brief) const {
        const DeviceKind& kind = scorer_.catalog_.kinds[device.kind.slot()];
        return room_for_part(device, brief, kind.memory.value()) &&
               (one_kind_ || may_use((*scorer_.catalog_.classes)[index], kind));
    }

    bool seen(const GpuState& device) const {
        return std::any_of(distinct_, distinct_ + count_, [&](const GpuState* other) {
            return other->idle_milli == device.idle_milli && other->kind == device.kind &&
                   other->free_memory_mib == device.free_memory_mib &&
                   other->empty() == device.empty() &&
                   (other->free_slots == 1) == (device.free_slots == 1);
        });
    }

    const TesseraScorer& scorer_;
    const Potential& potential_;
    const NodeState& node_;
    std::int64_t before_;  // node-level terms as the node is
    bool one_kind_ = true;
    std::size_t count_ = 0;
    const GpuState* distinct_[kMaxGpusPerNode] = {};
};

void TesseraScorer::score(const NodeState& node, std::span<const ClassIndex> classes,
                          std::span<Key> keys) const {
    const Evaluation evaluation(*this, node);
    const Key idle = idle_bits(node);
    for (std::size_t i = 0; i < classes.size(); ++i) {
        keys[i] = make_key(evaluation.gain(classes[i]), idle);
    }
}

// The node whose oldest GPU pod started first; nodes without GPU pods last. A start never changes,
// and young nodes are left to drain. Beyond 2^32 starts all are equally young.
Tie TesseraScorer::tie(const NodeState& node) const {
    constexpr std::uint64_t latest = std::numeric_limits<Tie>::max();
    return static_cast<Tie>(latest - std::min(node.oldest_start, latest));
}

void TesseraScorer::choose(const NodeState& node, ClassIndex demand_class, const LinkMatrix& links,
                           std::uint64_t, DeviceList& devices) const {
    const DemandClass& wanted = (*catalog_.classes)[demand_class];
    if (wanted.footprint != Footprint::share) {
        assign_devices(node, wanted, catalog_, links, devices);
        return;
    }
    // The best score in steps of the quantum, lowest index on ties.
    const Evaluation evaluation(*this, node);
    const ClassBrief& brief = catalog_.classes->brief(demand_class);
    Leftovers after = leftovers(node);
    after.cpu_milli -= brief.cpu_milli;
    after.memory_mib -= brief.memory_mib;
    ++after.gpu_pods;
    const DeviceMask mask = fitting_devices(node, wanted, catalog_);
    devices.clear();
    std::int64_t best = 0;
    for (int gpu = 0; gpu < node.gpu_count; ++gpu) {
        if (((mask >> gpu) & 1) == 0) {
            continue;
        }
        const std::int64_t gain =
            floored(evaluation.device_gain(node.gpus[static_cast<std::size_t>(gpu)], brief, after));
        if (devices.empty() || gain > best) {
            devices.assign(1, GpuIndex(static_cast<std::uint8_t>(gpu)));
            best = gain;
        }
    }
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
