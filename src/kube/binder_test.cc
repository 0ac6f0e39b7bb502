#include "kube/binder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kube/binder_binding.h"
#include "kube/binder_fake_pods.h"
#include "kube/fake_http_client.h"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// What happens to a call on its way.
enum class Fate { well, lost_before, lost_after, silent_before, silent_after, late };

struct Script {
    Fate fate = Fate::well;
    int status = 0;  // this is answered instead, before or after the fate
};

BindRequest request(const std::string& name = "a") {
    return {.space = "default",
            .name = name,
            .uid = "u1",
            .node = "n1",
            .annotations = {{"p", "gpu 3"}, {"time", "17"}},
            .record = "p"};
}

// A server with one pod "a" that follows a script, call by call, then behaves.
struct Rig {
    explicit Rig(std::deque<Script> scripted = {}, BinderOptions with = {})
        : script(std::move(scripted)), options(std::move(with)) {
        pods.put("a", {.uid = "u1"});
        options.clock = time.clock();
        options.journal = [this](const BindRequest& of, const JournalEntry& entry) {
            journal.push_back(of.name + " " + std::string(entry.write) + " " +
                              std::string(step_name(entry.step)));
        };
        options.may_write = [this] { return may_write; };
        binder.emplace(http, options);
    }

    void serve(FakeHttpClient& to, const FakeCall& call) {
        calls.push_back(call.call.method);
        open = std::max(open, to.open_calls());
        Script next;
        if (!script.empty()) {
            next = script.front();
            script.pop_front();
        }
        const auto answer = [&] {
            const auto real = pods.answer(call.call);
            return next.status == 0 ? real : status_answer(next.status, "Scripted");
        };
        switch (next.fate) {
            case Fate::well:
                to.answer(call.id, next.status == 0 ? pods.answer(call.call)
                                                    : status_answer(next.status, "Scripted"));
                break;
            case Fate::lost_before:
                to.cut(call.id);
                break;
            case Fate::lost_after:
                next.status == 0 ? (answer(), to.cut(call.id)) : to.answer(call.id, answer());
                break;
            case Fate::silent_before:
                break;
            case Fate::silent_after:
                answer();
                break;
            case Fate::late:
                time.after(seconds(10), [this, call] { pods.answer(call.call); });
                break;
        }
    }
    WriteOutcome bind(BindRequest wanted = request()) {
        std::optional<WriteOutcome> got;
        const Nanoseconds begun = time.now();
        binder->bind(std::move(wanted), [&](const WriteOutcome& outcome) { got = outcome; });
        EXPECT_TRUE(time.run_until([&] { return got.has_value(); }, seconds(60)));
        took = time.now() - begun;
        EXPECT_LE(took, options.deadline);
        return got.value_or(WriteOutcome{});
    }

    std::deque<Script> script;
    BinderOptions options;
    FakePods pods;
    std::vector<std::string> calls;
    std::vector<std::string> journal;
    std::size_t open = 0;
    bool may_write = true;
    Nanoseconds took{};
    VirtualTime time;
    FakeHttpClient http{time,
                        [this](FakeHttpClient& to, const FakeCall& call) { serve(to, call); }};
    std::optional<Binder> binder;
};

TEST(Binder, OnePostBindsWithTheAnnotationsInside) {
    Rig rig;
    const auto outcome = rig.bind();
    EXPECT_EQ(outcome.end, WriteEnd::done) << outcome.message;
    EXPECT_EQ(rig.pods.find("a")->node, "n1");
    EXPECT_EQ(rig.pods.find("a")->annotations.at("p"), "gpu 3");
    EXPECT_THAT(rig.calls, ElementsAre("POST"));
    EXPECT_THAT(rig.journal, ElementsAre("a binding done"));
    EXPECT_EQ(rig.binder->counts().bound, 1);
    EXPECT_EQ(rig.binder->counts().looked, 0);
}

