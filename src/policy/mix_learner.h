// Counts of the classes that arrived, and when it is time to learn from them again.
//
// Early and often at first (a small cluster is full before a hundred pods have come), then every
// 6,400 arrivals, or as many as there are nodes; from there on old counts fade by half each time,
// so that a mix that drifts is followed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/ids.h"

namespace tessera {

class MixLearner {
  public:
    void arrived(ClassIndex demand_class) {
        if (demand_class.slot() >= counts_.size()) {
            counts_.resize(demand_class.slot() + 1, 0);
        }
        counts_[demand_class.slot()] += kUnit;
        ++arrivals_;
    }

    std::uint64_t arrivals() const { return arrivals_; }
    bool due() const { return arrivals_ >= next_; }

    // To be called after learning from the counts.
    void learned(std::size_t nodes) {
        if (next_ >= kWarm) {
            for (std::int64_t& count : counts_) {
                count /= 2;
            }
            next_ = arrivals_ + std::max<std::uint64_t>(kWarm, nodes);
            return;
        }
        // 4, 7, 13, 25, 50, 100 ... 6,400: each about half of the next.
        next_ = next_ < 25 ? next_ * 2 - 1 : next_ * 2;
    }

    // By class, in fixed point (kUnit = one arrival not yet faded); may be shorter than the table.
    const std::vector<std::int64_t>& counts() const { return counts_; }

    static constexpr std::int64_t kUnit = 1 << 16;

  private:
    static constexpr std::uint64_t kWarm = 6400;
    std::vector<std::int64_t> counts_;
    std::uint64_t arrivals_ = 0;
    std::uint64_t next_ = 4;
};

}  // namespace tessera
