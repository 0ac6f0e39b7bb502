// Scores against fragmentation by plain loops over classes and devices (Weng et al., ATC 2023).
#include "policy/fgd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/rng.h"
#include "policy/assignment.h"
#include "policy/fgd_reference.h"
#include "policy/test_world.h"

namespace tessera {
namespace {

using testing::demand_of;
using testing::gpu_request;
using testing::node_spec;
using testing::TestWorld;

class NoCensus final : public Census {
  public:
    std::int64_t hosts(ClassIndex) const override { return 0; }
};

struct Tried {
    TestWorld world;
    std::vector<NodeState*> nodes;
    std::vector<ClassIndex> classes;
    std::vector<TypicalClass> mix;
};

void make(Tried& tried, std::uint64_t seed) {
    Rng rng(seed);
    for (int n = 0; n < 5; ++n) {
        NodeSpec spec = node_spec(static_cast<int>(rng.below(9)), 20'000);
        for (GpuSpec& gpu : spec.gpus) {
            gpu = testing::gpu_spec(ModelIndex(static_cast<std::uint16_t>(n % 2)), 0);
        }
        NodeState& node = tried.world.add(spec);
        node.free_cpu_milli -= static_cast<std::int64_t>(rng.below(4) * 5'000);
        for (std::size_t gpu = 0; gpu < node.gpu_count; ++gpu) {
            const auto taken = static_cast<int>(rng.below(4) * 330);
            if (taken > 0) {
                tried.world.take(node, static_cast<int>(gpu), taken);
            }
        }
        tried.nodes.push_back(&node);
    }
    std::vector<ClassCount> counts;
    for (int i = 0; i < 12; ++i) {
        Demand demand = demand_of(static_cast<std::int64_t>(rng.below(5) * 3'000));
        const std::uint64_t lot = rng.below(6);
        if (lot > 0) {
            const int milli = 10 + static_cast<int>(rng.below(99)) * 10;
            demand.alternatives = {
                {{lot < 4 ? gpu_request(1, milli)
                          : gpu_request(1 + static_cast<int>(rng.below(8)), 1000)}}};
        }
        if (rng.below(3) == 0) {
            demand.models = {ModelIndex(static_cast<std::uint16_t>(rng.below(2)))};
        }
        tried.classes.push_back(tried.world.intern(demand));
        counts.push_back({demand_class(demand), 1 + static_cast<std::int64_t>(rng.below(20))});
    }
    tried.mix = typical_mix(counts);
}

TEST(Fgd, ScoresAndDevicesByPlainLoops) {
    int shares = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        Tried tried;
        make(tried, seed);
        const Catalog catalog = tried.world.catalog();
        const auto scorer = FgdPolicy(tried.mix).scorer(catalog);
        for (const NodeState* node : tried.nodes) {
            for (const ClassIndex c : tried.classes) {
                if (!fits(*node, tried.world[c], catalog)) {
                    continue;
                }
                const reference::Best best =
                    reference::best_fragment_score(*node, tried.world[c], catalog, tried.mix);
                ASSERT_EQ(TestWorld::key(*scorer, *node, c), static_cast<Key>(best.score + 1));
                ASSERT_EQ(scorer->explain(*node, c).front().value, best.score);
                if (tried.world[c].footprint == Footprint::share) {
                    ASSERT_EQ(TestWorld::chosen(*scorer, *node, c),
                              DeviceList{GpuIndex(static_cast<std::uint8_t>(best.device))});
                    ++shares;
                }
            }
        }
    }
    EXPECT_GT(shares, 200);
}

// Two devices with the same integer score: the first, though the second is better by less than 1.
TEST(Fgd, LowestIndexAmongEqualIntegerScores) {
    TestWorld world;
    NodeState& node = world.add(node_spec(2, 96'000));
    world.take(node, 0, 501);
    world.take(node, 1, 500);
    const ClassIndex half = world.intern(demand_of(0, {gpu_request(1, 100)}));
    const std::vector<TypicalClass> mix = typical_mix(
        std::vector<ClassCount>{{demand_class(demand_of(0, {gpu_request(1, 400)})), 1}});
    const auto scorer = FgdPolicy(mix).scorer(world.catalog());
    EXPECT_EQ(TestWorld::chosen(*scorer, node, half), DeviceList{GpuIndex(1)});
    // Where nothing is fragmented either way, the first.
    const std::vector<TypicalClass> tiny =
        typical_mix(std::vector<ClassCount>{{demand_class(demand_of(0, {gpu_request(1, 1)})), 1}});
    EXPECT_EQ(TestWorld::chosen(*FgdPolicy(tiny).scorer(world.catalog()), node, half),
              DeviceList{GpuIndex(0)});
}

// A device whose memory is gone is as good as full.
TEST(Fgd, MemoryCountsAsTheDeviceDoes) {
    TestWorld world;
    NodeState& node = world.add(node_spec(2, 96'000));
    world.take(node, 0, 100, 8'192);  // half the memory: value 500
    world.take(node, 1, 500);         // half the compute
    const auto scorer = FgdPolicy(typical_mix(std::vector<ClassCount>{
                                      {demand_class(demand_of(0, {gpu_request(1, 500)})), 1}}))
                            .scorer(world.catalog());
    const ClassIndex by_memory = world.intern(demand_of(0, {gpu_request(1, 0, 8'192)}));
    // Device 0 becomes full; on device 1 half the compute stays, for the pod of 500.
    EXPECT_EQ(TestWorld::chosen(*scorer, node, by_memory), DeviceList{GpuIndex(0)});
}

// Devices with equal values by memory but unlike compute are not alike.
TEST(Fgd, KeyLooksAtEveryDevice) {
    TestWorld world;
    NodeState& node = world.add(node_spec(2, 96'000));
    world.take(node, 0, 500, 11'500);
    world.take(node, 1, 690, 11'500);  // value 298 both, by memory
    ASSERT_EQ(node.gpus[0].value, node.gpus[1].value);
    const ClassIndex c = world.intern(demand_of(0, {gpu_request(1, 300)}));
    const std::vector<TypicalClass> mix = typical_mix(
        std::vector<ClassCount>{{demand_class(demand_of(0, {gpu_request(1, 999)})), 1}});
    const auto scorer = FgdPolicy(mix).scorer(world.catalog());
    EXPECT_EQ(TestWorld::chosen(*scorer, node, c), DeviceList{GpuIndex(1)});
    // All of it is fragment: placing on device 1 removes 288 of 596, on device 0 only 98.
    EXPECT_EQ(TestWorld::key(*scorer, node, c), static_cast<Key>(100 / (1 + std::exp(-0.288)) + 1));
}

// Devices that take nothing new are not among the node's empty ones; who tolerates may use them.
TEST(Fgd, TolerantPodsOnUnhealthyDevices) {
    TestWorld world;
    NodeSpec spec = node_spec(2, 96'000);
    spec.gpus[0].health = Health::no_new;
    spec.gpus[1].health = Health::no_new;
    NodeState& node = world.add(spec);
    ASSERT_EQ(node.empty_gpus, 0);
    const std::vector<TypicalClass> mix = typical_mix(
        std::vector<ClassCount>{{demand_class(demand_of(0, {gpu_request(2, 1000)})), 1}});
    const auto scorer = FgdPolicy(mix).scorer(world.catalog());
    for (GpuRequest request :
         {gpu_request(1, 500), gpu_request(2, 1000), gpu_request(2, 300), gpu_request(1, 1000)}) {
        Demand demand = demand_of(0, {request});
        demand.tolerates = Health::no_new;
        const ClassIndex c = world.intern(demand);
        ASSERT_TRUE(fits(node, world[c], world.catalog()));
        const Key key = TestWorld::key(*scorer, node, c);
        EXPECT_GE(key, 1U);
        EXPECT_LE(key, 100U);
    }
}

TEST(Fgd, LearnsOnlyWithoutAMix) {
    TestWorld world;
    NodeState& node = world.add(node_spec(2, 96'000));
    world.take(node, 0, 600);
    world.take(node, 1, 600);
    const ClassIndex share = world.intern(demand_of(0, {gpu_request(1, 400)}));
    const ClassIndex small = world.intern(demand_of(0, {gpu_request(1, 100)}));
    FgdPolicy learns;
    FgdPolicy knows(typical_mix(std::vector<ClassCount>{{world[share], 1}}));
    const auto ignorant = learns.scorer(world.catalog());
    EXPECT_EQ(TestWorld::key(*ignorant, node, small), 51U);  // nothing seen: nothing fragments
    std::shared_ptr<const Scorer> learnt;
    for (int i = 1; i <= 4; ++i) {
        learns.arrived(share);
        knows.arrived(share);
        EXPECT_EQ(knows.update(world.catalog(), NoCensus()).scorer, nullptr);
        learnt = learns.update(world.catalog(), NoCensus()).scorer;
        EXPECT_EQ(learnt != nullptr, i == 4);
    }
    const auto oracle = knows.scorer(world.catalog());
    EXPECT_EQ(TestWorld::key(*learnt, node, small), TestWorld::key(*oracle, node, small));
    EXPECT_NE(TestWorld::key(*learnt, node, small), 51U);
}

}  // namespace
}  // namespace tessera