TEST(Binder, TheBindingAsItIsSent) {
    BindRequest wanted = request();
    EXPECT_EQ(binding_json(wanted),
              R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"a","namespace":"default",)"
              R"("uid":"u1","annotations":{"p":"gpu 3","time":"17"}},)"
              R"("target":{"apiVersion":"v1","kind":"Node","name":"n1"}})");
    wanted.annotations.clear();
    wanted.labels = {{"l", "\"1\""}};
    EXPECT_EQ(binding_json(wanted),
              R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"a","namespace":"default",)"
              R"("uid":"u1","labels":{"l":"\"1\""}},)"
              R"("target":{"apiVersion":"v1","kind":"Node","name":"n1"}})");
}

TEST(Binder, AConflictIsLookedInto) {
    struct Case {
        FakePod pod;
        WriteEnd end;
        std::string message;
    };
    const std::vector<Case> cases{
        {{.uid = "u1", .node = "n1", .annotations = {{"p", "gpu 3"}, {"time", "4"}}},
         WriteEnd::done,
         ""},
        {{.uid = "u1", .node = "n1", .annotations = {{"p", "gpu 3"}}, .deleting = true},
         WriteEnd::done,
         ""},
        {{.uid = "u1", .node = "n1", .annotations = {{"p", "gpu 4"}}},
         WriteEnd::refused,
         "pod default/a is bound to node n1 already, with another placement"},
        {{.uid = "u1", .node = "n1"},
         WriteEnd::refused,
         "pod default/a is bound to node n1 already, with another placement"},
        {{.uid = "u1", .node = "n2", .annotations = {{"p", "gpu 3"}}},
         WriteEnd::refused,
         "pod default/a is bound elsewhere, to node n2"},
        {{.uid = "u1", .deleting = true}, WriteEnd::refused, "pod default/a is being deleted"},
        {{.uid = "u2"},
         WriteEnd::refused,
         "pod default/a is another pod now: its uid is \"u2\", not \"u1\""},
        {{.uid = "u2", .node = "n1", .annotations = {{"p", "gpu 3"}}},
         WriteEnd::refused,
         "pod default/a is another pod now: its uid is \"u2\", not \"u1\""},
    };
    for (const auto& [pod, end, message] : cases) {
        Rig rig;
        rig.pods.put("a", pod);
        const auto outcome = rig.bind();
        EXPECT_EQ(outcome.end, end) << outcome.message;
        EXPECT_EQ(outcome.message, message);
        // A pod that is bound otherwise is shown: it takes something where it is.
        EXPECT_EQ(outcome.seen != nullptr,
                  pod.uid == "u1" && !pod.node.empty() && end == WriteEnd::refused);
        EXPECT_TRUE(outcome.seen == nullptr || outcome.seen->node_name == pod.node);
        EXPECT_THAT(rig.calls, ElementsAre("POST", "GET"));
        EXPECT_EQ(rig.binder->counts().looked, 1);
    }
}

TEST(Binder, WithoutARecordAllAnnotationsMustBeTheSame) {
    for (const bool same : {true, false}) {
        Rig rig;
        rig.pods.put("a", {.uid = "u1",
                           .node = "n1",
                           .annotations = {{"p", "gpu 3"}, {"time", same ? "17" : "4"}}});
        BindRequest wanted = request();
        wanted.record.clear();
        EXPECT_EQ(rig.bind(wanted).end, same ? WriteEnd::done : WriteEnd::refused);
    }
}

TEST(Binder, APodThatIsGoneIsRefused) {
    Rig rig;
    rig.pods.remove("a");
    const auto outcome = rig.bind();
    EXPECT_EQ(outcome.end, WriteEnd::refused);
    EXPECT_EQ(outcome.message, "pod default/a is gone");
    Rig later({{Fate::lost_before}});
    later.time.after(milliseconds(2), [&] { later.pods.remove("a"); });
    EXPECT_EQ(later.bind().message, "pod default/a is gone");
    EXPECT_THAT(later.calls, ElementsAre("POST", "GET"));
}

