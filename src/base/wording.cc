#include "base/wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace tessera {
namespace {

constexpr std::size_t kNameMax = 64;  // longer text is no slip of a name of ours

// Letters left out, put in, replaced, or two neighbours exchanged.
std::size_t slips_between(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before_last(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        row[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        before_last.swap(last);
        last.swap(row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = std::min(row[j], before_last[j - 2] + 1);
            }
        }
    }
    return row[b.size()];
}

// The only name that begins so.
std::string_view begun_name(std::string_view beginning, std::span<const std::string_view> names) {
    constexpr std::size_t kLeast = 3;
    std::string_view found;
    for (const std::string_view name : names) {
        if (beginning.size() >= kLeast && name.starts_with(beginning)) {
            if (!found.empty()) {
                return {};
            }
            found = name;
        }
    }
    return found;
}

}  // namespace

std::string counted(std::int64_t count, std::string_view what, std::string_view many) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : many);
}

std::string the_counted(std::int64_t count, std::string_view what) {
    return count == 1 ? fmt::format("the one {}", what) : "the " + counted(count, what);
}

std::string range_text(std::int64_t low, std::int64_t high) {
    return low == high ? fmt::format("{}", low) : fmt::format("from {} to {}", low, high);
}

std::string three_digits(double value) {
    constexpr int kDecimalsMax = 9;
    if (value == 0 || !std::isfinite(value)) {
        return fmt::format("{:.0f}", value);
    }
    const auto magnitude = static_cast<int>(std::floor(std::log10(std::abs(value))));
    std::string text = fmt::format("{:.{}f}", value, std::clamp(2 - magnitude, 0, kDecimalsMax));
    if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        text.erase(text.find_last_not_of('.') + 1);
    }
    return text;
}

std::string_view nearest_name(std::string_view given, std::span<const std::string_view> names) {
    std::string_view nearest;
    std::size_t fewest = std::numeric_limits<std::size_t>::max();
    for (const std::string_view name : names) {
        if (given.size() > kNameMax || name.size() > kNameMax) {
            continue;
        }
        const std::size_t slips = slips_between(given, name);
        const std::size_t most = std::min(given.size(), name.size()) <= 4 ? 1 : 2;
        if (slips <= most && slips < fewest) {
            fewest = slips;
            nearest = name;
        }
    }
    const std::string_view begun = begun_name(given, names);
    return fewest > 1 && !begun.empty() ? begun : nearest;
}

std::string did_you_mean(std::string_view given, std::span<const std::string_view> names) {
    const std::string_view nearest = nearest_name(given, names);
    return nearest.empty() ? std::string() : fmt::format(" did you mean {}?", nearest);
}

}  // namespace tessera
