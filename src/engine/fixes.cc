#include "engine/fixes.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "policy/assignment.h"
#include "policy/devices.h"

namespace tessera {
namespace {

constexpr std::size_t kMostTolerations = 3;  // a cluster may have a taint for every team

std::int64_t relative_change(const Fix& fix) {
    constexpr std::int64_t kFine = 1'000'000;
    switch (fix.kind) {
        case FixKind::other_model:
            return kFine + 1;  // after every change of an amount
        case FixKind::tolerate_taint:
        case FixKind::without_selector:
        case FixKind::without_affinity:
        case FixKind::without_pin:
            return kFine + 2;
        case FixKind::healthy_gpu:
        case FixKind::open_node:
            return kFine + 3;
        case FixKind::others_leave:
            return kFine + 4;
        default:
            return (fix.asked - fix.to) * kFine / fix.asked;
    }
}

std::vector<DeviceKind> healed(const Catalog& catalog) {
    std::vector<DeviceKind> kinds(catalog.kinds.begin(), catalog.kinds.end());
    for (DeviceKind& kind : kinds) {
        kind.health = Health::ok;
    }
    return kinds;
}

// Looks for the single changes that make a class fit.
class FixSearch {
  public:
    FixSearch(const Cluster& cluster, const Catalog& catalog, const DemandClass& asked,
              const DiagnosisOptions& options)
        : cluster_(cluster),
          catalog_(catalog),
          asked_(asked),
          options_(options),
          filter_(cluster.filter(asked.filter)) {
        for (std::uint32_t n = 0; n < cluster_.size(); ++n) {
            admitted_.push_back(admits(filter_, cluster_.traits(NodeIndex(n))));
        }
    }

    std::vector<Fix> find() {
        add_amounts();
        add_models();
        add_constraints();
        add_waits();
        std::stable_sort(fixes_.begin(), fixes_.end(), [](const Fix& a, const Fix& b) {
            return relative_change(a) < relative_change(b);
        });
        return std::move(fixes_);
    }

  private:
    DemandClass adapted(DemandClass c) const {
        return options_.policy == nullptr ? std::move(c) : options_.policy->adapt(std::move(c));
    }

    void add_amounts() {
        Fix fix{.kind = FixKind::less_cpu, .asked = asked_.cpu.value()};
        search(fix);
        fix = {.kind = FixKind::less_memory, .asked = asked_.memory.value()};
        search(fix);
        if (!asked_.wants_gpu()) {
            return;
        }
        fix = {.kind = FixKind::less_gpu_memory, .asked = largest_memory(false)};
        search(fix);
        fix = {.kind = FixKind::less_gpu_memory, .asked = largest_memory(true), .relative = true};
        search(fix);
        if (!options_.keep_whole) {
            fix = {.kind = FixKind::less_gpu_compute, .asked = asked_.milli.value()};
            search(fix);
        }
        if (asked_.requests.size() == 1) {
            fix = {.kind = FixKind::fewer_gpus, .asked = asked_.gpus};
            search(fix);
        }
    }

    std::int64_t largest_memory(bool relative) const {
        std::int64_t most = 0;
        for (const GpuRequest& request : asked_.requests) {
            if (relative == (request.memory_ppm != 0)) {
                most = std::max(
                    most, relative ? std::int64_t{request.memory_ppm} : request.memory.value());
            }
        }
        return most;
    }

    DemandClass at(Fix fix, std::int64_t to) const {
        fix.to = to;
        return adapted(apply_fix(asked_, fix));
    }

    // The largest amount below what is asked that fits on some node. Fitting is monotone: less of
    // one amount never needs more of another. So a node is searched by halves, and only when it
    // would do better than the best so far.
    void search(Fix fix) {
        // No cores or memory at all may be asked for, but a part of a GPU.
        const bool at_least_one = fix.relative || fix.kind == FixKind::fewer_gpus ||
                                  fix.kind == FixKind::less_gpu_compute;
        const std::int64_t least = at_least_one ? 1 : 0;
        if (fix.asked <= least) {
            return;
        }
        fix.to = least - 1;
        DemandClass better = at(fix, least);
        for (std::uint32_t n = 0; n < cluster_.size() && fix.to + 1 < fix.asked; ++n) {
            const NodeState& state = cluster_.node(NodeIndex(n));
            if (!admitted_[n] || !fits(state, better, catalog_)) {
                continue;
            }
            std::int64_t fitting = fix.to + 1;
            std::int64_t failing = fix.asked;
            while (failing - fitting > 1) {
                const std::int64_t middle = fitting + (failing - fitting) / 2;
                (fits(state, at(fix, middle), catalog_) ? fitting : failing) = middle;
            }
            fix.to = fitting;
            better = at(fix, fitting + 1);
        }
        if (fix.to >= least) {
            keep(fix, {at(fix, fix.to), catalog_, filter_});
        }
    }

