#include "sim/queue.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"
#include "sim/departures.h"

namespace tessera {

namespace {

constexpr double kNotStarted = -1;

class QueueSimulation {
  public:
    QueueSimulation(const RunSetup& setup, const Stream& stream, std::unique_ptr<Policy> policy,
                    Discipline discipline)
        : workload_(*setup.workload),
          stream_(stream),
          world_({setup.workload, setup.nodes, stream.nodes, setup.seed, setup.state},
                 std::move(policy)),
          line_(discipline),
          strict_(discipline == Discipline::strict) {
        started_.assign(stream.standing.size() + stream.arrivals.size(), kNotStarted);
    }

    // Pods are numbered in order of coming, those of the standing population first.
    void come(std::uint32_t number) {
        const StreamPod& pod = pod_of(number);
        const std::uint32_t class_number = workload_.class_of[pod.pod];
        world_.observe(number, class_number);
        // Whoever waits does not fit, except behind a strict head.
        if ((!strict_ || line_.empty()) && world_.fits(class_number)) {
            start(number);
            return;
        }
        line_.add({number, class_number, workload_.pods[pod.pod].priority});
    }

    void advance(double time) {
        while (!departures_.empty() && departures_.next_time() <= time) {
            depart_next();
        }
        move_to(time);
    }

    void drain() {
        while (!departures_.empty()) {
            depart_next();
        }
    }

    void start_measuring() {
        measured_from_ = now_;
        milli_time_ = 0;
    }
    double alloc_percent(std::int64_t capacity_milli) const {
        const double span = now_ - measured_from_;
        return span > 0 ? 100 * milli_time_ / span / static_cast<double>(capacity_milli) : 0;
    }

    void reached(std::size_t arrivals) { world_.reached(arrivals, stream_.arrivals.size()); }

    double now() const { return now_; }
    std::size_t waiting() const { return line_.size(); }
    // How long the pod waited, up to `until`.
    double wait(std::uint32_t number, double until) const {
        const double begin = started_[number];
        const double end = begin == kNotStarted ? until : std::min(begin, until);
        return end - pod_of(number).time;
    }
    const StreamPod& pod_of(std::uint32_t number) const {
        const std::size_t standing = stream_.standing.size();
        return number < standing ? stream_.standing[number] : stream_.arrivals[number - standing];
    }

  private:
    void start(std::uint32_t number) {
        const StreamPod& pod = pod_of(number);
        const bool placed = world_.place(number, workload_.class_of[pod.pod]);
        TESSERA_ASSERT(placed, "a pod that fits is placed");
        started_[number] = now_;
        departures_.add(now_ + pod.life, number);
    }

    void depart_next() {
        move_to(departures_.next_time());
        world_.depart(departures_.take());
        line_.serve([&](std::uint32_t class_number) { return world_.fits(class_number); },
                    [&](std::uint32_t number) { start(number); });
    }

    void move_to(double time) {
        milli_time_ += static_cast<double>(world_.cluster().gpu_milli_used()) * (time - now_);
        now_ = time;
    }

    const Workload& workload_;
    const Stream& stream_;
    World world_;
    WaitingLine line_;
    bool strict_;
    Departures departures_;
    std::vector<double> started_;
    double now_ = 0;
    double measured_from_ = 0;
    double milli_time_ = 0;
};

void summarise(const QueueSimulation& simulation, const Workload& workload, const Stream& stream,
               double until, QueueRun& run) {
    const double part = stream.in_seconds ? 0 : 1 - kMeasuredPart;
    const auto first = static_cast<std::size_t>(part * static_cast<double>(stream.arrivals.size()));
    const double unit = stream.in_seconds ? 1 : 100;  // % of a mean lifetime
    std::vector<double> waits;
    std::array<std::vector<double>, kSizeKeys> by_size;
    double completion = 0;
    for (std::size_t i = first; i < stream.arrivals.size(); ++i) {
        const auto number = static_cast<std::uint32_t>(stream.standing.size() + i);
        const StreamPod& pod = stream.arrivals[i];
        const double wait = unit * simulation.wait(number, until);
        waits.push_back(wait);
        by_size[workload.size_key[pod.pod]].push_back(wait);
        completion += wait + unit * pod.life;
    }
    run.completion_mean = waits.empty() ? 0 : completion / static_cast<double>(waits.size());
    run.wait = summarise_waits(std::move(waits));
    for (std::size_t key = 0; key < kSizeKeys; ++key) {
        run.by_size[key] = summarise_waits(std::move(by_size[key]));
    }
}

}  // namespace

WaitSummary summarise_waits(std::vector<double> waits) {
    WaitSummary summary;
    summary.pods = static_cast<std::int64_t>(waits.size());
    if (waits.empty()) {
        return summary;
    }
    std::sort(waits.begin(), waits.end());
    double sum = 0;
    for (const double wait : waits) {
        sum += wait;
    }
    const auto count = static_cast<double>(waits.size());
    const auto rank = [&](double part) {
        const auto at = static_cast<std::size_t>(std::max(1.0, std::ceil(part * count)));
        return waits[std::min(at, waits.size()) - 1];
    };
    summary.mean = sum / count;
    summary.p50 = rank(0.50);
    summary.p95 = rank(0.95);
    summary.p99 = rank(0.99);
    return summary;
}

QueueRun run_queue(const RunSetup& setup, const Stream& stream, std::unique_ptr<Policy> policy,
                   Discipline discipline) {
    QueueSimulation simulation(setup, stream, std::move(policy), discipline);
    const double start = thread_cpu_seconds();
    const auto standing = static_cast<std::uint32_t>(stream.standing.size());
    for (std::uint32_t i = 0; i < standing; ++i) {
        simulation.come(i);
    }
    simulation.reached(0);
    const auto unmeasured =
        static_cast<std::size_t>((1 - kMeasuredPart) * static_cast<double>(stream.arrivals.size()));
    for (std::size_t i = 0; i < stream.arrivals.size(); ++i) {
        simulation.advance(stream.arrivals[i].time);
        if (i == unmeasured && !stream.in_seconds) {
            simulation.start_measuring();
        }
        simulation.come(standing + static_cast<std::uint32_t>(i));
        simulation.reached(i + 1);
        if (setup.arrivals_done != nullptr) {
            setup.arrivals_done->fetch_add(1, std::memory_order_relaxed);
        }
    }
    QueueRun run;
    run.seed = setup.seed;
    run.arrivals = static_cast<std::int64_t>(stream.arrivals.size());
    run.waiting_at_end = static_cast<std::int64_t>(simulation.waiting());
    run.alloc_percent = simulation.alloc_percent(gpu_milli_capacity(*setup.nodes));
    const double last_arrival = simulation.now();
    simulation.drain();
    const double seconds = thread_cpu_seconds() - start;
    const double until = stream.in_seconds ? simulation.now() : last_arrival;
    summarise(simulation, *setup.workload, stream, until, run);
    run.makespan = simulation.now() * (stream.in_seconds ? 1 : 100);
    const auto decisions = static_cast<double>(stream.standing.size() + stream.arrivals.size());
    run.decisions_per_second = seconds > 0 ? decisions / seconds : 0;
    return run;
}

}  // namespace tessera
