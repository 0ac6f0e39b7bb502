#include "policy/formulas/gpushare.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

TEST(GpushareFormulas, BestFit) {
    const std::vector<std::int64_t> free = {12207, 8138, 4069, 16276};
    EXPECT_EQ(gpushare_device(free, 8138), 1) << "the design's own example";
    EXPECT_EQ(gpushare_device(free, 4069), 2);
    EXPECT_EQ(gpushare_device(free, 16277), -1);
    EXPECT_EQ(gpushare_device(free, 0), -1);
    EXPECT_EQ(gpushare_device(std::vector<std::int64_t>{500, 300, 300}, 200), 1) << "ties: lowest";
}

TEST(GpushareFormulas, ANodesTotalIsNoDevice) {
    EXPECT_EQ(gpushare_device(std::vector<std::int64_t>{4069, 4069}, 8138), -1);
    EXPECT_EQ(gpushare_device(std::vector<std::int64_t>{8138, 0}, 8138), 0);
}

TEST(GpushareFormulas, AnOverfullCardOffersNothing) {
    EXPECT_EQ(gpushare_free(1000, 1001), 0);
    EXPECT_EQ(gpushare_device(std::vector<std::int64_t>{gpushare_free(1000, 3000)}, 1), -1);
}

}  // namespace
}  // namespace tessera
