// What the policy learns and when, seen through the terms of its scorer.
#include "policy/tessera/tessera_policy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include "policy/tessera/tessera_scorer.h"
#include "policy/test_world.h"

namespace tessera {
namespace {

using testing::demand_of;
using testing::gpu_request;
using testing::node_spec;
using testing::TestWorld;

class FixedCensus final : public Census {
  public:
    std::int64_t hosts(ClassIndex c) const override {
        const auto special = by_class.find(c.slot());
        return special == by_class.end() ? count : special->second;
    }
    std::int64_t count = 0;
    std::map<std::size_t, std::int64_t> by_class;  // where it is another
};

// Ten nodes of eight devices and 96 cores: twelve cores per GPU.
class TesseraPolicyTest : public ::testing::Test {
  protected:
    TesseraPolicyTest() {
        for (int i = 0; i < 10; ++i) {
            node = &world.add(node_spec(8, 96'000));
        }
        share = world.intern(demand_of(0, {gpu_request(1, 500)}));
        policy.scorer(world.catalog());
    }

    // Arrivals of one class until there were `total`; the last update.
    PolicyUpdate arrive_until(std::uint64_t total, ClassIndex c) {
        PolicyUpdate last;
        for (; arrivals < total; ++arrivals) {
            policy.arrived(c);
            last = policy.update(world.catalog(), census);
            latest = last.scorer != nullptr ? last.scorer : latest;
        }
        return last;
    }
    PolicyUpdate arrive(ClassIndex c) { return arrive_until(arrivals + 1, c); }

    double term(std::string_view name, const NodeState& on, ClassIndex c) const {
        for (const TermValue& value : latest->explain(on, c)) {
            if (value.name == name) {
                return value.value;
            }
        }
        ADD_FAILURE() << "no term " << name;
        return 0;
    }

    TestWorld world;
    NodeState* node = nullptr;
    ClassIndex share;
    TesseraPolicy policy;
    FixedCensus census;
    std::uint64_t arrivals = 0;
    std::shared_ptr<const Scorer> latest;
};

TEST_F(TesseraPolicyTest, LearnsEarlyAndThenAtDoublings) {
    std::vector<std::uint64_t> learnt;
    for (std::uint64_t i = 1; i <= 13'000; ++i) {
        const PolicyUpdate update = arrive(share);
        if (update.scorer != nullptr) {
            EXPECT_TRUE(update.hosts_of.empty());
            learnt.push_back(i);
        }
    }
    // Warm, it does not learn anew from a mix that has not moved.
    EXPECT_EQ(learnt,
              (std::vector<std::uint64_t>{4, 7, 13, 25, 50, 100, 200, 400, 800, 1600, 3200}));
}

TEST_F(TesseraPolicyTest, WarmItLearnsAMixThatMoved) {
    arrive_until(6'000, share);
    const ClassIndex other = world.intern(demand_of(1'000, {gpu_request(1, 250)}));
    EXPECT_EQ(arrive_until(6'399, other).scorer, nullptr);
    EXPECT_EQ(arrive(other).scorer, nullptr);  // 400 of 6,400 pods, 3 % of the demand: chance
    EXPECT_EQ(arrive_until(12'799, other).scorer, nullptr);
    EXPECT_NE(arrive(other).scorer, nullptr);
}

TEST_F(TesseraPolicyTest, GapsByTheMixSeen) {
    const ClassIndex whole = world.intern(demand_of(0, {gpu_request(1, 1000)}));
    arrive_until(2, share);
    arrive_until(4, whole);
    // Half a device is a good gap (two halves fill one), but two thirds of the demand need more.
    EXPECT_NEAR(term("gap", *node, share), -0.5 * 500 * 2 / 3, 0.1);
    EXPECT_NEAR(term("gap", *node, whole), 0, 0.01);
}

// Memory makes a share as large as it makes it: 12 of 16 GiB take three quarters of the device.
TEST_F(TesseraPolicyTest, GapsByMemoryAsked) {
    const ClassIndex by_memory = world.intern(demand_of(0, {gpu_request(1, 100, 12'288)}));
    arrive_until(4, by_memory);
    // A quarter is left: it serves nobody ever, and all of the demand needs more.
    EXPECT_NEAR(term("gap", *node, by_memory), -(250 + 0.5 * 250), 0.1);
}

TEST_F(TesseraPolicyTest, StrandingByTheCoresOfGpuPods) {
    const ClassIndex gpu_pod = world.intern(demand_of(6'000, {gpu_request(1, 1000)}));
    const ClassIndex cpu_pod = world.intern(demand_of(1'000));
    arrive_until(2, gpu_pod);
    arrive_until(4, cpu_pod);
    const StrandingTerm six(6);
    const double expected =
        static_cast<double>(six.value(8'000, 96'000) - six.value(7'000, 90'000)) / kUnit;
    EXPECT_NEAR(term("stranding", *node, gpu_pod), expected, 0.01);
}

TEST_F(TesseraPolicyTest, ScarceShapesArePricedByWhoNeedsThem) {
    NodeSpec rare = node_spec(8, 96'000);
    for (GpuSpec& gpu : rare.gpus) {
        gpu.model = ModelIndex(1);
    }
    NodeState& only = world.add(rare);
    Demand picky = demand_of(0, {gpu_request(1, 1000)});
    picky.models = {ModelIndex(1)};
    const ClassIndex wants_rare = world.intern(picky);
    const ClassIndex any = world.intern(demand_of(0, {gpu_request(3, 1000)}));
    policy.scorer(world.catalog());
    arrive_until(1, wants_rare);
    arrive_until(4, any);
    // A tenth of the demand on 8 of 88 GPUs.
    EXPECT_NEAR(term("scarcity", only, share), -500 * 0.1 * 88 / 8, 2);
    EXPECT_NEAR(term("scarcity", *node, share), 0, 0.01);
    arrive_until(7, wants_rare);  // four of thirteen: beyond the largest price
    EXPECT_NEAR(term("scarcity", only, share), -500 * 1.5, 2);
}

TEST_F(TesseraPolicyTest, HostPricesFollowTheirNumber) {
    for (int i = 0; i < 15; ++i) {
        node = &world.add(node_spec(8, 96'000));
    }
    const ClassIndex whole = world.intern(demand_of(0, {gpu_request(8, 1000)}));
    policy.scorer(world.catalog());
    const double need = 4 * std::sqrt(25);
    const auto price = [&](double hosts) { return std::min(1.0, std::pow(need / hosts, 4)); };
    const auto in_force = [&] { return term("host", *node, share) / -8'000; };
    census.count = 32;
    EXPECT_NE(arrive_until(1'600, whole).scorer, nullptr);  // learns, and prices
    EXPECT_NEAR(in_force(), price(32), 0.001);
    EXPECT_EQ(arrive_until(1'792, whole).scorer, nullptr);
    census.count = 31;  // moves by 0.021
    EXPECT_EQ(arrive_until(2'048, whole).scorer, nullptr);
    census.count = 29;  // moves by 0.074
    const PolicyUpdate update = arrive_until(2'304, whole);
    ASSERT_NE(update.scorer, nullptr);
    EXPECT_EQ(update.hosts_of, std::vector{whole});
    EXPECT_NEAR(in_force(), price(29), 0.001);
    census.count = 60;  // below 0.02
    EXPECT_NE(arrive_until(2'560, whole).scorer, nullptr);
    EXPECT_EQ(in_force(), 0);
    census.count = 53;  // 0.0203: small, but from nothing
    EXPECT_NE(arrive_until(2'816, whole).scorer, nullptr);
    EXPECT_NEAR(in_force(), price(53), 0.001);
    census.count = 0;
    EXPECT_NE(arrive_until(3'072, whole).scorer, nullptr);
    EXPECT_NEAR(in_force(), 1, 0.001);
}

TEST_F(TesseraPolicyTest, NoMoreHostsAreKeptThanPodsWouldEverTake) {
    const ClassIndex whole = world.intern(demand_of(0, {gpu_request(8, 1000)}));
    census.count = 20;
    arrive_until(100, whole);
    const double need = 80 / 8;  // four deviations would be 12.6
    EXPECT_NEAR(term("host", *node, share) / -8'000, std::pow(need / 20, 4), 0.001);
}

// Of 400 nodes four may be kept for a class of one pod.
TEST_F(TesseraPolicyTest, LargeClustersKeepHostsForRareClasses) {
    for (int i = 0; i < 390; ++i) {
        node = &world.add(node_spec(8, 96'000));
    }
    const ClassIndex whole = world.intern(demand_of(0, {gpu_request(8, 1000)}));
    const ClassIndex half = world.intern(demand_of(0, {gpu_request(4, 1000)}));
    policy.scorer(world.catalog());
    census.count = 8;
    arrive_until(799, half);
    arrive_until(800, whole);
    const double population = 400.0 * 8 / (8 + 799 * 4);
    EXPECT_NEAR(term("host", *node, share) / -8'000, std::pow(4 * std::sqrt(population) / 8, 4),
                0.001);
}

// A host that pods without GPUs would take is not worth keeping for those with.
TEST_F(TesseraPolicyTest, HostsThatOthersTakeAreNotKept) {
    const ClassIndex whole = world.intern(demand_of(64'000, {gpu_request(8, 1000)}));
    const ClassIndex rival = world.intern(demand_of(32'000));
    const ClassIndex too_large = world.intern(demand_of(80'000));
    census.count = 2;
    arrive_until(50, whole);
    const auto in_force = [&] { return term("host", *node, share) / -8'000; };
    EXPECT_NEAR(in_force(), 1, 0.001);
    arrive_until(85, rival);
    arrive_until(100, too_large);
    // 50 pods against 35 with nowhere else; what does not fit where the class does takes nothing.
    EXPECT_NEAR(in_force(), 50.0 / 85, 0.001);
    census.by_class[rival.slot()] = 3;  // one host elsewhere
    arrive_until(200, whole);
    EXPECT_NEAR(in_force(), 150 / (150 + 35.0 / 4), 0.001);
    census.by_class[rival.slot()] = 100;
    arrive_until(400, whole);
    EXPECT_NEAR(in_force(), 1, 0.001);
}

// A class that its node selector sends elsewhere takes no host from one that it may not enter.
TEST_F(TesseraPolicyTest, RivalsAreThoseOfTheSameNodes) {
    Demand whole = demand_of(64'000, {gpu_request(8, 1000)});
    Demand other = demand_of(32'000);
    whole.filter = FilterIndex(0);
    other.filter = FilterIndex(1);
    census.count = 2;
    arrive_until(50, world.intern(whole));
    arrive_until(100, world.intern(other));
    EXPECT_NEAR(term("host", *node, share) / -8'000, 1, 0.001);
}

// Only so many classes are counted in every window: those that ask for most cores in all.
TEST_F(TesseraPolicyTest, OfManyRivalsTheLargestCount) {
    const ClassIndex whole = world.intern(demand_of(64'000, {gpu_request(8, 1000)}));
    census.count = 2;
    for (std::int64_t cores = 1; cores <= 40; ++cores) {
        arrive_until(static_cast<std::uint64_t>(cores), world.intern(demand_of(cores * 1'000)));
    }
    arrive_until(50, whole);
    EXPECT_NEAR(term("host", *node, share) / -8'000, 10.0 / (10 + 32), 0.001);
}

TEST_F(TesseraPolicyTest, AShapeThatComesLaterCanHostToo) {
    const ClassIndex whole = world.intern(demand_of(0, {gpu_request(8, 1000)}));
    census.count = 0;
    arrive_until(256, whole);
    NodeState& late = world.add(node_spec(8, 128'000));
    latest = policy.scorer(world.catalog());
    EXPECT_NEAR(term("host", late, share), -8'000, 1);
}

// Four of eight devices are not the class's: empty devices alone do not tell whether it fits.
TEST_F(TesseraPolicyTest, UnlikeDevicesAreNoHosts) {
    NodeSpec mixed = node_spec(8, 96'000);
    for (std::size_t gpu = 0; gpu < 3; ++gpu) {
        mixed.gpus[gpu].model = ModelIndex(1);
    }
    NodeState& unlike = world.add(mixed);
    Demand picky = demand_of(0, {gpu_request(5, 1000)});
    picky.models = {ModelIndex(0)};
    const ClassIndex whole = world.intern(picky);
    policy.scorer(world.catalog());
    arrive_until(256, whole);
    EXPECT_LT(term("host", *node, world.intern(demand_of(0, {gpu_request(4, 1000)}))), -4'000);
    EXPECT_EQ(term("host", unlike, world.intern(demand_of(0, {gpu_request(4, 1000)}))), 0);
}

TEST_F(TesseraPolicyTest, DrainFollowsDepartures) {
    const auto depart = [&](int count) {
        for (int i = 0; i < count; ++i) {
            policy.departed(share);
        }
    };
    const auto delta = [&] { return term("drain", *node, share) / -(800 - 480); };
    depart(300);  // more than arrivals counts as one each
    const PolicyUpdate update = arrive_until(256, share);
    ASSERT_NE(update.scorer, nullptr);
    EXPECT_TRUE(update.hosts_of.empty());
    EXPECT_NEAR(delta(), 0.25, 0.001);
    EXPECT_EQ(arrive_until(512, share).scorer, nullptr);  // 0.1875
    EXPECT_NE(arrive_until(768, share).scorer, nullptr);  // 0.1406
    EXPECT_NEAR(delta(), 0.25 * 0.75 * 0.75, 0.001);
    depart(128);
    EXPECT_EQ(arrive_until(1024, share).scorer, nullptr);  // 0.2305
    EXPECT_NEAR(delta(), 0.25 * 0.75 * 0.75, 0.001);
}

TEST_F(TesseraPolicyTest, AdmissionOnlyWhereCoresAreShort) {
    // 24.6 cores asked for each GPU, of which 18.6 by pods without one; 12 are there. Four pods are
    // believed by half.
    const ClassIndex gpu_pod = world.intern(demand_of(6'000, {gpu_request(1, 1000)}));
    const ClassIndex cpu_pod = world.intern(demand_of(18'600));
    arrive_until(2, gpu_pod);
    arrive_until(4, cpu_pod);
    NodeState few = *node;
    few.free_cpu_milli = 7'000;
    const double factor = (12.3 / 12 - 0.95) / 0.15;
    const TesseraParameters weights;
    EXPECT_NEAR(term("admission", few, gpu_pod),
                -(weights.admission_weight + weights.admission_filling) * factor * 7'000, 1);
    // Fewer cores than that: no shortage.
    const ClassIndex modest = world.intern(demand_of(1'000, {gpu_request(1, 1000)}));
    arrive_until(7, modest);
    EXPECT_EQ(term("admission", few, gpu_pod), 0);
}

// Once pods depart as they come, cores weigh less, and memory nothing.
TEST_F(TesseraPolicyTest, AdmissionIsStrongWhileTheClusterFills) {
    Demand demand = demand_of(24'000, {gpu_request(1, 1000)});
    demand.memory = MemoryMib(1 << 19);  // two of these fill a node
    const ClassIndex heavy = world.intern(demand);
    arrive_until(4, heavy);
    NodeState last = *node;
    last.free_memory_mib = 1 << 19;
    const TesseraParameters weights;
    EXPECT_NEAR(term("admission", last, heavy), -weights.memory_filling * 7'000, 1);
    for (int i = 0; i < 256; ++i) {
        policy.departed(heavy);
    }
    arrive_until(256, heavy);
    EXPECT_EQ(term("admission", last, heavy), 0);
    last.free_cpu_milli = 24'000;
    EXPECT_NEAR(term("admission", last, heavy), -weights.admission_weight * 7'000, 1);
}

// While pods depart, cores weigh by the demand for whole devices; shares go by their gaps.
TEST_F(TesseraPolicyTest, AdmissionOfWholeDevicesIsStrongUnderDepartures) {
    const ClassIndex whole = world.intern(demand_of(14'400, {gpu_request(1, 1000)}));
    const ClassIndex half = world.intern(demand_of(7'200, {gpu_request(1, 500)}));
    arrive_until(128, whole);
    for (int i = 0; i < 256; ++i) {
        policy.departed(half);
    }
    arrive_until(256, half);
    NodeState last = *node;
    last.free_cpu_milli = 14'400;
    const TesseraParameters weights;
    EXPECT_NEAR(term("admission", last, whole),
                -(weights.admission_weight + weights.admission_by_whole * 2 / 3) * 7'000, 1);
}

// 24 cores asked for each GPU where 12 are there; a hundred pods are believed by eight tenths.
TEST_F(TesseraPolicyTest, CoresAreKeptEvenWhereTheyAreVeryShort) {
    const ClassIndex heavy = world.intern(demand_of(24'000, {gpu_request(1, 1000)}));
    arrive_until(50, heavy);
    arrive_until(100, heavy);
    NodeState used = *node;
    used.free_cpu_milli = 48'000;
    const TesseraParameters weights;
    const double weight =
        weights.even_filling * (0.8 * 24 / 12 - weights.even_from) / weights.even_width;
    EXPECT_NEAR(term("even", *node, heavy), -weight / 16, 20);
    EXPECT_NEAR(term("even", used, heavy), -weight * 5 / 16, 20);
    for (int i = 0; i < 256; ++i) {
        policy.departed(heavy);
    }
    arrive_until(256, heavy);
    EXPECT_EQ(term("even", used, heavy), 0) << "who must wait will have a turn";
}

TEST_F(TesseraPolicyTest, NothingDrainsWhereMemoryIsVeryShort) {
    Demand demand = demand_of(1'000, {gpu_request(1, 1000)});
    demand.memory = MemoryMib(1 << 19);  // two of these fill a node
    const ClassIndex heavy = world.intern(demand);
    for (int i = 0; i < 256; ++i) {
        policy.departed(heavy);
    }
    arrive_until(256, heavy);
    EXPECT_EQ(term("drain", *node, share), 0);
}

TEST_F(TesseraPolicyTest, DrainIsStrongerWhereWholeNodesAreAsked) {
    const ClassIndex whole = world.intern(demand_of(0, {gpu_request(8, 1000)}));
    for (int i = 0; i < 256; ++i) {
        policy.departed(whole);
    }
    arrive_until(256, whole);
    const TesseraParameters weights;
    EXPECT_NEAR(term("drain", *node, share),
                -0.25 * weights.drain_weight * weights.drain_most * 8 * (1 - 0.6), 0.1);
}

TEST_F(TesseraPolicyTest, PodsWithoutGpuTeachNoGaps) {
    const ClassIndex cpu_pod = world.intern(demand_of(1'000));
    EXPECT_NE(arrive_until(4, cpu_pod).scorer, nullptr);
    EXPECT_EQ(term("gap", *node, share), 0);
    EXPECT_EQ(term("host", *node, share), 0);
}

}  // namespace
}  // namespace tessera
