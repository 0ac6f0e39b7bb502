#include "dialect/own_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/test_pods.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using testing::pod;

TEST(OwnKeys, OnlyThoseThatExist) {
    struct Case {
        const char* key;
        bool good;
    };
    for (const Case& one : std::vector<Case>{{"tessera.dev/gpu-milli", true},
                                             {"tessera.dev/gpu-milli.main", true},
                                             {"tessera.dev/gpu-milli.other", false},
                                             {"tessera.dev/gpu-milly", false},
                                             {"tessera.dev/group", true},
                                             {"tessera.dev/group.main", false},
                                             {"tessera.dev/placement", true},
                                             {"tessera.dev/", false},
                                             {"tessera.example/gpu-milly", true}}) {
        Pod asked = pod({{"cpu", "1"}});
        asked.annotations[one.key] = "1";
        EXPECT_EQ(check_own_keys(asked).has_value(), one.good) << one.key;
        asked.labels.swap(asked.annotations);
        EXPECT_EQ(check_own_keys(asked).has_value(), one.good) << one.key << " as a label";
    }
    EXPECT_TRUE(check_own_keys(pod({{"tessera.dev/gpu", "1"}})));
    EXPECT_FALSE(check_own_keys(pod({{"tessera.dev/gpus", "1"}})));
}

TEST(OwnKeys, AnnotationAndLabelMustAgree) {
    Pod asked = pod({{"cpu", "1"}});
    EXPECT_EQ(*own_value(asked, "tessera.dev/app"), std::nullopt);
    asked.labels["tessera.dev/app"] = "a";
    EXPECT_EQ(*own_value(asked, "tessera.dev/app"), "a");
    asked.annotations["tessera.dev/app"] = "a";
    EXPECT_EQ(*own_value(asked, "tessera.dev/app"), "a");
    asked.annotations["tessera.dev/app"] = "b";
    EXPECT_THAT(own_value(asked, "tessera.dev/app").error().message, HasSubstr("one is accepted"));
}

}  // namespace
}  // namespace tessera
