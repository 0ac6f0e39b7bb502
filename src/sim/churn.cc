#include "sim/churn.h"

#include <utility>

#include "sim/departures.h"

namespace tessera {

namespace {

class Churn {
  public:
    Churn(const RunSetup& setup, const Stream& stream, std::unique_ptr<Policy> policy)
        : workload_(*setup.workload),
          world_({setup.workload, setup.nodes, stream.nodes, setup.seed, setup.state},
                 std::move(policy)) {}

    void stand(const StreamPod& pod) {
        ++run_.standing;
        run_.standing_refused += come(pod) ? 0 : 1;
    }

    // Departures up to `time`, with the allocation integrated on the way.
    void advance(double time) {
        while (!departures_.empty() && departures_.next_time() <= time) {
            integrate(departures_.next_time());
            world_.depart(departures_.take());
        }
        integrate(time);
    }

    void arrive(const StreamPod& pod) {
        const bool placed = come(pod);
        if (!measuring_) {
            return;
        }
        SizeCount& size = run_.by_size[workload_.size_key[pod.pod]];
        ++size.offered;
        size.refused += placed ? 0 : 1;
        offered_milli_ += workload_.gpu_milli[pod.pod];
        refused_milli_ += placed ? 0 : workload_.gpu_milli[pod.pod];
    }

    void start_measuring() {
        measuring_ = true;
        measured_from_ = now_;
        milli_time_ = 0;
    }

    void reached(std::size_t arrivals, std::size_t total) { world_.reached(arrivals, total); }

    ChurnRun finish(std::int64_t capacity_milli) && {
        const double span = now_ - measured_from_;
        if (span > 0) {
            run_.alloc_percent = 100 * milli_time_ / span / static_cast<double>(capacity_milli);
        }
        if (offered_milli_ > 0) {
            run_.refused_gpu_percent =
                100 * static_cast<double>(refused_milli_) / static_cast<double>(offered_milli_);
        }
        return std::move(run_);
    }

  private:
    bool come(const StreamPod& pod) {
        const std::uint32_t number = next_pod_++;
        if (!world_.arrive(number, workload_.class_of[pod.pod])) {
            return false;
        }
        departures_.add(pod.time + pod.life, number);
        return true;
    }

    void integrate(double time) {
        milli_time_ += static_cast<double>(world_.cluster().gpu_milli_used()) * (time - now_);
        now_ = time;
    }

    const Workload& workload_;
    World world_;
    Departures departures_;
    ChurnRun run_;
    std::uint32_t next_pod_ = 0;
    bool measuring_ = false;
    double now_ = 0;
    double measured_from_ = 0;
    double milli_time_ = 0;  // allocated milli integrated over time
    std::int64_t offered_milli_ = 0;
    std::int64_t refused_milli_ = 0;
};

}  // namespace

ChurnRun run_churn(const RunSetup& setup, const Stream& stream, std::unique_ptr<Policy> policy) {
    Churn churn(setup, stream, std::move(policy));
    const double start = thread_cpu_seconds();
    for (const StreamPod& pod : stream.standing) {
        churn.stand(pod);
    }
    churn.reached(0, stream.arrivals.size());
    const auto unmeasured =
        static_cast<std::size_t>((1 - kMeasuredPart) * static_cast<double>(stream.arrivals.size()));
    for (std::size_t i = 0; i < stream.arrivals.size(); ++i) {
        churn.advance(stream.arrivals[i].time);
        if (i == unmeasured) {
            churn.start_measuring();
        }
        churn.arrive(stream.arrivals[i]);
        churn.reached(i + 1, stream.arrivals.size());
        if (setup.arrivals_done != nullptr) {
            setup.arrivals_done->fetch_add(1, std::memory_order_relaxed);
        }
    }
    const double seconds = thread_cpu_seconds() - start;
    ChurnRun run = std::move(churn).finish(gpu_milli_capacity(*setup.nodes));
    run.seed = setup.seed;
    run.arrivals = static_cast<std::int64_t>(stream.arrivals.size());
    const auto decisions = static_cast<double>(stream.standing.size() + stream.arrivals.size());
    run.decisions_per_second = seconds > 0 ? decisions / seconds : 0;
    return run;
}

}  // namespace tessera
