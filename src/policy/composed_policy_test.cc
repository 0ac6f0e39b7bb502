#include "policy/composed_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "policy/rules.h"
#include "policy/tessera/tessera_policy.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

PolicySpec scores(std::vector<PolicySpec::Score> list) {
    PolicySpec spec;
    spec.source = "p.yaml";
    spec.name = {"mine", 1};
    spec.scores = std::move(list);
    return spec;
}

PolicySpec based_on(std::string base) {
    PolicySpec spec = scores({});
    spec.base = {{std::move(base), 2}};
    return spec;
}

std::string error_of(const PolicySpec& spec) {
    const auto checked = check_policy(spec);
    return checked ? "" : checked.error().message;
}

TEST(ComposedPolicy, EveryShippedPolicyIsAFileToStartFrom) {
    for (const PolicyInfo& info : known_policies()) {
        const auto spec = shipped_policy(info.name);
        ASSERT_TRUE(spec) << info.name;
        EXPECT_EQ(error_of(*spec), "") << info.name;
        EXPECT_EQ(spec->name.value, info.name);
        if (info.name != "fgd-published") {
            const auto policy = build_policy(*spec, {});
            ASSERT_TRUE(policy) << info.name;
            EXPECT_EQ((*policy)->name(), info.name);
        }
    }
    EXPECT_FALSE(shipped_policy("nonsense"));
    EXPECT_EQ(shipped_policy("gpushare")->scores.at(0).name.value, "least-allocated");
    EXPECT_EQ(shipped_policy("tessera")->parameters.size(), tessera_parameters().size());
}

TEST(ComposedPolicy, EveryParameterOfTesseraCanBeSet) {
    static_assert(std::is_trivially_copyable_v<TesseraParameters>);
    EXPECT_EQ(sizeof(TesseraParameters), tessera_parameters().size() * sizeof(double))
        << "a parameter is not in the table of composed_policy.cc";
    for (const ParameterInfo& parameter : tessera_parameters()) {
        EXPECT_GE(parameter.standard, parameter.low) << parameter.name;
        EXPECT_LE(parameter.standard, parameter.high) << parameter.name;
    }
}

TEST(ComposedPolicy, RefusesWithTheLineAndWhatIsAccepted) {
    EXPECT_THAT(error_of(scores({{{"binpak", 7}, {1, 7}}})),
                StartsWith("p.yaml:7: score \"binpak\" is not known; did you mean binpack? the "
                           "scores are binpack"));
    EXPECT_THAT(error_of(scores({{{"binpack", 7}, {0, 8}}})), StartsWith("p.yaml:8: weight of"));
    EXPECT_THAT(error_of(scores({{{"binpack", 7}, {1001, 8}}})), HasSubstr("from -1000 to 1000"));
    EXPECT_THAT(error_of(scores({{{"binpack", 3}, {1}}, {{"binpack", 4}, {2}}})),
                HasSubstr("p.yaml:4: score binpack is there twice"));
    EXPECT_THAT(error_of(scores({})), HasSubstr("neither base nor scores"));
    EXPECT_THAT(error_of(based_on("fdg")),
                StartsWith("p.yaml:2: base: policy \"fdg\" is not known; did you mean fgd?"));

    PolicySpec spec = scores({{{"binpack", 2}, {1}}});
    spec.name = {"My Policy", 1};
    EXPECT_THAT(error_of(spec), StartsWith("p.yaml:1: name: \"My Policy\""));
    spec = scores({{{"binpack", 2}, {1}}});
    spec.devices = {{"smallest", 5}};
    EXPECT_THAT(error_of(spec), HasSubstr("p.yaml:5: devices: \"smallest\" is not known; accepted "
                                          "are tightest, emptiest, least-memory, random"));
    spec.devices.reset();
    spec.ties = {{"random", 6}};
    EXPECT_THAT(error_of(spec), HasSubstr("select: any"));
    spec.ties = {{"least-idle", 6}, {"most-idle", 7}};
    EXPECT_THAT(error_of(spec), StartsWith("p.yaml:7: ties: least-idle and most-idle"));
    spec.ties = {{"order", 6}, {"oldest", 7}};
    EXPECT_THAT(error_of(spec), StartsWith("p.yaml:7: ties: after order"));
    spec.ties.clear();
    spec.smallest_share = {{1001, 9}};
    EXPECT_THAT(error_of(spec), StartsWith("p.yaml:9: smallest-share: 1001"));
}

