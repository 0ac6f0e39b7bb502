#include "policy/tessera/potential.h"

#include <cmath>
#include <map>
#include <utility>

namespace tessera {
namespace {

std::int64_t fixed(double milli) {
    return static_cast<std::int64_t>(std::llround(milli * static_cast<double>(kUnit)));
}

void distinct(std::vector<std::int64_t>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
}

// How many thresholds `left` reaches.
std::size_t reached(const std::vector<std::int64_t>& thresholds, std::int64_t left) {
    std::size_t count = 0;
    for (std::int64_t threshold : thresholds) {
        count += left >= threshold ? 1 : 0;
    }
    return count;
}

}  // namespace

GapTerm::GapTerm(const GapValues& value, const std::array<double, 1001>& needs_more,
                 double weight) {
    for (std::size_t x = 1; x < 1000; ++x) {
        const double milli = static_cast<double>(x);
        cost[x] = static_cast<std::int32_t>(
            fixed(milli - 1000 * value[x] + weight * milli * needs_more[x]));
    }
}

const StrandingTerm::Tables& StrandingTerm::tables() {
    static const Tables made = [] {
        Tables t;
        for (std::size_t i = 0; i < t.softplus.size(); ++i) {
            const double x =
                (static_cast<double>(i) - kSoftRange * kSoftStep) / static_cast<double>(kSoftStep);
            t.softplus[i] =
                static_cast<std::int32_t>(std::llround(65536 * std::log1p(std::exp(x))));
        }
        for (std::size_t i = 0; i < t.s.size(); ++i) {
            const double gpus = static_cast<double>(i * kIdleStep) / 1000;
            const double s = 0.15 * std::sqrt(std::max(gpus, 0.25));
            t.inverse_s[i] = static_cast<std::int32_t>(std::llround((1 << 24) / (1000 * s)));
            t.s[i] = static_cast<std::int32_t>(fixed(1000 * s));
        }
        return t;
    }();
    return made;
}

StrandingTerm::StrandingTerm(double cores_per_gpu)
    : gpus_per_core_(std::llround((1 << 20) / std::max(cores_per_gpu, 1e-3))), tables_(&tables()) {}

std::int64_t StrandingTerm::value(std::int32_t idle, std::int64_t cpu_milli) const {
    if (idle <= 0) {
        return 0;
    }
    const auto at =
        static_cast<std::size_t>(std::min<std::int32_t>(idle / kIdleStep, kIdleEntries - 1));
    // GPUs beyond what the cores serve, in milli; x = that in units of s, 16 bits of fraction.
    // More cores than any node's GPUs could use are as good as that many.
    const std::int64_t cores = std::min(cpu_milli, kMostCores);
    const std::int64_t beyond = idle - ((cores * gpus_per_core_) >> 20);
    const std::int64_t x = (beyond * tables_->inverse_s[at]) >> 8;
    if (x >= kSoftRange << 16) {
        return beyond * kUnit;
    }
    if (x <= -(kSoftRange << 16)) {
        return 0;
    }
    const std::int64_t position = (x + (kSoftRange << 16)) * kSoftStep;
    const auto entry = static_cast<std::size_t>(position >> 16);
    const std::int64_t part = position & 0xffff;
    const auto& table = tables_->softplus;
    const std::int64_t soft = table[entry] + (((table[entry + 1] - table[entry]) * part) >> 16);
    return (tables_->s[at] * soft) >> 16;
}

HostTerm::HostTerm(const std::vector<Host>& hosts, std::size_t shapes) {
    std::vector<std::int64_t> sizes;
    for (const Host& host : hosts) {
        sizes.push_back(host.gpus);
        cpu_.push_back(host.cpu_milli);
        memory_.push_back(host.memory_mib);
    }
    distinct(sizes);
    distinct(cpu_);
    distinct(memory_);
    sizes_.assign(sizes.begin(), sizes.end());
    // Real nodes of one type differ by some MiB: many shapes, but few that allow other hosts.
    std::map<std::vector<bool>, std::uint32_t> groups;
    for (std::size_t shape = 0; shape < shapes; ++shape) {
        std::vector<bool> allowed;
        for (const Host& host : hosts) {
            allowed.push_back(host.shape_allows[shape]);
        }
        const auto next = static_cast<std::uint32_t>(groups.size());
        const auto [group, fresh] = groups.try_emplace(std::move(allowed), next);
        group_.push_back(group->second);
        if (fresh) {
            add_group(hosts, group->first);
        }
    }
}

void HostTerm::add_group(const std::vector<Host>& hosts, const std::vector<bool>& allowed) {
    std::vector<double> sum(sizes_.size());
    for (std::size_t size = 0; size <= sizes_.size(); ++size) {
        for (std::size_t cpu = 0; cpu <= cpu_.size(); ++cpu) {
            for (std::size_t memory = 0; memory <= memory_.size(); ++memory) {
                std::fill(sum.begin(), sum.end(), 0);
                double best = 0;
                for (std::size_t i = 0; i < hosts.size(); ++i) {
                    const Host& host = hosts[i];
                    const auto level = static_cast<std::size_t>(
                        std::lower_bound(sizes_.begin(), sizes_.end(), host.gpus) - sizes_.begin());
                    const bool fits = level < size && cpu > 0 && memory > 0 &&
                                      host.cpu_milli <= cpu_[cpu - 1] &&
                                      host.memory_mib <= memory_[memory - 1] && allowed[i];
                    if (fits) {
                        sum[level] += host.price;
                        best = std::max(best, host.gpus * std::min(1.0, sum[level]));
                    }
                }
                table_.push_back(fixed(1000 * best));
            }
        }
    }
}

std::int64_t HostTerm::value(const Leftovers& left) const {
    if (left.empties < fewest_gpus()) {
        return 0;
    }
    std::size_t size = 0;
    while (size < sizes_.size() && sizes_[size] <= left.empties) {
        ++size;
    }
    const std::size_t at =
        ((group_[left.shape.slot()] * (sizes_.size() + 1) + size) * (cpu_.size() + 1) +
         reached(cpu_, left.cpu_milli)) *
            (memory_.size() + 1) +
        reached(memory_, left.memory_mib);
    return table_[at];
}

DrainTerm::DrainTerm(double weight) {
    for (std::size_t pods = 0; pods < decay_.size(); ++pods) {
        decay_[pods] = fixed(weight * std::pow(0.6, static_cast<double>(pods)));
    }
}

AdmissionTerm::AdmissionTerm(std::vector<Step> steps, double weight) {
    if (weight <= 0) {
        return;
    }
    std::sort(steps.begin(), steps.end(),
              [](const Step& a, const Step& b) { return a.amount < b.amount; });
    double exceeds = 0;
    for (const Step& step : steps) {
        exceeds += step.demand;
    }
    cost_.push_back(fixed(weight * exceeds * kFine));
    for (std::size_t i = 0; i < steps.size(); ++i) {
        exceeds -= steps[i].demand;
        if (i + 1 < steps.size() && steps[i + 1].amount == steps[i].amount) {
            continue;
        }
        amounts_.push_back(steps[i].amount);
        cost_.push_back(fixed(weight * std::max(0.0, exceeds) * kFine));
    }
}

EvenTerm::EvenTerm(std::int64_t most, double weight) : most_(most) {
    if (most > 0 && weight > 0) {
        inverse_ = (std::int64_t{1} << (kPartBits + kInverseBits)) / most;
        weight_ = fixed(weight);
    }
}

}  // namespace tessera
