#include "policy/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "policy/test_world.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

TEST(Registry, EveryPolicyListedCanBeMadeAndKnowsItsName) {
    const std::vector<ClassCount> mix{
        {demand_class(testing::demand_of(1'000, {testing::gpu_request(1, 500)})), 1}};
    std::set<std::string_view> names;
    for (const PolicyInfo& info : known_policies()) {
        EXPECT_TRUE(names.insert(info.name).second) << info.name << " is there twice";
        EXPECT_FALSE(info.summary.empty());
        const auto policy = make_policy(info.name, {.mix = mix});
        ASSERT_TRUE(policy.has_value()) << policy.error().message;
        EXPECT_EQ((*policy)->name(), info.name);
    }
    for (const char* name : {"tessera", "fgd", "fgd-published", "binpack", "spread", "random",
                             "bestfit", "bestfit-memory", "dotprod", "clustering", "packing",
                             "gpushare", "kubeshare", "elastic-binpack", "elastic-spread",
                             "elastic-random", "keti", "least-loaded", "exclusive"}) {
        EXPECT_TRUE(names.contains(name)) << name;
    }
}

TEST(Registry, AnUnknownNameGetsTheList) {
    const auto policy = make_policy("bestfitt", {});
    ASSERT_FALSE(policy.has_value());
    EXPECT_EQ(policy.error().kind, ErrorKind::invalid);
    EXPECT_THAT(policy.error().message, HasSubstr("\"bestfitt\""));
    for (const PolicyInfo& info : known_policies()) {
        EXPECT_THAT(policy.error().message, HasSubstr(std::string(info.name)));
    }
    EXPECT_FALSE(make_policy("", {}).has_value());
}

TEST(Registry, PoliciesThatNeedMeasurementsSayWhenTheyCome) {
    for (const char* name : {"cbp", "pp", "coscheml"}) {
        const auto policy = make_policy(name, {});
        ASSERT_FALSE(policy.has_value());
        EXPECT_EQ(policy.error().kind, ErrorKind::invalid);
        EXPECT_THAT(policy.error().message, HasSubstr("comes with insight and prediction"));
    }
}

TEST(Registry, ThePublishedFgdNeedsThePodList) {
    const auto policy = make_policy("fgd-published", {});
    ASSERT_FALSE(policy.has_value());
    EXPECT_THAT(policy.error().message, HasSubstr("use fgd"));
}

}  // namespace
}  // namespace tessera
