#include "kube/binder_writes.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "kube/fake_http_client.h"

namespace tessera {
namespace {

// One write: how it ends ('d'one, 'r'efused, 'u'nknown, or 'x': its callback is dropped), and how
// its undo ends; ' ' has none.
struct Step {
    char run;
    char undo;
};

WriteEnd end_of(char letter) {
    return letter == 'd' ? WriteEnd::done : letter == 'r' ? WriteEnd::refused : WriteEnd::unknown;
}

struct RunResult {
    std::string journal;  // "0d 1r 0<" ...
    std::string end;      // "refused: why"
};

RunResult run(const std::vector<Step>& steps, Nanoseconds each = milliseconds(1),
              Nanoseconds deadline = seconds(1)) {
    VirtualTime time;
    RunResult result;
    const auto ends = [&](char letter, const std::string& why) {
        return [&time, each, letter, why](Nanoseconds until, WriteDone done) {
            EXPECT_GT(until, time.now());
            if (letter != 'x') {
                time.after(each, [done = std::move(done), letter, why] {
                    done({end_of(letter), letter == 'd' ? "" : why});
                });
            }
        };
    };
    std::vector<Write> writes;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const std::string name = "w" + std::to_string(i);
        writes.push_back({name, ends(steps[i].run, name + " failed")});
        if (steps[i].undo != ' ') {
            writes.back().undo = ends(steps[i].undo, name + " stays");
        }
    }
    WriteListOptions options{.clock = time.clock(), .until = time.now() + deadline};
    options.journal = [&](const JournalEntry& entry) {
        EXPECT_EQ(entry.write, "w" + std::to_string(entry.position));
        result.journal += std::to_string(entry.position) + " " +
                          std::string(step_name(entry.step)) + (entry.message.empty() ? "" : "!") +
                          ", ";
    };
    int told = 0;
    run_writes(std::move(writes), options, [&](const WriteOutcome& outcome) {
        ++told;
        result.end = outcome.end == WriteEnd::done      ? "done"
                     : outcome.end == WriteEnd::refused ? "refused"
                                                        : "unknown";
        if (!outcome.message.empty()) {
            result.end += ": " + outcome.message;
        }
    });
    time.run_for(seconds(100));
    EXPECT_EQ(told, 1);
    return result;
}

TEST(Writes, RunInOrderAndAreUndoneInReverse) {
    struct Case {
        std::vector<Step> steps;
        std::string journal;
        std::string end;
    };
    const std::vector<Case> cases{
        {{}, "", "done"},
        {{{'d', ' '}}, "0 done, ", "done"},
        {{{'d', 'd'}, {'d', 'd'}, {'d', ' '}}, "0 done, 1 done, 2 done, ", "done"},
        {{{'r', 'd'}}, "0 refused!, ", "refused: w0 failed"},
        {{{'d', 'd'}, {'d', 'd'}, {'r', ' '}},
         "0 done, 1 done, 2 refused!, 1 undone, 0 undone, ",
         "refused: w2 failed"},
        {{{'d', 'd'}, {'d', ' '}, {'r', 'd'}},
         "0 done, 1 done, 2 refused!, 0 undone, ",
         "refused: w2 failed"},
        // What ends unknown is undone as well, or else everything stays.
        {{{'d', 'd'}, {'u', 'd'}, {'d', ' '}},
         "0 done, 1 unknown!, 1 undone, 0 undone, ",
         "refused: w1 failed"},
        {{{'d', 'd'}, {'d', 'd'}, {'u', ' '}},
         "0 done, 1 done, 2 unknown!, ",
         "unknown: w2 failed"},
        // An undo that fails does not keep the others from being tried.
        {{{'d', 'd'}, {'d', 'u'}, {'r', ' '}},
         "0 done, 1 done, 2 refused!, 1 not undone!, 0 undone, ",
         "unknown: w2 failed; the w1 could not be undone: w1 stays"},
        {{{'d', 'r'}, {'u', 'r'}},
         "0 done, 1 unknown!, 1 not undone!, 0 not undone!, ",
         "unknown: w1 failed; the w1 could not be undone: w1 stays; the w0 could not be undone: w0 "
         "stays"},
        {{{'d', 'd'}, {'x', 'd'}}, "0 done, ", "unknown: the end of a write was never told"},
    };
    for (const auto& [steps, journal, end] : cases) {
        const RunResult got = run(steps);
        EXPECT_EQ(got.journal, journal);
        EXPECT_EQ(got.end, end);
    }
}

TEST(Writes, NoneBeginsAfterTheDeadline) {
    const RunResult got = run({{'d', 'd'}, {'d', 'd'}, {'d', ' '}}, milliseconds(600));
    EXPECT_EQ(got.journal, "0 done, 1 done, 1 undone, 0 undone, ");
    EXPECT_EQ(got.end, "refused: there was no time left for the w2");
}

}  // namespace
}  // namespace tessera
