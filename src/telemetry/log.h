// The log: one line per event on stderr, for people (key=value) or for machines (JSON).
//
//   Log log({.level = LogLevel::info, .format = LogFormat::json});
//   log.info("pod bound", {{"pod", key}, {"node", node}, {"ms", 12}});
//   // time=2026-11-18T12:00:00.123Z level=info msg="pod bound" pod=default/a node=n1 ms=12
//
//   RepeatedLine lost(log, LogLevel::warning, "the watch was lost");    // at most every 10 s
//   lost.tell({{"error", error.message}});                              // ... more=17
//
// Whatever is in a message or a value, a line stays one line and a value one value: control
// characters, line ends and bytes that are no UTF-8 are escaped, and very long text is cut. A level
// that is off costs one load and the arguments; guard dear arguments by on(). For any thread.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/error.h"
#include "base/units.h"

namespace tessera {

enum class LogLevel : std::uint8_t { debug, info, warning, error, off };
enum class LogFormat : std::uint8_t { text, json };

// "debug", "info", "warning", "error", "off"; "text", "json".
Expected<LogLevel> parse_log_level(std::string_view word);
Expected<LogFormat> parse_log_format(std::string_view word);

// Text is looked at only during the call.
struct LogField {
    using Value = std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool>;

    LogField(std::string_view name, std::string_view text) : key(name), value(text) {}
    LogField(std::string_view name, const std::string& text)
        : key(name), value(std::string_view(text)) {}
    LogField(std::string_view name, const char* text) : key(name), value(std::string_view(text)) {}
    LogField(std::string_view name, bool truth) : key(name), value(truth) {}
    LogField(std::string_view name, double number) : key(name), value(number) {}
    template <std::signed_integral T>
    LogField(std::string_view name, T number) : key(name), value(std::int64_t{number}) {}
    template <std::unsigned_integral T>
        requires(!std::same_as<T, bool>)
    LogField(std::string_view name, T number) : key(name), value(std::uint64_t{number}) {}

    std::string_view key;  // ours: letters, digits and "_"
    Value value;
};

using LogFields = std::initializer_list<LogField>;

struct LogOptions {
    LogLevel level = LogLevel::info;
    LogFormat format = LogFormat::text;
    // Gets whole lines without their end, one at a time; empty: stderr.
    std::function<void(std::string_view)> sink{};
    std::function<Nanoseconds()> clock{};  // since 1970; empty: the system's
};

class Log {
  public:
    explicit Log(LogOptions options);
    ~Log();
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    bool on(LogLevel level) const { return level >= level_.load(std::memory_order_relaxed); }
    void set_level(LogLevel level) { level_.store(level, std::memory_order_relaxed); }

    void write(LogLevel level, std::string_view message, LogFields fields = {}) {
        if (on(level)) {
            write_line(level, message, fields, 0);
        }
    }
    void debug(std::string_view message, LogFields fields = {}) {
        write(LogLevel::debug, message, fields);
    }
    void info(std::string_view message, LogFields fields = {}) {
        write(LogLevel::info, message, fields);
    }
    void warning(std::string_view message, LogFields fields = {}) {
        write(LogLevel::warning, message, fields);
    }
    void error(std::string_view message, LogFields fields = {}) {
        write(LogLevel::error, message, fields);
    }

  private:
    friend class RepeatedLine;
    struct Inner;

    void write_line(LogLevel level, std::string_view message, LogFields fields, std::uint64_t more);
    Nanoseconds now() const;

    std::atomic<LogLevel> level_;
    std::unique_ptr<Inner> inner_;
};

// A line that may come thousands of times. It is written at most once per pause; the next one says
// how many were left out ("more"), and so does the end of this object.
class RepeatedLine {
  public:
    RepeatedLine(Log& log, LogLevel level, std::string message,
                 Nanoseconds pause = Nanoseconds(10'000'000'000));
    ~RepeatedLine();
    RepeatedLine(const RepeatedLine&) = delete;
    RepeatedLine& operator=(const RepeatedLine&) = delete;

    void tell(LogFields fields = {});

  private:
    Log& log_;
    const LogLevel level_;
    const std::string message_;
    const Nanoseconds pause_;
    std::mutex mutex_;
    std::optional<Nanoseconds> last_;
    std::uint64_t left_out_ = 0;
};

}  // namespace tessera
