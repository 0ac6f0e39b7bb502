#include "policy/tessera/potential.h"

#include <cmath>
#include <map>
#include <utility>

namespace tessera {
namespace {

std::int64_t fixed(double milli) {
    return static_cast<std::int64_t>(std::llround(milli * static_cast<double>(kUnit)));
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

HostTerm::HostTerm(const std::vector<Host>& hosts, std::size_t shapes) {
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> cpu;
    std::vector<std::int64_t> memory;
    for (const Host& host : hosts) {
        sizes.push_back(host.gpus);
        cpu.push_back(host.cpu_milli);
        memory.push_back(host.memory_mib);
    }
    cpu_ = StepCounter(std::move(cpu));
    memory_ = StepCounter(std::move(memory));
    const StepCounter distinct_sizes(std::move(sizes));
    sizes_.assign(distinct_sizes.thresholds().begin(), distinct_sizes.thresholds().end());
    for (std::size_t empties = 0; empties < size_of_.size(); ++empties) {
        size_of_[empties] =
            static_cast<std::uint8_t>(distinct_sizes.count(static_cast<std::int64_t>(empties)));
    }
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
    for (std::size_t size = 1; size <= sizes_.size(); ++size) {
        for (std::size_t cpu = 0; cpu <= cpu_.size(); ++cpu) {
            for (std::size_t memory = 0; memory <= memory_.size(); ++memory) {
                std::fill(sum.begin(), sum.end(), 0);
                double best = 0;
                for (std::size_t i = 0; i < hosts.size(); ++i) {
                    const Host& host = hosts[i];
                    const auto level = static_cast<std::size_t>(
                        std::lower_bound(sizes_.begin(), sizes_.end(), host.gpus) - sizes_.begin());
                    const bool fits = level < size && cpu > 0 && memory > 0 &&
                                      host.cpu_milli <= cpu_.thresholds()[cpu - 1] &&
                                      host.memory_mib <= memory_.thresholds()[memory - 1] &&
                                      allowed[i];
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
    std::vector<std::int64_t> amounts;
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
        amounts.push_back(steps[i].amount);
        cost_.push_back(fixed(weight * std::max(0.0, exceeds) * kFine));
    }
    amounts_ = StepCounter(std::move(amounts));
}

EvenTerm::EvenTerm(std::int64_t most, double weight) : most_(most) {
    if (most > 0 && weight > 0) {
        inverse_ = (std::int64_t{1} << (kPartBits + kInverseBits)) / most;
        weight_ = fixed(weight);
    }
}

}  // namespace tessera
