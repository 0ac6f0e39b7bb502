#include "model/node_filter.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(NodeFilter, PinSelectorAndTaints) {
    Node node;
    node.name = "gpu-a";
    node.labels["zone"] = "x";
    EXPECT_TRUE(admits({}, node));
    EXPECT_TRUE(admits({.node = "gpu-a", .selector = {{"zone", "x"}}, .tolerations = {}}, node));
    EXPECT_FALSE(admits({.node = "gpu-b", .selector = {}, .tolerations = {}}, node));
    EXPECT_FALSE(admits({.node = "", .selector = {{"zone", "y"}}, .tolerations = {}}, node));

    node.taints = {{"gpu", "only", "NoSchedule"}, {"soft", "", "PreferNoSchedule"}};
    EXPECT_FALSE(admits({}, node));
    const auto with = [&](Toleration toleration) {
        return admits({.node = "", .selector = {}, .tolerations = {std::move(toleration)}}, node);
    };
    EXPECT_TRUE(with({"gpu", "only", "", false}));
    EXPECT_TRUE(with({"gpu", "", "NoSchedule", true}));
    EXPECT_TRUE(with({"", "", "", true}));
    EXPECT_FALSE(with({"gpu", "other", "", false}));
    EXPECT_FALSE(with({"gpu", "only", "NoExecute", false}));
    EXPECT_FALSE(with({"", "", "", false}));
}

TEST(NodeFilter, EqualFiltersShareAnIndex) {
    FilterTable table;
    const FilterIndex any = table.intern({});
    NodeFilter filter{.node = "",
                      .selector = {{"a", "b"}},
                      .tolerations = {{"x", "", "", true}, {"k", "", "", true}}};
    const FilterIndex one = table.intern(filter);
    std::swap(filter.tolerations[0], filter.tolerations[1]);
    EXPECT_EQ(table.intern(filter), one);
    EXPECT_EQ(table.intern({}), any);
    EXPECT_NE(any, one);
    EXPECT_EQ(table.size(), 2U);
    EXPECT_EQ(table[one].selector.size(), 1U);
}

}  // namespace
}  // namespace tessera
