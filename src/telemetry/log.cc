#include "telemetry/log.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <span>
#include <utility>

#include "base/assert.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "base/wording.h"

namespace tessera {
namespace {

constexpr std::size_t kValueMost = 4096;  // bytes; more is cut

constexpr std::array<std::string_view, 5> kLevels{"debug", "info", "warning", "error", "off"};
constexpr std::array<std::string_view, 2> kFormats{"text", "json"};

template <class T>
Expected<T> parse_word(std::string_view word, std::span<const std::string_view> words,
                       std::string_view what) {
    const auto found = std::find(words.begin(), words.end(), word);
    if (found == words.end()) {
        return fail(ErrorKind::invalid, "{} is no {}: it is one of {}{}", in_quotes(word), what,
                    fmt::join(words, ", "), did_you_mean(word, words));
    }
    return static_cast<T>(found - words.begin());
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
    constexpr std::array<spdlog::level::level_enum, 4> kTheirs{
        spdlog::level::debug, spdlog::level::info, spdlog::level::warn, spdlog::level::err};
    return kTheirs.at(static_cast<std::size_t>(level));
}

// Lines for a function, without their end.
class FunctionSink final : public spdlog::sinks::base_sink<std::mutex> {
  public:
    explicit FunctionSink(std::function<void(std::string_view)> to) : to_(std::move(to)) {}

  private:
    void sink_it_(const spdlog::details::log_msg& message) override {
        spdlog::memory_buf_t line;
        formatter_->format(message, line);
        to_(std::string_view(line.data(), line.size() - 1));
    }
    void flush_() override {}

    std::function<void(std::string_view)> to_;
};

std::uint32_t code_point(std::string_view character) {
    const auto first = static_cast<unsigned char>(character[0]);
    if (character.size() == 1) {
        return first;
    }
    std::uint32_t code = first & (0xFFU >> (character.size() + 1));
    for (const char c : character.substr(1)) {
        code = (code << 6U) | (static_cast<unsigned char>(c) & 0x3FU);
    }
    return code;
}

// What a terminal or a reader of lines could take for something else: controls, line and paragraph
// separators, marks that turn the direction of writing.
bool misleading(std::uint32_t code) {
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x200E && code <= 0x200F) ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

// Not in the middle of a character.
std::string_view shortened(std::string_view text) {
    if (text.size() <= kValueMost) {
        return text;
    }
    std::size_t end = kValueMost;
    while (end > kValueMost - 4 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80) {
        --end;
    }
    return text.substr(0, end);
}

void append_quoted(std::string& out, std::string_view text) {
    out += '"';
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_length(text, at);
        const std::string_view character = text.substr(at, std::max<std::size_t>(length, 1));
        const char c = character[0];
        if (length == 0) {
            fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
        } else if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else if (const auto code = code_point(character); misleading(code)) {
            fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
        } else {
            out += character;
        }
        at += character.size();
    }
    out += '"';
}

// Letters, digits and what paths, names and numbers are made of need no quotes.
bool plain(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("-._~/:+@,").find(c) != std::string_view::npos;
    });
}

void append_text(std::string& out, std::string_view text) {
    const std::string_view shown = shortened(text);
    const std::string cut = shown.size() == text.size()
                                ? std::string()
                                : fmt::format("{}... ({} bytes)", shown, text.size());
    const std::string_view whole = cut.empty() ? shown : std::string_view(cut);
    if (plain(whole)) {
        out += whole;
    } else {
        append_quoted(out, whole);
    }
}

struct TextLine {
    std::string out;

    void text(std::string_view key, std::string_view value) {
        begin(key);
        append_text(out, value);
    }
    template <class T>
    void other(std::string_view key, T value) {
        begin(key);
        fmt::format_to(std::back_inserter(out), "{}", value);
    }
    void begin(std::string_view key) {
        out += ' ';
        out += key;
        out += '=';
    }
};

// Members without the braces: the pattern has them.
struct JsonLine {
    std::string out;

