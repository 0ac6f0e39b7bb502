#include "codec/timestamp.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Timestamp, IsSecondsSince1970) {
    EXPECT_EQ(parse_timestamp("1970-01-01T00:00:00Z"), 0);
    EXPECT_EQ(parse_timestamp("2026-02-28T12:34:56Z"), 1'772'282'096);
    EXPECT_EQ(parse_timestamp("2026-02-28T12:34:56.789012Z"), 1'772'282'096);
    EXPECT_EQ(parse_timestamp("2026-02-28T14:04:56+01:30"), 1'772'282'096);
    EXPECT_EQ(parse_timestamp("2026-02-28T11:34:56-01:00"), 1'772'282'096);
    EXPECT_EQ(parse_timestamp("2024-02-29T00:00:00Z"), 1'709'164'800);
}

TEST(Timestamp, IsNothingElse) {
    for (const char* text :
         {"", "now", "2026-02-28", "2026-02-28T12:34:56", "2026-02-29T00:00:00Z",
          "2026-13-01T00:00:00Z", "2026-02-28T24:00:00Z", "2026-02-28T12:34:56.Z",
          "2026-02-28T12:34:56Z ", "2026-02-28T12:34:56+0100", "-026-02-28T12:34:56Z"}) {
        EXPECT_FALSE(parse_timestamp(text)) << text;
    }
}

}  // namespace
}  // namespace tessera
