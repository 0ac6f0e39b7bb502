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

    std::int64_t value(const Leftovers& left) const;
    int fewest_gpus() const { return sizes_.empty() ? kMaxGpusPerNode + 1 : sizes_.front(); }

  private:
    void add_group(const std::vector<Host>& hosts, const std::vector<bool>& allowed);

    std::vector<int> sizes_;            // distinct device counts, ascending
    std::vector<std::int64_t> cpu_;     // distinct thresholds, ascending
    std::vector<std::int64_t> memory_;  // distinct thresholds, ascending
    std::vector<std::uint32_t> group_;  // by shape: shapes that allow the same hosts are one group
    std::vector<std::int64_t> table_;   // [group][size level][cpu level][memory level]
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
    std::int64_t value(std::int32_t idle, std::int64_t left) const {
        if (cost_.empty()) {
            return 0;
        }
        const auto level = static_cast<std::size_t>(
            std::upper_bound(amounts_.begin(), amounts_.end(), left) - amounts_.begin());
        return cost_[level] * idle / kFine;
    }

  private:
    static constexpr std::int64_t kFine = 1024;
    std::vector<std::int64_t> amounts_;  // ascending
    std::vector<std::int64_t> cost_;     // per idle milli, in kUnit x kFine, by level
};

// w (1 - C / most)^2: on clusters far too short of cores (or memory), what is free of them is kept
// even, so that the pods that bring most GPU for a core find room longest.
class EvenTerm {
  public:
    EvenTerm() = default;
    EvenTerm(std::int64_t most, double weight);
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
        return stranding.value(left.idle, left.cpu_milli) + scarcity.value(left.shape, left.idle) -
               host.value(left) + drain.value(gpus, left.gpu_pods) +
               core_admission.value(left.idle, left.cpu_milli) +
               memory_admission.value(left.idle, left.memory_mib) +
               even_cores.value(left.cpu_milli) + even_memory.value(left.memory_mib);
    }
};

}  // namespace tessera
