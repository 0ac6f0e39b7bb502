// Never two leaders at one time, and never none for long while the API is well.
//
// Each history is drawn from a seed: two or three copies whose clocks differ in where they begin
// and in how fast they run, over a network that loses and delays, with copies that are suspended,
// killed and started again. Then the faults stop, the leader is killed, and another must lead
// within 15 s. TESSERA_PROPERTY_SCALE=n runs n times as many histories.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "kube/fake_http_client.h"
#include "kube/lease.h"
#include "kube/lease_fake_server.h"

namespace tessera {
namespace {

// A client in a process that may be suspended: what happens meanwhile is told when it goes on. A
// killed one hears nothing any more, but what it had sent is on its way.
class ProcessClient final : public HttpClient {
  public:
    ProcessClient(VirtualTime& time, FakeHttpClient::Server server)
        : inner_(time, std::move(server)), time_(time) {}

    FakeHttpClient& inner() { return inner_; }
    void suspend(Nanoseconds span) {
        suspended_ = true;
        time_.after(span, [this] {
            suspended_ = false;
            for (auto& task : std::exchange(waiting_, {})) {
                run(std::move(task));
            }
        });
    }
    bool suspended() const { return suspended_; }
    void kill() { killed_ = true; }

    CallId send(ClientCall call, Done done) override {
        return inner_.send(std::move(call), [this, done](Expected<ClientAnswer> answer) {
            run([done, answer] { done(answer); });
        });
    }
    CallId later(Nanoseconds delay, std::function<void()> task) override {
        return inner_.later(delay, [this, task] { run(task); });
    }
    CallId stream(ClientCall, OnLine, Done) override { return CallId::none; }
    void cancel(CallId call) override { inner_.cancel(call); }
    Expected<ClientAnswer> call(ClientCall call) override { return inner_.call(std::move(call)); }
    void close() override { inner_.close(); }

  private:
    void run(std::function<void()> task) {
        if (suspended_) {
            waiting_.push_back(std::move(task));
        } else if (!killed_) {
            task();
        }
    }

    FakeHttpClient inner_;
    VirtualTime& time_;
    bool suspended_ = false;
    bool killed_ = false;
    std::vector<std::function<void()>> waiting_;
};

struct Tally {
    int changes = 0;      // of the leader
    int lost = 0;         // by the deadline, or to another
    int suspensions = 0;  // of a leader
};

class History {
  public:
    explicit History(std::uint64_t seed) : rng_(seed), share_(rng_.below(100)) {
        const std::size_t count = 2 + rng_.below(2);
        for (std::size_t i = 0; i < count; ++i) {
            begin_process();
        }
        tick();
    }

    std::string run(Tally& tally) {
        const Nanoseconds end = time_.now() + seconds(600);
        disturb();
        step_until([&] { return time_.now() >= end; }, seconds(601));
        share_ = 0;
        calm_ = true;
        step_until([] { return false; },
                   seconds(31));  // the suspended go on, what was late arrives
        if (!step_until([&] { return leader() != nullptr; }, seconds(15))) {
            fault("nobody leads though the API is well");
        }
        step_until([] { return false; }, milliseconds(static_cast<std::int64_t>(rng_.below(9000))));
        if (Process* dead = leader(); dead != nullptr && fault_.empty()) {
            kill(*dead);
            if (!step_until([&] { return leader() != nullptr; }, seconds(15))) {
                fault("nobody leads 15 s after the leader's death");
            }
        }
        if (Process* resigning = leader(); resigning != nullptr && fault_.empty()) {
            begin_process();
            step_until([] { return false; }, seconds(5));
            resigning->elector->resign();
            if (!step_until([&] { return leader() != nullptr; }, seconds(3))) {
                fault("nobody leads 3 s after the leader resigned");
            }
        }
        tally.changes += changes_;
        tally.lost += lost_;
        tally.suspensions += suspensions_;
        return fault_;
    }

  private:
    struct Process {
        std::unique_ptr<ProcessClient> client;
        std::unique_ptr<LeaderElector> elector;
        bool dead = false;
    };

    bool strikes(std::uint64_t percent) { return rng_.below(100) < percent * share_ / 100; }
    void fault(const std::string& text) { fault_ = fault_.empty() ? text : fault_; }
    Nanoseconds up_to(std::int64_t most_ms) {
        return milliseconds(
            static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(most_ms)) + 1));
    }

