#include "role/intake/policy_reloader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "codec/test_directory.h"
#include "engine/engine.h"
#include "sim/file.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

class Reloader : public testing::Test {
  protected:
    // Sizes differ from one text to the next, so that no clock decides whether a change is seen.
    void put(std::string_view text) { EXPECT_TRUE(write_file(path_, text)); }
    TestDirectory directory_;
    std::string path_ = directory_.file("mine.yaml");
};

constexpr std::string_view kFirst = "name: mine\nscores:\n- {name: binpack}\n";
constexpr std::string_view kOther = "name: mine\nscores:\n- {name: spread}\ndevices: emptiest\n";

TEST_F(Reloader, TheFirstMustBeGood) {
    EXPECT_EQ(PolicyReloader::open(path_).error().kind, ErrorKind::environment);
    put("name: mine\nscores: []\nstep: x\n");
    const auto refused = PolicyReloader::open(path_);
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().message, HasSubstr("mine.yaml:3: step: \"x\" is not accepted"));
}

TEST_F(Reloader, TakesAChangeAndKeepsTheLastGoodOne) {
    put(kFirst);
    auto file = PolicyReloader::open(path_);
    ASSERT_TRUE(file.has_value()) << file.error().message;
    EXPECT_FALSE(*file->look()) << "nobody touched it";
    put(kOther);
    EXPECT_TRUE(*file->look());
    EXPECT_EQ(file->generation(), 2U);
    EXPECT_EQ(file->in_force().scores.front().name.value, "spread");

    put("name: mine\nscores:\n- {name: spraed}\n");
    const auto broken = file->look();
    ASSERT_FALSE(broken.has_value());
    EXPECT_THAT(broken.error().message, HasSubstr("mine.yaml:3: score \"spraed\" is not known"));
    EXPECT_EQ(file->in_force().scores.front().name.value, "spread");
    EXPECT_TRUE(file->refused().has_value());
    EXPECT_FALSE(*file->look()) << "told once";
    EXPECT_FALSE(file->reload().has_value()) << "unless it is asked for";

    std::filesystem::remove(path_);
    EXPECT_EQ(file->look().error().kind, ErrorKind::environment);
    EXPECT_EQ(file->generation(), 2U);
    put(kOther);
    EXPECT_FALSE(*file->look()) << "back, and the same as before";
    EXPECT_FALSE(file->refused().has_value());
}

TEST_F(Reloader, ARunningEngineTakesIt) {
    put(kFirst);
    auto file = PolicyReloader::open(path_);
    ASSERT_TRUE(file.has_value());
    NodeSpec node;
    node.name = "a";
    node.cpu = MilliCpu(16000);
    node.memory = MemoryMib(65536);
    node.gpus.resize(2);
    NodeSpec larger = node;
    larger.name = "b";
    larger.gpus.resize(4);
    Engine engine({node, larger}, *file->make({}));
    Demand demand;
    GpuRequest share;
    share.milli = MilliGpu(100);
    demand.alternatives.push_back({{share}});
    EXPECT_EQ(engine.place(PodIndex(0), demand)->node, NodeIndex(0)) << "least idle";
    put(kOther);
    ASSERT_TRUE(*file->look());
    engine.set_policy(*file->make({}));
    EXPECT_EQ(engine.place(PodIndex(1), demand)->node, NodeIndex(1)) << "most idle";
    EXPECT_TRUE(engine.placement(PodIndex(0)).has_value());
}

}  // namespace
}  // namespace tessera
