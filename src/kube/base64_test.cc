#include "kube/base64.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Base64, ReadsTheExamplesOfItsStandard) {
    EXPECT_EQ(decode_base64(""), "");
    EXPECT_EQ(decode_base64("Zg=="), "f");
    EXPECT_EQ(decode_base64("Zm8="), "fo");
    EXPECT_EQ(decode_base64("Zm9v"), "foo");
    EXPECT_EQ(decode_base64("Zm9vYg=="), "foob");
    EXPECT_EQ(decode_base64("Zm9vYmE="), "fooba");
    EXPECT_EQ(decode_base64("Zm9vYmFy"), "foobar");
    EXPECT_EQ(decode_base64("+/+/"), "\xfb\xff\xbf");
    EXPECT_EQ(decode_base64(" Zm9v\r\n\tYmFy\n"), "foobar");
}

TEST(Base64, RefusesWhatIsNone) {
    for (const char* text : {"Z", "Zg", "Zg=", "Zg===", "Z===", "====", "=",
                             "Zm9v=", "Zg==Zg==", "Zh==", "Zm9=", "Zm9v!", "Zm-_", "\xff"}) {
        EXPECT_EQ(decode_base64(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace tessera
