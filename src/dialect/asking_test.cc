#include "dialect/asking.h"

#include <gtest/gtest.h>

#include "dialect/test_pods.h"

namespace tessera {
namespace {

using testing::container;
using testing::node_with;
using testing::pod;
using testing::quantity;

TEST(Asking, WholeNumbersWithinBounds) {
    constexpr Bounds kBounds{1, 16, "GPUs"};
    for (const char* text : {"1", "16", " 7 "}) {
        EXPECT_TRUE(whole_number("key", std::string_view(text), kBounds)) << text;
    }
    for (const char* text : {"", "0", "17", "-1", "1.5", "x", "1e30", "NaN"}) {
        const auto read = whole_number("key", std::string_view(text), kBounds);
        ASSERT_FALSE(read) << text;
        EXPECT_TRUE(read.error().message.starts_with("key: ")) << read.error().message;
    }
    EXPECT_EQ(*whole_number("key", quantity("4"), kBounds), 4);
    EXPECT_FALSE(whole_number("key", quantity("500m"), kBounds));
}

TEST(Asking, WhatContainersAskFor) {
    const Container one = container("main", {{"r/a", "3"}, {"r/zero", "0"}});
    EXPECT_EQ(*asked_amount(one, "r/a", {0, 9, "units"}), 3);
    EXPECT_EQ(*asked_amount(one, "r/none", {0, 9, "units"}), 0);
    EXPECT_FALSE(asked_amount(one, "r/a", {0, 2, "units"}));
    EXPECT_EQ(first_asked(pod(std::vector{one}), {"r/zero", "r/a"}), "r/a");
    EXPECT_EQ(first_asked(pod(std::vector{one}), {"r/zero"}), "");
}

TEST(Asking, IndicesAndUuids) {
    const NodeSpec node = node_with({1000, 1000, 1000});
    ASSERT_TRUE(gpu_indices("k", "0, 2", node));
    EXPECT_EQ(*gpu_indices("k", "0, 2", node), (std::vector{GpuIndex(0), GpuIndex(2)}));
    for (const char* text : {"", "3", "-1", "a", "0,,1", "0;1"}) {
        EXPECT_FALSE(gpu_indices("k", text, node)) << text;
    }
    EXPECT_EQ(*gpu_by_uuid("k", "GPU-1", node), GpuIndex(1));
    EXPECT_FALSE(gpu_by_uuid("k", "GPU-9", node));
}

TEST(Asking, PartsOfText) {
    EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
    EXPECT_EQ(trimmed(" \t a b \n"), "a b");
    EXPECT_EQ(trimmed("  "), "");
}

}  // namespace
}  // namespace tessera
