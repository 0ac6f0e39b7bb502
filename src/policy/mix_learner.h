// Counts of the classes that arrived, and when it is time to learn from them again.
//
// Early and often at first (a small cluster is full before a hundred pods have come), then every
// 6,400 arrivals, or as many as there are nodes; from there on old counts fade by half each time,
// so that a mix that drifts is followed. A warm policy need not learn anew from a mix that is still
// the same but for chance: moved() tells.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "model/demand_class.h"
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

    // To be called when it was due, whether the policy learned or left it at what it knew.
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

    // Whether the mix differs from the one last adopted by more than chance does: half the sum of
    // the differences in share, of the pods or of their GPU demand. Always true until warm.
    bool moved(const ClassTable& classes) const {
        return next_ < kWarm || difference(classes, false) > kMoved ||
               difference(classes, true) > kMoved;
    }
    void adopt() { adopted_ = counts_; }

    // By class, in fixed point (kUnit = one arrival not yet faded); may be shorter than the table.
    const std::vector<std::int64_t>& counts() const { return counts_; }

    static constexpr std::int64_t kUnit = 1 << 16;

  private:
    double difference(const ClassTable& classes, bool by_demand) const {
        const auto weight = [&](const std::vector<std::int64_t>& counts, std::size_t i) {
            if (i >= counts.size()) {
                return 0.0;
            }
            const ClassIndex index(static_cast<std::uint32_t>(i));
            return static_cast<double>(counts[i]) *
                   (by_demand ? static_cast<double>(classes[index].gpu_milli_total) : 1.0);
        };
        double now = 0;
        double then = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            now += weight(counts_, i);
            then += weight(adopted_, i);
        }
        if (now <= 0 || then <= 0) {
            return now > 0 ? 1 : 0;
        }
        double sum = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            sum += std::abs(weight(counts_, i) / now - weight(adopted_, i) / then);
        }
        return sum / 2;
    }

    static constexpr std::uint64_t kWarm = 6400;
    static constexpr double kMoved = 0.08;
    std::vector<std::int64_t> counts_;
    std::vector<std::int64_t> adopted_;
    std::uint64_t arrivals_ = 0;
    std::uint64_t next_ = 4;
};

}  // namespace tessera
