#include "policy/typical_mix.h"

#include <algorithm>
#include <tuple>

namespace tessera {
namespace {

constexpr std::int64_t kCoveredPercent = 95;

auto identity(const TypicalClass& c) { return std::tie(c.cpu_milli, c.milli, c.gpus, c.models); }

}  // namespace

bool TypicalClass::allows(ModelIndex model) const {
    return models.empty() || std::find(models.begin(), models.end(), model) != models.end();
}

std::vector<TypicalClass> typical_mix(std::span<const ClassCount> counts) {
    std::vector<TypicalClass> classes;
    std::int64_t pods = 0;
    for (const ClassCount& entry : counts) {
        TypicalClass c;
        c.cpu_milli = entry.demand_class.cpu.value();
        c.milli = entry.demand_class.milli.value();
        c.gpus = entry.demand_class.gpus;
        c.models = entry.demand_class.models;
        c.count = entry.count;
        pods += entry.count;
        classes.push_back(std::move(c));
    }
    std::sort(classes.begin(), classes.end(),
              [](const auto& a, const auto& b) { return identity(a) > identity(b); });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < classes.size(); ++i) {
        if (kept > 0 && identity(classes[kept - 1]) == identity(classes[i])) {
            classes[kept - 1].count += classes[i].count;
        } else {
            classes[kept++] = classes[i];
        }
    }
    classes.resize(kept);
    std::stable_sort(classes.begin(), classes.end(),
                     [](const auto& a, const auto& b) { return a.count > b.count; });
    std::int64_t covered = 0;
    std::size_t taken = 0;
    while (taken < classes.size() && covered * 100 < pods * kCoveredPercent) {
        covered += classes[taken++].count;
    }
    classes.resize(taken);
    // Two divisions, as the published program has them: one rounds differently in the last bit.
    const double share =
        static_cast<double>(covered) / static_cast<double>(std::max<std::int64_t>(pods, 1));
    for (TypicalClass& c : classes) {
        c.frequency = static_cast<double>(c.count) / static_cast<double>(pods) / share;
    }
    return classes;
}

}  // namespace tessera
