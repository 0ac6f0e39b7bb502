// What is explained is what is done: for every policy and any demand, alternatives included, the
// explanation names the very placement that the engine makes next, or refuses when it does.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/rng.h"
#include "engine/engine.h"
#include "engine/explain.h"
#include "policy/registry.h"
#include "policy/test_random.h"

namespace tessera {
namespace {

using testing::one_in;

// Up to four alternatives, with names.
Demand demand_with_alternatives(Rng& rng) {
    Demand demand = testing::random_demand(rng);
    while (demand.wants_gpu() && demand.alternatives.size() < 4 && !one_in(rng, 3)) {
        const Demand other = testing::random_demand(rng);
        demand.alternatives.insert(demand.alternatives.end(), other.alternatives.begin(),
                                   other.alternatives.end());
    }
    std::uint32_t name = 0;
    for (Alternative& alternative : demand.alternatives) {
        for (GpuRequest& request : alternative.requests) {
            request.name = RequestIndex(static_cast<RequestIndex::rep>(name++));
        }
    }
    return demand;
}

// The first alternative that has a host, counted class by class.
std::size_t first_with_host(Engine& engine, const Demand& demand) {
    std::size_t at = 0;
    while (at < demand.alternatives.size() &&
           engine.fitting_nodes(engine.intern(demand_class(demand, at))) == 0) {
        ++at;
    }
    return at;
}

bool wants_spare(const Demand& demand) {
    for (const Alternative& alternative : demand.alternatives) {
        for (const GpuRequest& request : alternative.requests) {
            if (request.spare != SpareAmounts{}) {
                return true;  // hosts are not counted by what is left of these
            }
        }
    }
    return false;
}

TEST(ExplainProperty, ExplainedAsPlaced) {
    std::size_t later = 0;
    std::size_t refused = 0;
    for (const PolicyInfo& info : known_policies()) {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            SCOPED_TRACE(std::string(info.name) + ", seed " + std::to_string(seed));
            Rng rng(seed);
            std::vector<NodeSpec> nodes;
            for (int i = 0; i < 12; ++i) {
                nodes.push_back(testing::random_node(rng));
                nodes.back().traits = testing::random_traits(rng);
            }
            const auto filters = std::make_shared<FilterTable>();
            const std::vector<ClassCount> mix{{demand_class(testing::random_demand(rng)), 1}};
            auto policy = make_policy(info.name, {.mix = mix});
            ASSERT_TRUE(policy.has_value());
            Engine engine(nodes, std::move(*policy), {.seed = seed}, {.filters = filters});
            for (std::uint32_t pod = 0; pod < 120; ++pod) {
                Demand demand = demand_with_alternatives(rng);
                demand.filter = filters->intern(testing::random_filter(rng));
                engine.observe(engine.intern(demand));
                const Decision why = explain(engine.placer_to_explain(), demand);
                const std::size_t expected = first_with_host(engine, demand);
                const auto placement = engine.place_again(PodIndex(pod), demand);
                ASSERT_EQ(why.placement, placement);
                ASSERT_EQ(engine.placement(PodIndex(pod)), placement);
                refused += placement ? 0 : 1;
                if (placement && demand.wants_gpu() && !wants_spare(demand)) {
                    ASSERT_EQ(placement->alternative, expected);
                    later += expected > 0 ? 1 : 0;
                }
                if (placement && one_in(rng, 3)) {
                    engine.depart(PodIndex(pod));
                }
            }
            EXPECT_TRUE(engine.ledger().verify().empty());
        }
    }
    EXPECT_GT(later, 100U);
    EXPECT_GT(refused, 300U);
}

}  // namespace
}  // namespace tessera
