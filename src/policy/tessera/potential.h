// The potential of policy `tessera`: what a node's leftovers cost.
//
//   Phi = sum_i d(r_i) + S(R, C) - pi_h R - H(k, C, M, h) - delta D(b) + R A(C) + R A(M) + E(C) +
//   E(M)
//
// score of a placement = Phi before - Phi after, in milli-GPU. All values are fixed point
// (1 milli = kUnit), made from tables, so that no floating point is left at decision time.
// r_i is what is idle of device i, R their sum, k the empty devices, C free cores, M free memory,
// b the GPU pods on the node, h its shape. Each term is a struct with its own formula.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/step_counter.h"
#include "model/node.h"
#include "policy/tessera/gap_value.h"

namespace tessera {

inline constexpr std::int64_t kUnit = 256;  // of the fixed point: parts of one milli

// Leftovers of a node as the node-level terms see them.
struct Leftovers {
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    std::int32_t idle = 0;  // R, milli
    std::int32_t gpu_pods = 0;
    int empties = 0;
    ShapeIndex shape;
};

// d(x) = (x - 1000 f(x)) + w x Q(x): gaps that can never be filled well, and gaps too small for
// most of the demand. Q(x) is the share of GPU demand that needs more than x of a device.
struct GapTerm {
    std::array<std::int32_t, 1001> cost{};

    GapTerm() = default;
    GapTerm(const GapValues& value, const std::array<double, 1001>& needs_more, double weight);
};

// S = 1000 s ln(1 + exp((G - C/rho)/s)), G = R/1000, s = 0.15 sqrt(max(G, 0.25)): idle GPUs that
// the free cores will not serve; rho is what GPU pods ask per GPU.
class StrandingTerm {
  public:
    explicit StrandingTerm(double cores_per_gpu = 12);
    std::int64_t value(std::int32_t idle, std::int64_t cpu_milli) const;

  private:
    static constexpr int kIdleStep = 8;  // milli per entry: s varies slowly
    static constexpr int kIdleEntries = kMaxGpusPerNode * 1000 / kIdleStep + 1;
    static constexpr int kSoftStep = 64;  // entries per unit of the softplus argument
    static constexpr int kSoftRange = 12;
    static constexpr std::int64_t kMostCores = std::int64_t{1}
                                               << 32;  // milli; keeps within 64 bits
    // Equal for all epochs: made once.
    struct Tables {
        std::array<std::int32_t, 2 * kSoftRange * kSoftStep + 2> softplus{};  // 2^16
        std::array<std::int32_t, kIdleEntries> inverse_s{};  // 2^24 / (1000 s), by idle step
        std::array<std::int32_t, kIdleEntries> s{};          // 1000 s, in kUnit
    };
    static const Tables& tables();

    std::int64_t gpus_per_core_ = 0;  // milli GPU per milli core, 2^20
    const Tables* tables_;
};

inline std::int64_t StrandingTerm::value(std::int32_t idle, std::int64_t cpu_milli) const {
    if (idle <= 0) {
        return 0;
    }
    const auto at =
        static_cast<std::size_t>(std::min<std::int32_t>(idle / kIdleStep, kIdleEntries - 1));
    // GPUs beyond what the cores serve, in milli; x = that in units of s, 16 bits of fraction.
    // More cores than any node's GPUs could use are as good as that many.
    const std::int64_t cores = std::min(cpu_milli, kMostCores);
    const std::int64_t beyond = idle - ((cores * gpus_per_core_) >> 20);
    const std::int64_t x = (beyond * tables_->inverse_s[at]) >> 8;
    if (x >= kSoftRange << 16) {
        return beyond * kUnit;
    }
    if (x <= -(kSoftRange << 16)) {
        return 0;
    }
    const std::int64_t position = (x + (kSoftRange << 16)) * kSoftStep;
    const auto entry = static_cast<std::size_t>(position >> 16);
    const std::int64_t part = position & 0xffff;
    const auto& table = tables_->softplus;
    const std::int64_t soft = table[entry] + (((table[entry + 1] - table[entry]) * part) >> 16);
    return (tables_->s[at] * soft) >> 16;
}

// -pi_h R: shapes that alone can hold some class are dear.
struct ScarcityTerm {
    std::vector<std::int64_t> price;  // by shape, kUnit per milli

