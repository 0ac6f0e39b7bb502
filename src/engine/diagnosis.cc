#include "engine/diagnosis.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "engine/obstacles.h"
#include "policy/assignment.h"

namespace tessera {
namespace {

struct DeviceView {
    const GpuState& left;
    const DeviceKind& kind;
    GpuUse use;
};

// Why one device does not serve one request, by the order of RefusalCode; nothing when it does.
std::optional<RefusalCode> gpu_reason(const DeviceView& device, const DemandClass& placed,
                                      const GpuRequest& request) {
    const DeviceKind& kind = device.kind;
    const std::int64_t memory = request.memory_on(kind.memory).value();
    if (kind.mode != AllocatorMode::annotation) {
        return RefusalCode::allocator_mismatch;
    }
    if (!placed.allows(kind.model)) {
        return RefusalCode::gpu_model_mismatch;
    }
    if (placed.memory_on(kind.memory) > kind.memory) {
        return kind.memory.value() == 0 ? RefusalCode::gpu_memory_unknown
                                        : RefusalCode::gpu_memory_too_small;
    }
    if (kind.health > placed.tolerates) {
        return RefusalCode::gpu_unhealthy;
    }
    if (device.use.exclusive > 0) {
        return RefusalCode::gpu_held_whole;
    }
    if (request.whole()) {
        return device.left.empty() ? std::nullopt : std::optional(RefusalCode::gpu_not_empty);
    }
    if (device.left.free_slots == 0) {
        return RefusalCode::gpu_slots_full;
    }
    if (device.left.free_memory_mib >= memory && device.left.idle_milli >= request.milli.value()) {
        return std::nullopt;
    }
    return device.left.free_memory_mib < memory ? RefusalCode::gpu_memory_insufficient
                                                : RefusalCode::gpu_compute_insufficient;
}

// One class against the nodes.
class Judge {
  public:
    Judge(const Cluster& cluster, const Catalog& catalog, const DemandClass& placed)
        : cluster_(cluster), catalog_(catalog), placed_(placed) {
        for (const GpuRequest& request : placed_.requests) {
            widest_ = std::max<int>(widest_, request.gpus);
            whole_ += request.whole() ? request.gpus : 0;
            if (hardest_ == nullptr || std::pair(request.milli, request.memory) >
                                           std::pair(hardest_->milli, hardest_->memory)) {
                hardest_ = &request;
            }
        }
    }

    NodeVerdict verdict(NodeIndex node) const {
        NodeVerdict result;
        node_reasons(node, result.reasons);
        if (placed_.wants_gpu() && cluster_.node(node).gpu_count >= needed_gpus()) {
            gpu_reasons(node, result.reasons);
        }
        result.first = first_reason(result.reasons);
        return result;
    }

    // Calls visit(reason) for each GPU of the node, judged alone by the largest request.
    template <class Visit>
    void each_gpu(NodeIndex node, Visit visit) const {
        if (hardest_ == nullptr) {
            return;
        }
        for (std::size_t gpu = 0; gpu < cluster_.node(node).gpu_count; ++gpu) {
            visit(reason(node, gpu, *hardest_));
        }
    }

  private:
    int needed_gpus() const { return std::max({1, widest_, whole_}); }

    std::optional<RefusalCode> reason(NodeIndex node, std::size_t gpu,
                                      const GpuRequest& request) const {
        const GpuState& device = cluster_.node(node).gpus[gpu];
        return gpu_reason({.left = device,
                           .kind = catalog_.kinds[device.kind.slot()],
                           .use = cluster_.use(node, GpuIndex(static_cast<std::uint8_t>(gpu)))},
                          placed_, request);
    }

    void node_reasons(NodeIndex node, RefusalSet& reasons) const {
        const NodeState& state = cluster_.node(node);
        const NodeSpec& spec = cluster_.spec(node);
        each_obstacle(cluster_.filter(placed_.filter), spec.traits,
                      [&](RefusalCode code, const Obstacle&) { reasons.add(code); });
        const auto add_if = [&](bool holds, RefusalCode code) {
            if (holds) {
                reasons.add(code);
            }
        };
        add_if(!state.schedulable, RefusalCode::node_unschedulable);
        add_if(state.free_pods <= 0, RefusalCode::node_pods_full);
        const bool cpu_short = state.free_cpu_milli < placed_.cpu.value();
        const bool cpu_never = spec.cpu < placed_.cpu;
        add_if(cpu_never, RefusalCode::node_cpu_too_small);
        add_if(cpu_short && !cpu_never, RefusalCode::node_cpu_insufficient);
        const bool memory_short = state.free_memory_mib < placed_.memory.value();
        const bool memory_never = spec.memory < placed_.memory;
        add_if(memory_never, RefusalCode::node_memory_too_small);
        add_if(memory_short && !memory_never, RefusalCode::node_memory_insufficient);
        if (placed_.wants_gpu()) {
            add_if(state.gpu_count == 0, RefusalCode::node_has_no_gpu);
            add_if(state.gpu_count > 0 && state.gpu_count < needed_gpus(),
                   RefusalCode::gpu_count_insufficient);
        }
    }

    // Asks the engine's own rule first: a reason is only looked for where it refuses.
    void gpu_reasons(NodeIndex node, RefusalSet& reasons) const {
        DeviceList devices;
        if (assign_devices(cluster_.node(node), placed_, catalog_, LinkMatrix(), devices)) {
            return;
        }
        bool alone_fit = true;
        for (const GpuRequest& request : placed_.requests) {
            alone_fit = !add_shortage(node, request, reasons) && alone_fit;
        }
        if (alone_fit) {
            reasons.add(RefusalCode::gpu_topology_unsatisfied);
        }
    }

