#include "sim/curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace tessera {

namespace {

// Pairwise summation: up to 128 values in eight interleaved sums, more in halves (multiples of 8).
double numpy_sum(const double* values, std::size_t count) {
    if (count < 8) {
        double sum = 0;
        for (std::size_t i = 0; i < count; ++i) {
            sum += values[i];
        }
        return sum;
    }
    if (count > 128) {
        std::size_t half = count / 2;
        half -= half % 8;
        return numpy_sum(values, half) + numpy_sum(values + half, count - half);
    }
    std::array<double, 8> lanes{};
    std::copy(values, values + 8, lanes.begin());
    std::size_t i = 8;
    for (; i + 8 <= count; i += 8) {
        for (std::size_t lane = 0; lane < 8; ++lane) {
            lanes[lane] += values[i + lane];
        }
    }
    double sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
                 ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
    for (; i < count; ++i) {
        sum += values[i];
    }
    return sum;
}

}  // namespace

double two_decimals(double value) { return std::nearbyint(value * 100) / 100; }

double numpy_mean(const std::vector<double>& values) {
    return numpy_sum(values.data(), values.size()) / static_cast<double>(values.size());
}

void Curve::add(double arrived_percent, double value) {
    const auto bucket = static_cast<std::size_t>(std::max(0.0, std::nearbyint(arrived_percent)));
    if (bucket >= buckets_.size()) {
        buckets_.resize(bucket + 1);
    }
    buckets_[bucket].push_back(kind_ == Events::rounded ? two_decimals(value) : value);
    events_.push_back({arrived_percent, value});
}

double Curve::at(int percent) const {
    const auto bucket = static_cast<std::size_t>(percent);
    if (bucket < buckets_.size() && !buckets_[bucket].empty()) {
        return two_decimals(numpy_mean(buckets_[bucket]));
    }
    std::vector<double> near;
    for (const int neighbour : {percent - 1, percent, percent + 1}) {
        if (neighbour >= 0 && neighbour <= last_bucket()) {
            const auto& events = buckets_[static_cast<std::size_t>(neighbour)];
            near.insert(near.end(), events.begin(), events.end());
        }
    }
    return two_decimals(near.empty() ? last_at_or_below(percent) : numpy_mean(near));
}

double Curve::last_at_or_below(int percent) const {
    const auto after = std::upper_bound(
        events_.begin(), events_.end(), static_cast<double>(percent),
        [](double bound, const Event& event) { return bound < event.arrived_percent; });
    return after == events_.begin() ? 0 : std::prev(after)->value;
}

std::vector<double> Curve::values() const {
    std::vector<double> all;
    for (int percent = 0; percent <= last_bucket(); ++percent) {
        all.push_back(at(percent));
    }
    return all;
}

}  // namespace tessera
