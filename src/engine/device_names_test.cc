#include "engine/device_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr NodeIndex kNode{3};
constexpr GpuIndex kGpu{2};
constexpr DeviceName kWhole{"gpu.nvidia.com", "n3", "gpu-2"};
constexpr DeviceName kSlice{"gpu.nvidia.com", "n3", "gpu-2-mig-1"};
constexpr DeviceName kOther{"share.example.com", "pool", "gpu-2"};

TEST(DeviceNames, SeveralNamesMeanOneGpu) {
    DeviceNames names;
    ASSERT_TRUE(names.place("GPU-1", kNode, kGpu));
    const auto whole = names.bind(kWhole, {.uuid = "GPU-1"});
    const auto slice = names.bind(kSlice, {.uuid = "GPU-1", .partition = PartitionIndex(1)});
    const auto other = names.bind(kOther, {.uuid = "GPU-1"});
    EXPECT_EQ(names.locate(kWhole), (DeviceLocation{kNode, kGpu, PartitionIndex::none()}));
    EXPECT_EQ(names.locate(kSlice), (DeviceLocation{kNode, kGpu, PartitionIndex(1)}));
    EXPECT_EQ(names.locate(*other)->gpu, kGpu);
    EXPECT_THAT(names.names_of(kNode, kGpu), ElementsAre(*whole, *slice, *other));
    EXPECT_EQ(names.driver(*other), "share.example.com");
    EXPECT_EQ(names.pool(*other), "pool");
    EXPECT_EQ(names.device(*slice), "gpu-2-mig-1");
}

TEST(DeviceNames, ANameMayComeBeforeItsGpu) {
    DeviceNames names;
    ASSERT_TRUE(names.bind(kWhole, {.uuid = "GPU-1"}));
    EXPECT_FALSE(names.locate(kWhole));
    ASSERT_TRUE(names.place("GPU-1", kNode, kGpu));
    EXPECT_TRUE(names.locate(kWhole));
    names.displace("GPU-1");
    EXPECT_FALSE(names.locate(kWhole));
    EXPECT_THAT(names.names_of(kNode, kGpu), IsEmpty());
    ASSERT_TRUE(names.place("GPU-1", NodeIndex(4), kGpu));  // moved to another machine
    EXPECT_EQ(names.locate(kWhole)->node, NodeIndex(4));
}

TEST(DeviceNames, GpusAreRenumberedAndReplaced) {
    DeviceNames names;
    ASSERT_TRUE(names.place("GPU-1", kNode, GpuIndex(0)));
    ASSERT_TRUE(names.place("GPU-2", kNode, GpuIndex(1)));
    ASSERT_TRUE(names.bind(kWhole, {.uuid = "GPU-1"}));
    ASSERT_TRUE(names.place("GPU-1", kNode, GpuIndex(1)));  // GPU-2 is gone
    EXPECT_EQ(names.locate(kWhole)->gpu, GpuIndex(1));
    EXPECT_THAT(names.names_of(kNode, GpuIndex(0)), IsEmpty());
    ASSERT_TRUE(names.bind(kOther, {.uuid = "GPU-2"}));
    EXPECT_FALSE(names.locate(kOther));
    ASSERT_TRUE(names.place("GPU-2", kNode, GpuIndex(0)));
    EXPECT_EQ(names.locate(kOther)->gpu, GpuIndex(0));
    EXPECT_EQ(names.locate(kWhole)->gpu, GpuIndex(1));
}

TEST(DeviceNames, ANameCanBeGivenToAnotherGpu) {
    DeviceNames names;
    ASSERT_TRUE(names.place("GPU-1", kNode, GpuIndex(0)));
    ASSERT_TRUE(names.place("GPU-2", kNode, GpuIndex(1)));
    const auto index = names.bind(kWhole, {.uuid = "GPU-1"});
    EXPECT_EQ(*names.bind(kWhole, {.uuid = "GPU-2"}), *index);
    EXPECT_THAT(names.names_of(kNode, GpuIndex(0)), IsEmpty());
    EXPECT_THAT(names.names_of(kNode, GpuIndex(1)), ElementsAre(*index));
    names.unbind(kWhole);
    EXPECT_FALSE(names.locate(*index));
    EXPECT_EQ(names.find(kWhole), *index);  // still the same name
    names.unbind(kOther);                   // never seen
    EXPECT_EQ(names.size(), 1U);
}

TEST(DeviceNames, OneUuidOnTwoNodesIsRefused) {
    DeviceNames names;
    ASSERT_TRUE(names.place("GPU-1", kNode, kGpu));
    EXPECT_TRUE(names.place("GPU-1", kNode, kGpu));
    const auto twice = names.place("GPU-1", NodeIndex(9), kGpu);
    EXPECT_EQ(twice.error().kind, ErrorKind::conflict);
    EXPECT_THAT(twice.error().message, HasSubstr("node 3 and on node 9"));
    EXPECT_FALSE(names.place("", kNode, kGpu));
    EXPECT_FALSE(names.bind(kWhole, {.uuid = ""}));
    EXPECT_FALSE(names.bind({"", "", "x"}, {.uuid = "GPU-1"}));
    EXPECT_FALSE(names.locate(DeviceNameIndex(7)));
}

}  // namespace
}  // namespace tessera
