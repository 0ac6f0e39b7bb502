#include "model/node_filter.h"

#include <gtest/gtest.h>

#include "model/node_constraints.h"

namespace tessera {
namespace {

constexpr TaintEffect kNoSchedule = TaintEffect::no_schedule;
constexpr TaintEffect kPrefer = TaintEffect::prefer_no_schedule;
constexpr TaintEffect kNoExecute = TaintEffect::no_execute;

class NodeFilterTest : public ::testing::Test {
  protected:
    bool admitted(const NodeConstraints& constraints) {
        return admits(node_filter(constraints, names_), node_traits(node_, names_));
    }
    bool tolerating(Toleration toleration) { return admitted({.tolerations = {toleration}}); }
    bool matching(std::vector<NodeSelectorTerm> terms) {
        return admitted({.terms = std::move(terms)});
    }
    bool labelled(std::string key, LabelOperator op, std::vector<std::string> values = {}) {
        return matching({{.labels = {{std::move(key), op, std::move(values)}}}});
    }
    bool named(LabelOperator op, std::string name) {
        return matching({{.fields = {{std::string(kNameField), op, {std::move(name)}}}}});
    }

    Vocabulary names_;
    Node node_;
};

TEST_F(NodeFilterTest, PinAndSelector) {
    node_.name = "gpu-a";
    node_.labels = {{"zone", "x"}, {"empty", ""}};
    EXPECT_TRUE(admitted({}));
    EXPECT_TRUE(admitted({.node = "gpu-a", .selector = {{"zone", "x"}}}));
    EXPECT_TRUE(admitted({.selector = {{"empty", ""}}}));
    EXPECT_FALSE(admitted({.node = "gpu-b"}));
    EXPECT_FALSE(admitted({.selector = {{"zone", "y"}}}));
    EXPECT_FALSE(admitted({.selector = {{"absent", ""}}}));
    EXPECT_FALSE(admitted({.selector = {{"zone", "x"}, {"rack", "1"}}}));
}

TEST_F(NodeFilterTest, TaintsNeedATolerationUnlessTheyOnlyPrefer) {
    node_.taints = {{"soft", "", kPrefer}};
    EXPECT_TRUE(admitted({}));
    node_.taints = {{"gpu", "only", kNoSchedule}, {"soft", "", kPrefer}};
    EXPECT_FALSE(admitted({}));
    EXPECT_TRUE(tolerating({"gpu", "only", {}, false}));
    EXPECT_TRUE(tolerating({"gpu", "", kNoSchedule, true}));
    EXPECT_TRUE(tolerating({"", "", {}, true}));
    EXPECT_TRUE(tolerating({"", "", kNoSchedule, true}));
    EXPECT_FALSE(tolerating({"", "", kNoExecute, true}));
    EXPECT_FALSE(tolerating({"gpu", "other", {}, false}));
    EXPECT_FALSE(tolerating({"gpu", "", {}, false}));
    EXPECT_FALSE(tolerating({"gpu", "only", kNoExecute, false}));
    EXPECT_FALSE(tolerating({"other", "", {}, true}));
    node_.taints.push_back({"gpu", "only", kNoExecute});
    EXPECT_FALSE(tolerating({"gpu", "only", kNoSchedule, false}));
    EXPECT_TRUE(tolerating({"gpu", "only", {}, false}));
}

TEST_F(NodeFilterTest, ACordonIsATaint) {
    node_.unschedulable = true;
    EXPECT_FALSE(admitted({}));
    EXPECT_TRUE(tolerating({std::string(kCordonTaint), "", kNoSchedule, true}));
    EXPECT_TRUE(tolerating({std::string(kCordonTaint), "", {}, false}));
    EXPECT_FALSE(tolerating({std::string(kCordonTaint), "", kNoExecute, true}));
    const NodeTraits implied = node_traits(node_, names_);
    EXPECT_TRUE(admits({}, opened(implied)));
    node_.taints = {{std::string(kCordonTaint), "", kNoSchedule}};
    EXPECT_EQ(node_traits(node_, names_), implied);  // the controller's taint and the flag: one
}

TEST_F(NodeFilterTest, Operators) {
    using enum LabelOperator;
    node_.labels = {{"zone", "x"}, {"gen", "007"}, {"cpus", "8x"}, {"big", "99999999999999999999"}};
    EXPECT_TRUE(labelled("zone", in, {"w", "x"}));
    EXPECT_FALSE(labelled("zone", in, {"w"}));
    EXPECT_FALSE(labelled("absent", in, {"x"}));
    EXPECT_FALSE(labelled("zone", not_in, {"x", "y"}));
    EXPECT_TRUE(labelled("zone", not_in, {"y"}));
    EXPECT_TRUE(labelled("absent", not_in, {"x"}));
    EXPECT_TRUE(labelled("zone", exists));
    EXPECT_FALSE(labelled("absent", exists));
    EXPECT_FALSE(labelled("zone", does_not_exist));
    EXPECT_TRUE(labelled("absent", does_not_exist));
    EXPECT_TRUE(labelled("gen", gt, {"6"}));
    EXPECT_FALSE(labelled("gen", gt, {"7"}));
    EXPECT_TRUE(labelled("gen", gt, {"-1"}));
    EXPECT_TRUE(labelled("gen", lt, {"+8"}));
    EXPECT_FALSE(labelled("gen", lt, {"7"}));
    for (const char* no_number : {"cpus", "big", "zone", "absent"}) {
        EXPECT_FALSE(labelled(no_number, gt, {"0"})) << no_number;
        EXPECT_FALSE(labelled(no_number, lt, {"9"})) << no_number;
    }
}

TEST_F(NodeFilterTest, TermsAreAlternativesOfConditionsTogether) {
    using enum LabelOperator;
    node_.name = "gpu-a";
    node_.labels = {{"zone", "x"}};
    const NodeRequirement here{"zone", in, {"x"}};
    const NodeRequirement there{"zone", in, {"y"}};
    EXPECT_TRUE(matching({{.labels = {there}}, {.labels = {here}}}));
    EXPECT_FALSE(matching({{.labels = {here, there}}}));
    EXPECT_FALSE(matching({{}}));  // an empty term matches nothing
    EXPECT_TRUE(matching({{}, {.labels = {here}}}));
    EXPECT_TRUE(named(in, "gpu-a"));
    EXPECT_FALSE(named(in, "gpu-b"));
    EXPECT_FALSE(named(not_in, "gpu-a"));
    EXPECT_TRUE(named(not_in, "gpu-b"));
    EXPECT_FALSE(
        matching({{.labels = {here}, .fields = {{std::string(kNameField), in, {"gpu-b"}}}}}));
    EXPECT_FALSE(admitted({.selector = {{"zone", "y"}}, .terms = {{.labels = {here}}}}));
}

TEST_F(NodeFilterTest, EqualFiltersShareAnIndex) {
    FilterTable table;
    NodeConstraints constraints{.selector = {{"a", "b"}},
                                .terms = {{.labels = {{"k", LabelOperator::in, {"1", "2"}}}}, {}},
                                .tolerations = {{"x", "", {}, true}, {"k", "", {}, true}}};
    const FilterIndex one = table.intern(node_filter(constraints, names_));
    std::swap(constraints.tolerations[0], constraints.tolerations[1]);
    std::swap(constraints.terms[0], constraints.terms[1]);
    std::swap(constraints.terms[1].labels[0].values[0], constraints.terms[1].labels[0].values[1]);
    EXPECT_EQ(table.intern(node_filter(constraints, names_)), one);
    EXPECT_EQ(table.intern({}), FilterIndex::none());
    EXPECT_EQ(table.size(), 1U);
    EXPECT_EQ(table[one].selector.size(), 1U);
    EXPECT_FALSE(table[FilterIndex::none()].restricts());
    const FilterTable copy = table;
    EXPECT_EQ(copy[one], table[one]);
}

}  // namespace
}  // namespace tessera
