#include "policy/keti_policy.h"

#include <algorithm>
#include <array>
#include <bit>

#include "policy/assignment.h"

namespace tessera {
namespace {

// Preferences for a kind of node come before the total, which stays below this.
constexpr std::int64_t kPreferred = 1 << 20;

class KetiScorer final : public Scorer {
  public:
    KetiScorer(const KetiPolicy& settings, const Catalog& catalog)
        : settings_(settings), catalog_(catalog) {}

    Selection selection() const override {
        // The lowest total is no high score.
        const bool avoid = settings_.avoid_high_score && !settings_.prefer_least_score;
        return avoid ? Selection::second_best : Selection::best;
    }

    void score(const NodeState& node, std::span<const ClassIndex> classes,
               std::span<Key> keys) const override {
        for (std::size_t i = 0; i < classes.size(); ++i) {
            keys[i] = key_of(points(node, classes[i]));
        }
    }

    void choose(const NodeState& node, ClassIndex demand_class, const LinkMatrix& links,
                std::uint64_t, DeviceList& devices) const override {
        const DemandClass& wanted = (*catalog_.classes)[demand_class];
        const auto choice = choice_on(node, wanted, links);
        if (!choice) {
            assign_devices(node, wanted, catalog_, links, devices);
            return;
        }
        devices.clear();
        for (DeviceMask set = choice->gpus; set != 0; set &= set - 1) {
            devices.push_back(GpuIndex(static_cast<std::uint8_t>(std::countr_zero(set))));
        }
    }

    std::vector<TermValue> explain(const NodeState& node, ClassIndex demand_class) const override {
        return {{"total", static_cast<double>(points(node, demand_class))}};
    }

  private:
    std::int64_t points(const NodeState& node, ClassIndex demand_class) const {
        const DemandClass& wanted = (*catalog_.classes)[demand_class];
        const NodeShape& shape = catalog_.shapes[node.shape.slot()];
        const std::int64_t node_score =
            keti_node_score_milli({.cpu = {node.free_cpu_milli, shape.cpu.value()},
                                   .memory = {node.free_memory_mib, shape.memory.value()},
                                   .storage = {}});
        if (!wanted.wants_gpu()) {
            const bool preferred = settings_.prefer_non_gpu_node && node.gpu_count == 0;
            return in_order(keti_total_without_gpu(node_score, settings_)) +
                   (preferred ? kPreferred : 0);
        }
        // Links are not part of a node's state; the choice of devices sees them.
        const auto choice = choice_on(node, wanted, LinkMatrix());
        const auto usable = static_cast<int>(
            choice ? std::popcount(fitting_devices(node, wanted, catalog_)) : open_devices(node));
        return in_order(keti_total(keti_with_gpus_milli(node_score, usable, settings_),
                                   choice ? choice->score_milli : 0, settings_));
    }

    // Of a pod whose containers ask for unlike devices: those with anything left.
    static std::ptrdiff_t open_devices(const NodeState& node) {
        return std::count_if(node.gpus.begin(), node.gpus.begin() + node.gpu_count,
                             [](const GpuState& device) { return device.value > 0; });
    }

    std::int64_t in_order(std::int64_t total) const {
        return settings_.prefer_least_score ? -total : total;
    }

    std::optional<KetiChoice> choice_on(const NodeState& node, const DemandClass& wanted,
                                        const LinkMatrix& links) const {
        if (!wanted.wants_gpu() || wanted.footprint == Footprint::compound ||
            wanted.requests.front().rule != GroupRule::none) {
            return std::nullopt;
        }
        std::array<KetiCandidate, kMaxGpusPerNode> candidates;
        std::size_t count = 0;
        for (DeviceMask mask = fitting_devices(node, wanted, catalog_); mask != 0;
             mask &= mask - 1) {
            const int gpu = std::countr_zero(mask);
            const GpuState& device = node.gpus[static_cast<std::size_t>(gpu)];
            const KetiGpu known{.pods = device.shares,
                                .used_milli = kWholeGpu.value() - device.idle_milli};
            candidates[count++] = {
                .gpu = gpu, .score_milli = keti_gpu_score_milli(known), .pods = device.shares};
        }
        return keti_choose(std::span(candidates).first(count), links, wanted.gpus, settings_);
    }

    KetiPolicy settings_;
    Catalog catalog_;
};

}  // namespace

Expected<void> check_keti(const KetiPolicy& settings) {
    struct Unserved {
        std::string_view key;
        bool KetiPolicy::* flag;
        std::string_view why;
    };
    static constexpr std::array<Unserved, 2> kUnserved{{
        {"node-reservation-permit", &KetiPolicy::node_reservation,
         "a pod that fits nowhere holds no node; its priority decides when it is next"},
        {"multi-node-allocation-permit", &KetiPolicy::multi_node_allocation,
         "the containers of a pod run on one node; a group of pods runs on several"},
    }};
    for (const Unserved& one : kUnserved) {
        if (settings.*one.flag) {
            return fail(ErrorKind::invalid, "{}: true is not accepted: {}", one.key, one.why);
        }
    }
    return {};
}

std::vector<std::string> keti_notes(const KetiPolicy& settings) {
    std::vector<std::string> notes;
    if (!settings.reschedule) {
        notes.emplace_back(
            "pod-re-schedule-permit: false is about pods that were placed and did not start; it "
            "changes no choice of a node");
    }
    return notes;
}

std::shared_ptr<const Scorer> KetiStaticPolicy::scorer(const Catalog& catalog) {
    return std::make_shared<KetiScorer>(settings_, catalog);
}

}  // namespace tessera
