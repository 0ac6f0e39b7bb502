// Whatever the network and other binders do: "bound" is the truth, "refused" leaves nothing of
// ours, and every bind ends within its deadline.
//
// Each history is drawn from a seed: a few pods, bound again and again as kube-scheduler does, over
// a network that loses, delays and repeats, while others bind, delete and make anew the same pods.
// TESSERA_PROPERTY_SCALE=n runs n times as many histories.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "base/rng.h"
#include "kube/binder.h"
#include "kube/binder_fake_pods.h"
#include "kube/fake_http_client.h"

namespace tessera {
namespace {

struct Tally {
    int bound = 0;
    int refused = 0;
    int unknown = 0;
    int landed_late = 0;  // after "unknown" was told
};

class History {
  public:
    explicit History(std::uint64_t seed) : rng_(seed), share_(rng_.below(100)) {
        http_.latency = [this] {
            const bool late = strikes(10);
            return milliseconds(1 + static_cast<std::int64_t>(rng_.below(late ? 8000 : 20)));
        };
        for (int i = 0; i < kPods; ++i) {
            make(i);
            bind_later(i);
        }
    }
    std::string run(Tally& tally) {
        time_.run_for(seconds(120));
        ending_ = true;
        time_.run_for(seconds(60));
        for (const Attempt& attempt : attempts_) {
            const bool landed = attempt.landed;
            tally.bound += attempt.end == WriteEnd::done ? 1 : 0;
            tally.refused += attempt.end == WriteEnd::refused ? 1 : 0;
            tally.unknown += attempt.end == WriteEnd::unknown ? 1 : 0;
            tally.landed_late += attempt.end == WriteEnd::unknown && landed ? 1 : 0;
            if (!attempt.end) {
                fault("a bind was never told");
            } else if (attempt.end == WriteEnd::refused && landed && !attempt.gone) {
                fault("refused, but it was done: " + attempt.message);
            }
        }
        return fault_;
    }

  private:
    static constexpr int kPods = 3;

    struct Attempt {
        BindRequest request;
        Nanoseconds begun{};
        std::optional<WriteEnd> end{};
        std::string message{};
        bool landed = false;  // the server bound the pod by a call of this attempt
        bool gone = false;    // when it was told, the pod was no more
    };

    bool strikes(std::uint64_t percent) { return rng_.below(100) < percent * share_ / 100; }
    void fault(const std::string& text) { fault_ = fault_.empty() ? text : fault_; }

    static std::string name(int i) { return "p" + std::to_string(i); }
    void make(int i) { pods_.put(name(i), {.uid = "u" + std::to_string(++last_)}); }

    void bind_later(int i) {
        time_.after(milliseconds(static_cast<std::int64_t>(rng_.below(5000))), [this, i] {
            if (!ending_) {
                bind(i);
            }
        });
    }
    // Half of the time what was asked for before: kube-scheduler repeats itself.
    void bind(int i) {
        BindRequest& wanted = wanted_[static_cast<std::size_t>(i)];
        const FakePod* pod = pods_.find(name(i));
        if (wanted.uid.empty() || rng_.below(2) == 0) {
            wanted = {.space = "default",
                      .name = name(i),
                      .uid = pod == nullptr ? "u0" : pod->uid,
                      .node = "n" + std::to_string(rng_.below(3)),
                      .annotations = {{"p", std::to_string(++last_)}},
                      .record = "p"};
        }
        const std::size_t n = attempts_.size();
        wanted.annotations["attempt"] = std::to_string(n);
        attempts_.push_back({wanted, time_.now()});
        binder_.bind(wanted, [this, i, n](const WriteOutcome& outcome) {
            told(attempts_[n], outcome);
            bind_later(i);
        });
    }
    void told(Attempt& attempt, const WriteOutcome& outcome) {
        if (attempt.end) {
            fault("told twice");
        }
        attempt.end = outcome.end;
        attempt.message = outcome.message;
        if (time_.now() - attempt.begun > BinderOptions{}.deadline) {
            fault("told after the deadline");
        }
        const FakePod* pod = pods_.find(attempt.request.name);
        attempt.gone = pod == nullptr || pod->uid != attempt.request.uid;
        const std::string ours = placement(attempt.request.node, attempt.request.annotations);
        const auto placed = placed_.find(attempt.request.uid);
        const bool as_wanted = placed != placed_.end() && placed->second == ours;
        if (outcome.end == WriteEnd::done && !as_wanted) {
            fault("bound, but the server knows nothing of it");
        }
        if (outcome.end == WriteEnd::refused && as_wanted && !attempt.gone) {
            fault("refused, but an earlier attempt had done it: " + outcome.message);
        }
    }
    static std::string placement(const std::string& node, const StringMap& annotations) {
        const auto record = annotations.find("p");
        return node + " " + (record == annotations.end() ? "" : record->second);
    }

