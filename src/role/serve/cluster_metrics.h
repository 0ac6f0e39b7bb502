// What /metrics tells of the cluster and of our view of it, read when it is asked for.
//
//   ClusterMetrics figures(metrics);
//   { std::lock_guard lock(mutex); figures.read(mirror); }
//   metrics.text();
#pragma once

#include <cstddef>
#include <cstdint>

#include "role/mirror/mirror.h"
#include "telemetry/metrics.h"

namespace tessera {

class ClusterMetrics {
  public:
    explicit ClusterMetrics(Metrics& metrics);

    // Everything at one moment. Nothing before the mirror is synced.
    void read(const Mirror& mirror);

  private:
    Gauge& nodes_;
    Gauge& gpus_;
    Gauge& milli_total_;
    Gauge& milli_used_;
    Gauge& memory_total_;
    Gauge& memory_used_;
    Gauge& pods_;
    Gauge& foreign_;
    Gauge& held_;
    Counter& expired_;
    Gauge& over_gpus_;
    Gauge& over_nodes_;
};

}  // namespace tessera
