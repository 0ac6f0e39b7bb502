// Whatever the API server and the watch do, no GPU is given twice, and in the end nobody waits who
// fits.
//
// Each history is drawn from a seed: pods and nodes come and go, binds are refused, carried out
// without an answer, lost or late, the watch lags behind, the scheduler is killed at any moment and
// starts anew from what the API server holds, and a copy may lose its right to decide. Then the
// faults stop. TESSERA_PROPERTY_SCALE=n runs n times as many histories.
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <memory>
#include <string>

#include "base/rng.h"
#include "codec/placement_annotation.h"
#include "role/scheduler/scheduler_rig.h"

namespace tessera {
namespace {

using testing::PodAsk;
using testing::SchedulerRig;
using testing::TinyApi;

constexpr std::int64_t kCard = 16384;
#ifdef TESSERA_SANITIZED
constexpr std::uint64_t kHistories = 100;
#else
constexpr std::uint64_t kHistories = 1000;
#endif

// What is left of each GPU by the annotations of bound pods alone.
struct Left {
    std::int64_t milli = 1000;
    std::int64_t memory = kCard;
};
using Books = std::map<std::string, std::vector<Left>>;

class History {
  public:
    explicit History(std::uint64_t seed) : rng_(seed) { start_copy(); }

    std::string run() {
        for (int step = 0; step < 150; ++step) {
            take_step();
            if (const std::string fault = check(); !fault.empty()) {
                return fmt::format("step {}: {}", step, fault);
            }
        }
        faults_ = false;
        copy_->why_not_ready.clear();
        // A share in doubt ends after a minute, and nobody is parked for more than five.
        for (int i = 0; i < 80; ++i) {
            tick(seconds(5));
            if (const std::string fault = check(); !fault.empty()) {
                return "in the end: " + fault;
            }
        }
        return who_waits_and_fits();
    }
    std::size_t bound() const { return bound_; }
    int kills() const { return kills_; }

  private:
    struct Sent {
        BindPlan plan;
        std::function<void(WriteOutcome)> done;
    };

    bool one_in(std::uint64_t n) { return rng_.below(n) == 0; }

    void start_copy() {
        sent_.clear();
        events_.clear();
        TinyApi api = copy_ ? std::move(copy_->api) : TinyApi();
        copy_ = std::make_unique<SchedulerRig>();
        copy_->api = std::move(api);
        copy_->instead = [this](const BindPlan& plan,
                                const std::function<void(WriteOutcome)>& done) {
            sent_.push_back({plan, done});
            return true;
        };
        copy_->start();
    }

    void take_step() {
        switch (rng_.below(10)) {
            case 0:
            case 1:
            case 2:
                add_pod();
                break;
            case 3:
                remove_pod();
                break;
            case 4:
                if (const std::string name = fmt::format("n{}", rng_.below(4));
                    !copy_->api.nodes.contains(name)) {
                    copy_->add_node(name, std::vector<std::int64_t>(1 + rng_.below(3), kCard));
                }
                break;
            case 5:
                if (one_in(6)) {
                    kill();
                } else if (one_in(4)) {
                    copy_->why_not_ready = copy_->why_not_ready.empty() ? "it stands by" : "";
                }
                break;
            default:
                tick(seconds(1));
                break;
        }
        copy_->run(milliseconds(static_cast<std::int64_t>(rng_.below(50))));
        answer_some();
        deliver_some();
    }
    void tick(Nanoseconds span) {
        copy_->run(span);
        answer_some();
        deliver_some();
        const Nanoseconds now = copy_->time.now();
        copy_->mirror.expire(now, events_.empty() ? now : Nanoseconds(0));
        copy_->scheduler->run();
    }
    // Binds on their way arrive, or do not; the next copy lists what is there.
    void kill() {
        for (const Sent& one : sent_) {
            if (one_in(2)) {
                carry_out(one.plan);
            }
        }
        ++kills_;
        start_copy();
    }