    std::int64_t value(ShapeIndex shape, std::int32_t idle) const {
        return shape.slot() < price.size() ? -price[shape.slot()] * idle : 0;
    }
};

// H = 1000 max over j of [ j min(1, sum of P_m, m with j devices that fit here now) ]: the value of
// a node that could still host a whole-node class while such hosts are short.
class HostTerm {
  public:
    struct Host {
        std::int64_t cpu_milli = 0;
        std::int64_t memory_mib = 0;
        int gpus = 0;
        double price = 0;                // P_m
        std::vector<bool> shape_allows;  // by shape
    };
    HostTerm() = default;
    HostTerm(const std::vector<Host>& hosts, std::size_t shapes);

    // Which of the hosts' cores and memory a node has left: found once, whatever its devices.
    std::size_t level(std::int64_t cpu_milli, std::int64_t memory_mib) const {
        return cpu_.count(cpu_milli) * (memory_.size() + 1) + memory_.count(memory_mib);
    }
    std::int64_t value(ShapeIndex shape, int empties, std::size_t level) const {
        const std::size_t size = size_of_[static_cast<std::size_t>(empties)];
        return size == 0
                   ? 0
                   : table_[(group_[shape.slot()] * sizes_.size() + size - 1) * levels() + level];
    }
    std::int64_t value(const Leftovers& left) const {
        return value(left.shape, left.empties, level(left.cpu_milli, left.memory_mib));
    }
    int fewest_gpus() const { return sizes_.empty() ? kMaxGpusPerNode + 1 : sizes_.front(); }

  private:
    void add_group(const std::vector<Host>& hosts, const std::vector<bool>& allowed);
    std::size_t levels() const { return (cpu_.size() + 1) * (memory_.size() + 1); }

    std::vector<int> sizes_;  // distinct device counts, ascending
    // By empty devices: how many of the sizes they suffice for.
    std::array<std::uint8_t, kMaxGpusPerNode + 1> size_of_{};
    StepCounter cpu_;
    StepCounter memory_;
    std::vector<std::uint32_t> group_;  // by shape: shapes that allow the same hosts are one group
    std::vector<std::int64_t> table_;   // [group][size - 1][cpu level][memory level]
};

// -D, D = w n_h 0.6^b on nodes of four or more devices: keeps nearly empty nodes emptying while
// pods depart.
class DrainTerm {
  public:
    explicit DrainTerm(double weight = 0);
    std::int64_t value(int gpus, std::int32_t gpu_pods) const {
        return gpus < kFewestGpus ? 0
                                  : -gpus * decay_[static_cast<std::size_t>(
                                                std::min<std::int32_t>(gpu_pods, kLongest))];
    }

  private:
    static constexpr int kFewestGpus = 4;
    static constexpr std::int32_t kLongest = 31;
    std::array<std::int64_t, kLongest + 1> decay_{};
};

// w R Q(C): on clusters short of cores (or memory), idle GPUs whose free cores admit little of the
// demand. Q(C) is the share of GPU demand whose request exceeds C.
class AdmissionTerm {
  public:
    struct Step {
        std::int64_t amount = 0;  // milli-cores, or MiB
        double demand = 0;        // share that asks for this much
    };
    AdmissionTerm() = default;
    AdmissionTerm(std::vector<Step> steps, double weight);
    bool active() const { return !cost_.empty(); }
    // Of so much left, per idle milli.
    std::int64_t rate(std::int64_t left) const {
        return cost_.empty() ? 0 : cost_[amounts_.count(left)];
    }
    static std::int64_t at_rate(std::int32_t idle, std::int64_t rate) {
        return rate * idle / kFine;
    }
    std::int64_t value(std::int32_t idle, std::int64_t left) const {
        return at_rate(idle, rate(left));
    }

