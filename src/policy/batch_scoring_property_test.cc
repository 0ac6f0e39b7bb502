// Scorers share work between the classes of a batch; the keys must be those of each class alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/rng.h"
#include "policy/assignment.h"
#include "policy/registry.h"
#include "policy/test_random.h"

namespace tessera {
namespace {

using testing::TestWorld;

// Families of demands that ask the same of a device and differ in cores, memory and models.
std::vector<ClassIndex> families(Rng& rng, TestWorld& world) {
    std::vector<ClassIndex> classes;
    for (int family = 0; family < 8; ++family) {
        const Demand first = testing::random_demand(rng);
        for (int member = 0; member < 8; ++member) {
            Demand demand = first;
            demand.cpu = MilliCpu(testing::any_of<std::int64_t>(rng, {0, 500, 1'000, 4'000}));
            demand.memory = MemoryMib(testing::any_of<std::int64_t>(rng, {0, 512, 4'096}));
            if (demand.wants_gpu() && testing::one_in(rng, 3)) {
                demand.models = {ModelIndex(static_cast<std::uint16_t>(rng.below(3)))};
            }
            classes.push_back(world.intern(demand));
        }
    }
    return classes;
}

// In the index's order, and in any order.
std::size_t check(const Scorer& scorer, const TestWorld& world, const NodeState& node,
                  std::vector<ClassIndex> classes) {
    std::erase_if(classes, [&](ClassIndex c) { return !fits(node, world[c], world.catalog()); });
    std::vector<Key> alone(classes.size());
    for (std::size_t i = 0; i < classes.size(); ++i) {
        scorer.score(node, std::span(&classes[i], 1), std::span(&alone[i], 1));
    }
    std::vector<Key> together(classes.size());
    scorer.score(node, classes, together);
    EXPECT_EQ(together, alone);
    for (const Key key : together) {
        EXPECT_TRUE(key >= 1 && key <= scorer.largest_key()) << key;
    }
    return classes.size();
}

TEST(BatchScoring, EqualsEachClassAlone) {
    for (const PolicyInfo& info : known_policies()) {
        SCOPED_TRACE(std::string(info.name));
        std::size_t scored = 0;
        for (std::uint64_t seed = 1; seed <= 25 && !::testing::Test::HasFailure(); ++seed) {
            SCOPED_TRACE(seed);
            Rng rng(seed);
            TestWorld world;
            std::vector<NodeState*> nodes;
            for (int n = 0; n < 5; ++n) {
                NodeSpec spec = testing::random_node(rng);
                spec.cpu = MilliCpu(spec.cpu.value() + 8'000);
                nodes.push_back(&world.add(spec));
                testing::occupy(rng, world, *nodes.back());
            }
            std::vector<ClassIndex> classes = families(rng, world);
            std::vector<ClassCount> mix;
            for (ClassIndex c : classes) {
                mix.push_back({world[c], 1 + static_cast<std::int64_t>(rng.below(9))});
            }
            const auto policy = make_policy(info.name, {.mix = mix});
            ASSERT_TRUE(policy.has_value());
            for (ClassIndex c : classes) {
                (*policy)->arrived(c);  // one that learns has terms of cores and memory then
            }
            const auto scorer = (*policy)->scorer(world.catalog());
            for (const NodeState* node : nodes) {
                scored += check(*scorer, world, *node, classes);
                std::sort(classes.begin(), classes.end());
                scored += check(*scorer, world, *node, classes);
            }
        }
        EXPECT_GT(scored, 1'000U);
    }
}

}  // namespace
}  // namespace tessera
