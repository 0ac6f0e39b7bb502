#include "base/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

using ::testing::HasSubstr;

Int128 nano_of(std::string_view text) {
    auto quantity = Quantity::parse(text);
    EXPECT_TRUE(quantity) << text << ": " << (quantity ? "" : quantity.error().message);
    return quantity ? quantity->nano() : -1;
}

TEST(Quantity, ReadsEveryForm) {
    constexpr Int128 kOne = 1'000'000'000;
    EXPECT_EQ(nano_of("0"), 0);
    EXPECT_EQ(nano_of("1500m"), kOne * 3 / 2);
    EXPECT_EQ(nano_of("4Gi"), kOne * (std::int64_t{4} << 30));
    EXPECT_EQ(nano_of("2e3"), kOne * 2000);
    EXPECT_EQ(nano_of("2E3"), kOne * 2000);
    EXPECT_EQ(nano_of("12e-1"), kOne * 12 / 10);
    EXPECT_EQ(nano_of("1e+2"), kOne * 100);
    EXPECT_EQ(nano_of("0.5"), kOne / 2);
    EXPECT_EQ(nano_of(".5"), kOne / 2);
    EXPECT_EQ(nano_of("5."), kOne * 5);
    EXPECT_EQ(nano_of("1E"), kOne * 1'000'000'000'000'000'000);
    EXPECT_EQ(nano_of("-1"), -kOne);
    EXPECT_EQ(nano_of("+5"), kOne * 5);
    EXPECT_EQ(nano_of("-0"), 0);
    EXPECT_EQ(nano_of("1n"), 1);
    EXPECT_EQ(nano_of("1u"), 1000);
    EXPECT_EQ(nano_of("1k"), kOne * 1000);
    EXPECT_EQ(nano_of("1M"), kOne * 1'000'000);
    EXPECT_EQ(nano_of("0.5Ki"), kOne * 512);
    EXPECT_EQ(nano_of("7Ei"), kOne * 7 * (std::int64_t{1} << 60));
    EXPECT_EQ(nano_of("007"), kOne * 7);
    EXPECT_EQ(nano_of("0e999999999999999999999"), 0);
    EXPECT_EQ(nano_of("100000000000000000000000000000000000000000000e-40"), kOne * 10'000);
}

TEST(Quantity, FinerThanABillionthRoundsAwayFromZero) {
    EXPECT_EQ(nano_of("0.1n"), 1);
    EXPECT_EQ(nano_of("-0.1n"), -1);
    EXPECT_EQ(nano_of("1.0000000001"), 1'000'000'001);
    EXPECT_EQ(nano_of("1e-400000000"), 1);
    EXPECT_EQ(nano_of("0.00000000000000000000000000000000000000000001Ei"), 1);
}

TEST(Quantity, LimitIsTwoToTheSixtyThirdLessOne) {
    EXPECT_EQ(nano_of("9223372036854775807"), Int128{INT64_MAX} * 1'000'000'000);
    for (const char* text : {"9223372036854775808", "10E", "8Ei", "1e19", "1e999999999999",
                             "9999P"
                             "000"}) {
        auto quantity = Quantity::parse(text);
        ASSERT_FALSE(quantity) << text;
        EXPECT_THAT(quantity.error().message,
                    testing::AnyOf(HasSubstr("too large"), HasSubstr("is not a quantity")));
    }
}

TEST(Quantity, MalformedIsRefusedWithWhatIsAccepted) {
    for (const char* text :
         {"",    " ",   "-",   "+",   ".",   "1 Gi", "1gi",   "1ki", "1K",   "1e",  "1e+",  "1e1.5",
          "0x5", "NaN", "inf", "1,5", "--1", "1..2", "1.2.3", "Gi",  "1GiB", "1mm", "1e5m", "٣"}) {
        auto quantity = Quantity::parse(text);
        ASSERT_FALSE(quantity) << text;
        EXPECT_EQ(quantity.error().kind, ErrorKind::invalid);
        EXPECT_THAT(quantity.error().message, HasSubstr("Ki, Mi, Gi"));
    }
}

TEST(Quantity, TenMegabytesOfDigitsGiveOneShortSentence) {
    auto quantity = Quantity::parse(std::string(10'000'000, '7'));
    ASSERT_FALSE(quantity);
    EXPECT_LT(quantity.error().message.size(), 300U);
    EXPECT_THAT(quantity.error().message, HasSubstr("10000000 bytes"));
    EXPECT_EQ(nano_of(std::string(1'000'000, '0') + "7"), Int128{7'000'000'000});
}

TEST(Quantity, RoundingNeverFavoursTheRequester) {
    const auto third = Quantity::parse("0.3335").value();
    EXPECT_EQ(third.milli_up().value(), 334);
    EXPECT_EQ(third.milli_down().value(), 333);
    EXPECT_EQ(third.value_up().value(), 1);
    EXPECT_EQ(third.value_down().value(), 0);
    EXPECT_EQ(Quantity::parse("-1.5").value().value_up().value(), -2);
    EXPECT_FALSE(Quantity::parse("9E").value().milli_up());
    EXPECT_FALSE((Quantity::of(INT64_MAX) + Quantity::of(1)).value_up());
}

TEST(Quantity, CanonicalText) {
    for (auto [in, out] : {std::pair{"1.5", "1500m"},
                           {"0.5Gi", "536870912"},
                           {"4000", "4k"},
                           {"1e3k", "is not"},
                           {"0", "0"},
                           {"-2000m", "-2"},
                           {"1E", "1E"}}) {
        auto quantity = Quantity::parse(in);
        EXPECT_EQ(quantity ? quantity->to_string() : "is not", out);
    }
}

}  // namespace
}  // namespace tessera
