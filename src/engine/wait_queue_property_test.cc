// Random histories against a plain list of units: the same one is tried next, and the counts agree.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <tuple>

#include "base/rng.h"
#include "engine/wait_queue.h"

namespace tessera {
namespace {

constexpr std::uint32_t kUnits = 12;
constexpr std::uint64_t kLines = 3;
constexpr Nanoseconds kLongest{50};

enum class State { absent, ready, tried, resting, parked };

struct PlainUnit {
    State state = State::absent;
    QueueRank rank{};
    LineKey line{};
    Causes causes{};
    Nanoseconds since{};
};

class Walk {
  public:
    explicit Walk(std::uint64_t seed) : rng_(seed), queue_({.age_every = Nanoseconds(0)}) {}

    void run() {
        for (int step = 0; step < 400; ++step) {
            now_ += Nanoseconds(static_cast<std::int64_t>(rng_.below(4)));
            take_step();
            agree();
        }
    }

  private:
    UnitIndex any() { return UnitIndex(static_cast<std::uint32_t>(rng_.below(kUnits))); }
    PlainUnit& plain(UnitIndex unit) { return units_[unit.slot()]; }

    void take_step() {
        switch (rng_.below(9)) {
            case 0:
            case 1:
                return add(any());
            case 2:
                return remove(any());
            case 3:
            case 4:
                return pop();
            case 5:
                return finish_one();
            case 6:
                return room(LineKey(rng_.below(kLines)));
            case 7:
                return happened(rng_.below(2) == 0 ? Cause::pods : Cause::members);
            default:
                return flush();
        }
    }

    void add(UnitIndex unit) {
        const QueueRank rank{static_cast<std::int32_t>(rng_.below(3)), now_};
        queue_.add(unit, rank);
        PlainUnit& known = plain(unit);
        if (known.state == State::absent) {
            known = {State::ready, rank, {}, {}, {}};
        }
        known.rank = rank;
    }
    void remove(UnitIndex unit) {
        queue_.remove(unit);
        const PlainUnit gone = std::exchange(plain(unit), {});
        if (gone.state != State::absent && gone.state != State::parked) {
            wake_first(gone.line);
        }
    }
    // The back-off is the queue's own draw: the list only knows that it ends within ten.
    void pop() {
        const auto popped = queue_.pop(now_);
        for (PlainUnit& unit : units_) {
            if (unit.state == State::resting && unit.since <= now_) {
                unit.state = State::ready;
            }
        }
        const auto first = first_of(State::ready, {});
        RC_ASSERT(popped == first);
        if (popped) {
            plain(*popped).state = State::tried;
        }
    }
    void finish_one() {
        for (std::uint32_t i = 0; i < kUnits; ++i) {
            if (units_[i].state == State::tried) {
                return finish(UnitIndex(i));
            }
        }
    }
    void finish(UnitIndex unit) {
        PlainUnit& known = plain(unit);
        if (rng_.below(3) == 0) {
            queue_.placed(unit);
            const LineKey line = known.line;
            known = {};
            wake_first(line);
            return;
        }
        known.state = State::parked;
        known.since = now_;
        known.line = LineKey(rng_.below(kLines));
        known.causes = Causes::of(Cause::room);
        if (rng_.below(2) == 0) {
            known.causes = Causes::of(Cause::pods).with(Cause::room);
        }
        queue_.park(unit, {known.line, known.causes}, now_);
    }
    void room(LineKey served) {
        queue_.room([&](LineKey line) { return line == served; });
        if (const auto first = first_of(State::parked, served);
            first && plain(*first).causes.has(Cause::room)) {
            plain(*first).state = State::ready;
        }
    }
    void happened(Cause cause) {
        queue_.happened(cause, now_);
        const auto wakes = [&](const PlainUnit& unit) {
            return unit.state == State::parked && unit.causes.has(cause);
        };
        const auto woken = std::count_if(units_.begin(), units_.end(), wakes);
        RC_ASSERT(queue_.counts().resting ==
                  count(State::resting) + static_cast<std::size_t>(woken));
        // They would rest for a second or more, longer than this whole walk: let them stay there.
        for (PlainUnit& unit : units_) {
            if (wakes(unit)) {
                unit.state = State::resting;
                unit.since = Nanoseconds(INT64_MAX);
            }
        }
    }
    void flush() {
        queue_.flush(now_, kLongest);
        for (PlainUnit& unit : units_) {
            if (unit.state == State::parked && unit.since + kLongest <= now_) {
                unit.state = State::ready;
            }
        }
    }

    void wake_first(LineKey line) {
        if (const auto first = line.valid() ? first_of(State::parked, line) : std::nullopt) {
            plain(*first).state = State::ready;
        }
    }
    // none(): of any line.
    std::optional<UnitIndex> first_of(State state, LineKey line) {
        std::optional<UnitIndex> best;
        const auto order = [&](UnitIndex unit) {
            const QueueRank& rank = plain(unit).rank;
            return std::tuple(-rank.priority, rank.first_seen, unit);
        };
        for (std::uint32_t i = 0; i < kUnits; ++i) {
            const UnitIndex unit(i);
            if (plain(unit).state == state && (!line.valid() || plain(unit).line == line) &&
                (!best || order(unit) < order(*best))) {
                best = unit;
            }
        }
        return best;
    }
    std::size_t count(State state) const {
        return static_cast<std::size_t>(
            std::count_if(units_.begin(), units_.end(),
                          [&](const PlainUnit& unit) { return unit.state == state; }));
    }
    void agree() {
        const WaitQueue::Counts counts = queue_.counts();
        RC_ASSERT(counts.ready == count(State::ready));
        RC_ASSERT(counts.tried == count(State::tried));
        RC_ASSERT(counts.parked == count(State::parked));
        RC_ASSERT(counts.resting == count(State::resting));
        RC_ASSERT(queue_.in_order().size() == counts.ready + counts.parked + counts.resting);
    }

    Rng rng_;
    WaitQueue queue_;
    std::vector<PlainUnit> units_ = std::vector<PlainUnit>(kUnits);
    Nanoseconds now_{1'000};
};

RC_GTEST_PROP(WaitQueueProperty, TriesWhomAPlainListTries, (std::uint64_t seed)) {
    Walk(seed).run();
}

}  // namespace
}  // namespace tessera
