#include "policy/rules.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/quantity.h"
#include "policy/devices.h"

namespace tessera::rules {
namespace {

constexpr std::int64_t kMaxScore = 100;
constexpr std::int64_t kFine = 1'000'000;  // for formulas of our own: no ties by coarse rounding

double gpu_asked(const DemandClass& demand) { return static_cast<double>(demand.gpu_milli_total); }
double gpu_idle(const NodeState& node) { return static_cast<double>(node.idle_value); }
double cpu_idle(const NodeState& node) { return static_cast<double>(node.free_cpu_milli); }

// Score of a pod that shares devices in use: the fuller they are, the better.
std::int64_t packing_shared(const NodeState& node, DeviceMask chosen) {
    std::int64_t idle_percent = 0;
    for (; chosen != 0; chosen &= chosen - 1) {
        idle_percent += node.gpus[static_cast<std::size_t>(std::countr_zero(chosen))].value / 10;
    }
    return std::max(kMaxScore - idle_percent / 10, kMaxScore / 2);
}

}  // namespace

std::int64_t dot_product(const RuleInput& in) {
    const double cpu = cpu_idle(in.node) / in.largest.cpu_milli *
                       (static_cast<double>(in.demand.cpu.value()) / in.largest.cpu_milli);
    const double gpu =
        gpu_idle(in.node) / in.largest.gpu_milli * (gpu_asked(in.demand) / in.largest.gpu_milli);
    return static_cast<std::int64_t>(static_cast<double>(kMaxScore) * (1 - (cpu + gpu) / 2));
}

std::int64_t clustering(const RuleInput& in) {
    if (!in.demand.wants_gpu()) {
        return 0;
    }
    const std::uint32_t size = in.demand.footprint == Footprint::share ? 1U : 1U << in.demand.gpus;
    const std::int64_t most = static_cast<std::int64_t>(in.largest.gpu_milli);
    const std::int64_t used = kMaxScore / 4 * (most - in.node.idle_value) / most;
    if ((in.node.sizes & size) != 0) {
        return used + (std::has_single_bit(in.node.sizes) ? kMaxScore * 3 / 4 : kMaxScore / 2);
    }
    return used + (in.node.sizes == 0 ? kMaxScore / 4 : 0);
}

std::int64_t packing(const RuleInput& in) {
    if (!in.demand.wants_gpu()) {
        return 0;
    }
    const std::int64_t empty = in.node.empty_gpus;
    if (empty == in.node.gpu_count) {
        return std::max(kMaxScore / 3 - empty, empty);
    }
    DeviceMask fitting = fitting_devices(in.node, in.demand, in.catalog);
    DeviceMask chosen = 0;
    std::int64_t opened = 0;
    for (int i = 0; i < in.demand.gpus && fitting != 0; ++i) {
        const int gpu = tightest_device(in.node, fitting);
        fitting &= ~(DeviceMask{1} << gpu);
        chosen |= DeviceMask{1} << gpu;
        opened += in.node.gpus[static_cast<std::size_t>(gpu)].empty() ? 1 : 0;
    }
    return opened > 0 ? std::max(kMaxScore / 2 - opened, kMaxScore / 3)
                      : packing_shared(in.node, chosen);
}

std::int64_t best_fit(const RuleInput& in) {
    double left = 0;
    left += (cpu_idle(in.node) - static_cast<double>(in.demand.cpu.value())) /
            in.largest.cpu_milli * 0.5;
    left += (gpu_idle(in.node) - gpu_asked(in.demand)) / in.largest.gpu_milli * 0.5;
    return static_cast<std::int64_t>((1.0 - left) * static_cast<double>(kMaxScore));
}

std::int64_t best_fit_memory(const RuleInput& in) {
    const double left = cpu_idle(in.node) / in.largest.cpu_milli +
                        static_cast<double>(in.node.free_memory_mib) / in.largest.memory_mib +
                        gpu_idle(in.node) / in.largest.gpu_milli;
    return static_cast<std::int64_t>(-left * static_cast<double>(kFine));
}

std::int64_t binpack(const RuleInput& in) {
    return in.demand.wants_gpu() ? -std::int64_t{in.node.idle_value} : -in.node.free_cpu_milli;
}

std::int64_t spread(const RuleInput& in) { return -binpack(in); }

std::int64_t least_allocated(const RuleInput& in) {
    const NodeShape& shape = in.catalog.shapes[in.node.shape.slot()];
    const std::int64_t cpu = std::max<std::int64_t>(shape.cpu.value(), 1);
    const std::int64_t memory = std::max<std::int64_t>(shape.memory.value(), 1);
    const std::int64_t cpu_left = in.node.free_cpu_milli - in.demand.cpu.value();
    const std::int64_t memory_left = in.node.free_memory_mib - in.demand.memory.value();
    return (cpu_left * kMaxScore / cpu + memory_left * kMaxScore / memory) / 2;
}

namespace {

// 100 when equal shares of cores and memory are in use, 50 when all of one and nothing of the
// other.
std::int64_t balance(const NodeShape& shape, std::int64_t cpu_used, std::int64_t memory_used) {
    const Int128 cpu = shape.cpu.value();
    const Int128 memory = shape.memory.value();
    if (cpu == 0 || memory == 0) {
        return kMaxScore;
    }
    const Int128 apart = cpu_used * memory - memory_used * cpu;
    const Int128 whole = 2 * cpu * memory;
    return static_cast<std::int64_t>(kMaxScore * (whole - (apart < 0 ? -apart : apart)) / whole);
}

}  // namespace

std::int64_t balanced_allocation(const RuleInput& in) {
    const std::int64_t cpu = in.demand.cpu.value();
    const std::int64_t memory = in.demand.memory.value();
    if (cpu == 0 && memory == 0) {
        return 0;
    }
    const NodeShape& shape = in.catalog.shapes[in.node.shape.slot()];
    const std::int64_t cpu_used = shape.cpu.value() - in.node.free_cpu_milli;
    const std::int64_t memory_used = shape.memory.value() - in.node.free_memory_mib;
    const std::int64_t better = balance(shape, cpu_used + cpu, memory_used + memory) -
                                balance(shape, cpu_used, memory_used);
    return kMaxScore / 2 + (kMaxScore / 2 + better) / 2;
}

namespace {

// Free cores of one node; larger nodes than this are nobody's.
constexpr std::int64_t kMaxCores = std::int64_t{1} << 24;

constexpr auto kTable = std::to_array<RuleInfo>({
    {"binpack", binpack, -kMaxCores, 0,
     "least idle GPU, in milli (pods without a GPU: least free milli-cores)"},
    {"spread", spread, 0, kMaxCores,
     "most idle GPU, in milli (pods without a GPU: most free milli-cores)"},
    {"bestfit", best_fit, 0, 150, "least cores and GPU left over, in percent of the largest node"},
    {"bestfit-memory", best_fit_memory, -3 * kFine, 0,
     "least cores, node memory and GPU left, in millionths of the largest node"},
    {"dotprod", dot_product, 0, 100, "least alignment of demand and free resources"},
    {"clustering", clustering, 0, 100, "nodes that run pods of the same size"},
    {"packing", packing, 0, 100, "devices in use first, then used nodes, then empty ones"},
    {"least-allocated", least_allocated, 0, 100,
     "largest mean share of free cores and memory, as kube-scheduler scores by default"},
    {"balanced-allocation", balanced_allocation, 0, 100,
     "used shares of cores and memory near each other, as kube-scheduler scores by default"},
});

}  // namespace

std::span<const RuleInfo> table() { return kTable; }

}  // namespace tessera::rules
