#include "role/serve/cluster_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "role/extender/test_extender.h"

namespace tessera {
namespace {

using namespace tessera::testing;
using ::testing::HasSubstr;

// Whoever saw it first: a request, mostly.
TEST(ClusterMetrics, CountsEveryHoldThatExpired) {
    Rig rig;
    rig.list({gpushare_node("a", 32, 2)});
    Metrics metrics;
    ClusterMetrics figures(metrics);
    const auto ask = [&](std::string_view pod) {
        rig.post("/tessera/filter", names_body(gpushare_pod(pod, 1), {"a"}));
    };
    ask("first");
    ask("second");
    rig.now = rig.now + Nanoseconds(60'000'000'000);
    ask("third");
    figures.read(rig.mirror);
    EXPECT_THAT(metrics.text(), HasSubstr("\ntessera_holds_expired_total 2\n"));
    rig.now = rig.now + Nanoseconds(60'000'000'000);
    rig.mirror.expire(rig.now, Nanoseconds(0));
    figures.read(rig.mirror);
    figures.read(rig.mirror);
    EXPECT_THAT(metrics.text(), HasSubstr("\ntessera_holds_expired_total 3\n"));
}

}  // namespace
}  // namespace tessera