    void add_pod() {
        PodAsk ask{.name = fmt::format("p{}", rng_.below(20)),
                   .milli = static_cast<std::int64_t>(100 * (1 + rng_.below(10))),
                   .memory_mib = static_cast<std::int64_t>(1024 * (1 + rng_.below(12))),
                   .priority = static_cast<std::int32_t>(rng_.below(3))};
        if (ask.milli == 1000) {
            ask.gpus = static_cast<std::int64_t>(1 + rng_.below(2));
        }
        if (!copy_->api.pods.contains(ask.name)) {
            events_.push_back({TinyApi::pod(copy_->api.add(ask)), false});
        }
    }
    void remove_pod() {
        auto& pods = copy_->api.pods;
        if (!pods.empty()) {
            const auto one =
                std::next(pods.begin(), static_cast<std::ptrdiff_t>(rng_.below(pods.size())));
            events_.push_back({TinyApi::pod(one->second), true});
            pods.erase(one);
        }
    }

    std::string carry_out(const BindPlan& plan) {
        std::string why = copy_->api.bind(plan);
        if (why.empty()) {
            ++bound_;
            events_.push_back({TinyApi::pod(copy_->api.pods.at(plan.name)), false});
        }
        return why;
    }
    void answer_some() {
        while (!sent_.empty() && (!faults_ || !one_in(3))) {
            const Sent one = std::move(sent_.front());
            sent_.pop_front();
            if (faults_ && one_in(5)) {
                one.done({WriteEnd::refused, "429"});
            } else if (faults_ && one_in(5)) {
                if (one_in(2)) {
                    carry_out(one.plan);
                }
                one.done({WriteEnd::unknown, "no answer"});
            } else {
                const std::string why = carry_out(one.plan);
                one.done({why.empty() ? WriteEnd::done : WriteEnd::refused, why});
            }
        }
    }
    void deliver_some() {
        while (!events_.empty() && (!faults_ || !one_in(4))) {
            const Event event = std::move(events_.front());
            events_.pop_front();
            event.gone ? copy_->mirror.pod_gone(event.pod) : copy_->mirror.pod_changed(event.pod);
        }
    }

    Books books(std::string& fault) const {
        Books books;
        for (const auto& [name, memories] : copy_->api.nodes) {
            books[name].resize(memories.size());
        }
        for (const auto& [name, stored] : copy_->api.pods) {
            if (stored.node.empty()) {
                continue;
            }
            const auto record =
                read_placement_annotation(stored.annotations.at("tessera.dev/placement"));
            for (const auto& grant : record.value().grants) {
                Left& left = books.at(stored.node).at(static_cast<std::size_t>(grant.gpu));
                left.milli -= grant.milli;
                left.memory -= grant.memory_mib;
                if (left.milli < 0 || left.memory < 0) {
                    fault = fmt::format("{} over-commits {} GPU {}", name, stored.node, grant.gpu);
                }
            }
        }
        return books;
    }
    std::string check() const {
        std::string fault;
        books(fault);
        return fault;
    }
    std::string who_waits_and_fits() const {
        std::string fault;
        const Books left = books(fault);
        for (const auto& [name, stored] : copy_->api.pods) {
            if (stored.node.empty() && fits(stored.ask, left)) {
                return fmt::format("{} waits and fits", name);
            }
        }
        return fault;
    }
    static bool fits(const PodAsk& ask, const Books& books) {
        for (const auto& [node, gpus] : books) {
            std::int64_t serving = 0;
            for (const Left& left : gpus) {
                const bool empty = left.milli == 1000 && left.memory == kCard;
                serving += ask.milli == 1000
                               ? empty
                               : left.milli >= ask.milli && left.memory >= ask.memory_mib;
            }
            if (serving >= ask.gpus) {
                return true;
            }
        }
        return false;
    }

    struct Event {
        Pod pod;
        bool gone = false;
    };

    Rng rng_;
    bool faults_ = true;
    std::unique_ptr<SchedulerRig> copy_;
    std::deque<Sent> sent_;
    std::deque<Event> events_;
    std::size_t bound_ = 0;
    int kills_ = 0;
};

TEST(SchedulerProperty, NoShareIsGivenTwiceAndNobodyWaitsForEver) {
    const char* scale = std::getenv("TESSERA_PROPERTY_SCALE");
    const std::uint64_t histories =
        kHistories * (scale == nullptr ? 1 : std::strtoull(scale, nullptr, 10));
    std::size_t bound = 0;
    int kills = 0;
    for (std::uint64_t seed = 1; seed <= histories && !HasFailure(); ++seed) {
        History history(seed);
        EXPECT_EQ(history.run(), "") << "seed " << seed;
        bound += history.bound();
        kills += history.kills();
    }
    EXPECT_GT(bound, histories * 5);
    EXPECT_GT(kills, 0);
}

}  // namespace
}  // namespace tessera
