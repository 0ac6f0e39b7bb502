#include "sim/inflate.h"

#include <ctime>
#include <optional>
#include <utility>

#include "sim/fragmentation.h"

namespace tessera {

namespace {

// Multiplied first: a demand of exactly x.5 % must be seen as such, it decides the bucket.
double percent_of(std::int64_t part, std::int64_t whole) {
    return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

std::int64_t touched_gpus(const Cluster& cluster) {
    std::int64_t touched = 0;
    for (const NodeState& node : cluster.nodes()) {
        for (std::size_t g = 0; g < node.gpu_count; ++g) {
            touched += node.gpus[g].shares > 0 ? 1 : 0;
        }
    }
    return touched;
}

class Inflation {
  public:
    Inflation(const RunSetup& setup, const RunOrder& order, std::unique_ptr<Policy> policy)
        : workload_(*setup.workload),
          capacity_(gpu_milli_capacity(*setup.nodes)),
          world_({setup.workload, setup.nodes, order.nodes, setup.seed, setup.state},
                 std::move(policy)) {}

    void measure_fragmentation() { fragmentation_.emplace(world_.cluster(), workload_.mix); }

    void arrive(std::uint32_t number, std::uint32_t pod) {
        const std::uint32_t class_number = workload_.class_of[pod];
        const bool placed = world_.arrive(number, class_number);
        run_.arrived_milli += workload_.gpu_milli[pod];
        const double arrived_percent = percent_of(run_.arrived_milli, capacity_);
        if (placed) {
            run_.end.gpu_milli = world_.cluster().gpu_milli_used();
            run_.end.core_milli += workload_.pods[pod].cpu.value();
            run_.end.memory_mib += workload_.pods[pod].memory.value();
        } else if (run_.end.refused++ == 0) {
            run_.first_refusal_percent = arrived_percent;
        }
        if (run_.arrived_milli <= capacity_) {
            run_.at_capacity = run_.end;
        }
        run_.allocated.add(arrived_percent, percent_of(run_.end.gpu_milli, capacity_));
        if (fragmentation_) {
            note_fragmentation(arrived_percent,
                               placed ? world_.node_of(number) : NodeIndex::none());
        }
    }

    void reached(std::size_t arrivals, std::size_t total) { world_.reached(arrivals, total); }

    InflateRun finish(std::size_t arrivals) && {
        run_.arrivals = static_cast<std::int64_t>(arrivals);
        run_.gpus_touched = touched_gpus(world_.cluster());
        if (run_.end.refused == 0) {
            run_.first_refusal_percent = percent_of(run_.arrived_milli, capacity_);
        }
        return std::move(run_);
    }

  private:
    void note_fragmentation(double arrived_percent, NodeIndex changed) {
        if (changed.valid()) {
            fragmentation_->changed(changed);
        }
        const double amount = fragmentation_->amount_milli();
        const auto idle = static_cast<double>(fragmentation_->idle_milli());
        run_.fragmented.add(arrived_percent, amount / static_cast<double>(capacity_) * 100);
        run_.fragmented_of_idle.add(arrived_percent, idle == 0 ? 0 : amount / idle * 100);
    }

    const Workload& workload_;
    std::int64_t capacity_;
    World world_;
    std::optional<Fragmentation> fragmentation_;
    InflateRun run_;
};

}  // namespace

double thread_cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

InflateRun run_inflate(const RunSetup& setup, const RunOrder& order, std::unique_ptr<Policy> policy,
                       const InflateOptions& options) {
    Inflation inflation(setup, order, std::move(policy));
    if (options.fragmentation) {
        inflation.measure_fragmentation();
    }
    const double start = thread_cpu_seconds();
    inflation.reached(0, order.arrivals.size());
    for (std::uint32_t i = 0; i < order.arrivals.size(); ++i) {
        inflation.arrive(i, order.arrivals[i]);
        inflation.reached(i + 1, order.arrivals.size());
        if (setup.arrivals_done != nullptr) {
            setup.arrivals_done->fetch_add(1, std::memory_order_relaxed);
        }
    }
    const double seconds = thread_cpu_seconds() - start;
    InflateRun run = std::move(inflation).finish(order.arrivals.size());
    run.seed = setup.seed;
    run.decisions_per_second = seconds > 0 ? static_cast<double>(run.arrivals) / seconds : 0;
    return run;
}

}  // namespace tessera
