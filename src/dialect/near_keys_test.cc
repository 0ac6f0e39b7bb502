#include "dialect/near_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/test_pods.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::pod;

TEST(NearKeys, AMisspeltKeyIsTold) {
    Pod one = pod({{"cpu", "1"}});
    one.labels = {{"sharedgpu/gpu_reqest", "0.5"}, {"sharedgpu/gpu_limit", "1"}, {"app", "x"}};
    EXPECT_THAT(unknown_key_notes(one),
                ElementsAre("its \"sharedgpu/gpu_reqest\" is not a key of sharedgpu/ and was "
                            "passed over; did you mean sharedgpu/gpu_request?"));
}

TEST(NearKeys, InEveryVocabularyThatIsKnown) {
    for (const char* resource : {"elasticgpu.io/gpu-cor", "aliyun.com/gpu-memm"}) {
        EXPECT_EQ(unknown_key_notes(pod({{resource, "1"}})).size(), 1U) << resource;
    }
    Pod one = pod({{"elasticgpu.io/gpu-core", "50"}, {"aliyun.com/gpu-mem", "3"}});
    one.annotations = {{"elasticgpu.io/container-main", "0"}, {"kubeshare/gpu_mem", "1"}};
    EXPECT_THAT(unknown_key_notes(one), IsEmpty());
    one.annotations = {{"kubeshare/nothing-like-it", "1"}};
    EXPECT_THAT(unknown_key_notes(one),
                ElementsAre("its \"kubeshare/nothing-like-it\" is not a key of kubeshare/ and was "
                            "passed over"));
}

}  // namespace
}  // namespace tessera
