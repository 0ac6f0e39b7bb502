#include "base/quantity.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "base/rng.h"
#include "base/text.h"

namespace tessera {
namespace {

constexpr int kDigitsMax = 38;         // 10^38 < 2^127
constexpr int kExponentFar = 100'000;  // beyond any number that is neither zero nor too large
constexpr Int128 kNanoMax = Int128{std::numeric_limits<std::int64_t>::max()} * 1'000'000'000;

// mantissa x 10^exponent x 2^binary
struct Parts {
    Uint128 mantissa = 0;
    std::int64_t exponent = 0;
    int binary = 0;
    bool negative = false;
};

constexpr Uint128 power_of_ten(std::int64_t exponent) {
    Uint128 result = 1;
    for (; exponent > 0; --exponent) {
        result *= 10;
    }
    return result;
}

bool digit(char c) { return c >= '0' && c <= '9'; }

auto malformed(std::string_view text) {
    return fail(ErrorKind::invalid,
                "{} is not a quantity: accepted is a decimal number with an optional suffix n, u, "
                "m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or exponent, as in 1500m, 4Gi, 2e3",
                in_quotes(text));
}

auto too_large(std::string_view text) {
    return fail(ErrorKind::invalid,
                "{} is too large for a quantity: accepted are magnitudes up to 2^63 - 1",
                in_quotes(text));
}

// Reads a decimal number, leaving `rest` behind it. False when there is no digit.
// Zeros at the end of the digits go into the exponent, so that only real precision counts.
struct Digits {
    Parts parts;
    int significant = 0;
};
std::optional<Digits> read_number(std::string_view& rest) {
    Digits result;
    bool any = false;
    bool fraction = false;
    std::int64_t zeros = 0;  // read but not yet in the mantissa
    for (; !rest.empty() && (digit(rest.front()) || (rest.front() == '.' && !fraction));
         rest.remove_prefix(1)) {
        if (rest.front() == '.') {
            fraction = true;
            continue;
        }
        any = true;
        result.parts.exponent -= fraction ? 1 : 0;
        if (rest.front() == '0') {
            zeros += 1;
            continue;
        }
        if (result.significant > 0) {
            result.significant =
                static_cast<int>(std::min<std::int64_t>(result.significant + zeros, kExponentFar));
        }
        if (result.significant < kDigitsMax) {
            result.parts.mantissa *= result.parts.mantissa == 0 ? 1 : power_of_ten(zeros);
            result.parts.mantissa =
                result.parts.mantissa * 10 + static_cast<unsigned>(rest.front() - '0');
        }
        result.significant += 1;
        zeros = 0;
    }
    result.parts.exponent += zeros;
    return any ? std::optional(result) : std::nullopt;
}

// Decimal exponents are written as e or E and a whole number; "E" alone is the suffix exa.
std::optional<std::int64_t> read_exponent(std::string_view text) {
    const bool negative = !text.empty() && text.front() == '-';
    if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
        text.remove_prefix(1);
    }
    if (text.empty() || !std::all_of(text.begin(), text.end(), digit)) {
        return std::nullopt;
    }
    std::int64_t result = 0;
    for (char c : text) {
        result = std::min<std::int64_t>(result * 10 + (c - '0'), kExponentFar);
    }
    return negative ? -result : result;
}

bool read_suffix(std::string_view suffix, Parts& parts) {
    struct Suffix {
        std::string_view text;
        int exponent;
        int binary;
    };
    static constexpr std::array<Suffix, 16> kSuffixes{{{"", 0, 0},
                                                       {"n", -9, 0},
                                                       {"u", -6, 0},
                                                       {"m", -3, 0},
                                                       {"k", 3, 0},
                                                       {"M", 6, 0},
                                                       {"G", 9, 0},
                                                       {"T", 12, 0},
                                                       {"P", 15, 0},
                                                       {"E", 18, 0},
                                                       {"Ki", 0, 10},
                                                       {"Mi", 0, 20},
                                                       {"Gi", 0, 30},
                                                       {"Ti", 0, 40},
                                                       {"Pi", 0, 50},
                                                       {"Ei", 0, 60}}};
    for (const Suffix& known : kSuffixes) {
        if (known.text == suffix) {
            parts.exponent += known.exponent;
            parts.binary = known.binary;
            return true;
        }
    }
    if (suffix.front() != 'e' && suffix.front() != 'E') {
        return false;
    }
    const auto exponent = read_exponent(suffix.substr(1));
    parts.exponent += exponent.value_or(0);
    return exponent.has_value();
}

// ceil(mantissa x 2^binary / 10^divisor); nullopt above the limit. Doubling the remainder keeps
// every step within 128 bits, and floor(floor(x / a) / b) = floor(x / (a b)) covers large divisors.
std::optional<Uint128> scale_down(Uint128 mantissa, int binary, std::int64_t divisor) {
    const std::int64_t first = std::min<std::int64_t>(divisor, kDigitsMax);
    const Uint128 ten = power_of_ten(first);
    Uint128 quotient = mantissa / ten;
    Uint128 remainder = mantissa % ten;
    for (; binary > 0; --binary) {
        remainder *= 2;
        quotient *= 2;
        if (remainder >= ten) {
            remainder -= ten;
            quotient += 1;
        }
        if (quotient > static_cast<Uint128>(kNanoMax) && divisor <= kDigitsMax) {
            return std::nullopt;
        }
    }
    if (divisor > kDigitsMax) {
        const Uint128 second = power_of_ten(std::min<std::int64_t>(divisor - first, kDigitsMax));
        remainder += quotient % second;  // only whether it is zero matters from here
        quotient /= second;
    }
    return quotient + (remainder > 0 ? 1 : 0);
}

std::optional<Uint128> scale_up(Uint128 mantissa, int binary, std::int64_t factor) {
    const auto limit = static_cast<Uint128>(kNanoMax);
    if (mantissa > (limit >> binary)) {
        return std::nullopt;
    }
    mantissa <<= binary;
    for (; factor > 0; --factor) {
        if (mantissa > limit / 10) {
            return std::nullopt;
        }
        mantissa *= 10;
    }
    return mantissa;
}

std::optional<Int128> to_nano(const Parts& parts) {
    if (parts.mantissa == 0) {
        return 0;
    }
    const std::int64_t exponent = parts.exponent + 9;
    const auto magnitude = exponent >= 0 ? scale_up(parts.mantissa, parts.binary, exponent)
                                         : scale_down(parts.mantissa, parts.binary, -exponent);
    if (!magnitude || *magnitude > static_cast<Uint128>(kNanoMax)) {
        return std::nullopt;
    }
    const auto value = static_cast<Int128>(*magnitude);
    return parts.negative ? -value : value;
}

Expected<std::int64_t> narrow(Quantity whole, Int128 value, std::string_view unit) {
    if (value > std::numeric_limits<std::int64_t>::max() ||
        value < std::numeric_limits<std::int64_t>::min()) {
        return fail(ErrorKind::invalid,
                    "{} is too large to be counted in {}: accepted are up to 2^63 - 1",
                    whole.to_string(), unit);
    }
    return static_cast<std::int64_t>(value);
}

Int128 divide_up(Int128 value, Int128 by) {
    const Int128 quotient = value / by;
    if (value % by == 0) {
        return quotient;
    }
    return value < 0 ? quotient - 1 : quotient + 1;
}

}  // namespace

