#include "policy/fgd_published.h"

#include <array>
#include <cmath>

#include "policy/assignment.h"

namespace tessera {
namespace {

// What is left of a node, for one evaluation of F.
struct Left {
    std::int64_t cpu_milli = 0;
    int gpus = 0;
    ModelIndex model;
    std::array<std::int64_t, kMaxGpusPerNode> idle{};

    std::int64_t total() const {
        std::int64_t sum = 0;
        for (int i = 0; i < gpus; ++i) {
            sum += idle[static_cast<std::size_t>(i)];
        }
        return sum;
    }
};

// The published kinds of fragment, in the order in which the authors add them up.
enum Fragment { lack_both, lack_gpu, satisfied, lack_cpu, no_gpu_fits, no_gpu_lacks, no_access };

Fragment fragment_of(const Left& left, const TypicalClass& c, std::int64_t& too_small) {
    const bool cpu = left.cpu_milli >= c.cpu_milli;
    if (c.gpus == 0) {
        return cpu ? no_gpu_fits : no_gpu_lacks;
    }
    if (!c.allows(left.model)) {
        return no_access;
    }
    std::int64_t enough = 0;
    too_small = 0;
    for (int i = 0; i < left.gpus; ++i) {
        const std::int64_t idle = left.idle[static_cast<std::size_t>(i)];
        enough += idle >= c.milli ? 1 : 0;
        too_small += idle >= c.milli ? 0 : idle;
    }
    if (enough >= c.gpus) {
        return cpu ? satisfied : lack_cpu;
    }
    return cpu ? lack_gpu : lack_both;
}

double fragmentation(const Left& left, const std::vector<TypicalClass>& mix) {
    std::array<double, 7> sums{};
    const std::int64_t total = left.total();
    for (const TypicalClass& c : mix) {
        std::int64_t too_small = 0;
        const Fragment kind = fragment_of(left, c, too_small);
        if (kind == satisfied) {
            sums[lack_gpu] += c.frequency * static_cast<double>(too_small);
        } else {
            sums[kind] += c.frequency * static_cast<double>(total);
        }
    }
    double fragments = 0;
    for (int kind = lack_both; kind <= no_access; ++kind) {
        if (kind != satisfied) {
            fragments += sums[static_cast<std::size_t>(kind)];
        }
    }
    return fragments;
}

int published_score(double before, double after) {
    return static_cast<int>(1.0 / (1.0 + std::exp(-(before - after) / 1000)) * 100.0);
}

class FgdPublishedScorer final : public Scorer {
  public:
    FgdPublishedScorer(std::shared_ptr<const std::vector<TypicalClass>> mix, const Catalog& catalog)
        : mix_(std::move(mix)), catalog_(catalog) {}

    void score(const NodeState& node, std::span<const ClassIndex> classes,
               std::span<Key> keys) const override {
        const Left left = left_of(node);
        const double before = fragmentation(left, *mix_);
        for (std::size_t i = 0; i < classes.size(); ++i) {
            int device = 0;
            keys[i] = static_cast<Key>(best(node, left, before, classes[i], device) + 1);
        }
    }

    void choose(const NodeState& node, ClassIndex demand_class, const LinkMatrix& links,
                std::uint64_t, DeviceList& devices) const override {
        const DemandClass& wanted = (*catalog_.classes)[demand_class];
        if (wanted.footprint != Footprint::share) {
            assign_devices(node, wanted, catalog_, links, devices);
            return;
        }
        const Left left = left_of(node);
        int device = -1;
        best(node, left, fragmentation(left, *mix_), demand_class, device);
        devices.clear();
        if (device >= 0) {
            devices.push_back(GpuIndex(static_cast<std::uint8_t>(device)));
        }
    }

    std::vector<TermValue> explain(const NodeState& node, ClassIndex demand_class) const override {
        const Left left = left_of(node);
        int device = -1;
        const int value = best(node, left, fragmentation(left, *mix_), demand_class, device);
        return {{"fragmentation", static_cast<double>(value)}};
    }

  private:
    Left left_of(const NodeState& node) const {
        Left left;
        left.cpu_milli = node.free_cpu_milli;
        left.gpus = node.gpu_count;
        if (node.gpu_count > 0) {
            left.model = catalog_.kinds[node.gpus[0].kind.slot()].model;
        }
        for (std::size_t i = 0; i < node.gpu_count; ++i) {
            left.idle[i] = node.gpus[i].idle_milli;
        }
        return left;
    }

    // The score, and for a sharing pod the first device that reaches it.
    int best(const NodeState& node, const Left& left, double before, ClassIndex demand_class,
             int& device) const {
        const DemandClass& wanted = (*catalog_.classes)[demand_class];
        Left after = left;
        after.cpu_milli -= wanted.cpu.value();
        if (wanted.footprint != Footprint::share) {
            DeviceList devices;
            assign_devices(node, wanted, catalog_, LinkMatrix(), devices);
            for (GpuIndex gpu : devices) {
                after.idle[gpu.slot()] -= wanted.milli.value();
            }
            return published_score(before, fragmentation(after, *mix_));
        }
        int top = -1;
        DeviceMask mask = fitting_devices(node, wanted, catalog_);
        for (int gpu = 0; gpu < left.gpus; ++gpu) {
            if (((mask >> gpu) & 1) == 0) {
                continue;
            }
            std::int64_t& idle = after.idle[static_cast<std::size_t>(gpu)];
            idle -= wanted.milli.value();
            const int value = published_score(before, fragmentation(after, *mix_));
            idle += wanted.milli.value();
            if (value > top) {
                top = value;
                device = gpu;
            }
        }
        return top;
    }

    std::shared_ptr<const std::vector<TypicalClass>> mix_;
    Catalog catalog_;
};

}  // namespace

std::shared_ptr<const Scorer> FgdPublishedPolicy::scorer(const Catalog& catalog) {
    return std::make_shared<FgdPublishedScorer>(mix_, catalog);
}

}  // namespace tessera
