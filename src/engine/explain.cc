#include "engine/explain.h"

#include <algorithm>
#include <bit>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/admission.h"
#include "engine/diagnosis.h"
#include "model/alternatives.h"
#include "policy/assignment.h"
#include "policy/devices.h"
#include "policy/topology_choice.h"

namespace tessera {
namespace {

// A node's place in the order of choice.
struct Ranked {
    Key key = 0;
    Tie tie = 0;
    NodeIndex node;

    bool before(const Ranked& other) const {
        return std::tuple(other.key, other.tie, node) < std::tuple(key, tie, other.node);
    }
};

DeviceChoice device_choice(const Cluster& cluster, const Catalog& catalog,
                           const DemandClass& placed, const Placement& placement) {
    DeviceChoice choice;
    const NodeState& state = cluster.node(placement.node);
    const NodeSpec& spec = cluster.spec(placement.node);
    const DeviceMask fitting = fitting_devices(state, placed, catalog);
    DeviceMask taken = 0;
    for (const DeviceGrant& grant : placement.grants) {
        if ((taken >> grant.gpu.slot() & 1U) == 0) {
            const GpuState& device = state.gpus[grant.gpu.slot()];
            choice.taken.push_back(
                {.gpu = grant.gpu,
                 .idle = MilliGpu(device.idle_milli),
                 .free_memory = MemoryMib(device.free_memory_mib),
                 .shares = device.shares,
                 .memory_known = spec.gpus[grant.gpu.slot()].memory.value() > 0});
            taken |= DeviceMask{1} << grant.gpu.slot();
        }
    }
    choice.fitting = std::popcount(fitting);
    if (choice.taken.size() == 1 && fitting != 0) {
        const auto value = [&](int gpu) { return state.gpus[static_cast<std::size_t>(gpu)].value; };
        const std::int16_t here = state.gpus[choice.taken.front().gpu.slot()].value;
        choice.tightest = here <= value(tightest_device(state, fitting));
        choice.emptiest = here >= value(emptiest_device(state, fitting));
    }
    const LinkMatrix& links = cluster.links(placement.node);
    if (choice.taken.size() > 1 && !links.empty()) {
        choice.slowest_link = set_quality(links, taken).worst;
    }
    return choice;
}

class Explainer {
  public:
    Explainer(Placer& placer, const DemandClass& asked, const ExplainOptions& options)
        : placer_(placer),
          asked_(asked),
          options_(options),
          cluster_(options.cluster == nullptr ? placer.cluster() : *options.cluster),
          class_(placer.intern(asked)),
          placed_(placer.classes()[class_]),
          catalog_(cluster_.catalog(placer.classes())),
          scores_(placer.scores(cluster_, class_, options.group)),
          draws_(placer.draws()),
          draw_(draws_.next()) {}

    Decision decide() {
        Decision decision;
        decision.sequence = placer_.sequence();
        decision.demand_class = class_;
        decision.seed = placer_.options().seed;
        decision.policy = std::string(placer_.policy().name());
        decision.policy_epoch = placer_.epoch();
        decision.nodes = static_cast<std::int64_t>(cluster_.size());
        std::vector<Ranked> ranking = rank_all();
        decision.nodes_fitting = static_cast<std::int64_t>(ranking.size());
        if (!ranking.empty()) {
            decision.order = placer_.scorer().order();
            choose(std::move(ranking), decision);
        }
        decision.refusal = diagnose(cluster_, placer_.classes(), asked_, diagnosis());
        return decision;
    }

    Ranked rank(NodeIndex node) const {
        return {.key = scores_.key(node), .tie = scores_.tie(node), .node = node};
    }

    Candidate candidate(const Ranked& ranked) const {
        Candidate result{.node = ranked.node, .key = ranked.key, .tie = ranked.tie};
        for (const TermValue& term : scores_.explain(ranked.node)) {
            result.terms.push_back({std::string(term.name), term.value});
            result.score += term.value;
        }
        return result;
    }

    bool fits_on(NodeIndex node) const {
        return admits_and_fits(cluster_, node, placed_, catalog_) && grants_spare(node);
    }

    // The nodes that fit, in node order.
    std::vector<Ranked> rank_all() const {
        std::vector<Ranked> ranking;
        for (std::uint32_t n = 0; n < cluster_.size(); ++n) {
            if (fits_on(NodeIndex(n))) {
                ranking.push_back(rank(NodeIndex(n)));
            }
        }
        return ranking;
    }