    void add_models() {
        if (asked_.models.empty() || !asked_.wants_gpu()) {
            return;
        }
        std::vector<ModelIndex> tried = asked_.models;
        for (const DeviceKind& kind : catalog_.kinds) {
            if (std::find(tried.begin(), tried.end(), kind.model) == tried.end()) {
                tried.push_back(kind.model);
                const Fix fix{.kind = FixKind::other_model, .model = kind.model};
                keep(fix, {adapted(apply_fix(asked_, fix)), catalog_, filter_});
            }
        }
    }

    void add_constraints() {
        std::vector<Fix> changes;
        if (filter_.node.valid()) {
            changes.push_back({.kind = FixKind::without_pin, .value = filter_.node});
        }
        for (const NodeLabel& label : filter_.selector) {
            changes.push_back(
                {.kind = FixKind::without_selector, .key = label.key, .value = label.value});
        }
        if (!filter_.terms.empty()) {
            changes.push_back({.kind = FixKind::without_affinity});
        }
        for (const Fix& fix : changes) {
            keep(fix, {adapted(asked_), catalog_, apply_fix(filter_, fix)});
        }
        add_tolerations();
    }

    void add_tolerations() {
        std::set<NodeLabel> taints;
        for (std::uint32_t n = 0; n < cluster_.size(); ++n) {
            for (const NodeTaint& taint : cluster_.traits(NodeIndex(n)).taints) {
                if (taint.repels() && !taint.cordon && !tolerates(filter_, taint)) {
                    taints.insert({taint.key, taint.value});
                }
            }
        }
        const auto first = static_cast<std::ptrdiff_t>(fixes_.size());
        for (const NodeLabel& taint : taints) {
            const Fix fix{.kind = FixKind::tolerate_taint, .key = taint.key, .value = taint.value};
            keep(fix, {adapted(asked_), catalog_, apply_fix(filter_, fix)});
        }
        std::stable_sort(fixes_.begin() + first, fixes_.end(),
                         [](const Fix& a, const Fix& b) { return a.nodes > b.nodes; });
        const auto most = first + static_cast<std::ptrdiff_t>(kMostTolerations);
        if (std::ssize(fixes_) > most) {
            fixes_.erase(fixes_.begin() + most, fixes_.end());
        }
    }

    void add_waits() {
        const Trial trial{adapted(asked_), catalog_, filter_};
        Fix open{.kind = FixKind::open_node};
        Fix leave{.kind = FixKind::others_leave};
        for (std::uint32_t n = 0; n < cluster_.size(); ++n) {
            NodeState state = cluster_.node(NodeIndex(n));
            state.schedulable = true;
            count(open, state, opened(cluster_.traits(NodeIndex(n))), trial);
            count(leave, emptied(cluster_, NodeIndex(n)), cluster_.traits(NodeIndex(n)), trial);
        }
        keep_found(open);
        if (trial.placed.wants_gpu()) {
            const std::vector<DeviceKind> well = healed(catalog_);
            Catalog catalog = catalog_;
            catalog.kinds = well;
            keep({.kind = FixKind::healthy_gpu}, {trial.placed, catalog, filter_});
        }
        keep_found(leave);
    }

    // What is tried, on which devices, by which constraints.
    struct Trial {
        DemandClass placed;
        const Catalog& catalog;
        NodeFilter filter;
    };

    // Counts where the changed class fits; no fix where nowhere.
    void keep(Fix fix, const Trial& trial) {
        for (std::uint32_t n = 0; n < cluster_.size(); ++n) {
            count(fix, cluster_.node(NodeIndex(n)), cluster_.traits(NodeIndex(n)), trial);
        }
        keep_found(fix);
    }

    void keep_found(const Fix& fix) {
        if (fix.nodes > 0) {
            fixes_.push_back(fix);
        }
    }

