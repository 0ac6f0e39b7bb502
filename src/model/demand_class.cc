#include "model/demand_class.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"

namespace tessera {
namespace {

Footprint footprint_of(const std::vector<GpuRequest>& requests) {
    if (requests.empty()) {
        return Footprint::no_gpu;
    }
    if (requests.size() > 1) {
        return Footprint::compound;
    }
    const GpuRequest& only = requests.front();
    if (only.whole()) {
        return Footprint::whole;
    }
    return only.gpus == 1 ? Footprint::share : Footprint::spread;
}

std::uint64_t hash_of(const DemandClass& c) {
    Hash hash;
    hash.add(static_cast<std::uint64_t>(c.footprint));
    hash.add(static_cast<std::uint64_t>(c.cpu.value()));
    hash.add(static_cast<std::uint64_t>(c.memory.value()));
    hash.add(static_cast<std::uint64_t>(c.tolerates) << 1 |
             static_cast<std::uint64_t>(c.admin_access));
    hash.add(static_cast<std::uint64_t>(c.service));
    hash.add(c.filter.value());
    for (ModelIndex model : c.models) {
        hash.add(model.value());
    }
    for (const GpuRequest& request : c.requests) {
        hash.add(static_cast<std::uint64_t>(request.milli.value()));
        hash.add(request.gpus);
        hash.add(static_cast<std::uint64_t>(request.memory.value()));
        hash.add(static_cast<std::uint64_t>(request.memory_bytes.value()));
        hash.add(static_cast<std::uint64_t>(request.memory_ppm));
        hash.add(static_cast<std::uint64_t>(request.rule));
        for (const std::int64_t amount : request.spare) {
            hash.add(static_cast<std::uint64_t>(amount));
        }
    }
    return hash.value();
}

ClassBrief brief_of(const DemandClass& c, AskIndex ask) {
    return {.cpu_milli = c.cpu.value(),
            .memory_mib = c.memory.value(),
            .gpu_memory_mib = c.gpu_memory.value(),
            .gpu_memory_ppm = c.gpu_memory_ppm,
            .milli = c.milli.value(),
            .ask = ask,
            .gpus = c.gpus,
            .footprint = c.footprint,
            .tolerates = c.tolerates,
            .admin_access = c.admin_access};
}

}  // namespace

bool DemandClass::wants_spare() const {
    return std::any_of(requests.begin(), requests.end(),
                       [](const GpuRequest& request) { return request.spare != SpareAmounts{}; });
}

DemandClass demand_class(const Demand& demand, std::size_t alternative) {
    DemandClass result;
    result.cpu = demand.cpu;
    result.memory = demand.memory;
    result.filter = demand.filter;
    result.tolerates = demand.tolerates;
    result.admin_access = demand.admin_access;
    result.service = demand.service;
    if (!demand.wants_gpu()) {
        return result;
    }
    result.models = demand.models;
    result.requests = demand.alternatives.at(alternative).requests;
    std::erase_if(result.requests, [](const GpuRequest& request) { return request.gpus == 0; });
    const bool alone = demand.isolation == Isolation::exclusive;
    for (GpuRequest& request : result.requests) {
        // Names and bursts tell containers apart, not classes: they move no placement. Bytes do
        // where a kind of device rounds them otherwise; what is asked in whole MiB needs none.
        request.name = RequestIndex::none();
        request.limit = kWholeGpu;
        if (asked_mib(request.memory_bytes) != request.memory ||
            request.memory_bytes.value() % kBytesPerMib == 0) {
            request.memory_bytes = Bytes(0);
        }
        if (request.whole() || alone) {
            request.milli = kWholeGpu;
        }
    }
    return with_requests(std::move(result));
}

DemandClass with_requests(DemandClass demand_class) {
    demand_class.footprint = footprint_of(demand_class.requests);
    demand_class.gpus = 0;
    demand_class.gpu_milli_total = 0;
    demand_class.milli = MilliGpu(0);
    demand_class.gpu_memory = MemoryMib(0);
    demand_class.gpu_memory_ppm = 0;
    for (const GpuRequest& request : demand_class.requests) {
        // More devices than any node has are as good as another; they must not wrap to few.
        demand_class.gpus = static_cast<std::uint16_t>(
            std::min<std::uint32_t>(0xffffU, std::uint32_t{demand_class.gpus} + request.gpus));
        demand_class.gpu_milli_total += std::int64_t{request.gpus} * request.milli.value();
        demand_class.milli = std::max(demand_class.milli, request.milli);
        demand_class.gpu_memory = std::max(demand_class.gpu_memory, request.memory);
        demand_class.gpu_memory_ppm = std::max(demand_class.gpu_memory_ppm, request.memory_ppm);
    }
    return demand_class;
}

std::uint32_t ClassTable::Set::intern(const DemandClass& demand_class) {
    if ((items.size() + 1) * 2 > buckets.size()) {
        grow();
    }
    const std::size_t mask = buckets.size() - 1;
    for (std::size_t at = hash_of(demand_class) & mask;; at = (at + 1) & mask) {
        if (buckets[at] == 0) {
            items.push_back(demand_class);
            buckets[at] = static_cast<std::uint32_t>(items.size());
            return buckets[at] - 1;
        }
        if (items[buckets[at] - 1] == demand_class) {
            return buckets[at] - 1;
        }
    }
}

void ClassTable::Set::grow() {
    buckets.assign(std::max<std::size_t>(64, buckets.size() * 2), 0);
    const std::size_t mask = buckets.size() - 1;
    for (std::uint32_t index = 0; index < items.size(); ++index) {
        std::size_t at = hash_of(items[index]) & mask;
        while (buckets[at] != 0) {
            at = (at + 1) & mask;
        }
        buckets[at] = index + 1;
    }
}

ClassIndex ClassTable::intern(const DemandClass& demand_class) {
    const std::uint32_t index = classes_.intern(demand_class);
    if (index == briefs_.size()) {
        DemandClass ask = demand_class;
        ask.cpu = MilliCpu(0);
        ask.memory = MemoryMib(0);
        ask.models.clear();
        ask.filter = FilterIndex();
        briefs_.push_back(brief_of(demand_class, AskIndex(asks_.intern(ask))));
    }
    return ClassIndex(index);
}

}  // namespace tessera
