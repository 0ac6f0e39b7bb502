#include "model/alternatives.h"

#include <gtest/gtest.h>

#include <vector>

#include "model/demand_class.h"

namespace tessera {
namespace {

GpuRequest request(std::uint16_t gpus, RequestIndex name) {
    GpuRequest result;
    result.gpus = gpus;
    result.milli = MilliGpu(500);
    result.name = name;
    return result;
}

constexpr RequestIndex kA{0};
constexpr RequestIndex kB{1};
constexpr RequestIndex kC{2};

std::vector<RequestIndex> names(const Placement& placement) {
    std::vector<RequestIndex> result;
    for (const DeviceGrant& grant : placement.grants) {
        result.push_back(grant.request);
    }
    return result;
}

TEST(Alternatives, GrantsGetTheNamesOfTheirRequests) {
    Demand demand;
    demand.alternatives.push_back({{request(1, kC)}});
    demand.alternatives.push_back({{request(2, kB), request(0, kC), request(1, kA)}});
    Placement placement;
    placement.alternative = 1;
    for (std::uint8_t gpu : {5, 0, 5}) {
        placement.grants.push_back({RequestIndex::none(), GpuIndex(gpu), MilliGpu(500), {}, {}});
    }
    name_grants(demand, placement);
    EXPECT_EQ(names(placement), (std::vector{kB, kB, kA}));
    EXPECT_EQ(demand_class(demand, 1).gpus, 3);  // the same devices as the class has
    EXPECT_EQ(placement.grants[1].gpu, GpuIndex(0));
}

TEST(Alternatives, AGrantOfNoRequestIsAFaultOfOurs) {
    Demand demand;
    Placement placement;
    name_grants(demand, placement);
    placement.grants.resize(2);
    EXPECT_DEATH(name_grants(demand, placement), "a grant is of a request of its demand");
    demand.alternatives.push_back({{request(1, kA)}});
    EXPECT_DEATH(name_grants(demand, placement), "a grant is of a request of its demand");
}

TEST(Alternatives, TheFirstThatFitsIsServedAndNoneIsAskedAfterIt) {
    Demand demand;
    for (const RequestIndex name : {kA, kB, kC}) {
        demand.alternatives.push_back({{request(1, name)}});
    }
    std::vector<std::size_t> asked;
    const auto choose_from = [&](std::size_t first) {
        return [&asked, first](std::size_t alternative) -> std::optional<Placement> {
            asked.push_back(alternative);
            Placement placement;
            placement.grants.resize(1);
            return alternative < first ? std::nullopt : std::optional(placement);
        };
    };
    const auto second = first_that_fits(demand, choose_from(1));
    ASSERT_TRUE(second.has_value());
    EXPECT_EQ(second->alternative, 1);
    EXPECT_EQ(names(*second), std::vector{kB});
    EXPECT_EQ(asked, (std::vector<std::size_t>{0, 1}));
    EXPECT_FALSE(first_that_fits(demand, choose_from(3)).has_value());
}

TEST(Alternatives, WithoutGpusThereIsOne) {
    int asked = 0;
    const auto placement = first_that_fits(Demand(), [&](std::size_t alternative) {
        asked += alternative == 0 ? 1 : 100;
        return std::optional<Placement>();
    });
    EXPECT_FALSE(placement.has_value());
    EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace tessera
