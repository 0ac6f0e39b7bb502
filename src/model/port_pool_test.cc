#include "model/port_pool.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera {
namespace {

TEST(PortPool, GoesRound) {
    PortPool pool;
    EXPECT_EQ(pool.take(), 50051);
    EXPECT_EQ(pool.take(), 50052);
    EXPECT_TRUE(pool.release(50051));
    EXPECT_EQ(pool.take(), 50053) << "a freed port rests until its turn comes";
}

TEST(PortPool, GivesEachPortOnceAndThenNone) {
    PortPool pool;
    std::set<std::uint16_t> ports;
    for (int i = 0; i < PortPool::kCount; ++i) {
        const auto port = pool.take();
        ASSERT_TRUE(port.has_value());
        ports.insert(*port);
    }
    EXPECT_EQ(ports.size(), 511U);
    EXPECT_EQ(*ports.begin(), 50051);
    EXPECT_EQ(*ports.rbegin(), 50561);
    EXPECT_FALSE(pool.take().has_value());
    EXPECT_EQ(pool.free(), 0U);
    EXPECT_TRUE(pool.release(50100));
    EXPECT_EQ(pool.take(), 50100);
}

TEST(PortPool, RebuildsFromWhatPodsHave) {
    PortPool pool;
    EXPECT_TRUE(pool.reserve(50051));
    EXPECT_FALSE(pool.reserve(50051)) << "one pod each";
    EXPECT_FALSE(pool.reserve(50050));
    EXPECT_FALSE(pool.reserve(50562));
    EXPECT_FALSE(pool.reserve(-1));
    EXPECT_EQ(pool.take(), 50052);
    EXPECT_FALSE(pool.release(50060)) << "was not in use";
    EXPECT_FALSE(pool.release(80));
}

}  // namespace
}  // namespace tessera
