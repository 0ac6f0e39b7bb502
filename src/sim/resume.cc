#include "sim/resume.h"

#include <utility>
#include <vector>

#include "engine/state.h"
#include "policy/typical_mix.h"

namespace tessera {

Expected<PolicySource> policy_of_state(const ClusterState& state, const std::string& named) {
    if (!named.empty()) {
        return PolicySource::open(named);
    }
    const std::string name = state.policy.empty() ? "tessera" : state.policy;
    auto source = PolicySource::open(name);
    if (source && !PolicySource::is_file(name)) {
        if (auto known = find_policy(name); !known) {
            source = tl::unexpected<Error>(std::move(known.error()));
        }
    }
    if (!source) {
        return tl::unexpected<Error>(std::move(source.error()).within("policy"));
    }
    return source;
}

Expected<std::unique_ptr<Engine>> resume(const ClusterState& state, const PolicySource& policy) {
    const bool same = policy.given() == state.policy;
    std::vector<ClassCount> mix;
    for (std::size_t i = 0; same && i < state.mix.size(); ++i) {
        mix.push_back({demand_class(state.demands[i]), state.mix[i]});
    }
    TESSERA_TRY(auto made, policy.make({.mix = mix}));
    Engine::Options options;
    options.seed = state.seed;
    return restore_engine(state, std::move(made), options, !same);
}

Decision explain_arrival(Engine& engine, const Demand& demand, const ExplainOptions& options) {
    engine.observe(engine.intern(demand));
    return explain(engine.placer_to_explain(), demand, options);
}

}  // namespace tessera
