#include "sim/stream.h"

#include <algorithm>
#include <cmath>

#include "base/rng.h"
#include "sim/orders.h"

namespace tessera {

namespace {

constexpr double kSigma = 2;  // of the log-normal lifetimes
constexpr double kSmallestGpus = 0.1;

bool sized(Lifetimes lifetimes) {
    return lifetimes == Lifetimes::exp_size || lifetimes == Lifetimes::logn_size;
}
bool heavy(Lifetimes lifetimes) {
    return lifetimes == Lifetimes::logn || lifetimes == Lifetimes::logn_size;
}

// Mean 1.
double draw_life(Lifetimes lifetimes, Rng& rng) {
    if (heavy(lifetimes)) {
        return std::exp(kSigma * rng.normal() - kSigma * kSigma / 2);
    }
    return rng.exponential();
}

// What is left of a life that is seen at a random moment: a uniform part of a life drawn with
// probability in proportion to its length. For the log-normal that shifts its logarithm by
// sigma squared; the exponential has no memory.
double draw_residual(Lifetimes lifetimes, Rng& rng) {
    if (heavy(lifetimes)) {
        const double length = std::exp(kSigma * rng.normal() + kSigma * kSigma / 2);
        return rng.uniform() * length;
    }
    return rng.exponential();
}

// Mean life of each pod; the mean over pods is 1.
std::vector<double> life_scales(const Workload& workload, Lifetimes lifetimes) {
    std::vector<double> scales(workload.pods.size(), 1.0);
    if (!sized(lifetimes)) {
        return scales;
    }
    double sum = 0;
    for (std::size_t i = 0; i < scales.size(); ++i) {
        const double gpus = static_cast<double>(workload.gpu_milli[i]) / 1000;
        scales[i] = std::sqrt(std::max(gpus, kSmallestGpus));
        sum += scales[i];
    }
    const double mean = sum / static_cast<double>(scales.size());
    for (double& scale : scales) {
        scale /= mean;
    }
    return scales;
}

// Draws pods with probability in proportion to their mean life: who is there at a random moment.
class StandingDraw {
  public:
    explicit StandingDraw(const std::vector<double>& scales) {
        double sum = 0;
        sums_.reserve(scales.size());
        for (const double scale : scales) {
            sums_.push_back(sum += scale);
        }
    }
    std::uint32_t draw(Rng& rng) const {
        const double at = rng.uniform() * sums_.back();
        const auto found = std::upper_bound(sums_.begin(), sums_.end(), at);
        const auto last = static_cast<std::ptrdiff_t>(sums_.size()) - 1;
        return static_cast<std::uint32_t>(std::min(found - sums_.begin(), last));
    }

  private:
    std::vector<double> sums_;
};

void draw_standing(Stream& stream, const std::vector<double>& scales, double mean_pods,
                   const StreamOptions& options, Rng& rng) {
    const StandingDraw who(scales);
    // A Poisson number of pods: as many as unit-rate arrivals in that time.
    for (double at = rng.exponential(); at < mean_pods; at += rng.exponential()) {
        const std::uint32_t pod = who.draw(rng);
        stream.standing.push_back({0, scales[pod] * draw_residual(options.lifetimes, rng), pod});
    }
}

}  // namespace

std::optional<Lifetimes> parse_lifetimes(std::string_view text) {
    if (text == "exp") {
        return Lifetimes::exp;
    }
    if (text == "logn") {
        return Lifetimes::logn;
    }
    if (text == "exp-size") {
        return Lifetimes::exp_size;
    }
    if (text == "logn-size") {
        return Lifetimes::logn_size;
    }
    return std::nullopt;
}

Expected<Stream> draw_stream(const Workload& workload, const std::vector<NodeSpec>& nodes,
                             const StreamOptions& options) {
    const std::vector<double> scales = life_scales(workload, options.lifetimes);
    double gpu_time = 0;  // offered by one arrival, on average
    for (std::size_t i = 0; i < scales.size(); ++i) {
        gpu_time += static_cast<double>(workload.gpu_milli[i]) * scales[i];
    }
    gpu_time /= static_cast<double>(std::max<std::size_t>(1, scales.size()));
    const auto capacity = static_cast<double>(gpu_milli_capacity(nodes));
    if (gpu_time <= 0 || capacity <= 0) {
        return fail(ErrorKind::invalid,
                    "a load needs pods that ask for GPUs and nodes that have some");
    }
    Rng rng(options.seed);
    Rng node_rng = rng.fork();
    Rng standing_rng = rng.fork();
    Stream stream;
    stream.nodes = draw_node_order(nodes.size(), node_rng);
    const double standing_load = std::min(options.load, kStandingLoadMax);
    draw_standing(stream, scales, standing_load * capacity / gpu_time, options, standing_rng);
    const double rate = options.load * capacity / gpu_time;
    double time = 0;
    stream.arrivals.reserve(options.arrivals);
    for (std::size_t i = 0; i < options.arrivals; ++i) {
        time += rng.exponential() / rate;
        const auto pod = static_cast<std::uint32_t>(rng.below(workload.pods.size()));
        stream.arrivals.push_back({time, scales[pod] * draw_life(options.lifetimes, rng), pod});
    }
    return stream;
}

Expected<Stream> trace_stream(const Workload& workload, const std::vector<NodeSpec>& nodes,
                              const TraceStreamOptions& options) {
    Stream stream;
    stream.in_seconds = true;
    double gpu_time = 0;
    for (std::uint32_t i = 0; i < workload.pods.size(); ++i) {
        const TracePod& pod = workload.pods[i];
        if (pod.submit_s && pod.duration_s) {
            stream.arrivals.push_back({*pod.submit_s, *pod.duration_s, i});
            gpu_time += static_cast<double>(workload.gpu_milli[i]) * *pod.duration_s;
        } else {
            ++stream.untimed;
        }
    }
    if (stream.arrivals.empty()) {
        return fail(ErrorKind::invalid,
                    "no pod of {} has a submit time and a duration; --times draw makes some up",
                    workload.name);
    }
    std::stable_sort(stream.arrivals.begin(), stream.arrivals.end(),
                     [](const StreamPod& a, const StreamPod& b) { return a.time < b.time; });
    const double first = stream.arrivals.front().time;
    const double span = stream.arrivals.back().time - first;
    double stretch = 1;
    if (options.load && span > 0) {
        const auto capacity = static_cast<double>(gpu_milli_capacity(nodes));
        stretch = gpu_time / (capacity * span * *options.load);
    }
    for (StreamPod& pod : stream.arrivals) {
        pod.time = (pod.time - first) * stretch;
    }
    Rng rng(options.seed);
    stream.nodes = draw_node_order(nodes.size(), rng);
    return stream;
}

}  // namespace tessera