TEST(Binder, FaultsOnTheWay) {
    struct Case {
        std::string name;
        std::deque<Script> script;
        WriteEnd end;
        std::vector<std::string> calls;
        std::string message{};
    };
    const std::vector<Case> cases{
        {"lost before", {{Fate::lost_before}}, WriteEnd::done, {"POST", "GET", "POST"}},
        {"lost after", {{Fate::lost_after}}, WriteEnd::done, {"POST", "GET"}},
        {"silent before", {{Fate::silent_before}}, WriteEnd::done, {"POST", "GET", "POST"}},
        {"silent after", {{Fate::silent_after}}, WriteEnd::done, {"POST", "GET"}},
        {"late", {{Fate::late}}, WriteEnd::done, {"POST", "GET", "POST"}},
        {"500, nothing done", {{Fate::well, 500}}, WriteEnd::done, {"POST", "GET", "POST"}},
        {"500, all done", {{Fate::lost_after, 500}}, WriteEnd::done, {"POST", "GET"}},
        {"504, all done", {{Fate::lost_after, 504}}, WriteEnd::done, {"POST", "GET"}},
        {"429", {{Fate::well, 429}}, WriteEnd::done, {"POST", "POST"}},
        {"503, nothing done", {{Fate::well, 503}}, WriteEnd::done, {"POST", "GET", "POST"}},
        {"503, all done", {{Fate::lost_after, 503}}, WriteEnd::done, {"POST", "GET"}},
        {"409 without a reason", {{Fate::well, 409}}, WriteEnd::done, {"POST", "GET", "POST"}},
        {"the look fails once",
         {{Fate::lost_after}, {Fate::well, 500}},
         WriteEnd::done,
         {"POST", "GET", "GET"}},
        {"403",
         {{Fate::well, 403}},
         WriteEnd::refused,
         {"POST"},
         "the role of this program lacks create on pods/binding"},
        {"422", {{Fate::well, 422}}, WriteEnd::refused, {"POST"}, "422"},
        {"may not look",
         {{Fate::lost_after}, {Fate::well, 403}},
         WriteEnd::unknown,
         {"POST", "GET"},
         "the role of this program lacks get on pods"},
        {"403 after one that may have been done",
         {{Fate::lost_before}, {}, {Fate::well, 403}},
         WriteEnd::unknown,
         {"POST", "GET", "POST"},
         "nobody knows yet whether pod default/a was bound to node n1"},
    };
    for (const auto& [name, script, end, calls, message] : cases) {
        Rig rig(script);
        const auto outcome = rig.bind();
        EXPECT_EQ(outcome.end, end) << name << ": " << outcome.message;
        EXPECT_EQ(rig.calls, calls) << name;
        EXPECT_THAT(outcome.message, HasSubstr(message)) << name;
        if (end == WriteEnd::done) {
            EXPECT_EQ(outcome.message, "") << name;
            EXPECT_EQ(rig.pods.find("a")->node, "n1") << name;
        }
    }
}

TEST(Binder, WhoMayNotWriteAnyMorePostsNothing) {
    Rig none;
    none.may_write = false;
    const auto refused = none.bind();
    EXPECT_EQ(refused.end, WriteEnd::refused);
    EXPECT_THAT(refused.message, HasSubstr("not the leader any more"));
    EXPECT_THAT(none.calls, IsEmpty());

    // Nor a second time; the first may have been carried out.
    for (const auto& [fate, end] : {std::pair(Script{Fate::well, 429}, WriteEnd::refused),
                                    std::pair(Script{Fate::lost_before}, WriteEnd::unknown)}) {
        Rig rig({fate});
        rig.time.after(milliseconds(1), [&] { rig.may_write = false; });
        EXPECT_EQ(rig.bind().end, end);
        EXPECT_EQ(std::count(rig.calls.begin(), rig.calls.end(), "POST"), 1);
    }
}

TEST(Binder, ALookThatFailsUntilTheDeadlineLeavesItUnknown) {
    Rig rig({{Fate::lost_after}});
    rig.script.resize(100, {Fate::well, 500});
    rig.script.front() = {Fate::lost_after};
    const auto outcome = rig.bind();
    EXPECT_EQ(outcome.end, WriteEnd::unknown);
    EXPECT_GT(rig.took, seconds(2)) << "it tried for as long as there was time";
    EXPECT_THAT(rig.journal, ElementsAre("a binding unknown"));
}

