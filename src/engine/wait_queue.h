// Who waits for a place, and who is tried next.
//
//   WaitQueue queue({.seed = 1});
//   queue.add(unit, {.priority = 100, .first_seen = now});
//   while (const auto unit = queue.pop(now)) {
//       if (place(*unit)) { queue.placed(*unit); }
//       else { queue.park(*unit, {.line = equal_asks, .causes = Causes::of(Cause::room)}, now); }
//   }
//   queue.room([&](LineKey line) { return fits_now(line); });    // a node changed
//
// A unit is what is placed at once: a pod, or a group of them. Its life:
//
//            add                pop                 placed, remove
//   (new) ---------> ready ------------> tried ------------------> (gone)
//                      ^                 |   |
//                 time |           retry |   | park
//                      |                 v   v
//                      +---- resting <--- parked
//                                happened, flush
//
// A parked unit stands in a line with those that ask for the same. What may help one of them may
// help the first: it alone is woken, and the next one when that one has been placed. So a cluster
// that is full with ten thousand equal pods waiting tries one of them when a place gets free, not
// all. Units that only some event can help (a pod they want to be near) rest after it, by a
// back-off that grows with their attempts.
//
// Order: priority, then who was seen first. A unit that waits rises: each `age_every` counts as one
// step of priority, so that nobody starves behind a stream of more important ones.
//
// Pure and single-threaded; time is passed in. Nothing may happen between a pop and the word on how
// it went: events are told before or after.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "base/strong_id.h"
#include "base/units.h"

namespace tessera {

using UnitIndex = StrongId<struct UnitTag>;               // dense, chosen by the caller
using LineKey = StrongId<struct LineTag, std::uint64_t>;  // equal asks, by the caller's count

// What may help a unit that found no place.
enum class Cause : std::uint8_t {
    room,     // something got free, or a node was added or changed
    pods,     // other pods: their labels, their ports, where they are
    members,  // of its group: one more, or another minimum
    volumes,  // claims, volumes and classes of storage
    other,    // policies, namespaces: seldom
};

inline constexpr std::size_t kCauses = 5;

class Causes {
  public:
    static constexpr Causes of(Cause cause) { return Causes(1U << static_cast<unsigned>(cause)); }
    static constexpr Causes all() { return Causes(~0U); }
    constexpr Causes with(Cause cause) const { return Causes(bits_ | of(cause).bits_); }
    constexpr bool has(Cause cause) const { return (bits_ & of(cause).bits_) != 0; }
    friend constexpr bool operator==(Causes, Causes) = default;
    constexpr Causes() = default;

  private:
    constexpr explicit Causes(unsigned bits) : bits_(bits) {}
    unsigned bits_ = 0;
};

struct QueueRank {
    std::int32_t priority = 0;
    Nanoseconds first_seen{};
};

// Why a unit is parked: the line it stands in, and what may help.
struct Parked {
    LineKey line;
    Causes causes;
};

struct WaitQueueOptions {
    Nanoseconds backoff_first{1'000'000'000};
    Nanoseconds backoff_most{10'000'000'000};
    Nanoseconds age_every{60'000'000'000};  // 0: nobody rises
    std::uint64_t seed = 1;
};

class WaitQueue {
  public:
    explicit WaitQueue(WaitQueueOptions options = {});

    // A new unit is ready at once; of a known one only the rank changes.
    void add(UnitIndex unit, const QueueRank& rank);
    void remove(UnitIndex unit);  // in whatever state; nothing happens if it is not there
    bool has(UnitIndex unit) const;

    // The best of those that are ready. It is being tried until one of the next three is called.
    std::optional<UnitIndex> pop(Nanoseconds now);
    void placed(UnitIndex unit);  // gone; the next of its line is ready
    // The same while it is still uncertain whether that holds: until placed, park, retry or remove
    // it is being tried.
    void found(UnitIndex unit);
    void park(UnitIndex unit, const Parked& why, Nanoseconds now);
    void retry(UnitIndex unit, Nanoseconds now);  // something failed on the way: rests, then again

    // Of each line that waits for room and is served by it, the first is ready at once.
    void room(const std::function<bool(LineKey)>& serves);
    // Everyone whom this may help, after his back-off.
    void happened(Cause cause, Nanoseconds now);
    // This one was changed itself: it is tried as soon as its turn comes.
    void changed(UnitIndex unit);
    // Who has been parked for `longest` is tried again, whatever the reason: a net below the rest.
    std::size_t flush(Nanoseconds now, Nanoseconds longest);

    // When somebody who rests is ready next; nothing when nobody rests.
    std::optional<Nanoseconds> next_ready() const;
    bool any_ready(Nanoseconds now) const;

    struct Counts {
        std::size_t ready = 0;
        std::size_t resting = 0;
        std::size_t parked = 0;
        std::size_t tried = 0;
    };
    Counts counts() const;
    std::uint32_t attempts(UnitIndex unit) const { return units_.at(unit.slot()).attempts; }
    QueueRank rank(UnitIndex unit) const { return units_.at(unit.slot()).rank; }
    std::size_t lines() const { return lines_.size(); }
    bool has_line(LineKey line) const { return lines_.contains(line); }
    // In the order in which they would be tried if all were ready: for people.
    std::vector<UnitIndex> in_order() const;
    // A number that a rank is ordered by, smaller first; then first_seen, then the unit.
    std::int64_t order_of(const QueueRank& rank) const;

  private:
    enum class State : std::uint8_t { absent, ready, tried, resting, parked };
    struct Unit {
        QueueRank rank{};
        Nanoseconds since{};  // parked since, or resting until
        LineKey line{};       // that it stands in, or stood in last
        Causes causes{};
        std::uint32_t attempts = 0;
        State state = State::absent;
    };
    using Place = std::pair<std::pair<std::int64_t, std::int64_t>, UnitIndex>;  // by rank

    Unit& at(UnitIndex unit) { return units_[unit.slot()]; }
    Place place_of(UnitIndex unit) const;
    Nanoseconds backoff(const Unit& unit);
    void leave(UnitIndex unit);  // its state's table
    void make_ready(UnitIndex unit);
    void rest(UnitIndex unit, Nanoseconds until);
    void end_rests(Nanoseconds now);
    void next_of(LineKey line);
    void count(Causes causes, std::size_t change);

    WaitQueueOptions options_;
    Rng rng_;
    std::vector<Unit> units_;
    std::set<Place> ready_;
    std::set<std::pair<Nanoseconds, UnitIndex>> resting_;
    std::map<LineKey, std::set<Place>> lines_;
    std::set<std::pair<Nanoseconds, UnitIndex>> parked_;  // since when
    std::size_t tried_ = 0;
    std::array<std::size_t, kCauses> waiting_for_{};  // parked, by cause
};

}  // namespace tessera
