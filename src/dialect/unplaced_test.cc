#include "dialect/unplaced.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/test_pods.h"

namespace tessera {
namespace {

using testing::container;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::pod;

TEST(Unplaced, GpusOfOtherVendorsAreFoundOnce) {
    EXPECT_THAT(unplaced_resources(pod({{"amd.com/gpu", "1"}, {"cpu", "4"}})),
                ElementsAre("amd.com/gpu"));
    Pod both = pod({container("a", {{"gpu.intel.com/i915", "1"}}),
                    container("b", {{"gpu.intel.com/i915", "1"}, {"habana.ai/gaudi", "2"}})});
    both.containers[0].requests = both.containers[0].limits;
    EXPECT_THAT(unplaced_resources(both), ElementsAre("gpu.intel.com/i915", "habana.ai/gaudi"));
}

TEST(Unplaced, WhatIsPlacedOrNoGpuIsNot) {
    EXPECT_THAT(unplaced_resources(pod({{"nvidia.com/gpu", "1"}, {"example.com/fpga", "1"}})),
                IsEmpty());
    EXPECT_THAT(unplaced_resources(pod({{"amd.com/gpu", "0"}})), IsEmpty());
}

TEST(Unplaced, EveryDialectSaysHowToAsk) {
    for (const Dialect& dialect : dialects()) {
        EXPECT_FALSE(dialect.asked_by.empty()) << dialect.name;
        EXPECT_THAT(placed_resources(), HasSubstr(std::string(dialect.asked_by)));
    }
    EXPECT_THAT(placed_resources(), HasSubstr("nvidia.com/gpu, tessera.dev/gpu"));
}

}  // namespace
}  // namespace tessera