TEST(Binder, ThrottledUntilTheDeadlineIsRefusedUnlessAnEarlierOneMayHaveBeenDone) {
    const std::deque<Script> throttled(100, {Fate::well, 429});
    Rig rig(throttled);
    EXPECT_EQ(rig.bind().end, WriteEnd::refused);
    rig.script = throttled;
    EXPECT_EQ(rig.bind().end, WriteEnd::refused);
    // From then on only a look at the pod can tell that nothing of ours is there.
    rig.script = std::deque<Script>(100, {Fate::silent_after});
    EXPECT_EQ(rig.bind().end, WriteEnd::unknown);
    rig.script = throttled;
    EXPECT_EQ(rig.bind().end, WriteEnd::unknown);
    rig.script.clear();
    EXPECT_EQ(rig.bind().end, WriteEnd::done);
    rig.script = throttled;
    EXPECT_EQ(rig.bind().end, WriteEnd::unknown);
    rig.pods.remove("a");
    rig.script.clear();
    EXPECT_EQ(rig.bind().end, WriteEnd::refused);
}

// An earlier bind was another binder's, before the Lease was lost.
TEST(Binder, WhatAnotherBinderMayHaveDoneIsNotForgotten) {
    BindRequest again = request();
    again.touched = true;
    Rig rig(std::deque<Script>(100, {Fate::well, 429}));
    EXPECT_EQ(rig.bind(again).end, WriteEnd::unknown);
    rig.may_write = false;
    EXPECT_EQ(rig.bind(again).end, WriteEnd::unknown);
    rig.binder->drain(Nanoseconds(0));
    EXPECT_EQ(rig.bind(again).end, WriteEnd::unknown) << "without a call, too";
}

TEST(Binder, WhatIsMissingIsNamedWithoutACall) {
    struct Case {
        std::string BindRequest::* field;
        std::string message;
    };
    for (const auto& [field, message] :
         std::vector<Case>{{&BindRequest::space, "a bind needs a namespace"},
                           {&BindRequest::name, "a bind needs a name"},
                           {&BindRequest::uid, "a bind needs a uid"},
                           {&BindRequest::node, "a bind needs a node"}}) {
        Rig rig;
        BindRequest wanted = request();
        (wanted.*field).clear();
        const auto outcome = rig.bind(wanted);
        EXPECT_EQ(outcome.end, WriteEnd::refused);
        EXPECT_EQ(outcome.message, message);
        EXPECT_THAT(rig.calls, IsEmpty());
    }
}

// Pods p0, p1, ... are bound at once; the ends in the order they came.
std::vector<std::string> bind_many(Rig& rig, int count) {
    std::vector<std::string> ends;
    for (int i = 0; i < count; ++i) {
        BindRequest wanted = request("p" + std::to_string(i));
        wanted.uid = "uid of " + wanted.name;
        rig.pods.put(wanted.name, {.uid = wanted.uid});
        rig.binder->bind(wanted, [&ends, i](const WriteOutcome& outcome) {
            ends.push_back(std::to_string(i) + " " + std::string(bind_end_name(outcome.end)));
        });
    }
    rig.time.run_for(seconds(60));
    return ends;
}

TEST(Binder, BindsRunSideBySideUpToABoundAndTheOthersInOrder) {
    Rig rig({}, {.max_in_flight = 2});
    EXPECT_THAT(bind_many(rig, 5),
                ElementsAre("0 bound", "1 bound", "2 bound", "3 bound", "4 bound"));
    EXPECT_EQ(rig.open, 2);
}

TEST(Binder, TooManyWaitingAreRefused) {
    Rig rig({}, {.max_in_flight = 1, .max_waiting = 2});
    EXPECT_THAT(bind_many(rig, 5),
                ElementsAre("3 refused", "4 refused", "0 bound", "1 bound", "2 bound"));
}

