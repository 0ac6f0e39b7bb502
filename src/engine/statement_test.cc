#include "engine/statement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr NodeIndex kA{0};
constexpr NodeIndex kB{1};

Placement part(NodeIndex node, std::uint8_t gpu, int milli) {
    Placement placement;
    placement.node = node;
    placement.cpu = MilliCpu(100);
    placement.grants.push_back(
        {RequestIndex(0), GpuIndex(gpu), MilliGpu(milli), MemoryMib(1000), {}});
    return placement;
}

class StatementTest : public ::testing::Test, public NodeObserver {
  protected:
    StatementTest() {
        for (const char* name : {"a", "b"}) {
            NodeSpec spec;
            spec.name = name;
            spec.cpu = MilliCpu(32'000);
            spec.gpus.resize(2);
            for (GpuSpec& gpu : spec.gpus) {
                gpu.memory = MemoryMib(16'384);
            }
            EXPECT_TRUE(ledger.add_node(std::move(spec)));
        }
        for (std::uint32_t pod = 0; pod < 4; ++pod) {
            EXPECT_TRUE(ledger.assume(OwnerId::pod(pod), part(pod < 2 ? kA : kB, pod % 2, 600),
                                      {.deadline = Nanoseconds(100 + pod)}));
        }
        ledger.observe(this);
        before = everything();
    }
    void TearDown() override { EXPECT_THAT(ledger.verify(), IsEmpty()); }
    void node_changed(NodeIndex node) override { told.push_back(node); }

    // All that can be seen of the state, in the order in which it is seen.
    std::string everything() const {
        std::string text;
        for (NodeIndex node : {kA, kB}) {
            const NodeState& state = ledger.cluster().node(node);
            text += fmt::format("{} {} {} {}:", state.free_cpu_milli, state.idle_value,
                                state.oldest_start, state.gpu_pods);
            for (const ShareView& share : ledger.shares_on(node)) {
                const auto owner = ledger.find(share.owner);
                text +=
                    fmt::format(" {}/{}/{}/{}/{}", share.id.value(), describe(share.owner),
                                owner->start, owner->deadline.value(), share.grant.milli.value());
            }
            text += "\n";
        }
        return text;
    }

    Ledger ledger;
    std::string before;
    std::vector<NodeIndex> told;
};

TEST_F(StatementTest, DiscardsWhenItEnds) {
    {
        Statement statement(ledger);
        ASSERT_TRUE(statement.release(OwnerId::pod(0)));
        ASSERT_TRUE(statement.release(OwnerId::pod(2)));
        ASSERT_TRUE(statement.assume(OwnerId::pod(9), part(kA, 0, 1000)));
        ASSERT_TRUE(statement.assume(OwnerId::pod(0), part(kB, 0, 300)));  // a victim moves
        EXPECT_NE(everything(), before);
        EXPECT_EQ(statement.moves(), 4U);
        told.clear();
    }
    EXPECT_EQ(everything(), before);
    EXPECT_THAT(told, ElementsAre(kA, kB));  // once per node, however many moves
    // The very same ids follow as if nothing had happened.
    ASSERT_TRUE(ledger.assume(OwnerId::pod(9), part(kA, 0, 100)));
    const ShareId next = ledger.shares(OwnerId::pod(9)).front().id;
    EXPECT_EQ(next.value(), 4U);
}

TEST_F(StatementTest, CommitsWhatIsKept) {
    {
        Statement statement(ledger);
        ASSERT_TRUE(statement.release(OwnerId::pod(0)));
        ASSERT_TRUE(statement.assume(OwnerId::pod(9), part(kA, 0, 1000)));
        statement.commit();
    }
    EXPECT_FALSE(ledger.knows(OwnerId::pod(0)));
    EXPECT_TRUE(ledger.knows(OwnerId::pod(9)));
    EXPECT_EQ(ledger.size(), 4U);
    EXPECT_EQ(ledger.share_count(), 4U);
}

TEST_F(StatementTest, RollsBackToACheckpoint) {
    Statement statement(ledger);
    ASSERT_TRUE(statement.assume(OwnerId::pod(8), part(kA, 0, 400)));
    const std::string kept = everything();
    const auto checkpoint = statement.checkpoint();
    ASSERT_TRUE(statement.release(OwnerId::pod(8)));
    ASSERT_TRUE(statement.release(OwnerId::pod(1)));
    ASSERT_TRUE(statement.assume(OwnerId::pod(9), part(kA, 1, 1000)));
    statement.roll_back(checkpoint);
    EXPECT_EQ(everything(), kept);
    statement.roll_back(checkpoint);  // nothing since
    EXPECT_EQ(everything(), kept);
    statement.commit();
    EXPECT_TRUE(ledger.knows(OwnerId::pod(8)));
}

TEST_F(StatementTest, RefusedMovesAreNoMoves) {
    Statement statement(ledger);
    EXPECT_FALSE(statement.assume(OwnerId::pod(9), part(kA, 0, 401)));
    EXPECT_FALSE(statement.release(OwnerId::pod(9)));
    EXPECT_EQ(statement.moves(), 0U);
    EXPECT_EQ(everything(), before);
}

// A gang whose members preempt, each try in a statement of its own.
TEST_F(StatementTest, Nests) {
    Statement gang(ledger);
    {
        Statement member(ledger);
        ASSERT_TRUE(member.release(OwnerId::pod(0)));
        ASSERT_TRUE(member.assume(OwnerId::pod(8), part(kA, 0, 1000)));
        member.commit();
    }
    const std::string one = everything();
    {
        Statement member(ledger);
        ASSERT_TRUE(member.release(OwnerId::pod(2)));
        ASSERT_TRUE(member.release(OwnerId::pod(8)));
        EXPECT_FALSE(member.assume(OwnerId::pod(9), part(kB, 1, 1000)));
    }
    EXPECT_EQ(everything(), one);
    gang.discard();
    EXPECT_EQ(everything(), before);
}

TEST_F(StatementTest, TakesBackUses) {
    ASSERT_TRUE(ledger.set_health(kA, GpuIndex(0), Health::ok));
    const OwnerId claim = OwnerId::claim(0);
    Placement devices;
    devices.node = kA;
    devices.pods = 0;
    ASSERT_TRUE(ledger.assume(claim, devices));
    ASSERT_TRUE(ledger.add_user(claim, OwnerId::pod(0)));
    ASSERT_TRUE(ledger.add_user(claim, OwnerId::pod(3)));
    {
        Statement statement(ledger);
        ASSERT_TRUE(statement.add_user(claim, OwnerId::pod(1)));
        ASSERT_TRUE(statement.drop_user(claim, OwnerId::pod(3)));
        ASSERT_TRUE(statement.release(OwnerId::pod(0)));
        EXPECT_THAT(ledger.users(claim), ElementsAre(OwnerId::pod(1)));
        ASSERT_TRUE(statement.release(claim));
        EXPECT_THAT(ledger.users(claim), IsEmpty());
    }
    EXPECT_THAT(ledger.users(claim), ElementsAre(OwnerId::pod(0), OwnerId::pod(3)));
    EXPECT_THAT(ledger.claims_of(OwnerId::pod(1)), IsEmpty());
}

TEST_F(StatementTest, EventsWaitForTheEnd) {
    Statement statement(ledger);
    EXPECT_DEATH((void)ledger.release(OwnerId::pod(0)), "between statements");
    Statement inner(ledger);
    EXPECT_DEATH((void)statement.release(OwnerId::pod(0)), "innermost");
}

}  // namespace
}  // namespace tessera