    // What others do to the pod before the server gets to our call.
    void meddle(const std::string& pod_name) {
        FakePod* pod = pods_.find(pod_name);
        const int i = pod_name.back() - '0';
        switch (rng_.below(5)) {
            case 0:
                pods_.remove(pod_name);
                break;
            case 1:
                make(i);
                break;
            case 2:
                if (pod != nullptr) {
                    pod->deleting = true;
                }
                break;
            default:
                if (pod != nullptr && pod->node.empty() && !pod->deleting) {
                    pod->node = "n" + std::to_string(rng_.below(3));
                    pod->annotations = {{"p", "rival"}};
                    placed_[pod->uid] = placement(pod->node, pod->annotations);
                }
                break;
        }
    }
    ClientAnswer carry_out(const ClientCall& call) {
        const std::string pod_name = call.path.substr(call.path.find("/pods/") + 6, 2);
        if (strikes(10)) {
            meddle(pod_name);
        }
        FakePod* pod = pods_.find(pod_name);
        const bool free = pod != nullptr && pod->node.empty();
        ClientAnswer answer = pods_.answer(call);
        if (free && !pod->node.empty()) {
            if (placed_.contains(pod->uid)) {
                fault("placed twice");
            }
            placed_[pod->uid] = placement(pod->node, pod->annotations);
            attempts_.at(std::stoul(pod->annotations.at("attempt"))).landed = true;
        }
        return answer;
    }
    void serve(FakeHttpClient& to, const FakeCall& call) {
        if (!strikes(50)) {
            to.answer(call.id, carry_out(call.call));
            return;
        }
        static constexpr std::array<int, 6> kStatuses{409, 429, 503, 500, 504, 403};
        switch (rng_.below(6)) {
            case 0:
                to.cut(call.id);
                break;
            case 1:
                carry_out(call.call);
                to.cut(call.id);
                break;
            case 2:  // carried out or not, nothing comes back
                if (rng_.below(2) == 0) {
                    carry_out(call.call);
                }
                break;
            case 3:
                carry_out(call.call);
                to.answer(call.id, status_answer(rng_.below(2) == 0 ? 500 : 504, "After"));
                break;
            default:
                to.answer(call.id, status_answer(kStatuses.at(rng_.below(6)), "Before"));
                break;
        }
    }

    Rng rng_;
    const std::uint64_t share_;  // of faults, in percent
    FakePods pods_;
    std::map<std::string, std::string> placed_;  // uid to "node record", also of pods that are gone
    std::array<BindRequest, kPods> wanted_;
    std::deque<Attempt> attempts_;
    int last_ = 0;
    bool ending_ = false;
    std::string fault_;
    VirtualTime time_;
    FakeHttpClient http_{time_,
                         [this](FakeHttpClient& to, const FakeCall& call) { serve(to, call); }};
    Binder binder_{http_, {.max_in_flight = 2, .clock = time_.clock()}};
};

TEST(BinderProperty, TheOutcomeIsTheTruth) {
    const char* scale = std::getenv("TESSERA_PROPERTY_SCALE");
    const std::uint64_t histories = 400U * (scale == nullptr ? 1U : std::stoul(scale));
    Tally tally;
    for (std::uint64_t seed = 1; seed <= histories; ++seed) {
        History history(seed);
        ASSERT_EQ(history.run(tally), "") << "seed " << seed;
    }
    EXPECT_GT(tally.bound, 1000);
    EXPECT_GT(tally.refused, 1000);
    EXPECT_GT(tally.unknown, 100);
    EXPECT_GT(tally.landed_late, 10);
}

}  // namespace
}  // namespace tessera