TEST(Binder, WaitingIsPartOfTheDeadline) {
    Rig rig(std::deque<Script>(100, {Fate::silent_before}), {.max_in_flight = 1});
    EXPECT_THAT(bind_many(rig, 4), ElementsAre("0 unknown", "1 refused", "2 refused", "3 refused"));
    EXPECT_EQ(rig.binder->counts().in_flight, 0);
}

TEST(Binder, DrainRefusesNewOnesAndWaitsForTheOthers) {
    Rig rig({}, {.max_in_flight = 1});
    rig.pods.put("b", {.uid = "u1"});
    std::vector<WriteEnd> ends;
    const auto note = [&](const WriteOutcome& outcome) { ends.push_back(outcome.end); };
    rig.binder->bind(request("a"), note);
    rig.binder->bind(request("b"), note);
    EXPECT_FALSE(rig.binder->drain(Nanoseconds(0)));
    rig.binder->bind(request("b"), [](const WriteOutcome& outcome) {
        EXPECT_EQ(outcome.end, WriteEnd::refused);
        EXPECT_THAT(outcome.message, HasSubstr("takes no new binds"));
    });
    EXPECT_THAT(ends, IsEmpty());
    rig.time.run_for(seconds(1));
    EXPECT_THAT(ends, ElementsAre(WriteEnd::done, WriteEnd::done));
    EXPECT_TRUE(rig.binder->drain(Nanoseconds(0)));
}

TEST(Binder, DrainWaitsForAnotherThread) {
    Rig rig;
    bool told = false;
    rig.binder->bind(request(), [&](const WriteOutcome&) { told = true; });
    std::thread other([&] { rig.time.run_for(seconds(1)); });
    EXPECT_TRUE(rig.binder->drain(seconds(600)));
    EXPECT_TRUE(told);
    other.join();
}

TEST(Binder, AClosedClientLeavesNobodyWaiting) {
    // During a call nobody knows; while waiting for the next attempt nothing was done.
    for (const auto& [script, end] : std::vector<std::pair<Script, WriteEnd>>{
             {{Fate::silent_after}, WriteEnd::unknown}, {{Fate::well, 409}, WriteEnd::refused}}) {
        Rig rig({script}, {.backoff = {seconds(2), seconds(2)}});
        std::vector<WriteEnd> ends;
        rig.binder->bind(request(),
                         [&](const WriteOutcome& outcome) { ends.push_back(outcome.end); });
        rig.time.run_for(milliseconds(100));
        EXPECT_THAT(ends, IsEmpty());
        rig.http.close();
        rig.time.run_for(seconds(60));
        EXPECT_THAT(ends, ElementsAre(end));
        EXPECT_TRUE(rig.binder->drain(Nanoseconds(0)));
    }
}

TEST(Binder, OtherWritesComeFirstAndAreUndone) {
    for (const bool gone : {false, true}) {
        Rig rig;
        if (gone) {
            rig.pods.remove("a");
        }
        std::vector<std::string> done;
        const auto step = [&](const std::string& what) {
            return [&done, what](Nanoseconds, const WriteDone& told) {
                done.push_back(what);
                told({WriteEnd::done, {}});
            };
        };
        std::optional<WriteEnd> end;
        rig.binder->bind(request(), {{"claim", step("reserve"), step("free")}},
                         [&](const WriteOutcome& outcome) { end = outcome.end; });
        rig.time.run_for(seconds(1));
        EXPECT_EQ(end, gone ? WriteEnd::refused : WriteEnd::done);
        if (gone) {
            EXPECT_THAT(done, ElementsAre("reserve", "free"));
            EXPECT_THAT(rig.journal,
                        ElementsAre("a claim done", "a binding refused", "a claim undone"));
        } else {
            EXPECT_THAT(done, ElementsAre("reserve"));
            EXPECT_THAT(rig.journal, ElementsAre("a claim done", "a binding done"));
        }
    }
}

}  // namespace
}  // namespace tessera