    static void count(Fix& fix, const NodeState& state, const NodeTraits& traits,
                      const Trial& trial) {
        if (!admits(trial.filter, traits) || !fits(state, trial.placed, trial.catalog)) {
            return;
        }
        ++fix.nodes;
        fix.gpus += trial.placed.wants_gpu()
                        ? std::popcount(fitting_devices(state, trial.placed, trial.catalog))
                        : 0;
    }

    const Cluster& cluster_;
    const Catalog& catalog_;
    const DemandClass& asked_;
    const DiagnosisOptions& options_;
    const NodeFilter& filter_;
    std::vector<bool> admitted_;  // by node
    std::vector<Fix> fixes_;
};

}  // namespace

NodeState emptied(const Cluster& cluster, NodeIndex node) {
    NodeState state = cluster.node(node);
    const NodeSpec& spec = cluster.spec(node);
    state.free_cpu_milli = spec.cpu.value();
    state.free_memory_mib = spec.memory.value();
    state.free_pods = spec.pods;
    for (std::size_t gpu = 0; gpu < spec.gpus.size(); ++gpu) {
        GpuState& device = state.gpus[gpu];
        device.shares = 0;
        device.free_slots = spec.gpus[gpu].slots > 0 ? spec.gpus[gpu].slots : kSlotsUnlimited;
        device.idle_milli = static_cast<std::int16_t>(kWholeGpu.value());
        device.free_memory_mib = static_cast<std::int32_t>(spec.gpus[gpu].memory.value());
        device.value = static_cast<std::int16_t>(kWholeGpu.value());
    }
    return state;
}

std::vector<Fix> find_fixes(const Cluster& cluster, const Catalog& catalog,
                            const DemandClass& asked, const DiagnosisOptions& options) {
    return FixSearch(cluster, catalog, asked, options).find();
}

bool fits_ever(const Cluster& cluster, const Catalog& catalog, const DemandClass& placed) {
    const std::vector<DeviceKind> well = healed(catalog);
    Catalog best = catalog;
    best.kinds = well;
    for (std::uint32_t n = 0; n < cluster.size(); ++n) {
        NodeState state = emptied(cluster, NodeIndex(n));
        state.schedulable = true;
        if (admits(cluster.filter(placed.filter), opened(cluster.traits(NodeIndex(n)))) &&
            fits(state, placed, best)) {
            return true;
        }
    }
    return false;
}

DemandClass apply_fix(DemandClass asked, const Fix& fix) {
    switch (fix.kind) {
        case FixKind::less_cpu:
            asked.cpu = MilliCpu(fix.to);
            return asked;
        case FixKind::less_memory:
            asked.memory = MemoryMib(fix.to);
            return asked;
        case FixKind::other_model:
            asked.models.assign(1, fix.model);
            return asked;
        case FixKind::less_gpu_memory:
            for (GpuRequest& request : asked.requests) {
                if (fix.relative && request.memory_ppm > fix.to) {
                    request.memory_ppm = static_cast<std::int32_t>(fix.to);
                } else if (!fix.relative && request.memory_ppm == 0 &&
                           request.memory.value() > fix.to) {
                    request.memory = MemoryMib(fix.to);
                    request.memory_bytes = Bytes(fix.to * kBytesPerMib);
                }
            }
            return with_requests(std::move(asked));
        case FixKind::less_gpu_compute:
            for (GpuRequest& request : asked.requests) {
                request.milli =
                    std::min(request.milli, MilliGpu(static_cast<std::int32_t>(fix.to)));
            }
            return with_requests(std::move(asked));
        case FixKind::fewer_gpus:
            asked.requests.front().gpus = static_cast<std::uint16_t>(fix.to);
            return with_requests(std::move(asked));
        case FixKind::tolerate_taint:
        case FixKind::without_selector:
        case FixKind::without_affinity:
        case FixKind::without_pin:
        case FixKind::healthy_gpu:
        case FixKind::open_node:
        case FixKind::others_leave:
            break;
    }
    return asked;
}

NodeFilter apply_fix(NodeFilter filter, const Fix& fix) {
    switch (fix.kind) {
        case FixKind::tolerate_taint:
            filter.tolerations.push_back({.key = fix.key, .value = fix.value});
            break;
        case FixKind::without_selector:
            std::erase(filter.selector, NodeLabel{fix.key, fix.value});
            break;
        case FixKind::without_affinity:
            filter.terms.clear();
            break;
        case FixKind::without_pin:
            filter.node = LabelValue::none();
            break;
        default:
            break;
    }
    return filter;
}

}  // namespace tessera
