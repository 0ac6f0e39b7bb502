#include "policy/tessera/gap_value.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/rng.h"

namespace tessera {
namespace {

constexpr double kNear = 1e-6;

double at(const GapValues& values, int milli) { return values[static_cast<std::size_t>(milli)]; }

TEST(GapValue, NothingSeen) {
    const GapValues f = gap_values({});
    EXPECT_EQ(at(f, 999), 0);
    EXPECT_EQ(at(f, 1000), 1);
}

TEST(GapValue, OneSizeOfHalfADevice) {
    const GapValues f = gap_values(std::vector<SizeDemand>{{500, 3}});
    EXPECT_NEAR(at(f, 499), 0, kNear);
    EXPECT_NEAR(at(f, 500), 0.5, kNear);
    EXPECT_NEAR(at(f, 999), 0.5, kNear);
    EXPECT_EQ(at(f, 1000), 1);
}

// Seven of 142 milli fill a device, and not only six, as sizes rounded up to 10 milli would say.
TEST(GapValue, Sevenths) {
    const GapValues f = gap_values(std::vector<SizeDemand>{{142, 10}});
    EXPECT_NEAR(at(f, 141), 0, kNear);
    EXPECT_NEAR(at(f, 142), 1.0 / 7, kNear);
    EXPECT_NEAR(at(f, 6 * 142), 6.0 / 7, kNear);
    EXPECT_NEAR(at(f, 7 * 142), 1, kNear);
    const GapValues g = gap_values(std::vector<SizeDemand>{{143, 10}});
    EXPECT_NEAR(at(g, 143), 1.0 / 6, kNear);
    EXPECT_NEAR(at(g, 999), 1, kNear);  // six of them is all that a device can hold
    EXPECT_NEAR(at(g, 857), 5.0 / 6, kNear);
}

TEST(GapValue, ASizeAboveHalfTakesADevice) {
    const GapValues f = gap_values(std::vector<SizeDemand>{{501, 1}});
    EXPECT_NEAR(at(f, 500), 0, kNear);
    EXPECT_NEAR(at(f, 501), 1, kNear);
}

// With few small ones the gap beside 810 is worth nothing; with many, 810 must share its device.
TEST(GapValue, DemandDecidesWhatAGapIsWorth) {
    const GapValues large = gap_values(std::vector<SizeDemand>{{810, 10}, {190, 1}});
    EXPECT_NEAR(at(large, 810), 1, kNear);
    EXPECT_NEAR(at(large, 190), 0, kNear);
    const GapValues small = gap_values(std::vector<SizeDemand>{{810, 1}, {190, 100}});
    EXPECT_NEAR(at(small, 190), 0.2, kNear);  // five to a device
    EXPECT_NEAR(at(small, 810), 0.8, kNear);
}

// All ways to cut a device, for few sizes.
void patterns(const std::vector<SizeDemand>& sizes, std::size_t from, int left,
              std::vector<int>& counts, std::vector<std::vector<int>>& all) {
    if (from == sizes.size()) {
        all.push_back(counts);
        return;
    }
    for (int n = 0; n * sizes[from].milli <= left; ++n) {
        counts[from] = n;
        patterns(sizes, from + 1, left - n * sizes[from].milli, counts, all);
    }
    counts[from] = 0;
}

// The best dual for two sizes: a vertex of {y >= 0, every pattern worth at most 1}.
double best_dual(const std::vector<SizeDemand>& sizes) {
    std::vector<std::vector<int>> all;
    std::vector<int> counts(sizes.size(), 0);
    patterns(sizes, 0, 1000, counts, all);
    all.push_back({-1, 0});  // y >= 0, as patterns worth at most 0
    all.push_back({0, -1});
    const auto worth = [&](std::size_t i) { return i + 2 < all.size() ? 1.0 : 0.0; };
    double best = 0;
    for (std::size_t a = 0; a < all.size(); ++a) {
        for (std::size_t b = a + 1; b < all.size(); ++b) {
            const double det = all[a][0] * all[b][1] - all[a][1] * all[b][0];
            if (det == 0) {
                continue;
            }
            const double y0 = (worth(a) * all[b][1] - worth(b) * all[a][1]) / det;
            const double y1 = (worth(b) * all[a][0] - worth(a) * all[b][0]) / det;
            bool feasible = true;
            for (std::size_t i = 0; i < all.size(); ++i) {
                feasible = feasible && all[i][0] * y0 + all[i][1] * y1 <= worth(i) + 1e-9;
            }
            if (feasible) {
                best = std::max(best, y0 * sizes[0].demand + y1 * sizes[1].demand);
            }
        }
    }
    return best;
}

// f(size) is the price of the size, or more if smaller ones fill it better: both are feasible
// prices, so the demand is worth the same at the optimum.
TEST(GapValueProperty, PricesAreOptimalForTwoSizes) {
    Rng rng(7);
    for (int i = 0; i < 200; ++i) {
        const int a = 120 + static_cast<int>(rng.below(860));
        const int b = 120 + static_cast<int>(rng.below(860));
        if (a == b) {
            continue;
        }
        const std::vector<SizeDemand> sizes{
            {std::min(a, b), 1.0 + static_cast<double>(rng.below(50))},
            {std::max(a, b), 1.0 + static_cast<double>(rng.below(50))}};
        const GapValues f = gap_values(sizes);
        EXPECT_NEAR(
            at(f, sizes[0].milli) * sizes[0].demand + at(f, sizes[1].milli) * sizes[1].demand,
            best_dual(sizes), 1e-4)
            << sizes[0].milli << " x " << sizes[0].demand << ", " << sizes[1].milli << " x "
            << sizes[1].demand;
    }
}

void expect_feasible(const GapValues& f) {
    EXPECT_EQ(f[0], 0);
    EXPECT_EQ(f[1000], 1);
    for (std::size_t x = 1; x <= 1000; ++x) {
        ASSERT_LE(f[x - 1], f[x]);
        // Two gaps of one device are together worth no more than the device.
        ASSERT_LE(f[x] + f[1000 - x], 1 + 1e-6) << x;
    }
    for (std::size_t x = 1; x <= 500; ++x) {
        ASSERT_LE(2 * f[x], f[2 * x] + 1e-6) << x;
    }
}

TEST(GapValueProperty, MonotoneAndFeasible) {
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
        Rng rng(seed);
        std::vector<SizeDemand> sizes;
        for (std::uint64_t n = 1 + rng.below(30); n > 0; --n) {
            sizes.push_back({1 + static_cast<int>(rng.below(999)), 0.01 + 100 * rng.uniform()});
        }
        expect_feasible(gap_values(sizes));
    }
}

TEST(GapValueProperty, ManyOrTinySizes) {
    std::vector<SizeDemand> sizes;
    for (int milli = 1; milli < 1000; milli += 3) {
        sizes.push_back({milli, milli % 7 == 0 ? 100.0 : 1.0});
    }
    ASSERT_GT(sizes.size(), 96U);
    expect_feasible(gap_values(sizes));
    expect_feasible(gap_values(std::vector<SizeDemand>{{1, 1}}));
    expect_feasible(gap_values(std::vector<SizeDemand>{{999, 1e-9}, {1, 1e12}}));
    EXPECT_NEAR(at(gap_values(std::vector<SizeDemand>{{1, 1}}), 250), 0.25, kNear);
}

// The rarest of more than 96 sizes is priced as the next larger one, never above it.
TEST(GapValue, RareSizesJoinTheNextLarger) {
    std::vector<SizeDemand> sizes;
    for (int i = 0; i < 96; ++i) {
        sizes.push_back({500 + i, 10});
    }
    sizes.push_back({300, 1});
    const GapValues f = gap_values(sizes);
    expect_feasible(f);
    EXPECT_NEAR(at(f, 300), 0, kNear);
    EXPECT_NEAR(at(f, 500), 0.5, kNear);
}

}  // namespace
}  // namespace tessera
