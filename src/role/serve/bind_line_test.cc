// The line to the API server on which pods are bound: what is known of a bind when the line was
// cut.
#include "role/serve/bind_line.h"

#include <gtest/gtest.h>

#include <future>

#include "kube/fake_http_client.h"
#include "role/serve/fake_api.h"

namespace tessera {
namespace {

using namespace tessera::testing;

class BindLineTest : public ::testing::Test {
  protected:
    BindLineTest() { api_.put_pod("p", 8); }

    WriteEnd bind(bool in_doubt) {
        BindPlan plan{.space = "default",
                      .name = "p",
                      .uid = "uid-p",
                      .node = "gpu-a",
                      .annotations = {{"tessera.dev/placement", "GPU 0"}},
                      .labels = {},
                      .in_doubt = in_doubt};
        std::promise<WriteEnd> end;
        line_.bind(std::move(plan),
                   [&](const WriteOutcome& outcome) { end.set_value(outcome.end); });
        return end.get_future().get();
    }

    FakeApi api_;
    Log log_{{.level = LogLevel::off}};
    BindLine line_{{.base_url = api_.url()},
                   {.deadline = milliseconds(300), .call_timeout = milliseconds(100)},
                   log_};
};

TEST_F(BindLineTest, WithoutALineNothingIsDoneButWhatWasBefore) {
    EXPECT_EQ(bind(false), WriteEnd::refused);
    EXPECT_EQ(bind(true), WriteEnd::unknown);
}

// The Lease was lost and is ours again. The old POST is still on its way, and lands in the end.
TEST_F(BindLineTest, ABindThatMayStillLandIsNotRefusedOnTheNextLine) {
    ASSERT_TRUE(line_.open());
    api_.hold_binds(true);
    EXPECT_EQ(bind(false), WriteEnd::unknown);
    line_.cut();
    ASSERT_TRUE(line_.open());
    api_.fail_with(429);
    EXPECT_EQ(bind(true), WriteEnd::unknown);
    api_.fail_with(0);
    api_.hold_binds(false);
    EXPECT_EQ(api_.node_of("p"), "gpu-a");
}

}  // namespace
}  // namespace tessera