    DeviceChoice devices(const Placement& placement) const {
        return device_choice(cluster_, catalog_, placed_, placement);
    }

  private:
    // As Placer::choose(): by the order of keys, or any one by a draw.
    void choose(std::vector<Ranked> ranking, Decision& decision) {
        const auto by_rank = [](const Ranked& a, const Ranked& b) { return a.before(b); };
        const Selection selection = scores_.selection();
        auto chosen = std::min_element(ranking.begin(), ranking.end(), by_rank);
        if (selection == Selection::uniform) {
            chosen = ranking.begin() + static_cast<std::ptrdiff_t>(draws_.below(ranking.size()));
        } else if (selection == Selection::second_best && ranking.size() > 1) {
            std::rotate(ranking.begin(), chosen, chosen + 1);
            chosen = std::min_element(ranking.begin() + 1, ranking.end(), by_rank);
        }
        std::rotate(ranking.begin(), chosen, chosen + 1);
        const std::size_t shown = std::min(ranking.size(), options_.runners_up + 1);
        std::partial_sort(ranking.begin() + 1, ranking.begin() + static_cast<std::ptrdiff_t>(shown),
                          ranking.end(), by_rank);
        for (std::size_t i = 0; i < shown; ++i) {
            decision.candidates.push_back(candidate(ranking[i]));
        }
        decision.draw = placed_.wants_gpu() ? draw_ : 0;
        decision.placement = placer_.choose_on(scores_, ranking.front().node, decision.draw);
        if (decision.placement) {
            decision.devices = devices(*decision.placement);
        }
    }

    bool grants_spare(NodeIndex node) const {
        if (!placed_.wants_spare()) {
            return true;
        }
        const auto placement = placer_.choose_on(scores_, node, draw_);
        return placement && cluster_.fits(*placement);
    }

    DiagnosisOptions diagnosis() const {
        DiagnosisOptions options{.policy = &placer_.policy(), .keep_whole = options_.keep_whole};
        if (placed_.wants_spare()) {
            options.has_capacity = [this](NodeIndex node) { return grants_spare(node); };
        }
        return options;
    }

    Placer& placer_;
    const DemandClass& asked_;
    const ExplainOptions& options_;
    const Cluster& cluster_;
    ClassIndex class_;
    DemandClass placed_;
    Catalog catalog_;
    DecisionScores scores_;
    Rng draws_;
    std::uint64_t draw_;  // of this decision, as the placer's
};

}  // namespace

Decision explain(Placer& placer, const DemandClass& asked, const ExplainOptions& options) {
    return Explainer(placer, asked, options).decide();
}

Decision explain(Placer& placer, const Demand& demand, ExplainOptions options) {
    options.keep_whole = demand.isolation == Isolation::exclusive;
    options.group.group = demand.gang ? demand.gang->group : GroupIndex();
    Decision first;
    Decision last;
    std::optional<Placement> served = first_that_fits(demand, [&](std::size_t alternative) {
        last = explain(placer, demand_class(demand, alternative), options);
        if (alternative == 0) {
            first = last;
        }
        return last.placement;
    });
    if (!served) {
        return first;
    }
    last.placement = std::move(served);
    return last;
}

RunningReport explain_running(Placer& placer, const Demand& demand, const Placement& placement,
                              std::uint64_t start) {
    Cluster without = placer.cluster();
    without.give(placement, start);
    ExplainOptions options{.cluster = &without};
    options.group = {demand.gang ? demand.gang->group : GroupIndex(), start};
    const DemandClass served = demand_class(demand, placement.alternative);
    Explainer explainer(placer, served, options);
    RunningReport report{.placement = placement};
    report.anew = explain(placer, demand, options);
    report.devices = explainer.devices(placement);
    report.fits_here = explainer.fits_on(placement.node);
    report.here.node = placement.node;
    Ranked here{.node = placement.node};  // below all others
    if (report.fits_here) {
        here = explainer.rank(placement.node);
        report.here = explainer.candidate(here);
    }
    const Selection selection = placer.scorer().selection();
    if (selection != Selection::uniform) {
        const std::vector<Ranked> ranking = explainer.rank_all();
        report.better = std::count_if(ranking.begin(), ranking.end(),
                                      [&](const Ranked& other) { return other.before(here); });
        if (selection == Selection::second_best && report.fits_here) {
            // The best is taken last, when nothing else fits.
            const auto others = static_cast<std::int64_t>(ranking.size()) - 1;
            report.better = report.better == 0 ? others : report.better - 1;
        }
    }
    return report;
}

}  // namespace tessera
