// Demands that place alike share a class.
//
// Feasibility and every node-local score are pure functions of (node state, class, policy epoch),
// so the engine keeps one column of scores per class. What does not change where a demand may go
// (owner, priority, gang, application) is not part of the class.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "model/demand.h"
#include "model/ids.h"

namespace tessera {

// How a class takes devices; decides which of the engine's paths serves it.
enum class Footprint : std::uint8_t {
    no_gpu,    // CPU and memory only
    share,     // part of one device
    whole,     // one or more devices, each alone
    spread,    // a part of each of several devices
    compound,  // several requests (containers), each with its own devices
};

struct DemandClass {
    Footprint footprint = Footprint::no_gpu;
    MilliCpu cpu;
    MemoryMib memory;
    std::uint16_t gpus = 0;  // devices in all
    MilliGpu milli;          // per device (compound: of the largest request)
    MemoryMib gpu_memory;    // per device
    std::int32_t gpu_memory_ppm = 0;
    std::int64_t gpu_milli_total = 0;  // what it counts for in demand: sum over devices
    Health tolerates = Health::ok;
    bool admin_access = false;
    // Part of the class only for policies that place by it (Policy::adapt); else guaranteed.
    ServiceClass service = ServiceClass::guaranteed;
    FilterIndex filter;
    std::vector<ModelIndex> models;    // allowed, best first; empty = any
    std::vector<GpuRequest> requests;  // as asked

    bool wants_gpu() const { return gpus > 0; }
    // Amounts in a driver's own units are no part of a node's packed state: such classes are rare,
    // and served by a scan that asks the cluster itself.
    bool wants_spare() const;
    // Per-device memory on a device of this size, as GpuRequest::memory_on.
    MemoryMib memory_on(MemoryMib total) const {
        return std::max(gpu_memory, MemoryMib(total.value() * gpu_memory_ppm / kWholeMemoryPpm));
    }
    bool allows(ModelIndex model) const {
        return models.empty() || std::find(models.begin(), models.end(), model) != models.end();
    }
    friend bool operator==(const DemandClass&, const DemandClass&) = default;
};

// The numbers of a class, packed for the loops that score thousands per millisecond.
struct ClassBrief {
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    std::int64_t gpu_memory_mib = 0;
    std::int32_t gpu_memory_ppm = 0;
    std::int32_t milli = 0;
    AskIndex ask;  // classes that ask the same of a device that they may use
    std::uint16_t gpus = 0;
    Footprint footprint = Footprint::no_gpu;
    Health tolerates = Health::ok;
    bool admin_access = false;

    std::int64_t memory_on(std::int64_t total_mib) const {
        return gpu_memory_ppm == 0
                   ? gpu_memory_mib
                   : std::max(gpu_memory_mib, total_mib * gpu_memory_ppm / kWholeMemoryPpm);
    }
};

// The class of one alternative of a demand (index into demand.alternatives; any when it has none).
DemandClass demand_class(const Demand& demand, std::size_t alternative = 0);
// The class after a change of its requests: whatever follows from them is computed anew.
DemandClass with_requests(DemandClass demand_class);

// Interns classes. Indices are dense and never reused.
class ClassTable {
  public:
    ClassIndex intern(const DemandClass& demand_class);
    const DemandClass& operator[](ClassIndex index) const { return classes_.items[index.slot()]; }
    const ClassBrief& brief(ClassIndex index) const { return briefs_[index.slot()]; }
    std::size_t size() const { return classes_.items.size(); }

  private:
    // Distinct classes in order of first sight.
    struct Set {
        std::vector<DemandClass> items;
        std::vector<std::uint32_t> buckets;  // open addressing, index + 1, 0 = free

        std::uint32_t intern(const DemandClass& demand_class);
        void grow();
    };

    Set classes_;
    Set asks_;  // the same without cores, memory and which nodes and models will do
    std::vector<ClassBrief> briefs_;
};

}  // namespace tessera
