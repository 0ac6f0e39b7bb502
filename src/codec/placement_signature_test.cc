#include "codec/placement_signature.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// RFC 4231, test case 2.
TEST(PlacementSignature, IsHmacSha256) {
    EXPECT_EQ(sign_placement("Jefe", "what do ya want for nothing?"),
              "v1:5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(PlacementSignature, HoldsForThisTextAndThisKeyOnly) {
    const std::string signature = sign_placement("0123456789abcdef", "record");
    EXPECT_TRUE(signature_matches("0123456789abcdef", "record", signature));
    EXPECT_FALSE(signature_matches("0123456789abcdef", "recorD", signature));
    EXPECT_FALSE(signature_matches("0123456789abcdeF", "record", signature));
    EXPECT_FALSE(signature_matches("0123456789abcdef", "record", ""));
    EXPECT_FALSE(signature_matches("0123456789abcdef", "record", signature + "0"));
    EXPECT_FALSE(signature_matches("0123456789abcdef", "record", "v2" + signature.substr(2)));
}

TEST(PlacementSignature, KeysAreReadWithoutTheNewlineOfTheirFile) {
    EXPECT_EQ(read_signing_key("0123456789abcdef\n").value(), "0123456789abcdef");
    const auto error = read_signing_key(" short \n");
    ASSERT_FALSE(error);
    EXPECT_EQ(error.error().message,
              "a signing key of 5 bytes is not accepted: 16 or more are; "
              "\"openssl rand -hex 32\" makes one");
    EXPECT_FALSE(read_signing_key(""));
}

}  // namespace
}  // namespace tessera