    void begin_process() {
        auto process = std::make_unique<Process>();
        process->client = std::make_unique<ProcessClient>(
            time_, [this](FakeHttpClient& to, const FakeCall& call) { serve(to, call); });
        process->client->inner().latency = [this] {
            return up_to(calm_ ? 50 : strikes(20) ? 20'000 : 200);
        };
        // Begins anywhere; runs up to 10 % too fast or too slow.
        const auto offset = static_cast<std::int64_t>(rng_.below(1'000'000'000'000));
        const auto rate = static_cast<std::int64_t>(900 + rng_.below(201));
        LeaseOptions options{
            .space = "s", .name = "l", .identity = "p" + std::to_string(processes_.size())};
        options.on_lost = [this](const std::string&) { ++lost_; };
        options.clock = [this, offset, rate] {
            return Nanoseconds(offset + time_.now().value() / 1000 * rate);
        };
        options.wall = options.clock;
        options.seed = rng_.next();
        process->elector = std::make_unique<LeaderElector>(*process->client, options);
        process->elector->start();
        processes_.push_back(std::move(process));
    }
    void kill(Process& process) {
        process.dead = true;
        process.client->kill();
    }
    // The one that leads; the fault, if there are two. The dead do not lead, whatever their clocks
    // say; the suspended might go on at any time.
    Process* leader() {
        Process* found = nullptr;
        for (const auto& process : processes_) {
            if (process->dead || !process->elector->leading()) {
                continue;
            }
            if (found != nullptr) {
                fault("two lead at one time");
            }
            found = process.get();
        }
        return found;
    }
    template <class Condition>
    bool step_until(Condition condition, Nanoseconds span) {
        const Nanoseconds end = time_.now() + span;
        while (!condition()) {
            if (time_.now() >= end || !fault_.empty()) {
                return false;
            }
            time_.step();
            Process* now = leader();
            changes_ += now != nullptr && now != last_leader_ ? 1 : 0;
            last_leader_ = now != nullptr ? now : last_leader_;
        }
        return true;
    }
    // So that we look now and then when nothing happens.
    void tick() {
        time_.after(milliseconds(20), [this] { tick(); });
    }
    // Suspends and kills, for as long as there is to be trouble.
    void disturb() {
        time_.after(up_to(20'000), [this] {
            if (calm_) {
                return;
            }
            Process& victim = *processes_[rng_.below(processes_.size())];
            if (!victim.dead && strikes(60) && !victim.client->suspended()) {
                suspensions_ += victim.elector->leading() ? 1 : 0;
                victim.client->suspend(up_to(30'000));
            } else if (!victim.dead && strikes(30)) {
                kill(victim);
                begin_process();
            }
            disturb();
        });
    }
    void serve(FakeHttpClient& to, const FakeCall& call) {
        const auto after = up_to(calm_ ? 50 : 300);
        if (!strikes(40)) {
            to.answer(call.id, lease_.answer(call.call), after);
            return;
        }
        switch (rng_.below(4)) {
            case 0:
                to.cut(call.id, after);
                break;
            case 1:  // done, and nobody hears of it
                lease_.answer(call.call);
                to.cut(call.id, after);
                break;
            case 2:
                lease_.answer(call.call);
                break;
            default:
                to.answer(call.id, status_answer(rng_.below(2) == 0 ? 500 : 429, "Faulty"), after);
                break;
        }
    }

    VirtualTime time_;
    Rng rng_;
    std::uint64_t share_;  // of faults, in percent
    FakeLease lease_;
    bool calm_ = false;
    int changes_ = 0;
    int lost_ = 0;
    int suspensions_ = 0;
    const Process* last_leader_ = nullptr;
    std::string fault_;
    std::vector<std::unique_ptr<Process>> processes_;
};

TEST(LeaseProperty, OneLeaderAndNeverNoneForLong) {
    const char* scale = std::getenv("TESSERA_PROPERTY_SCALE");
    const std::uint64_t histories = 60U * (scale == nullptr ? 1U : std::stoul(scale));
    Tally tally;
    for (std::uint64_t seed = 1; seed <= histories; ++seed) {
        History history(seed);
        ASSERT_EQ(history.run(tally), "") << "seed " << seed;
    }
    EXPECT_GT(tally.changes, 200);
    EXPECT_GT(tally.lost, 100);
    EXPECT_GT(tally.suspensions, 100);
}

}  // namespace
}  // namespace tessera