TEST(ComposedPolicy, ABaseHasItsOwnScores) {
    PolicySpec spec = based_on("fgd");
    spec.ties = {{"oldest", 4}};
    EXPECT_THAT(error_of(spec), StartsWith("p.yaml:4: ties: a policy with base: fgd"));
    spec.ties.clear();
    spec.parameters = {{{"safety", 5}, 2}};
    EXPECT_THAT(error_of(spec), StartsWith("p.yaml:5: parameters: fgd has none"));
    spec = based_on("tessera");
    spec.parameters = {{{"safety", 5}, 21}};
    EXPECT_THAT(error_of(spec), StartsWith("p.yaml:5: safety: 21 is not accepted; 0 to 20 is"));
    spec.parameters = {{{"safty", 5}, 2}};
    EXPECT_THAT(error_of(spec), HasSubstr("the parameters are useless-weight"));
    spec = scores({{{"binpack", 2}, {1}}});
    spec.parameters = {{{"safety", 5}, 2}};
    EXPECT_THAT(error_of(spec), HasSubstr("none is named"));
}

TEST(ComposedPolicy, ScoresMustStayTellable) {
    PolicySpec spec = scores({{{"binpack", 2}, {1000}}});
    EXPECT_THAT(error_of(spec), HasSubstr("a step of 8 or smaller weights do"));
    spec.step = {{8, 3}};
    EXPECT_EQ(error_of(spec), "");
}

TEST(ComposedPolicy, RaisesSharesBeforeTheyArePlaced) {
    PolicySpec spec = based_on("fgd");
    spec.smallest_share = {{250}};
    const auto policy = build_policy(spec, {});
    ASSERT_TRUE(policy);
    EXPECT_EQ((*policy)->name(), "mine");
    DemandClass asked;
    asked.requests.resize(1);
    asked.requests[0].milli = MilliGpu(100);
    asked = with_requests(std::move(asked));
    EXPECT_EQ((*policy)->adapt(asked).milli, MilliGpu(250));
    asked.requests[0].milli = MilliGpu(300);
    EXPECT_EQ((*policy)->adapt(with_requests(asked)).milli, MilliGpu(300));
    spec.whole_devices = true;
    EXPECT_EQ((*build_policy(spec, {}))->adapt(asked).footprint, Footprint::whole);
    EXPECT_EQ((*policy)->adapt(DemandClass()), DemandClass());
}

TEST(PolicyHolder, ABadPolicyLeavesTheLastGoodOneInForce) {
    auto holder = PolicyHolder::start(based_on("tessera"));
    ASSERT_TRUE(holder);
    EXPECT_TRUE(*holder->offer(scores({{{"spread"}, {1}}})));
    EXPECT_EQ(holder->generation(), 2U);

    const auto bad = holder->offer(scores({{{"sprad", 3}, {1}}}));
    ASSERT_FALSE(bad);
    EXPECT_THAT(bad.error().message, StartsWith("p.yaml:3: "));
    EXPECT_EQ(holder->in_force().scores[0].name.value, "spread");
    EXPECT_EQ(holder->generation(), 2U);
    EXPECT_TRUE(holder->refused());

    const auto unreadable = holder->offer(fail(ErrorKind::environment, "p.yaml is gone"));
    EXPECT_FALSE(unreadable);
    EXPECT_EQ(holder->refused()->message, "p.yaml is gone");

    EXPECT_FALSE(*holder->offer(scores({{{"spread", 9}, {1}}})));  // only moved to another line
    EXPECT_FALSE(holder->refused());
    EXPECT_EQ(holder->generation(), 2U);
    EXPECT_FALSE(PolicyHolder::start(scores({})));
}

}  // namespace
}  // namespace tessera
