#include "model/resource_math.h"

#include <gtest/gtest.h>

#include "model/demand_class.h"

namespace tessera {
namespace {

Container container(std::string name, std::string_view cpu, bool restartable = false) {
    Container result;
    result.name = std::move(name);
    result.requests["cpu"] = Quantity::parse(cpu).value();
    result.restartable = restartable;
    return result;
}

std::string cpu_of(const Pod& pod) { return effective_request(pod, "cpu").to_string(); }

TEST(ResourceMath, RegularContainersAdd) {
    Pod pod;
    pod.containers = {container("a", "250m"), container("b", "1")};
    EXPECT_EQ(cpu_of(pod), "1250m");
}

TEST(ResourceMath, InitContainersCountByTheirMaximum) {
    Pod pod;
    pod.init_containers = {container("i", "3"), container("j", "2")};
    pod.containers = {container("a", "1")};
    EXPECT_EQ(cpu_of(pod), "3");
    pod.containers.push_back(container("b", "4"));
    EXPECT_EQ(cpu_of(pod), "5");
}

TEST(ResourceMath, SideCarsAddToWhatStartsAfterThem) {
    Pod pod;
    pod.init_containers = {container("before", "5"), container("car", "1", true),
                           container("after", "5")};
    pod.containers = {container("a", "1")};
    EXPECT_EQ(cpu_of(pod), "6");  // after + car; "before" ran without it
    pod.init_containers.pop_back();
    EXPECT_EQ(cpu_of(pod), "5");
    pod.init_containers.erase(pod.init_containers.begin());
    EXPECT_EQ(cpu_of(pod), "2");
}

TEST(ResourceMath, LimitStandsForAMissingRequest) {
    Pod pod;
    pod.containers = {container("a", "1")};
    pod.containers[0].limits["memory"] = Quantity::of(5);
    EXPECT_EQ(effective_request(pod, "memory").to_string(), "5");
}

TEST(ResourceMath, OverheadAndPodLevelRequests) {
    Pod pod;
    pod.containers = {container("a", "1"), container("b", "1")};
    pod.overhead["cpu"] = Quantity::parse("100m").value();
    EXPECT_EQ(cpu_of(pod), "2100m");
    pod.requests["cpu"] = Quantity::of(7);
    EXPECT_EQ(cpu_of(pod), "7100m");
}

TEST(ResourceMath, HostRequestRoundsUpAndRefusesTheAbsurd) {
    Pod pod;
    pod.containers = {container("a", "0.0001")};
    pod.containers[0].requests["memory"] = Quantity::of((1 << 20) + 1);
    EXPECT_EQ(effective_host_request(pod)->cpu, MilliCpu(1));
    EXPECT_EQ(effective_host_request(pod)->memory, MemoryMib(2));
    pod.containers[0].requests["cpu"] = Quantity::parse("9E").value();
    const auto refused = effective_host_request(pod);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("resources cpu: 9E"), std::string::npos);
}

ContainerAsk ask(int gpus, int milli, int memory, ContainerRole role = ContainerRole::regular) {
    ContainerAsk result;
    result.request.gpus = static_cast<std::uint16_t>(gpus);
    result.request.milli = MilliGpu(milli);
    result.request.memory = MemoryMib(memory);
    result.role = role;
    return result;
}
constexpr auto kInit = ContainerRole::init;
constexpr auto kSideCar = ContainerRole::side_car;

TEST(GpuRequests, EachRegularContainerAndSideCarHasItsOwn) {
    const auto result = effective_gpu_requests(
        std::vector{ask(1, 100, 10, kSideCar), ask(0, 0, 0), ask(2, 1000, 0)});
    ASSERT_EQ(result.requests.size(), 2U);
    EXPECT_EQ(result.requests[0].milli, MilliGpu(100));
    EXPECT_EQ(result.requests[1].gpus, 2);
    ASSERT_EQ(result.uses.size(), 2U);
    EXPECT_EQ(result.uses[1].ask, 2U);
}

TEST(GpuRequests, InitContainerReusesWhatCoversIt) {
    const auto result =
        effective_gpu_requests(std::vector{ask(1, 200, 10, kInit), ask(1, 300, 20)});
    ASSERT_EQ(result.requests.size(), 1U);
    EXPECT_EQ(result.requests[0].milli, MilliGpu(300));
    EXPECT_EQ(result.uses.size(), 2U);
}

TEST(GpuRequests, InitContainerRaisesWhatIsTooSmall) {
    const auto result =
        effective_gpu_requests(std::vector{ask(1, 500, 10, kInit), ask(1, 300, 20)});
    ASSERT_EQ(result.requests.size(), 1U);
    EXPECT_EQ(result.requests[0].milli, MilliGpu(500));
    EXPECT_EQ(result.requests[0].memory, MemoryMib(20));
}

TEST(GpuRequests, AnAbsoluteAndARelativeAmountOfMemoryBothCount) {
    std::vector asks{ask(1, 0, 3000, kInit), ask(1, 0, 0)};
    asks[1].request.memory_ppm = 100'000;
    const auto result = effective_gpu_requests(asks);
    ASSERT_EQ(result.requests.size(), 1U);
    EXPECT_EQ(result.requests[0].memory_on(MemoryMib(16'000)), MemoryMib(3000));
    EXPECT_EQ(result.requests[0].memory_on(MemoryMib(80'000)), MemoryMib(8000));
    Demand demand;
    demand.alternatives.push_back({result.requests});
    const DemandClass placed = demand_class(demand);
    EXPECT_EQ(placed.memory_on(MemoryMib(16'000)), MemoryMib(3000));
    ClassTable classes;
    EXPECT_EQ(classes.brief(classes.intern(placed)).memory_on(16'000), 3000);
}

TEST(GpuRequests, WholeDevicesOfSeveralContainersAddUpForAnInitContainer) {
    const auto result = effective_gpu_requests(
        std::vector{ask(4, 1000, 0, kInit), ask(1, 1000, 0), ask(2, 1000, 0)});
    ASSERT_EQ(result.requests.size(), 3U);
    EXPECT_EQ(result.requests[2].gpus, 1);  // max(4, 1 + 2) in all
    EXPECT_EQ(result.uses.size(), 5U);
}

TEST(GpuRequests, SideCarsThatRunAlreadyCannotLend) {
    const auto before =
        effective_gpu_requests(std::vector{ask(1, 1000, 0, kSideCar), ask(1, 1000, 0, kInit)});
    EXPECT_EQ(before.requests.size(), 2U);
    const auto after =
        effective_gpu_requests(std::vector{ask(1, 1000, 0, kInit), ask(1, 1000, 0, kSideCar)});
    EXPECT_EQ(after.requests.size(), 1U);
}

TEST(GpuRequests, InitContainersLendToEachOther) {
    const auto result =
        effective_gpu_requests(std::vector{ask(2, 1000, 0, kInit), ask(3, 1000, 0, kInit)});
    int devices = 0;
    for (const GpuRequest& request : result.requests) {
        devices += request.gpus;
    }
    EXPECT_EQ(devices, 3);
}

}  // namespace
}  // namespace tessera
