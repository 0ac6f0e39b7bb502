#include "dialect/keti_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::HasSubstr;

std::string error_of(const StringMap& data) {
    const auto policy = parse_keti_policy(data);
    return policy ? "" : policy.error().message;
}

TEST(KetiPolicyMap, ReadsAllElevenKeys) {
    const auto policy = parse_keti_policy({
        {"node-gpu-score-weight", "0.5:0.5"},
        {"nvlink-weight-percentage", "30"},
        {"gpu-allocate-prefer", "binpack"},
        {"node-reservation-permit", "true"},
        {"pod-re-schedule-permit", "false"},
        {"avoid-nvlink-one-gpu", "true"},
        {"multi-node-allocation-permit", "true"},
        {"non-gpu-node-prefer", "false"},
        {"multi-gpu-node-prefer", "false"},
        {"least-score-node-prefer", "true"},
        {"avoid-high-score-node", "true"},
    });
    ASSERT_TRUE(policy.has_value()) << policy.error().message;
    const KetiPolicy expected{.node_weight_milli = 500,
                              .gpu_weight_milli = 500,
                              .nvlink_percent = 30,
                              .allocate = KetiAllocate::binpack,
                              .node_reservation = true,
                              .reschedule = false,
                              .avoid_nvlink_one_gpu = true,
                              .multi_node_allocation = true,
                              .prefer_non_gpu_node = false,
                              .prefer_multi_gpu_node = false,
                              .prefer_least_score = true,
                              .avoid_high_score = true};
    EXPECT_EQ(*policy, expected);
}

TEST(KetiPolicyMap, AbsentKeysKeepTheirDefaults) {
    EXPECT_EQ(*parse_keti_policy({}), KetiPolicy());
    const auto policy = parse_keti_policy({{"avoid-nvlink-one-gpu", "1"}});
    EXPECT_TRUE(policy->avoid_nvlink_one_gpu);
    EXPECT_EQ(policy->node_weight_milli, 400);
    EXPECT_TRUE(is_keti_policy("gpu-scheduler-policy"));
    EXPECT_TRUE(is_keti_policy("gpu-scheduler-configmap"));
    EXPECT_FALSE(is_keti_policy("kube-root-ca.crt"));
}

TEST(KetiPolicyMap, OlderSpellingOfTheWeights) {
    for (const char* text : {"0.3 0.7", "0.3 0.7\n", " 0.3:0.7 ", "0.3 : 0.7", ".3:.700"}) {
        const auto policy = parse_keti_policy({{"node-gpu-score-weight", text}});
        ASSERT_TRUE(policy.has_value()) << text;
        EXPECT_EQ(policy->node_weight_milli, 300);
        EXPECT_EQ(policy->gpu_weight_milli, 700);
    }
}

TEST(KetiPolicyMap, MalformedWeightsAreASentence) {
    for (const char* text : {"", "0.4", "0.4:", ":0.6", "a:b", "-0.1:0.6", "0.4:1.1", "0:0",
                             "0.4:0.6:0.1", "nan:1", "1e400:1", "0.4:0.3333", "400m:600m"}) {
        EXPECT_THAT(error_of({{"node-gpu-score-weight", text}}),
                    HasSubstr("node-gpu-score-weight: "))
            << text;
    }
    EXPECT_LT(error_of({{"node-gpu-score-weight", std::string(10'000'000, 'x')}}).size(), 400U);
}

TEST(KetiPolicyMap, OtherMalformedValues) {
    EXPECT_EQ(error_of({{"gpu-allocate-prefer", "pack"}}),
              "gpu-allocate-prefer: \"pack\" is neither \"spread\" nor \"binpack\"");
    EXPECT_THAT(error_of({{"nvlink-weight-percentage", "-1"}}), HasSubstr("in 0..10000"));
    EXPECT_THAT(error_of({{"nvlink-weight-percentage", "99999999999"}}), HasSubstr("in 0..10000"));
    EXPECT_THAT(error_of({{"avoid-nvlink-one-gpu", "yes"}}), HasSubstr("neither \"true\""));
    EXPECT_THAT(error_of({{"avoid-nvlink", "true"}}),
                HasSubstr("did you mean avoid-nvlink-one-gpu? the keys are"));
}

}  // namespace
}  // namespace tessera
