// Quantities against a slow reference: decimal digits in a vector, one multiplication at a time.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/quantity.h"

namespace tessera {
namespace {

// A number of any size, least digit first.
using Digits = std::vector<int>;

Digits times(Digits digits, int factor) {
    int carry = 0;
    for (int& digit : digits) {
        carry += digit * factor;
        digit = carry % 10;
        carry /= 10;
    }
    for (; carry > 0; carry /= 10) {
        digits.push_back(carry % 10);
    }
    return digits;
}

Digits trimmed(Digits digits) {
    while (!digits.empty() && digits.back() == 0) {
        digits.pop_back();
    }
    return digits;
}

bool larger(const Digits& a, const Digits& b) {
    if (a.size() != b.size()) {
        return a.size() > b.size();
    }
    return std::lexicographical_compare(b.rbegin(), b.rend(), a.rbegin(), a.rend());
}

// Magnitude in billionths, rounded up.
Digits reference(const std::string& whole, const std::string& fraction, int exponent, int binary) {
    const std::string text = whole + fraction;
    Digits digits;
    for (auto c = text.rbegin(); c != text.rend(); ++c) {
        digits.push_back(*c - '0');
    }
    for (; binary > 0; --binary) {
        digits = times(digits, 2);
    }
    int shift = exponent + 9 - static_cast<int>(fraction.size());
    for (; shift > 0; --shift) {
        digits.insert(digits.begin(), 0);
    }
    bool rest = false;
    for (; shift < 0 && !digits.empty(); ++shift) {
        rest = rest || digits.front() != 0;
        digits.erase(digits.begin());
    }
    if (rest) {
        std::size_t at = 0;
        for (; at < digits.size() && digits[at] == 9; ++at) {
            digits[at] = 0;
        }
        if (at == digits.size()) {
            digits.push_back(0);
        }
        digits[at] += 1;
    }
    return trimmed(digits);
}

Digits digits_of(Int128 value) {
    Digits digits;
    for (; value > 0; value /= 10) {
        digits.push_back(static_cast<int>(value % 10));
    }
    return digits;
}

std::string some_digits(int most) {
    return *rc::gen::resize(
        most,
        rc::gen::container<std::string>(rc::gen::weightedOneOf<char>(
            {{1, rc::gen::just('0')}, {1, rc::gen::just('9')}, {2, rc::gen::inRange('0', ':')}})));
}

struct Form {
    const char* suffix;
    int exponent;
    int binary;
};

RC_GTEST_PROP(QuantityProperty, AgreesWithTheSlowReference, ()) {
    static const std::vector<Form> kForms{
        {"", 0, 0},    {"n", -9, 0},  {"u", -6, 0},  {"m", -3, 0}, {"k", 3, 0},   {"M", 6, 0},
        {"G", 9, 0},   {"T", 12, 0},  {"P", 15, 0},  {"E", 18, 0}, {"Ki", 0, 10}, {"Mi", 0, 20},
        {"Gi", 0, 30}, {"Ti", 0, 40}, {"Pi", 0, 50}, {"Ei", 0, 60}};
    const std::string whole = some_digits(19) + "0";
    const std::string fraction = some_digits(18);
    Form form = *rc::gen::elementOf(kForms);
    std::string suffix = form.suffix;
    if (suffix.empty() && *rc::gen::arbitrary<bool>()) {
        form.exponent = *rc::gen::inRange(-60, 30);
        suffix = "e" + std::to_string(form.exponent);
    }
    const bool negative = *rc::gen::arbitrary<bool>();
    const std::string text = (negative ? "-" : "") + whole + "." + fraction + suffix;
    const Digits expected = reference(whole, fraction, form.exponent, form.binary);
    const auto quantity = Quantity::parse(text);
    const Digits limit = digits_of(Int128{INT64_MAX} * 1'000'000'000);
    if (larger(expected, limit)) {
        RC_ASSERT(!quantity);
        return;
    }
    RC_ASSERT(quantity.has_value());
    RC_ASSERT(digits_of(negative ? -quantity->nano() : quantity->nano()) == expected);
}

RC_GTEST_PROP(QuantityProperty, TextReadsBackEqualAndKeepsOrder, ()) {
    const auto any = [] {
        const Int128 high = *rc::gen::arbitrary<std::int32_t>();
        const Int128 nano = high * *rc::gen::elementOf(std::vector<std::int64_t>{
                                       1, 1000, 1'000'000, 1'000'000'000, 1'000'000'000'000}) +
                            *rc::gen::inRange(-5, 5);
        return Quantity::from_nano(nano);
    };
    const Quantity a = any();
    const Quantity b = any();
    RC_ASSERT(Quantity::parse(a.to_string()).value() == a);
    RC_ASSERT((a < b) == (a.nano() < b.nano()));
    RC_ASSERT((a + b).nano() == a.nano() + b.nano());
    RC_ASSERT(a.milli_up().value() >= a.milli_down().value() || a.negative());
}

}  // namespace
}  // namespace tessera
