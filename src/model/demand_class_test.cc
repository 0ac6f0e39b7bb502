#include "model/demand_class.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

GpuRequest request(int gpus, int milli, std::int64_t mib = 0) {
    GpuRequest result;
    result.gpus = static_cast<std::uint16_t>(gpus);
    result.milli = MilliGpu(milli);
    result.memory = MemoryMib(mib);
    return result;
}

TEST(DemandClass, FootprintAndSums) {
    struct Case {
        std::vector<GpuRequest> requests;
        Footprint footprint;
        int gpus;
        int milli;
        std::int64_t total;
    };
    for (const Case& one : std::vector<Case>{
             {{}, Footprint::no_gpu, 0, 0, 0},
             {{request(1, 300)}, Footprint::share, 1, 300, 300},
             {{request(1, 1000)}, Footprint::whole, 1, 1000, 1000},
             {{request(8, 1000)}, Footprint::whole, 8, 1000, 8000},
             {{request(3, 200)}, Footprint::spread, 3, 200, 600},
             {{request(1, 300), request(2, 1000)}, Footprint::compound, 3, 1000, 2300},
         }) {
        Demand demand;
        if (!one.requests.empty()) {
            demand.alternatives.push_back({one.requests});
        }
        const DemandClass found = demand_class(demand);
        EXPECT_EQ(found.footprint, one.footprint);
        EXPECT_EQ(found.gpus, one.gpus);
        EXPECT_EQ(found.milli, MilliGpu(one.milli));
        EXPECT_EQ(found.gpu_milli_total, one.total);
        EXPECT_EQ(with_requests(found), found) << "nothing follows from requests that it has not";
    }
}

TEST(DemandClass, EachAlternativeIsAClass) {
    Demand demand;
    demand.alternatives = {{{request(2, 1000)}}, {{request(1, 500, 4096)}}};
    EXPECT_EQ(demand_class(demand, 0).gpus, 2);
    EXPECT_EQ(demand_class(demand, 1).gpu_memory, MemoryMib(4096));
}

TEST(DemandClass, EqualOnesAreInternedOnce) {
    ClassTable table;
    Demand demand;
    demand.alternatives.push_back({{request(1, 500)}});
    const ClassIndex first = table.intern(demand_class(demand));
    EXPECT_EQ(table.intern(demand_class(demand)), first);
    for (int i = 1; i < 500; ++i) {
        demand.cpu = MilliCpu(i);
        EXPECT_EQ(table.intern(demand_class(demand)).slot(), static_cast<std::size_t>(i));
    }
    EXPECT_EQ(table.size(), 500U);
    demand.cpu = MilliCpu(0);
    EXPECT_EQ(table.intern(demand_class(demand)), first) << "also after the table has grown";
    EXPECT_EQ(table.brief(first).ask, table.brief(ClassIndex(7)).ask) << "cores are no part of it";
    EXPECT_EQ(table[first].cpu, MilliCpu(0));
}

TEST(DemandClass, MemoryOnADevice) {
    GpuRequest part = request(1, 100, 1000);
    part.memory_ppm = 250'000;
    Demand demand;
    demand.alternatives.push_back({{part}});
    const DemandClass found = demand_class(demand);
    EXPECT_EQ(found.memory_on(MemoryMib(2000)), MemoryMib(1000));
    EXPECT_EQ(found.memory_on(MemoryMib(8003)), MemoryMib(2000)) << "rounded down";
}

}  // namespace
}  // namespace tessera
