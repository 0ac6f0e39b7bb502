// Who leaves next: running pods by the time their life ends.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

namespace tessera {

class Departures {
  public:
    void add(double time, std::uint32_t pod) { heap_.emplace(time, pod); }
    bool empty() const { return heap_.empty(); }
    double next_time() const { return std::get<0>(heap_.top()); }
    std::uint32_t take() {
        const std::uint32_t pod = std::get<1>(heap_.top());
        heap_.pop();
        return pod;
    }

  private:
    using Entry = std::tuple<double, std::uint32_t>;  // equal times leave in order of coming
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
};

}  // namespace tessera
