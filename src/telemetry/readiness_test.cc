#include "telemetry/readiness.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

namespace tessera {
namespace {

TEST(Readiness, AllMustHold) {
    Readiness ready;
    EXPECT_FALSE(ready.ready());
    EXPECT_EQ(ready.answer().text, "no condition was set up\n");
    auto& ledger = ready.add("ledger", "the pods have not been read yet");
    bool leading = false;
    ready.watch("leader", [&] { return leading ? "" : "held by b"; });
    EXPECT_EQ(ready.answer().text,
              "no ledger: the pods have not been read yet\nno leader: held by b\n");
    EXPECT_FALSE(ready.answer().ready);
    EXPECT_EQ(ready.why_not(), "the pods have not been read yet");
    ledger.holds();
    EXPECT_EQ(ready.why_not(), "held by b");
    EXPECT_EQ(ready.answer().text, "ok ledger\nno leader: held by b\n");
    EXPECT_FALSE(ready.ready());
    leading = true;
    EXPECT_TRUE(ready.ready());
    EXPECT_EQ(ready.why_not(), "");
    EXPECT_TRUE(ready.answer().ready);
    EXPECT_EQ(ready.answer().text, "ok ledger\nok leader\n");
    ledger.fails("the watch is silent");
    EXPECT_FALSE(ready.answer().ready);
    EXPECT_EQ(ready.answer().text, "no ledger: the watch is silent\nok leader\n");
    ledger.fails("");
    EXPECT_FALSE(ready.ready()) << "a failure without a reason is one";
}

TEST(Readiness, FromManyThreads) {
    Readiness ready;
    auto& first = ready.add("first", "not yet");
    std::atomic<bool> stop = false;
    std::thread asks([&] {
        while (!stop) {
            const auto answer = ready.answer();
            EXPECT_EQ(answer.ready, answer.text.find("no ") == std::string::npos);
        }
    });
    for (int i = 0; i < 100; ++i) {
        ready.add("c" + std::to_string(i), "not yet").holds();
        i % 2 == 0 ? first.holds() : first.fails("again");
    }
    first.holds();
    stop = true;
    asks.join();
    EXPECT_TRUE(ready.ready());
}

}  // namespace
}  // namespace tessera
