#include "engine/state.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace tessera {
namespace {

Expected<void> check_state(const ClusterState& state) {
    const Cluster rules;
    for (const NodeSpec& node : state.nodes) {
        if (auto checked = rules.check(node); !checked) {
            return tl::unexpected<Error>(
                std::move(checked.error()).within("node " + in_quotes(node.name)));
        }
    }
    for (const PodState& pod : state.pods) {
        if (pod.demand >= state.demands.size() ||
            (pod.placement && pod.placement->node.slot() >= state.nodes.size())) {
            return fail(ErrorKind::invalid, "pod {} names a demand or a node that is not there",
                        in_quotes(pod.name));
        }
        const std::size_t alternatives = state.demands[pod.demand].alternatives.size();
        if (pod.placement && pod.placement->alternative >= std::max<std::size_t>(1, alternatives)) {
            return fail(ErrorKind::invalid, "pod {} has alternative {} of a demand with {}",
                        in_quotes(pod.name), pod.placement->alternative, alternatives);
        }
    }
    for (std::size_t i = 0; i < state.demands.size(); ++i) {
        const FilterIndex filter = state.demands[i].filter;
        if (filter.valid() && filter.slot() >= state.filters->size()) {
            return fail(ErrorKind::invalid, "demands[{}] has node constraints that are not there",
                        i);
        }
    }
    const auto most = static_cast<std::int64_t>(state.demands.size());
    for (const std::int64_t event : state.history) {
        if (event >= most || -1 - event >= most) {
            return fail(ErrorKind::invalid, "history: {} names a demand that is not there", event);
        }
    }
    return {};
}

}  // namespace

ClusterState capture_state(const Engine& engine, std::vector<Demand> demands,
                           std::span<const PodEntry> pods) {
    ClusterState state;
    state.demands = std::move(demands);
    const Cluster& cluster = engine.cluster();
    if (cluster.options().filters != nullptr) {
        *state.filters = *cluster.options().filters;
    }
    for (std::uint32_t n = 0; n < cluster.size(); ++n) {
        state.nodes.push_back(cluster.spec(NodeIndex(n)));
    }
    std::vector<std::pair<std::uint64_t, const PodEntry*>> order;
    for (const PodEntry& entry : pods) {
        const auto known = engine.ledger().find(OwnerId::pod(entry.pod.value()));
        order.emplace_back(known ? known->start : UINT64_MAX, &entry);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [start, entry] : order) {
        state.pods.push_back({entry->name, entry->demand, engine.placement(entry->pod)});
    }
    state.draws = engine.placer().draws().state();
    state.census = engine.placer().census_told();
    return state;
}

Expected<std::unique_ptr<Engine>> restore_engine(const ClusterState& state,
                                                 std::unique_ptr<Policy> policy,
                                                 Engine::Options options, bool another_policy) {
    TESSERA_CHECK(check_state(state));
    auto engine = std::make_unique<Engine>(state.nodes, std::move(policy), options,
                                           ClusterOptions{.filters = state.filters});
    std::vector<ClassIndex> classes;
    for (const Demand& demand : state.demands) {
        classes.push_back(engine->intern(demand));
        // A column for each, so that the policy finds its hosts counted.
        engine->fitting_nodes(classes.back());
    }
    for (std::size_t i = 0; i < state.pods.size(); ++i) {
        const PodState& pod = state.pods[i];
        if (!pod.placement) {
            continue;
        }
        const std::optional<Gang>& gang = state.demands[pod.demand].gang;
        auto adopted = engine->adopt(PodIndex(static_cast<std::uint32_t>(i)), classes[pod.demand],
                                     *pod.placement, gang ? gang->group : GroupIndex::none());
        if (!adopted) {
            return tl::unexpected<Error>(
                std::move(adopted.error()).within("pod " + in_quotes(pod.name)));
        }
    }
    Placer& placer = engine->placer_to_explain();
    if (state.draws) {
        placer.set_draws(Rng::at(*state.draws));
    }
    if (!another_policy) {
        placer.retell_census(state.census);
    }
    for (const std::int32_t event : state.history) {
        if (event >= 0) {
            engine->observe(classes[static_cast<std::size_t>(event)]);
        } else {
            engine->observe_departure(classes[static_cast<std::size_t>(-1 - event)]);
        }
    }
    placer.retell_census({});
    return engine;
}

Demand demand_of(const DemandClass& demand_class) {
    Demand demand;
    demand.cpu = demand_class.cpu;
    demand.memory = demand_class.memory;
    demand.models = demand_class.models;
    demand.service = demand_class.service;
    demand.filter = demand_class.filter;
    demand.tolerates = demand_class.tolerates;
    demand.admin_access = demand_class.admin_access;
    if (!demand_class.requests.empty()) {
        demand.alternatives.push_back({demand_class.requests});
    }
    return demand;
}

}  // namespace tessera