Expected<Quantity> Quantity::parse(std::string_view text) {
    std::string_view rest = text;
    bool negative = false;
    if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) {
        negative = rest.front() == '-';
        rest.remove_prefix(1);
    }
    auto number = read_number(rest);
    if (!number || !read_suffix(rest, number->parts)) {
        return malformed(text);
    }
    if (number->significant > kDigitsMax) {
        return fail(ErrorKind::invalid,
                    "{} has too many digits for a quantity: accepted are {} significant ones",
                    in_quotes(text), kDigitsMax);
    }
    number->parts.negative = negative;
    const auto nano = to_nano(number->parts);
    if (!nano) {
        return too_large(text);
    }
    return Quantity(*nano);
}

Expected<std::int64_t> Quantity::value_up() const {
    return narrow(*this, divide_up(nano_, kNano), "units");
}

Expected<std::int64_t> Quantity::milli_up() const {
    return narrow(*this, divide_up(nano_, kNano / 1000), "thousandths");
}

Expected<std::int64_t> Quantity::value_down() const {
    return narrow(*this, nano_ / kNano, "units");
}

Expected<std::int64_t> Quantity::milli_down() const {
    return narrow(*this, nano_ / (kNano / 1000), "thousandths");
}

std::string Quantity::to_string() const {
    static constexpr std::array<std::string_view, 10> kSuffixes{"n", "u", "m", "",  "k",
                                                                "M", "G", "T", "P", "E"};
    Int128 value = nano_;
    std::size_t suffix = 0;
    while (value != 0 && value % 1000 == 0 && suffix + 1 < kSuffixes.size()) {
        value /= 1000;
        ++suffix;
    }
    return value == 0 ? "0" : fmt::format("{}{}", value, kSuffixes[suffix]);
}

}  // namespace tessera
