// A quantity against arrived demand, as the published experiments report it.
//
// An event is one arrival. Its bucket is the arrived GPU demand in % of capacity, rounded to the
// nearest integer (half to even); the value at x % is the mean over the bucket's events. Rates of
// allocation are rounded to two decimals event by event, amounts of fragmentation are not. A bucket
// without events takes those of x-1 to x+1, and without any of these the value after the last
// arrival at or below x %.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera {

class Curve {
  public:
    enum class Events : std::uint8_t { rounded, exact };
    explicit Curve(Events events = Events::rounded) : kind_(events) {}

    // Events come in order of arrival.
    void add(double arrived_percent, double value);

    double at(int percent) const;
    // Values at 0, 1, ... last bucket.
    std::vector<double> values() const;
    int last_bucket() const { return static_cast<int>(buckets_.size()) - 1; }

  private:
    double last_at_or_below(int percent) const;

    Events kind_;
    struct Event {
        double arrived_percent;
        double value;
    };
    std::vector<std::vector<double>> buckets_;
    std::vector<Event> events_;
};

// To two decimals, half to even, as the published tables were made.
double two_decimals(double value);

// The mean in the order of addition that NumPy uses for a contiguous array, so that the published
// decimals come out equal to the last digit.
double numpy_mean(const std::vector<double>& values);

}  // namespace tessera
