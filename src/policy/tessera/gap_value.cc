#include "policy/tessera/gap_value.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tessera {
namespace {

constexpr int kDevice = 1000;
constexpr std::size_t kMaxSizes = 96;  // rarer sizes join the next larger one
constexpr int kMaxIterations = 2000;   // far above what is needed; a bound, not a tuning knob
constexpr double kTolerance = 1e-9;

// The sizes with the most demand, ascending; the demand of others goes to the next larger kept
// size, so that no price promises room that is not there.
std::vector<SizeDemand> keep_largest(std::span<const SizeDemand> sizes) {
    std::vector<SizeDemand> all(sizes.begin(), sizes.end());
    std::sort(all.begin(), all.end(), [](const SizeDemand& a, const SizeDemand& b) {
        return a.demand > b.demand || (a.demand == b.demand && a.milli < b.milli);
    });
    std::vector<SizeDemand> kept(
        all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), kMaxSizes)));
    std::sort(kept.begin(), kept.end(),
              [](const SizeDemand& a, const SizeDemand& b) { return a.milli < b.milli; });
    for (std::size_t i = kMaxSizes; i < all.size(); ++i) {
        const auto next = std::find_if(
            kept.begin(), kept.end(), [&](const SizeDemand& k) { return k.milli >= all[i].milli; });
        if (next != kept.end()) {
            next->demand += all[i].demand;
        }
    }
    return kept;
}

// Best unbounded packing of every length up to a device; `choice` is the size last added.
void pack(const std::vector<SizeDemand>& sizes, const std::vector<double>& price, GapValues& value,
          std::array<int, kDevice + 1>& choice) {
    value.fill(0);
    choice.fill(-1);
    for (int x = 1; x <= kDevice; ++x) {
        const auto at = static_cast<std::size_t>(x);
        value[at] = value[at - 1];
        for (std::size_t s = 0; s < sizes.size() && sizes[s].milli <= x; ++s) {
            const double packed = value[at - static_cast<std::size_t>(sizes[s].milli)] + price[s];
            if (packed > value[at] + kTolerance) {
                value[at] = packed;
                choice[at] = static_cast<int>(s);
            }
        }
    }
}

// Revised simplex for: least number of devices, every size's demand covered.
class CuttingStock {
  public:
    explicit CuttingStock(const std::vector<SizeDemand>& sizes)
        : sizes_(sizes), n_(sizes.size()), inverse_(n_ * n_, 0), level_(n_), cost_(n_, 1.0) {
        for (std::size_t s = 0; s < n_; ++s) {
            const double copies = kDevice / sizes[s].milli;
            inverse_[s * n_ + s] = 1 / copies;
            level_[s] = sizes[s].demand / copies;
        }
    }

    std::vector<double> solve() {
        std::vector<double> price(n_);
        std::vector<double> column(n_);
        GapValues value;
        std::array<int, kDevice + 1> choice;
        for (int i = 0; i < kMaxIterations; ++i) {
            prices(price);
            double cost = 1;
            const auto lowest = std::min_element(price.begin(), price.end());
            if (*lowest < -kTolerance) {
                // More than the demand of this size may be cut: its price cannot be negative.
                std::fill(column.begin(), column.end(), 0);
                column[static_cast<std::size_t>(lowest - price.begin())] = -1;
                cost = 0;
            } else {
                pack(sizes_, price, value, choice);
                if (value[kDevice] <= 1 + kTolerance) {
                    break;
                }
                pattern(choice, column);
            }
            if (!enter(column, cost)) {
                break;
            }
        }
        for (double& p : price) {
            p = std::max(p, 0.0);
        }
        return price;
    }

  private:
    void prices(std::vector<double>& price) const {
        std::fill(price.begin(), price.end(), 0);
        for (std::size_t row = 0; row < n_; ++row) {
            if (cost_[row] != 0) {
                for (std::size_t s = 0; s < n_; ++s) {
                    price[s] += cost_[row] * inverse_[row * n_ + s];
                }
            }
        }
    }

    void pattern(const std::array<int, kDevice + 1>& choice, std::vector<double>& column) const {
        std::fill(column.begin(), column.end(), 0);
        int x = kDevice;
        while (x > 0) {
            const int s = choice[static_cast<std::size_t>(x)];
            if (s < 0) {
                --x;
                continue;
            }
            column[static_cast<std::size_t>(s)] += 1;
            x -= sizes_[static_cast<std::size_t>(s)].milli;
        }
    }

    // Brings a column into the basis; false when it would never leave (cannot happen with demand).
    bool enter(const std::vector<double>& column, double cost) {
        std::vector<double> direction(n_, 0);
        for (std::size_t row = 0; row < n_; ++row) {
            for (std::size_t s = 0; s < n_; ++s) {
                direction[row] += inverse_[row * n_ + s] * column[s];
            }
        }
        std::size_t leaving = n_;
        double step = 0;
        for (std::size_t row = 0; row < n_; ++row) {
            if (direction[row] > kTolerance) {
                const double ratio = level_[row] / direction[row];
                if (leaving == n_ || ratio < step) {
                    leaving = row;
                    step = ratio;
                }
            }
        }
        if (leaving == n_) {
            return false;
        }
        const double pivot = direction[leaving];
        for (std::size_t s = 0; s < n_; ++s) {
            inverse_[leaving * n_ + s] /= pivot;
        }
        for (std::size_t row = 0; row < n_; ++row) {
            if (row == leaving || direction[row] == 0) {
                continue;
            }
            level_[row] = std::max(0.0, level_[row] - step * direction[row]);
            for (std::size_t s = 0; s < n_; ++s) {
                inverse_[row * n_ + s] -= direction[row] * inverse_[leaving * n_ + s];
            }
        }
        level_[leaving] = step;
        cost_[leaving] = cost;
        return true;
    }

    const std::vector<SizeDemand>& sizes_;
    std::size_t n_;
    std::vector<double> inverse_;  // of the basis, row by row
    std::vector<double> level_;    // devices cut by each basic pattern
    std::vector<double> cost_;     // 1 for a pattern, 0 for surplus
};

}  // namespace

GapValues gap_values(std::span<const SizeDemand> sizes) {
    GapValues value{};
    if (!sizes.empty()) {
        const std::vector<SizeDemand> kept = keep_largest(sizes);
        std::array<int, kDevice + 1> choice;
        pack(kept, CuttingStock(kept).solve(), value, choice);
    }
    for (double& v : value) {
        v = std::min(v, 1.0);
    }
    value[kDevice] = 1;
    return value;
}

}  // namespace tessera
