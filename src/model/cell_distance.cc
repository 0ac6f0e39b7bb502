#include "model/cell_distance.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

namespace tessera {
namespace {

constexpr std::int64_t kNamesApart = 100;

// The value of a segment of digits only; others, and those past any sensible count, are names.
std::optional<std::int64_t> number_of(std::string_view segment) {
    constexpr std::size_t kDigitsMax = 9;
    std::int64_t value = 0;
    const char* end = segment.data() + segment.size();
    if (segment.empty() || segment.size() > kDigitsMax || segment.front() == '-') {
        return std::nullopt;
    }
    const auto [stop, error] = std::from_chars(segment.data(), end, value);
    return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

std::int64_t segment_distance(std::string_view a, std::string_view b) {
    const auto left = number_of(a);
    const auto right = number_of(b);
    if (left && right) {
        return *left > *right ? *left - *right : *right - *left;
    }
    return a == b ? 0 : kNamesApart;
}

// Takes the last segment off an id; false when nothing is left.
bool take_last(std::string_view& id, std::string_view& segment) {
    if (id.empty()) {
        return false;
    }
    segment = id.substr(id.rfind('/') + 1);
    id.remove_suffix(std::min(id.size(), segment.size() + 1));
    return true;
}

}  // namespace

std::int64_t cell_distance(std::string_view a, std::string_view b) {
    std::int64_t distance = 0;
    std::string_view left;
    std::string_view right;
    while (!a.empty() && !b.empty()) {
        take_last(a, left);
        take_last(b, right);
        distance += segment_distance(left, right);
    }
    std::string_view rest = a.empty() ? b : a;
    while (take_last(rest, left)) {
        distance += number_of(left).value_or(kNamesApart);
    }
    return distance;
}

std::string cell_of(const NodeSpec& node, GpuIndex gpu) {
    const bool named = gpu.slot() < node.gpus.size() && !node.gpus[gpu.slot()].cell.empty();
    return named ? node.gpus[gpu.slot()].cell : fmt::format("{}/{}", node.name, gpu.value() + 1);
}

DistanceToCells::DistanceToCells(std::span<const std::string> ids)
    : cells_(static_cast<std::int64_t>(ids.size())) {
    std::vector<std::vector<std::string_view>> names;
    for (std::string_view id : ids) {
        std::string_view segment;
        for (std::size_t at = 0; take_last(id, segment); ++at) {
            if (at == levels_.size()) {
                levels_.emplace_back();
                names.emplace_back();
            }
            if (const auto number = number_of(segment)) {
                levels_[at].numbers.push_back(*number);
            } else {
                names[at].push_back(segment);
            }
        }
    }
    for (std::size_t at = 0; at < levels_.size(); ++at) {
        Level& level = levels_[at];
        std::ranges::sort(level.numbers);
        level.sums.resize(level.numbers.size() + 1);
        std::partial_sum(level.numbers.begin(), level.numbers.end(), level.sums.begin() + 1);
        level.named = static_cast<std::int64_t>(names[at].size());
        std::ranges::sort(names[at]);
        for (const std::string_view name : names[at]) {
            if (level.names.empty() || level.names.back().first != name) {
                level.names.emplace_back(name, 0);
            }
            ++level.names.back().second;
        }
    }
}

std::int64_t DistanceToCells::sum_at(const Level& level, std::string_view segment) const {
    const auto numbers = static_cast<std::int64_t>(level.numbers.size());
    const std::int64_t without = cells_ - numbers - level.named;
    if (const auto number = number_of(segment)) {
        const auto below = std::ranges::lower_bound(level.numbers, *number) - level.numbers.begin();
        const std::int64_t lower = level.sums[static_cast<std::size_t>(below)];
        return *number * below - lower + (level.sums.back() - lower) - *number * (numbers - below) +
               kNamesApart * level.named + *number * without;
    }
    const auto same = std::ranges::lower_bound(
        level.names, segment, {}, [](const auto& name) -> std::string_view { return name.first; });
    const bool found = same != level.names.end() && same->first == segment;
    return kNamesApart * (cells_ - (found ? same->second : 0));
}

std::int64_t DistanceToCells::mean_milli(std::string_view id) const {
    if (cells_ == 0) {
        return 0;
    }
    std::int64_t sum = 0;
    std::string_view segment;
    std::size_t at = 0;
    for (; take_last(id, segment); ++at) {
        sum += at < levels_.size() ? sum_at(levels_[at], segment)
                                   : cells_ * number_of(segment).value_or(kNamesApart);
    }
    for (; at < levels_.size(); ++at) {
        sum += levels_[at].sums.back() + kNamesApart * levels_[at].named;
    }
    constexpr std::int64_t kMilli = 1000;
    return sum / cells_ * kMilli + sum % cells_ * kMilli / cells_;
}

}  // namespace tessera