    // When too few devices serve the request, the reason of the last one that would have to: the
    // node is not refused because of GPUs that are further from fitting than those.
    bool add_shortage(NodeIndex node, const GpuRequest& request, RefusalSet& reasons) const {
        std::array<RefusalCode, kMaxGpusPerNode> refused{};
        std::size_t count = 0;
        const std::size_t gpus = cluster_.node(node).gpu_count;
        for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
            if (const auto code = reason(node, gpu, request)) {
                refused[count++] = *code;
            }
        }
        const std::size_t serving = gpus - count;
        if (serving >= request.gpus) {
            return false;
        }
        std::sort(refused.begin(), refused.begin() + static_cast<std::ptrdiff_t>(count),
                  std::greater<>());
        reasons.add(refused[request.gpus - serving - 1]);
        return true;
    }

    const Cluster& cluster_;
    const Catalog& catalog_;
    const DemandClass& placed_;
    const GpuRequest* hardest_ = nullptr;
    int widest_ = 0;
    int whole_ = 0;
};

bool has(const std::vector<Fix>& fixes, FixKind kind) {
    return std::any_of(fixes.begin(), fixes.end(), [&](const Fix& f) { return f.kind == kind; });
}

}  // namespace

NodeVerdict judge(const Cluster& cluster, const Catalog& catalog, NodeIndex node,
                  const DemandClass& placed) {
    return Judge(cluster, catalog, placed).verdict(node);
}

Refusal diagnose(const Cluster& cluster, const ClassTable& classes, const DemandClass& asked,
                 const DiagnosisOptions& options) {
    const Catalog catalog = cluster.catalog(classes);
    const DemandClass placed = options.policy == nullptr ? asked : options.policy->adapt(asked);
    const Judge judge(cluster, catalog, placed);
    Refusal refusal;
    std::array<RefusalCount, kRefusalCodes> counts;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        counts[i] = {.code = static_cast<RefusalCode>(i)};
    }
    bool any_fits = false;
    ObstacleTally obstacles;
    for (std::uint32_t n = 0; n < cluster.size(); ++n) {
        NodeVerdict verdict = judge.verdict(NodeIndex(n));
        if (verdict.fits() && options.has_capacity && !options.has_capacity(NodeIndex(n))) {
            verdict.first = RefusalCode::gpu_capacity_insufficient;
            verdict.reasons.add(verdict.first);
        }
        if (verdict.fits()) {
            any_fits = true;
            continue;
        }
        obstacles.add(cluster.filter(placed.filter), cluster.traits(NodeIndex(n)));
        ++counts[static_cast<std::size_t>(verdict.first)].nodes;
        RefusalSet holding = verdict.reasons;
        judge.each_gpu(NodeIndex(n), [&](std::optional<RefusalCode> reason) {
            if (reason) {
                ++counts[static_cast<std::size_t>(*reason)].gpus;
                holding.add(*reason);
            } else {
                ++refusal.gpus_fitting;
            }
        });
        for (RefusalCount& count : counts) {
            count.nodes_any += holding.has(count.code) ? 1 : 0;
        }
    }
    for (RefusalCount& count : counts) {
        obstacles.name_most_common(count);
        if (count.nodes_any > 0) {
            refusal.counts.push_back(count);
        }
    }
    std::stable_sort(
        refusal.counts.begin(), refusal.counts.end(),
        [](const RefusalCount& a, const RefusalCount& b) { return a.nodes > b.nodes; });
    if (any_fits || !options.fixes) {
        return refusal;
    }
    if (options.has_capacity) {
        refusal.kind = RefusalKind::preemption_may_help;
        return refusal;  // a fix could not be tried: which device is picked is the policy's
    }
    refusal.fixes = find_fixes(cluster, catalog, asked, options);
    if (has(refusal.fixes, FixKind::others_leave)) {
        refusal.kind = RefusalKind::preemption_may_help;
    } else {
        refusal.kind =
            fits_ever(cluster, catalog, placed) ? RefusalKind::not_now : RefusalKind::never_here;
    }
    return refusal;
}

namespace {

std::int64_t copies_on(NodeState state, const Catalog& catalog, const DemandClass& placed,
                       std::int64_t enough) {
    std::int64_t copies = 0;
    while (copies < enough && fits(state, placed, catalog)) {
        apply_class(state, placed, catalog);
        ++copies;
    }
    return copies;
}

}  // namespace

GangVerdict judge_gang(const Cluster& cluster, const Catalog& catalog, const DemandClass& placed,
                       std::int64_t size) {
    GangVerdict verdict;
    for (std::uint32_t n = 0; n < cluster.size(); ++n) {
        const NodeIndex node(n);
        if (cluster.admits(node, placed.filter)) {
            verdict.members_now +=
                copies_on(cluster.node(node), catalog, placed, size - verdict.members_now);
        }
        // A cordon ends: what it keeps away now is not too large for ever.
        if (admits(cluster.filter(placed.filter), opened(cluster.traits(node)))) {
            NodeState state = emptied(cluster, node);
            state.schedulable = true;
            verdict.members_empty +=
                copies_on(state, catalog, placed, size - verdict.members_empty);
        }
    }
    verdict.fits = verdict.members_now >= size;
    verdict.code =
        verdict.members_empty < size ? RefusalCode::gang_too_large : RefusalCode::gang_incomplete;
    return verdict;
}

}  // namespace tessera
