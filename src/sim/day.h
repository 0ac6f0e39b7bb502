// A day on a small cluster, in steps: for the demo's live view.
//
// Pods come more often by day than by night, wait when there is no room (backfill), and leave after
// a few hours. The engine and the policies are the production ones; only the clock is virtual.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/rng.h"
#include "sim/departures.h"
#include "sim/experiment.h"
#include "sim/policy_source.h"
#include "sim/waiting_line.h"
#include "sim/workload.h"
#include "sim/world.h"

namespace tessera {

struct DayOptions {
    std::uint64_t seed = 1;
    double peak_load = 1.05;  // of GPU capacity, at the busiest hour
};

struct DayCounts {
    std::int64_t arrived = 0;
    std::int64_t started = 0;
    std::int64_t waited = 0;  // of those that started
    std::int64_t finished = 0;
    double wait_hours = 0;  // of those that started
    double wait_hours_max = 0;
    double allocated_percent_mean = 0;
    double allocated_percent_max = 0;
};

class SimulatedDay {
  public:
    // Pods that fit on no node are left out.
    static Expected<std::unique_ptr<SimulatedDay>> make(ExperimentInputs inputs,
                                                        const PolicySource& policy,
                                                        const DayOptions& options);

    // Lets everything happen up to this hour.
    void advance(double hour);

    double hour() const { return now_; }
    const Cluster& cluster() const { return world_->cluster(); }
    double allocated_percent() const;
    std::size_t waiting() const { return line_.size(); }
    std::size_t running() const { return running_; }
    DayCounts counts() const;
    // The last placements, newest last: "08:15  0.47 GPU  -> node-00003".
    const std::deque<std::string>& recent() const { return recent_; }

  private:
    struct Comer {
        double time = 0;
        double life = 0;
        std::uint32_t pod = 0;
    };

    SimulatedDay(const DayOptions& options, ExperimentInputs inputs);
    void draw_comers(const DayOptions& options);
    void come(std::uint32_t number);
    void start(std::uint32_t number);
    void depart();
    void move_to(double time);

    std::vector<NodeSpec> nodes_;
    Workload workload_;
    std::unique_ptr<World> world_;
    std::vector<Comer> comers_;
    WaitingLine line_{Discipline::backfill};
    Departures departures_;
    std::uint32_t next_ = 0;
    std::size_t running_ = 0;
    double now_ = 0;
    double milli_hours_ = 0;
    DayCounts counts_;
    std::deque<std::string> recent_;
};

inline constexpr double kDayHours = 24;

}  // namespace tessera
