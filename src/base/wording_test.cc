#include "base/wording.h"

#include <gtest/gtest.h>

#include <array>

namespace tessera {
namespace {

TEST(Wording, CountsAndRanges) {
    EXPECT_EQ(counted(1, "node"), "1 node");
    EXPECT_EQ(counted(0, "node"), "0 nodes");
    EXPECT_EQ(counted(2, "class", "es"), "2 classes");
    EXPECT_EQ(the_counted(1, "node"), "the one node");
    EXPECT_EQ(the_counted(3, "node"), "the 3 nodes");
    EXPECT_EQ(range_text(1, 1), "1");
    EXPECT_EQ(range_text(1, 16), "from 1 to 16");
}

TEST(Wording, ThreeDigitsWithoutExponent) {
    EXPECT_EQ(three_digits(1340.4), "1340");
    EXPECT_EQ(three_digits(1.34e12), "1340000000000");
    EXPECT_EQ(three_digits(53.12), "53.1");
    EXPECT_EQ(three_digits(-1.5), "-1.5");
    EXPECT_EQ(three_digits(0.00123), "0.00123");
    EXPECT_EQ(three_digits(99.96), "100");
    EXPECT_EQ(three_digits(0), "0");
    EXPECT_EQ(three_digits(1e-30), "0");
}

TEST(Wording, TheNearestNameIsASlipAway) {
    constexpr std::array<std::string_view, 5> kNames{"--policy", "--pods", "--plot", "fgd", "sim"};
    EXPECT_EQ(nearest_name("--polcy", kNames), "--policy");
    EXPECT_EQ(nearest_name("--pulicy-", kNames), "--policy") << "two slips";
    EXPECT_EQ(nearest_name("--pdos", kNames), "--pods") << "neighbours exchanged are one slip";
    EXPECT_EQ(nearest_name("fdg", kNames), "fgd");
    EXPECT_EQ(nearest_name("sm", kNames), "sim");
    EXPECT_EQ(nearest_name("--pol", kNames), "--policy") << "begun";
    EXPECT_EQ(nearest_name("--p", kNames), "") << "three begin so";
    EXPECT_EQ(nearest_name("nobody", kNames), "");
    EXPECT_EQ(nearest_name("xyz", kNames), "") << "all letters of a short word are no slip";
    EXPECT_EQ(nearest_name(std::string(1'000'000, 'x'), kNames), "");
    EXPECT_EQ(nearest_name("", kNames), "");
    EXPECT_EQ(nearest_name("fgd", {}), "");
    EXPECT_EQ(did_you_mean("fdg", kNames), " did you mean fgd?");
    EXPECT_EQ(did_you_mean("nobody", kNames), "");
}

}  // namespace
}  // namespace tessera
