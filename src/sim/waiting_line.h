// Pods that wait, in lanes of equal class and priority.
//
// Two pods of a lane fit alike, so only the oldest of each lane is worth trying: thousands may
// wait, but a departure asks about a few dozen lanes.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace tessera {

enum class Discipline : std::uint8_t {
    strict,    // only the head of the line may start
    backfill,  // the oldest pod that fits starts
    priority,  // of the highest priority that fits, the oldest
};

struct WaitingPod {
    std::uint32_t pod = 0;  // pods are numbered in order of coming
    std::uint32_t class_number = 0;
    std::int32_t priority = 0;
};

class WaitingLine {
  public:
    explicit WaitingLine(Discipline discipline) : discipline_(discipline) {}

    void add(const WaitingPod& pod);
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }

    // Starts everybody who may start now. fits(class) says whether there is room; start(pod) takes
    // it and must then succeed.
    template <class Fits, class Start>
    void serve(Fits fits, Start start);

  private:
    struct Lane {
        std::uint32_t class_number = 0;
        std::int32_t priority = 0;
        std::deque<std::uint32_t> pods;
    };

    template <class Fits, class Start>
    void serve_head(Fits fits, Start start);
    Lane& lane_of(const WaitingPod& pod);
    // Goes before: higher priority (where that counts), then older.
    bool before(const Lane& a, const Lane& b) const;

    Discipline discipline_;
    std::deque<WaitingPod> line_;  // strict
    std::vector<Lane> lanes_;      // others
    std::vector<std::vector<std::uint32_t>> lanes_of_class_;
    std::vector<Lane*> open_;  // scratch of serve()
    std::size_t size_ = 0;
};

template <class Fits, class Start>
void WaitingLine::serve(Fits fits, Start start) {
    if (discipline_ == Discipline::strict) {
        serve_head(fits, start);
        return;
    }
    open_.clear();
    for (Lane& lane : lanes_) {
        if (!lane.pods.empty() && fits(lane.class_number)) {
            open_.push_back(&lane);
        }
    }
    // Room only shrinks while pods start, so a lane that does not fit any more is done.
    while (!open_.empty()) {
        std::size_t first = 0;
        for (std::size_t i = 1; i < open_.size(); ++i) {
            first = before(*open_[i], *open_[first]) ? i : first;
        }
        Lane& lane = *open_[first];
        const bool room = fits(lane.class_number);
        if (room) {
            const std::uint32_t pod = lane.pods.front();
            lane.pods.pop_front();
            --size_;
            start(pod);
        }
        if (!room || lane.pods.empty()) {
            open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(first));
        }
    }
}

template <class Fits, class Start>
void WaitingLine::serve_head(Fits fits, Start start) {
    while (!line_.empty() && fits(line_.front().class_number)) {
        const std::uint32_t pod = line_.front().pod;
        line_.pop_front();
        --size_;
        start(pod);
    }
}

}  // namespace tessera
