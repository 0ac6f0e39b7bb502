#include "engine/wait_queue.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace tessera {
namespace {

constexpr std::uint32_t kMostDoublings = 30;

}  // namespace

WaitQueue::WaitQueue(WaitQueueOptions options) : options_(options), rng_(options.seed) {}

// Waiting raises all alike, so that the order between two does not change as time goes by: who was
// seen one age_every earlier is level with one step of priority more.
std::int64_t WaitQueue::order_of(const QueueRank& rank) const {
    constexpr std::int64_t kMillisecond = 1'000'000;
    const std::int64_t step = options_.age_every.value() / kMillisecond;
    return step == 0 ? -std::int64_t{rank.priority}
                     : rank.first_seen.value() / kMillisecond - rank.priority * step;
}

WaitQueue::Place WaitQueue::place_of(UnitIndex unit) const {
    const QueueRank& rank = units_[unit.slot()].rank;
    return {{order_of(rank), rank.first_seen.value()}, unit};
}

bool WaitQueue::has(UnitIndex unit) const {
    return unit.slot() < units_.size() && units_[unit.slot()].state != State::absent;
}

void WaitQueue::add(UnitIndex unit, const QueueRank& rank) {
    if (units_.size() <= unit.slot()) {
        units_.resize(unit.slot() + 1);
    }
    const State before = at(unit).state;
    if (before == State::absent) {
        at(unit) = Unit{.rank = rank};
        make_ready(unit);
        return;
    }
    // Ready and parked units stand in tables by rank.
    if (before == State::ready) {
        ready_.erase(place_of(unit));
        at(unit).rank = rank;
        ready_.insert(place_of(unit));
    } else if (before == State::parked) {
        std::set<Place>& line = lines_.at(at(unit).line);
        line.erase(place_of(unit));
        at(unit).rank = rank;
        line.insert(place_of(unit));
    } else {
        at(unit).rank = rank;
    }
}

void WaitQueue::leave(UnitIndex unit) {
    Unit& known = at(unit);
    switch (known.state) {
        case State::absent:
            break;
        case State::ready:
            ready_.erase(place_of(unit));
            break;
        case State::tried:
            --tried_;
            break;
        case State::resting:
            resting_.erase({known.since, unit});
            break;
        case State::parked: {
            count(known.causes, static_cast<std::size_t>(-1));
            parked_.erase({known.since, unit});
            const auto line = lines_.find(known.line);
            line->second.erase(place_of(unit));
            if (line->second.empty()) {
                lines_.erase(line);
            }
            break;
        }
    }
    known.state = State::absent;
}

void WaitQueue::make_ready(UnitIndex unit) {
    leave(unit);
    at(unit).state = State::ready;
    ready_.insert(place_of(unit));
}

void WaitQueue::rest(UnitIndex unit, Nanoseconds until) {
    leave(unit);
    at(unit).state = State::resting;
    at(unit).since = until;
    resting_.insert({until, unit});
}

void WaitQueue::remove(UnitIndex unit) {
    if (!has(unit)) {
        return;
    }
    const bool parked = at(unit).state == State::parked;
    const LineKey line = at(unit).line;
    leave(unit);
    if (!parked && line.valid()) {
        next_of(line);  // what it was woken for is still there
    }
}

void WaitQueue::end_rests(Nanoseconds now) {
    while (!resting_.empty() && resting_.begin()->first <= now) {
        make_ready(resting_.begin()->second);
    }
}

std::optional<UnitIndex> WaitQueue::pop(Nanoseconds now) {
    end_rests(now);
    if (ready_.empty()) {
        return std::nullopt;
    }
    const UnitIndex unit = ready_.begin()->second;
    leave(unit);
    Unit& known = at(unit);
    known.state = State::tried;
    ++known.attempts;
    ++tried_;
    return unit;
}

void WaitQueue::next_of(LineKey line) {
    if (const auto found = lines_.find(line); found != lines_.end()) {
        make_ready(found->second.begin()->second);
    }
}

void WaitQueue::found(UnitIndex unit) {
    TESSERA_ASSERT(at(unit).state == State::tried, "only what is tried can find a place");
    if (const LineKey line = std::exchange(at(unit).line, LineKey()); line.valid()) {
        next_of(line);
    }
}

