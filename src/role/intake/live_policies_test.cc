#include "role/intake/live_policies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/test_directory.h"
#include "sim/file.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

TEST(LivePolicies, AFileThatChangedIsTakenAndABadOneToldOnce) {
    const TestDirectory directory;
    const std::string path = directory.file("mine.yaml");
    LivePolicies policies;
    EXPECT_FALSE(policies.add(path)) << "it is not there";
    ASSERT_TRUE(write_file(path, "name: mine\nscores:\n- {name: binpack}\n"));
    ASSERT_TRUE(policies.add(path));
    ASSERT_TRUE(policies.add("spread"));
    EXPECT_FALSE(policies.add("spraed"));
    EXPECT_EQ((*policies.make("spread"))->name(), "spread");
    EXPECT_EQ((*policies.make(path))->name(), "mine");
    EXPECT_TRUE(policies.look().empty());

    ASSERT_TRUE(write_file(path, "name: other\nscores:\n- {name: spread}\n"));
    auto changes = policies.look();
    ASSERT_EQ(changes.size(), 1U);
    EXPECT_EQ(changes.front().file, path);
    EXPECT_FALSE(changes.front().refused);
    EXPECT_EQ((*policies.make(path))->name(), "other");

    ASSERT_TRUE(write_file(path, "name: other\nscores:\n- {name: spraed}\n# no\n"));
    changes = policies.look();
    ASSERT_EQ(changes.size(), 1U);
    ASSERT_TRUE(changes.front().refused);
    EXPECT_THAT(changes.front().refused->message, HasSubstr("mine.yaml:3: score"));
    EXPECT_TRUE(policies.look().empty());
    EXPECT_EQ(policies.refused(), 1U);
    EXPECT_EQ((*policies.make(path))->name(), "other");

    ASSERT_TRUE(write_file(path, "name: other\nscores:\n- {name: spread}\n"));
    EXPECT_TRUE(policies.look().empty()) << "the same as what is in force";
    EXPECT_EQ(policies.refused(), 0U);
}

}  // namespace
}  // namespace tessera
