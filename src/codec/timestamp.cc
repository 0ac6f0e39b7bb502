#include "codec/timestamp.h"

#include <algorithm>
#include <chrono>

namespace tessera {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

// So many digits; fails by making the rest unreadable.
class Digits {
  public:
    explicit Digits(std::string_view text) : text_(text) {}

    std::int32_t number(std::size_t count) {
        std::int32_t value = 0;
        for (std::size_t i = 0; i < count; ++i) {
            good_ = good_ && i < text_.size() && digit(text_[i]);
            value = good_ ? value * 10 + (text_[i] - '0') : 0;
        }
        text_.remove_prefix(std::min(count, text_.size()));
        return value;
    }
    void mark(std::string_view accepted) {
        good_ = good_ && !text_.empty() && accepted.find(text_.front()) != std::string_view::npos;
        text_.remove_prefix(text_.empty() ? 0 : 1);
    }
    void skip_fraction() {
        if (!text_.empty() && text_.front() == '.') {
            text_.remove_prefix(1);
            number(1);
            while (!text_.empty() && digit(text_.front())) {
                text_.remove_prefix(1);
            }
        }
    }
    char next() const { return text_.empty() ? '\0' : text_.front(); }
    bool good_end() const { return good_ && text_.empty(); }

  private:
    std::string_view text_;
    bool good_ = true;
};

}  // namespace

std::optional<std::int64_t> parse_timestamp(std::string_view text) {
    Digits in(text);
    const std::int32_t year = in.number(4);
    in.mark("-");
    const auto month = static_cast<unsigned>(in.number(2));
    in.mark("-");
    const auto day = static_cast<unsigned>(in.number(2));
    in.mark("Tt ");
    const std::int32_t hour = in.number(2);
    in.mark(":");
    const std::int32_t minute = in.number(2);
    in.mark(":");
    const std::int32_t second = in.number(2);
    in.skip_fraction();
    const char zone = in.next();
    in.mark("Zz+-");
    std::int32_t ahead_minutes = 0;
    if (zone == '+' || zone == '-') {
        ahead_minutes = in.number(2) * 60;
        in.mark(":");
        ahead_minutes = (ahead_minutes + in.number(2)) * (zone == '-' ? -1 : 1);
    }
    const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                           std::chrono::day(day)};
    if (!in.good_end() || !date.ok() || hour > 23 || minute > 59 || second > 60) {
        return std::nullopt;
    }
    const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
    return ((days * 24 + hour) * 60 + minute - ahead_minutes) * 60 + second;
}

}  // namespace tessera