    void text(std::string_view key, std::string_view value) {
        const std::string_view shown = shortened(value);
        add(key, shown.size() == value.size()
                     ? std::string(shown)
                     : fmt::format("{}... ({} bytes)", shown, value.size()));
    }
    template <class T>
    void other(std::string_view key, T value) {
        add(key, value);
    }
    template <class T>
    void add(std::string_view key, const T& value) {
        JsonWriter json;
        json.begin_object();
        json.member(key, value);
        json.end_object();
        const std::string member = json.take();
        out += ',';
        out.append(member, 1, member.size() - 2);
    }
};

template <class Line>
std::string payload(std::string_view message, LogFields fields, std::uint64_t more) {
    Line line;
    line.text("msg", message);
    for (const LogField& field : fields) {
        std::visit(
            [&](auto value) {
                if constexpr (std::is_same_v<decltype(value), std::string_view>) {
                    line.text(field.key, value);
                } else {
                    line.other(field.key, value);
                }
            },
            field.value);
    }
    if (more != 0) {
        line.other("more", more);
    }
    return std::move(line.out);
}

}  // namespace

Expected<LogLevel> parse_log_level(std::string_view word) {
    return parse_word<LogLevel>(word, kLevels, "level of the log");
}

Expected<LogFormat> parse_log_format(std::string_view word) {
    return parse_word<LogFormat>(word, kFormats, "format of the log");
}

struct Log::Inner {
    LogFormat format;
    std::function<Nanoseconds()> clock;
    spdlog::logger logger;
};

Log::Log(LogOptions options) : level_(options.level) {
    spdlog::sink_ptr sink;
    if (options.sink) {
        sink = std::make_shared<FunctionSink>(std::move(options.sink));
    } else {
        sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    }
    constexpr const char* kText = "time=%Y-%m-%dT%H:%M:%S.%eZ level=%l%v";
    constexpr const char* kJson = R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l"%v})";
    sink->set_formatter(std::make_unique<spdlog::pattern_formatter>(
        options.format == LogFormat::json ? kJson : kText, spdlog::pattern_time_type::utc, "\n"));
    if (!options.clock) {
        options.clock = [] {
            const auto since = std::chrono::system_clock::now().time_since_epoch();
            return Nanoseconds(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
        };
    }
    inner_ = std::make_unique<Inner>(
        Inner{options.format, std::move(options.clock), spdlog::logger("tessera", sink)});
    inner_->logger.set_level(spdlog::level::trace);  // we have looked at the level before
    inner_->logger.flush_on(spdlog::level::trace);
}

Log::~Log() = default;

Nanoseconds Log::now() const { return inner_->clock(); }

void Log::write_line(LogLevel level, std::string_view message, LogFields fields,
                     std::uint64_t more) {
    TESSERA_ASSERT(level < LogLevel::off, "nothing is written at the level \"off\"");
    const std::string line = inner_->format == LogFormat::json
                                 ? payload<JsonLine>(message, fields, more)
                                 : payload<TextLine>(message, fields, more);
    const spdlog::log_clock::time_point at{std::chrono::duration_cast<spdlog::log_clock::duration>(
        std::chrono::nanoseconds(inner_->clock().value()))};
    inner_->logger.log(at, spdlog::source_loc{}, spdlog_level(level),
                       spdlog::string_view_t(line.data(), line.size()));
}

RepeatedLine::RepeatedLine(Log& log, LogLevel level, std::string message, Nanoseconds pause)
    : log_(log), level_(level), message_(std::move(message)), pause_(pause) {}

RepeatedLine::~RepeatedLine() {
    if (left_out_ != 0 && log_.on(level_)) {
        log_.write_line(level_, message_, {}, left_out_);
    }
}

void RepeatedLine::tell(LogFields fields) {
    if (!log_.on(level_)) {
        return;
    }
    std::uint64_t more = 0;
    {
        const std::lock_guard lock(mutex_);
        const Nanoseconds now = log_.now();
        // The clock is the wall's: set back, it must not silence us for ever.
        if (last_ && now >= *last_ && now - *last_ < pause_) {
            ++left_out_;
            return;
        }
        last_ = now;
        more = std::exchange(left_out_, 0);
    }
    log_.write_line(level_, message_, fields, more);
}

}  // namespace tessera
