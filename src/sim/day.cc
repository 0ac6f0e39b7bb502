#include "sim/day.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/assert.h"

namespace tessera {

namespace {

constexpr double kMeanLifeHours = 2.5;
constexpr std::size_t kRecent = 4;

// Part of the peak rate at this hour: quiet at four in the morning, busiest twelve hours later.
double activity(double hour) {
    const double wave = std::sin(3.14159265358979 * (hour - 4) / kDayHours);
    return 0.25 + 0.75 * wave * wave;
}

std::string size_text(const TracePod& pod) {
    if (pod.gpus == 0) {
        return "CPU only";
    }
    if (pod.gpu_milli < kWholeGpu) {
        return fmt::format("{:.2f} GPU", static_cast<double>(pod.gpu_milli.value()) / 1000);
    }
    return fmt::format("{} GPU{}", pod.gpus, pod.gpus == 1 ? "" : "s");
}

std::string clock_text(double hour) {
    const auto minutes = static_cast<int>(hour * 60);
    return fmt::format("{:02}:{:02}", minutes / 60, minutes % 60);
}

}  // namespace

Expected<std::unique_ptr<SimulatedDay>> SimulatedDay::make(ExperimentInputs inputs,
                                                           const PolicySource& policy,
                                                           const DayOptions& options) {
    inputs.workload = without_misfits(inputs.workload, inputs.nodes);
    if (gpu_milli_capacity(inputs.nodes) == 0 || inputs.workload.gpu_milli_total == 0) {
        return fail(ErrorKind::invalid,
                    "the demo needs nodes with GPUs, and pods that fit on them");
    }
    TESSERA_TRY(auto made, policy.make({}));
    std::unique_ptr<SimulatedDay> day(new SimulatedDay(options, std::move(inputs)));
    std::vector<std::uint32_t> order(day->nodes_.size());
    std::iota(order.begin(), order.end(), 0U);
    day->world_ = std::make_unique<World>(
        World::Setup{&day->workload_, &day->nodes_, order, options.seed}, std::move(made));
    return day;
}

SimulatedDay::SimulatedDay(const DayOptions& options, ExperimentInputs inputs)
    : nodes_(std::move(inputs.nodes)), workload_(std::move(inputs.workload)) {
    draw_comers(options);
}

// A Poisson process whose rate follows the hour: drawn at the peak rate, then thinned.
void SimulatedDay::draw_comers(const DayOptions& options) {
    Rng rng(options.seed);
    const double mean_milli =
        static_cast<double>(workload_.gpu_milli_total) / static_cast<double>(workload_.pods.size());
    const auto capacity = static_cast<double>(gpu_milli_capacity(nodes_));
    const double peak_rate = options.peak_load * capacity / (mean_milli * kMeanLifeHours);
    for (double time = rng.exponential() / peak_rate; time < kDayHours;
         time += rng.exponential() / peak_rate) {
        const auto pod = static_cast<std::uint32_t>(rng.below(workload_.pods.size()));
        const double life = kMeanLifeHours * rng.exponential();
        if (rng.uniform() < activity(time)) {
            comers_.push_back({time, life, pod});
        }
    }
}

void SimulatedDay::advance(double hour) {
    while (true) {
        const double coming = next_ < comers_.size() ? comers_[next_].time : kDayHours * 1e6;
        const double leaving = departures_.empty() ? kDayHours * 1e6 : departures_.next_time();
        if (std::min(coming, leaving) > hour) {
            break;
        }
        if (leaving <= coming) {
            depart();
        } else {
            move_to(coming);
            come(next_++);
        }
    }
    move_to(hour);
}

void SimulatedDay::come(std::uint32_t number) {
    const std::uint32_t pod = comers_[number].pod;
    const std::uint32_t class_number = workload_.class_of[pod];
    ++counts_.arrived;
    world_->observe(number, class_number);
    if (world_->fits(class_number)) {
        start(number);
    } else {
        line_.add({number, class_number, workload_.pods[pod].priority});
    }
}

void SimulatedDay::start(std::uint32_t number) {
    const Comer& comer = comers_[number];
    const bool placed = world_->place(number, workload_.class_of[comer.pod]);
    TESSERA_ASSERT(placed, "a pod that fits is placed");
    const double wait = now_ - comer.time;
    ++counts_.started;
    ++running_;
    counts_.waited += wait > 0 ? 1 : 0;
    counts_.wait_hours += wait;
    counts_.wait_hours_max = std::max(counts_.wait_hours_max, wait);
    departures_.add(now_ + comer.life, number);
    const NodeIndex node = world_->node_of(number);
    recent_.push_back(fmt::format("{}  {:<9} -> {}", clock_text(now_),
                                  size_text(workload_.pods[comer.pod]),
                                  world_->cluster().spec(node).name));
    if (recent_.size() > kRecent) {
        recent_.pop_front();
    }
    counts_.allocated_percent_max = std::max(counts_.allocated_percent_max, allocated_percent());
}

void SimulatedDay::depart() {
    move_to(departures_.next_time());
    world_->depart(departures_.take());
    ++counts_.finished;
    --running_;
    line_.serve([&](std::uint32_t class_number) { return world_->fits(class_number); },
                [&](std::uint32_t number) { start(number); });
}

void SimulatedDay::move_to(double time) {
    milli_hours_ += static_cast<double>(cluster().gpu_milli_used()) * (time - now_);
    now_ = time;
}

double SimulatedDay::allocated_percent() const {
    return 100 * static_cast<double>(cluster().gpu_milli_used()) /
           static_cast<double>(gpu_milli_capacity(nodes_));
}

DayCounts SimulatedDay::counts() const {
    DayCounts counts = counts_;
    if (now_ > 0) {
        counts.allocated_percent_mean =
            100 * milli_hours_ / now_ / static_cast<double>(gpu_milli_capacity(nodes_));
    }
    return counts;
}

}  // namespace tessera
