// Whichever compiler built this, policies decide by the numbers in test_digest.h.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>

#include "policy/test_digest.h"

namespace tessera {
namespace {

TEST(PolicyDigest, GapValuesAreThoseOfEveryCompiler) {
    EXPECT_EQ(testing::gap_digest(), testing::kGapDigest)
        << fmt::format("now {:#018x}", testing::gap_digest());
}

TEST(PolicyDigest, ScoresAreThoseOfEveryCompiler) {
    ASSERT_EQ(testing::kScoreDigests.size(), known_policies().size());
    for (const testing::KnownDigest& known : testing::kScoreDigests) {
        const std::uint64_t now = testing::score_digest(known.policy);
        EXPECT_EQ(now, known.digest) << fmt::format("{{\"{}\", {:#018x}}},", known.policy, now);
    }
}

}  // namespace
}  // namespace tessera