void WaitQueue::placed(UnitIndex unit) {
    found(unit);
    leave(unit);
}

// Half of it to all of it, twice as long with each attempt.
Nanoseconds WaitQueue::backoff(const Unit& unit) {
    const std::uint32_t doublings = std::min(std::max(unit.attempts, 1U) - 1, kMostDoublings);
    const std::int64_t first = options_.backoff_first.value();
    const std::int64_t most = options_.backoff_most.value();
    const std::int64_t whole = first > (most >> doublings) ? most : first << doublings;
    const auto half = static_cast<std::uint64_t>(whole / 2);
    return Nanoseconds(static_cast<std::int64_t>(half + rng_.below(half + 1)));
}

void WaitQueue::park(UnitIndex unit, const Parked& why, Nanoseconds now) {
    TESSERA_ASSERT(at(unit).state == State::tried, "only what is tried can be parked");
    TESSERA_ASSERT(why.line.valid(), "who is parked stands in a line");
    leave(unit);
    Unit& known = at(unit);
    known.state = State::parked;
    known.line = why.line;
    known.causes = why.causes;
    known.since = now;
    lines_[why.line].insert(place_of(unit));
    parked_.insert({now, unit});
    count(known.causes, 1);
}

void WaitQueue::count(Causes causes, std::size_t change) {
    for (std::size_t cause = 0; cause < kCauses; ++cause) {
        waiting_for_[cause] += causes.has(static_cast<Cause>(cause)) ? change : 0;
    }
}

void WaitQueue::retry(UnitIndex unit, Nanoseconds now) {
    TESSERA_ASSERT(at(unit).state == State::tried, "only what is tried can be tried again");
    rest(unit, now + backoff(at(unit)));
}

void WaitQueue::room(const std::function<bool(LineKey)>& serves) {
    for (auto line = lines_.begin(); line != lines_.end();) {
        const auto& [key, units] = *line++;  // the line goes when its last one does
        const UnitIndex first = units.begin()->second;
        if (at(first).causes.has(Cause::room) && serves(key)) {
            make_ready(first);
        }
    }
}

void WaitQueue::happened(Cause cause, Nanoseconds now) {
    if (waiting_for_[static_cast<std::size_t>(cause)] == 0) {
        return;
    }
    std::vector<UnitIndex> woken;
    for (const auto& [since, unit] : parked_) {
        if (at(unit).causes.has(cause)) {
            woken.push_back(unit);
        }
    }
    for (UnitIndex unit : woken) {
        rest(unit, std::max(now, at(unit).since + backoff(at(unit))));
    }
}

void WaitQueue::changed(UnitIndex unit) {
    const State state = at(unit).state;
    if (state == State::parked || state == State::resting) {
        at(unit).attempts = 0;
        make_ready(unit);
    }
}

std::size_t WaitQueue::flush(Nanoseconds now, Nanoseconds longest) {
    std::size_t woken = 0;
    while (!parked_.empty() && parked_.begin()->first + longest <= now) {
        make_ready(parked_.begin()->second);
        ++woken;
    }
    return woken;
}

std::optional<Nanoseconds> WaitQueue::next_ready() const {
    return resting_.empty() ? std::nullopt : std::optional(resting_.begin()->first);
}

bool WaitQueue::any_ready(Nanoseconds now) const {
    return !ready_.empty() || (!resting_.empty() && resting_.begin()->first <= now);
}

WaitQueue::Counts WaitQueue::counts() const {
    return {ready_.size(), resting_.size(), parked_.size(), tried_};
}

std::vector<UnitIndex> WaitQueue::in_order() const {
    std::set<Place> all(ready_);
    for (const auto& [until, unit] : resting_) {
        all.insert(place_of(unit));
    }
    for (const auto& [since, unit] : parked_) {
        all.insert(place_of(unit));
    }
    std::vector<UnitIndex> result;
    result.reserve(all.size());
    for (const auto& [place, unit] : all) {
        result.push_back(unit);
    }
    return result;
}

}  // namespace tessera
