#include "codec/trace_row.h"

#include <array>
#include <charconv>
#include <cmath>

namespace tessera {

namespace {

// Days from 1970-01-01 in the Gregorian calendar; months count from March, so that the leap day
// ends the year.
std::int64_t days_since_1970(std::int64_t year, std::int64_t month, std::int64_t day) {
    const std::int64_t shifted_year = month <= 2 ? year - 1 : year;
    const std::int64_t shifted_month = (month + 9) % 12;
    const std::int64_t day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    return 365 * shifted_year + shifted_year / 4 - shifted_year / 100 + shifted_year / 400 +
           day_of_year - 719468;
}

int days_in_month(std::int64_t year, std::int64_t month) {
    constexpr std::array<int, 12> kDays{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : kDays[static_cast<std::size_t>(month - 1)];
}

std::optional<std::int64_t> digits(std::string_view text) {
    std::int64_t value = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') {
            return std::nullopt;
        }
        value = value * 10 + (c - '0');
    }
    return value;
}

std::optional<double> parse_timestamp(std::string_view text) {
    // yyyy-mm-dd hh:mm:ss
    if (text.size() != 19 || text[4] != '-' || text[7] != '-' ||
        (text[10] != ' ' && text[10] != 'T') || text[13] != ':' || text[16] != ':') {
        return std::nullopt;
    }
    const auto year = digits(text.substr(0, 4));
    const auto month = digits(text.substr(5, 2));
    const auto day = digits(text.substr(8, 2));
    const auto hour = digits(text.substr(11, 2));
    const auto minute = digits(text.substr(14, 2));
    const auto second = digits(text.substr(17, 2));
    if (!year || !month || !day || !hour || !minute || !second) {
        return std::nullopt;
    }
    if (*year < 1970 || *month < 1 || *month > 12 || *day < 1 ||
        *day > days_in_month(*year, *month) || *hour > 23 || *minute > 59 || *second > 60) {
        return std::nullopt;
    }
    const std::int64_t days = days_since_1970(*year, *month, *day);
    return static_cast<double>(((days * 24 + *hour) * 60 + *minute) * 60 + *second);
}

// Long or binary values must not flood a terminal.
std::string shown(std::string_view text) {
    constexpr std::size_t kShownMax = 40;
    std::string safe;
    for (const char c : text.substr(0, kShownMax)) {
        const bool plain = c >= ' ' && c <= '~';
        safe.push_back(plain ? c : '?');
    }
    return text.size() > kShownMax ? safe + "..." : safe;
}

}  // namespace

Expected<TraceHeader> TraceHeader::make(CsvRow row, std::string_view file) {
    TraceHeader header;
    header.row_ = std::move(row);
    for (std::size_t i = 0; i < header.row_.fields.size(); ++i) {
        const CsvField& field = header.row_.fields[i];
        const TraceColumn first = header.column(field.text);
        if (!field.text.empty() && first.index != i) {
            return fail(ErrorKind::invalid, "{}:{}:{}: the header names column \"{}\" twice", file,
                        header.row_.line, field.column, shown(field.text));
        }
    }
    return header;
}

TraceColumn TraceHeader::column(std::string_view name) const {
    for (std::size_t i = 0; i < row_.fields.size(); ++i) {
        if (row_.fields[i].text == name) {
            return {name, i, true};
        }
    }
    return {name, 0, false};
}

std::string_view TraceRow::text(const TraceColumn& column) const {
    if (!column.present || column.index >= row_.fields.size()) {
        return {};
    }
    return row_.fields[column.index].text;
}

tl::unexpected<Error> TraceRow::wrong(const TraceColumn& column, std::string_view what) const {
    const std::size_t place =
        column.index < row_.fields.size() ? row_.fields[column.index].column : 1;
    return fail(ErrorKind::invalid, "{}:{}:{}: {}: \"{}\" {}", file_, row_.line, place, column.name,
                shown(text(column)), what);
}

Expected<std::int64_t> TraceRow::integer(const TraceColumn& column, std::int64_t low,
                                         std::int64_t high) const {
    const std::string_view field = text(column);
    std::int64_t value = 0;
    const char* end = field.data() + field.size();
    const auto parsed = std::from_chars(field.data(), end, value);
    if (field.empty() || parsed.ec != std::errc{} || parsed.ptr != end || value < low ||
        value > high) {
        return wrong(column, fmt::format("is not a whole number from {} to {}", low, high));
    }
    return value;
}

Expected<double> TraceRow::number(const TraceColumn& column, double low, double high) const {
    const std::string_view field = text(column);
    double value = 0;
    const char* end = field.data() + field.size();
    const auto parsed = std::from_chars(field.data(), end, value);
    if (field.empty() || parsed.ec != std::errc{} || parsed.ptr != end || !std::isfinite(value) ||
        value < low || value > high) {
        return wrong(column, fmt::format("is not a number from {:g} to {:g}", low, high));
    }
    return value;
}

Expected<std::optional<double>> TraceRow::optional_number(const TraceColumn& column, double low,
                                                          double high) const {
    if (text(column).empty()) {
        return std::optional<double>();
    }
    TESSERA_TRY(const double value, number(column, low, high));
    return std::optional<double>(value);
}

Expected<double> TraceRow::timestamp(const TraceColumn& column) const {
    const auto seconds = parse_timestamp(text(column));
    if (!seconds) {
        return wrong(column, "is not a time of the form 2017-10-09 07:01:55");
    }
    return *seconds;
}

}  // namespace tessera