  private:
    static constexpr std::int64_t kFine = 1024;
    StepCounter amounts_;
    std::vector<std::int64_t> cost_;  // per idle milli, in kUnit x kFine, by level
};

// w (1 - C / most)^2: on clusters far too short of cores (or memory), what is free of them is kept
// even, so that the pods that bring most GPU for a core find room longest.
class EvenTerm {
  public:
    EvenTerm() = default;
    EvenTerm(std::int64_t most, double weight);
    bool active() const { return weight_ != 0; }
    std::int64_t value(std::int64_t left) const {
        if (weight_ == 0) {
            return 0;
        }
        const std::int64_t used = most_ - std::clamp<std::int64_t>(left, 0, most_);
        const std::int64_t part = (used * inverse_) >> kInverseBits;
        return (weight_ * part * part) >> (2 * kPartBits);
    }

  private:
    static constexpr int kPartBits = 12;
    static constexpr int kInverseBits = 24;
    std::int64_t most_ = 0;
    std::int64_t inverse_ = 0;  // 2^(kPartBits + kInverseBits) / most
    std::int64_t weight_ = 0;   // in kUnit
};

// One epoch of the potential.
struct Potential {
    std::vector<GapTerm> gaps;              // one per device size, nearly always one
    std::vector<std::uint8_t> gap_of_kind;  // by device kind
    StrandingTerm stranding;
    ScarcityTerm scarcity;
    HostTerm host;
    DrainTerm drain;
    AdmissionTerm core_admission;
    AdmissionTerm memory_admission;
    EvenTerm even_cores;
    EvenTerm even_memory;

    const std::int32_t* gap_costs(KindIndex kind) const {
        return gaps[gap_of_kind[kind.slot()]].cost.data();
    }
    // All but the devices' own costs.
    std::int64_t node_value(const Leftovers& left, int gpus) const {
        return device_terms(left, gpus) +
               room_terms(left, room(left.cpu_milli, left.memory_mib, left.empties));
    }

    // Whether node memory has a part in any term, on a node with so many empty devices.
    bool memory_matters(int empties) const {
        return empties >= host.fewest_gpus() || memory_admission.active() || even_memory.active();
    }
    // What cores and memory left mean to the terms, whatever happens to the devices: found once
    // where several devices, or classes of equal cores, are tried.
    struct Room {
        std::size_t host_level = 0;
        std::int64_t core_rate = 0;
        std::int64_t memory_rate = 0;
        std::int64_t even = 0;
    };
    Room room(std::int64_t cpu_milli, std::int64_t memory_mib, int empties) const {
        // With few empty devices a node hosts nothing, whatever its cores.
        return {.host_level = empties < host.fewest_gpus() ? 0 : host.level(cpu_milli, memory_mib),
                .core_rate = core_admission.rate(cpu_milli),
                .memory_rate = memory_admission.rate(memory_mib),
                .even = even_cores.value(cpu_milli) + even_memory.value(memory_mib)};
    }
    // Terms that only the devices decide, and those in which cores and memory have a part.
    std::int64_t device_terms(const Leftovers& left, int gpus) const {
        return scarcity.value(left.shape, left.idle) + drain.value(gpus, left.gpu_pods);
    }
    std::int64_t room_terms(const Leftovers& left, const Room& room) const {
        return stranding.value(left.idle, left.cpu_milli) -
               host.value(left.shape, left.empties, room.host_level) +
               AdmissionTerm::at_rate(left.idle, room.core_rate) +
               AdmissionTerm::at_rate(left.idle, room.memory_rate) + room.even;
    }
};

}  // namespace tessera
