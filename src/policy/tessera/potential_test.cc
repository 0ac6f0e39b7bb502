// Each term against its formula in floating point (docs of potential.h), within the rounding of
// the fixed point and its tables.
#include "policy/tessera/potential.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/rng.h"

namespace tessera {
namespace {

double milli(std::int64_t fixed) { return static_cast<double>(fixed) / static_cast<double>(kUnit); }

TEST(GapTerm, CostOfAGap) {
    GapValues value{};
    std::array<double, 1001> needs_more{};
    value[300] = 0.25;
    needs_more[300] = 0.8;
    needs_more[999] = 1;
    value[1000] = 1;
    needs_more[1000] = 0.5;
    const GapTerm term(value, needs_more, 0.5);
    EXPECT_NEAR(milli(term.cost[300]), 300 - 250 + 0.5 * 300 * 0.8, 0.01);
    EXPECT_NEAR(milli(term.cost[999]), 999 + 0.5 * 999, 0.01);
    EXPECT_EQ(term.cost[0], 0);
    EXPECT_EQ(term.cost[1000], 0);
}

double stranding(double idle, double cpu_milli, double rho) {
    if (idle <= 0) {
        return 0;
    }
    const double gpus = idle / 1000;
    const double s = 0.15 * std::sqrt(std::max(gpus, 0.25));
    const double x = (gpus - cpu_milli / 1000 / rho) / s;
    return 1000 * s * (x > 30 ? x : std::log1p(std::exp(x)));
}

TEST(StrandingTerm, FollowsItsFormula) {
    Rng rng(1);
    for (int i = 0; i < 20'000; ++i) {
        const double rho = 0.1 + 40 * rng.uniform();
        const StrandingTerm term(rho);
        const auto idle = static_cast<std::int32_t>(rng.below(16'001));
        const auto cpu = static_cast<std::int64_t>(rng.below(400'000));
        // The scale s goes in steps of 8 milli of idle: at most 0.7 % off at its smallest.
        const double exact = stranding(idle, static_cast<double>(cpu), rho);
        ASSERT_NEAR(milli(term.value(idle, cpu)), exact, 1.0 + 0.002 * exact)
            << idle << " idle, " << cpu << " cores, rho " << rho;
    }
}

TEST(StrandingTerm, NothingIdleStrandsNothing) {
    EXPECT_EQ(StrandingTerm(12).value(0, 0), 0);
    EXPECT_EQ(StrandingTerm(12).value(0, 1'000'000), 0);
}

TEST(StrandingTerm, AmountsFromNoMachine) {
    constexpr std::int64_t kHuge = std::int64_t{1} << 40;
    for (const double rho : {0.0, 1e-9, 1e-3, 12.0, 1e12}) {
        const StrandingTerm term(rho);
        EXPECT_GE(term.value(16'000, kHuge), 0);
        EXPECT_NEAR(milli(term.value(16'000, 0)), 16'000, 20);
    }
    EXPECT_EQ(StrandingTerm(12).value(16'000, kHuge), 0);
    // Pods that ask for no cores at all: any core serves all GPUs.
    EXPECT_EQ(StrandingTerm(0).value(8'000, 96'000), 0);
}

TEST(ScarcityTerm, PriceTimesIdle) {
    ScarcityTerm term;
    term.price = {0, kUnit / 2};
    EXPECT_EQ(term.value(ShapeIndex(0), 8'000), 0);
    EXPECT_EQ(milli(term.value(ShapeIndex(1), 8'000)), -4'000);
    EXPECT_EQ(term.value(ShapeIndex(7), 8'000), 0);  // a shape that came later
}

// The maximum over device counts of min(1, sum of prices), by plain loops.
double plain_host(const std::vector<HostTerm::Host>& hosts, const Leftovers& left) {
    std::map<int, double> sums;
    for (const HostTerm::Host& host : hosts) {
        if (host.gpus <= left.empties && host.cpu_milli <= left.cpu_milli &&
            host.memory_mib <= left.memory_mib && host.shape_allows[left.shape.slot()]) {
            sums[host.gpus] += host.price;
        }
    }
    double best = 0;
    for (const auto& [gpus, sum] : sums) {
        best = std::max(best, 1000.0 * gpus * std::min(1.0, sum));
    }
    return best;
}

TEST(HostTerm, EqualsPlainLoops) {
    constexpr std::size_t kShapes = 3;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        Rng rng(seed);
        std::vector<HostTerm::Host> hosts;
        for (std::uint64_t n = rng.below(7); n > 0; --n) {
            hosts.push_back({.cpu_milli = static_cast<std::int64_t>(rng.below(5) * 16'000),
                             .memory_mib = static_cast<std::int64_t>(rng.below(4) * 1'000),
                             .gpus = 4 + static_cast<int>(rng.below(5)),
                             .price = rng.uniform(),
                             .shape_allows = {true, rng.below(2) == 0, rng.below(2) == 0}});
        }
        const HostTerm term(hosts, kShapes);
        for (int i = 0; i < 200; ++i) {
            const Leftovers left{
                .cpu_milli = static_cast<std::int64_t>(rng.below(5) * 16'000 - rng.below(2)),
                .memory_mib = static_cast<std::int64_t>(rng.below(4) * 1'000),
                .empties = static_cast<int>(rng.below(17)),
                .shape = ShapeIndex(static_cast<std::uint32_t>(rng.below(kShapes)))};
            ASSERT_NEAR(milli(term.value(left)), plain_host(hosts, left), 0.01);
        }
    }
}

TEST(HostTerm, WithoutHostsNoNodeIsDearer) {
    EXPECT_EQ(HostTerm().value({.empties = 16, .shape = ShapeIndex(0)}), 0);
    EXPECT_EQ(HostTerm({}, 4).value({.empties = 16, .shape = ShapeIndex(3)}), 0);
}

TEST(DrainTerm, FallsByTwoFifthsPerPod) {
    const DrainTerm term(50);
    for (int pods = 0; pods < 40; ++pods) {
        const double exact = -50 * 8 * std::pow(0.6, pods);
        EXPECT_NEAR(milli(term.value(8, pods)), exact, 0.02) << pods;
    }
    EXPECT_EQ(term.value(3, 0), 0);  // small nodes do not drain
    EXPECT_NEAR(milli(term.value(4, 0)), -200, 0.02);
    EXPECT_EQ(DrainTerm(0).value(8, 0), 0);
}

TEST(AdmissionTerm, ShareOfDemandThatAsksForMoreCores) {
    // Given out of order, and two classes of equal cores.
    const AdmissionTerm term({{8'000, 0.3}, {1'000, 0.4}, {8'000, 0.1}, {32'000, 0.2}}, 0.25);
    ASSERT_TRUE(term.active());
    const auto cost = [&](std::int64_t cpu) { return milli(term.value(4'000, cpu)); };
    EXPECT_NEAR(cost(0), 0.25 * 4'000 * 1.0, 0.05);
    EXPECT_NEAR(cost(999), 0.25 * 4'000 * 1.0, 0.05);
    EXPECT_NEAR(cost(1'000), 0.25 * 4'000 * 0.6, 0.05);
    EXPECT_NEAR(cost(7'999), 0.25 * 4'000 * 0.6, 0.05);
    EXPECT_NEAR(cost(8'000), 0.25 * 4'000 * 0.2, 0.05);
    EXPECT_NEAR(cost(32'000), 0, 0.05);
    EXPECT_NEAR(cost(std::int64_t{1} << 40), 0, 0.05);
}

TEST(EvenTerm, SquareOfWhatIsUsed) {
    const EvenTerm term(96'000, 1000);
    EXPECT_EQ(term.value(96'000), 0);
    EXPECT_EQ(term.value(200'000), 0) << "more than the node that has most";
    EXPECT_NEAR(static_cast<double>(term.value(48'000)), 250.0 * kUnit, kUnit);
    EXPECT_NEAR(static_cast<double>(term.value(0)), 1000.0 * kUnit, kUnit);
    EXPECT_EQ(term.value(-1), term.value(0));
    EXPECT_EQ(EvenTerm().value(0), 0);
    EXPECT_EQ(EvenTerm(0, 1000).value(0), 0) << "no node has any";
    EXPECT_GE(EvenTerm(std::int64_t{1} << 50, 1000).value(0), 0);
}

TEST(AdmissionTerm, AbsentWhereCoresSuffice) {
    const AdmissionTerm term({{8'000, 1}}, 0);
    EXPECT_FALSE(term.active());
    EXPECT_EQ(term.value(8'000, 0), 0);
}

}  // namespace
}  // namespace tessera
