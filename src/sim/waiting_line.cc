#include "sim/waiting_line.h"

namespace tessera {

void WaitingLine::add(const WaitingPod& pod) {
    ++size_;
    if (discipline_ == Discipline::strict) {
        line_.push_back(pod);
    } else {
        lane_of(pod).pods.push_back(pod.pod);
    }
}

WaitingLine::Lane& WaitingLine::lane_of(const WaitingPod& pod) {
    if (pod.class_number >= lanes_of_class_.size()) {
        lanes_of_class_.resize(pod.class_number + 1);
    }
    const std::int32_t priority = discipline_ == Discipline::priority ? pod.priority : 0;
    auto& lanes = lanes_of_class_[pod.class_number];
    for (const std::uint32_t lane : lanes) {
        if (lanes_[lane].priority == priority) {
            return lanes_[lane];
        }
    }
    lanes.push_back(static_cast<std::uint32_t>(lanes_.size()));
    lanes_.push_back({pod.class_number, priority, {}});
    return lanes_.back();
}

bool WaitingLine::before(const Lane& a, const Lane& b) const {
    if (a.priority != b.priority) {
        return a.priority > b.priority;
    }
    return a.pods.front() < b.pods.front();
}

}  // namespace tessera
