#include "model/node_constraints.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera {
namespace {

TEST(NodeConstraints, RequirementsAsKubernetesAcceptsThem) {
    struct Case {
        RequirementDraft draft;
        bool label;  // as a matchExpression
        bool field;  // as a matchField
    };
    for (const Case& one : std::vector<Case>{
             {{"zone", "In", {"a", "b"}}, true, false},
             {{"zone", "In", {}}, false, false},
             {{"zone", "NotIn", {"a"}}, true, false},
             {{"zone", "Exists", {}}, true, false},
             {{"zone", "Exists", {"a"}}, false, false},
             {{"zone", "DoesNotExist", {}}, true, false},
             {{"gen", "Gt", {"3"}}, true, false},
             {{"gen", "Gt", {"3", "4"}}, false, false},
             {{"gen", "Lt", {"x"}}, false, false},
             {{"zone", "Is", {"a"}}, false, false},
             {{"metadata.name", "In", {"n"}}, true, true},
             {{"metadata.name", "In", {"n", "m"}}, true, false},
             {{"metadata.name", "Exists", {}}, true, false},
         }) {
        const std::string what = one.draft.key + " " + one.draft.op;
        const auto label = label_requirement(one.draft);
        const auto field = field_requirement(one.draft);
        EXPECT_EQ(label.has_value(), one.label) << what;
        EXPECT_EQ(field.has_value(), one.field) << what;
        if (!label) {
            EXPECT_FALSE(label.error().message.empty()) << what;
        }
    }
}

TEST(NodeConstraints, TolerationsAndTaints) {
    EXPECT_TRUE(toleration({"gpu", "Exists", "", ""}));
    EXPECT_TRUE(toleration({"gpu", "", "only", "NoSchedule"}));
    EXPECT_TRUE(toleration({"", "Exists", "", "NoExecute"}));
    EXPECT_FALSE(toleration({"gpu", "Exists", "value", ""}));
    EXPECT_FALSE(toleration({"", "Equal", "x", ""}));
    EXPECT_FALSE(toleration({"gpu", "Gt", "3", ""}));
    EXPECT_FALSE(toleration({"gpu", "Exists", "", "Never"}));
    EXPECT_TRUE(taint({"gpu", "only", "NoSchedule"}));
    EXPECT_FALSE(taint({"gpu", "only", ""}));
    EXPECT_FALSE(taint({"", "only", "NoSchedule"}));
    EXPECT_FALSE(parse_effect("noschedule"));
}

TEST(NodeConstraints, NumbersOfLabels) {
    EXPECT_EQ(label_number("42"), 42);
    EXPECT_EQ(label_number("-7"), -7);
    EXPECT_EQ(label_number("9223372036854775807"), INT64_MAX);
    for (const char* text : {"", "x", "1.5", "9223372036854775808", " 1", "1 ", "0x10", "--1"}) {
        EXPECT_FALSE(label_number(text).has_value()) << text;
    }
}

TEST(NodeConstraints, WordsAndIndicesAreTheSameThing) {
    Vocabulary names;
    NodeConstraints asked;
    asked.node = "gpu-a";
    asked.selector = {{"zone", "x"}, {"arch", "amd64"}};
    asked.terms.resize(1);
    asked.tolerations.push_back(*toleration({"gpu", "Exists", "", ""}));
    const NodeFilter filter = node_filter(asked, names);
    const NodeConstraints back = in_words(filter, names);
    EXPECT_EQ(back.node, "gpu-a");
    EXPECT_EQ(back.selector, asked.selector);
    EXPECT_EQ(back.tolerations, asked.tolerations);
    Vocabulary others;
    others.label_keys.intern("zone");
    EXPECT_EQ(in_words(node_filter(back, others), others), back);

    Node node;
    node.name = "gpu-a";
    node.labels = {{"zone", "x"}};
    node.unschedulable = true;
    const NodeTraits traits = node_traits(node, names);
    EXPECT_EQ(labels_in_words(traits, names), node.labels);
    ASSERT_EQ(taints_in_words(traits, names).size(), 1U);
    EXPECT_EQ(taints_in_words(traits, names).front().key, kCordonTaint);
}

}  // namespace
}  // namespace tessera
