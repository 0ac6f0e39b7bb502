#include "base/text.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Text, ValidUtf8) {
    EXPECT_TRUE(valid_utf8(""));
    EXPECT_TRUE(valid_utf8("plain"));
    EXPECT_TRUE(valid_utf8("é€😀한"));
    for (const char* bad : {"\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                            "\xf5\x80\x80\x80", "\xe2\x82", "\xff"}) {
        EXPECT_FALSE(valid_utf8(bad));
    }
}

TEST(Text, TheByteOrderMarkIsNoText) {
    EXPECT_EQ(without_byte_order_mark("\xef\xbb\xbfx"), "x");
    EXPECT_EQ(without_byte_order_mark("\xef\xbbx"), "\xef\xbbx");
    EXPECT_EQ(without_byte_order_mark(""), "");
}

TEST(Text, QuotedIsPrintableAndShort) {
    EXPECT_EQ(in_quotes("a\"b\\\n\xff"), "\"a\\\"b\\\\\\x0a\\xff\"");
    const std::string huge = in_quotes(std::string(10'000'000, 'x'));
    EXPECT_LT(huge.size(), 120U);
    EXPECT_NE(huge.find("(10000000 bytes)"), std::string::npos);
    // A character is never cut in two.
    EXPECT_TRUE(valid_utf8(in_quotes(std::string(79, 'x') + "한한")));
}

}  // namespace
}  // namespace tessera
