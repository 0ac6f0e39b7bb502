#include "telemetry/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Written {
    explicit Written(LogFormat format = LogFormat::text, LogLevel level = LogLevel::info)
        : log({.level = level,
               .format = format,
               .sink = [this](std::string_view line) { lines.emplace_back(line); },
               .clock = [this] { return now; }}) {}

    std::vector<std::string> lines;
    Nanoseconds now{1'795'003'200'123'456'789};
    Log log;
};

TEST(Log, ALineForPeople) {
    Written w;
    w.log.info("pod bound", {{"pod", "default/a"},
                             {"node", std::string("n1")},
                             {"ms", 12},
                             {"share", 0.5},
                             {"big", std::numeric_limits<std::uint64_t>::max()},
                             {"again", false},
                             {"why", ""}});
    EXPECT_THAT(w.lines,
                ElementsAre("time=2026-11-18T12:00:00.123Z level=info msg=\"pod bound\" "
                            "pod=default/a node=n1 ms=12 share=0.5 big=18446744073709551615 "
                            "again=false why=\"\""));
}

TEST(Log, ALineForMachines) {
    Written w(LogFormat::json);
    w.log.warning("pod \"a\"\n", {{"ms", -12}, {"ok", true}, {"nan", std::nan("")}, {"t", "\x01"}});
    EXPECT_THAT(w.lines, ElementsAre(R"({"time":"2026-11-18T12:00:00.123Z","level":"warning",)"
                                     R"("msg":"pod \"a\"\n","ms":-12,"ok":true,"nan":null,)"
                                     R"("t":"\u0001"})"));
}

TEST(Log, AValueStaysOneValueAndALineOneLine) {
    struct Case {
        std::string value;
        std::string written;
    };
    const std::vector<Case> cases{
        {"a b", R"("a b")"},
        {"a=b", R"("a=b")"},
        {"a\nlevel=error msg=x", R"("a\nlevel=error msg=x")"},
        {"\r\x1b[31m", R"("\u000d\u001b[31m")"},
        {"say \"x\\\"", R"("say \"x\\\"")"},
        {"caf\xc3\xa9", "\"caf\xc3\xa9\""},
        {"bad\xff", R"("bad\xff")"},
        {"\xc2\x85", R"("\u0085")"},
        {"\xe2\x80\xa8", R"("\u2028")"},
        {"\xe2\x80\xae", R"("\u202e")"},
        {std::string("\0", 1), R"("\u0000")"},
        {"%v {} %d", R"("%v {} %d")"},
    };
    for (const auto& [value, written] : cases) {
        Written w;
        w.log.error("m", {{"v", value}});
        EXPECT_THAT(w.lines,
                    ElementsAre("time=2026-11-18T12:00:00.123Z level=error msg=m v=" + written));
        // The message may hold what others said, too.
        Written other;
        other.log.error(value);
        EXPECT_THAT(other.lines,
                    ElementsAre("time=2026-11-18T12:00:00.123Z level=error msg=" + written));
    }
}

TEST(Log, LongTextIsCutAtACharacter) {
    std::string text(4095, 'x');
    text += "\xc3\xa9 and so on";
    for (const auto format : {LogFormat::text, LogFormat::json}) {
        Written w(format);
        w.log.info("m", {{"v", text}});
        ASSERT_EQ(w.lines.size(), 1);
        EXPECT_THAT(w.lines[0], HasSubstr("x... (4107 bytes)\""));
        EXPECT_LT(w.lines[0].size(), 4200);
    }
}

TEST(Log, LevelsThatAreOffWriteNothing) {
    Written w(LogFormat::text, LogLevel::warning);
    w.log.debug("a");
    w.log.info("b");
    w.log.warning("c");
    w.log.error("d");
    EXPECT_EQ(w.lines.size(), 2);
    EXPECT_FALSE(w.log.on(LogLevel::info));
    w.log.set_level(LogLevel::off);
    w.log.error("e");
    EXPECT_EQ(w.lines.size(), 2);
    w.log.set_level(LogLevel::debug);
    w.log.debug("f");
    EXPECT_THAT(w.lines.back(), HasSubstr("level=debug msg=f"));
}

TEST(Log, RepeatedLinesAreCounted) {
    Written w;
    {
        RepeatedLine line(w.log, LogLevel::warning, "lost", Nanoseconds(10));
        line.tell({{"n", 1}});
        for (int i = 0; i < 17; ++i) {
            line.tell({{"n", 2}});
        }
        w.now += Nanoseconds(9);
        line.tell({{"n", 3}});
        w.now += Nanoseconds(1);
        line.tell({{"n", 4}});
        w.now += Nanoseconds(10);
        line.tell({{"n", 5}});
        line.tell({{"n", 6}});
        w.now -= Nanoseconds(1'000'000'000);  // a clock that was set back
        line.tell({{"n", 7}});
        line.tell({{"n", 8}});
    }
    for (auto& line : w.lines) {
        line = line.substr(line.find("msg="));
    }
    EXPECT_THAT(w.lines, ElementsAre("msg=lost n=1", "msg=lost n=4 more=18", "msg=lost n=5",
                                     "msg=lost n=7 more=1", "msg=lost more=1"));
}

TEST(Log, ALevelThatIsOffIsNotCounted) {
    Written w(LogFormat::text, LogLevel::error);
    {
        RepeatedLine line(w.log, LogLevel::warning, "lost");
        line.tell();
        line.tell();
    }
    EXPECT_THAT(w.lines, IsEmpty());
}

TEST(Log, ThreadsDoNotMixTheirLines) {
    Written w;
    RepeatedLine repeated(w.log, LogLevel::info, "again");
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 100; ++i) {
                w.log.info("hello", {{"t", t}});
                repeated.tell({{"t", t}});
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(w.lines.size(), 401);
}

TEST(Log, Words) {
    EXPECT_EQ(parse_log_level("debug").value(), LogLevel::debug);
    EXPECT_EQ(parse_log_level("off").value(), LogLevel::off);
    EXPECT_EQ(parse_log_format("json").value(), LogFormat::json);
    EXPECT_THAT(parse_log_level("warnin").error().message,
                HasSubstr("\"warnin\" is no level of the log: it is one of debug, info, warning, "
                          "error, off"));
    EXPECT_THAT(parse_log_format("xml").error().message, HasSubstr("text, json"));
}

TEST(Log, WithoutASinkItIsStderr) {
    testing::internal::CaptureStderr();
    Log({}).info("hello");
    const std::string got = testing::internal::GetCapturedStderr();
    EXPECT_THAT(got,
                testing::MatchesRegex("time=20..-..-..T..:..:..\\....Z level=info msg=hello\n"));
}

}  // namespace
}  // namespace tessera
