#include "engine/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/test_cluster.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_cluster::pod_on;
using Outcome = Confirmation::Outcome;

constexpr GpuIndex kGpu0{0};
constexpr GpuIndex kGpu1{1};
constexpr RequestIndex kMain{0};
constexpr OwnerId kPod = OwnerId::pod(7);
constexpr OwnerId kClaim = OwnerId::claim(7);
constexpr OwnerId kForeign = OwnerId::foreign(7);

NodeSpec node_spec(const char* name, int gpus = 2) {
    return testing_cluster::make_node(name, {.gpus = gpus});
}

DeviceGrant part(GpuIndex gpu, int milli, std::int64_t mib = 0, RequestIndex request = kMain) {
    return {.request = request, .gpu = gpu, .milli = MilliGpu(milli), .memory = MemoryMib(mib)};
}

Placement claim_on(NodeIndex node, Grants grants) {
    Placement placement;
    placement.node = node;
    placement.pods = 0;
    placement.grants = std::move(grants);
    return placement;
}

class LedgerTest : public ::testing::Test, public NodeObserver {
  protected:
    LedgerTest() {
        NodeSpec claims = node_spec("claims");
        for (GpuSpec& gpu : claims.gpus) {
            gpu.mode = AllocatorMode::claim;
        }
        a = *ledger.add_node(node_spec("a"));
        b = *ledger.add_node(node_spec("b"));
        c = *ledger.add_node(claims);
        ledger.observe(this);
    }
    void TearDown() override { EXPECT_THAT(ledger.verify(), IsEmpty()); }
    void node_changed(NodeIndex node) override { told.push_back(node); }

    OwnerState state(OwnerId owner) const { return ledger.find(owner)->state; }
    int idle(NodeIndex node, GpuIndex gpu) const {
        return ledger.cluster().node(node).gpus[gpu.slot()].idle_milli;
    }

    Ledger ledger;
    NodeIndex a, b, c;
    std::vector<NodeIndex> told;
};

// The arrows of the drawing in ledger.h.

TEST_F(LedgerTest, AssumeThenConfirm) {
    const Placement place = pod_on(a, {part(kGpu1, 300, 1000)});
    ASSERT_TRUE(ledger.assume(kPod, place, {.deadline = Nanoseconds(100)}));
    EXPECT_EQ(state(kPod), OwnerState::assumed);
    EXPECT_EQ(idle(a, kGpu1), 700);
    const auto confirmed = ledger.confirm(kPod, place);
    ASSERT_TRUE(confirmed);
    EXPECT_EQ(confirmed->outcome, Outcome::confirmed);
    EXPECT_EQ(state(kPod), OwnerState::confirmed);
    EXPECT_EQ(idle(a, kGpu1), 700);
    EXPECT_THAT(ledger.expire(Nanoseconds(1000)), IsEmpty());  // a confirmed owner does not expire
    EXPECT_EQ(ledger.placement(kPod), place);
}

TEST_F(LedgerTest, ConfirmAgainChangesNothing) {
    const Placement place = pod_on(a, {part(kGpu1, 300, 1000)});
    ASSERT_TRUE(ledger.confirm(kPod, place));
    const ShareId share = ledger.shares(kPod).front().id;
    told.clear();
    EXPECT_EQ(ledger.confirm(kPod, place)->outcome, Outcome::unchanged);
    EXPECT_EQ(ledger.shares(kPod).front().id, share);
    EXPECT_THAT(told, IsEmpty());
}

TEST_F(LedgerTest, ConfirmAdoptsTheUnknown) {
    const auto adopted = ledger.confirm(kPod, pod_on(a, {part(kGpu0, 400)}));
    EXPECT_EQ(adopted->outcome, Outcome::adopted);
    EXPECT_EQ(state(kPod), OwnerState::confirmed);
    EXPECT_EQ(idle(a, kGpu0), 600);
}

TEST_F(LedgerTest, ConfirmElsewhereMovesThere) {
    ASSERT_TRUE(ledger.assume(kPod, pod_on(a, {part(kGpu0, 400)}), {.deadline = Nanoseconds(9)}));
    const std::uint64_t start = ledger.find(kPod)->start;
    told.clear();
    const auto moved = ledger.confirm(kPod, pod_on(b, {part(kGpu1, 500)}));
    EXPECT_EQ(moved->outcome, Outcome::moved);
    EXPECT_EQ(moved->from, a);
    EXPECT_THAT(told, ElementsAre(a, b));
    EXPECT_EQ(idle(a, kGpu0), 1000);
    EXPECT_EQ(idle(b, kGpu1), 500);
    EXPECT_EQ(ledger.find(kPod)->start, start);  // it is as old as it was
    EXPECT_THAT(ledger.expire(Nanoseconds(1000)), IsEmpty());
}

TEST_F(LedgerTest, ConfirmMovesWithinANodeAndTellsOnce) {
    ASSERT_TRUE(ledger.assume(kPod, pod_on(a, {part(kGpu0, 400)})));
    told.clear();
    EXPECT_EQ(ledger.confirm(kPod, pod_on(a, {part(kGpu1, 400)}))->outcome, Outcome::moved);
    EXPECT_THAT(told, ElementsAre(a));
}

TEST_F(LedgerTest, GrantsInAnotherOrderAreTheSame) {
    ASSERT_TRUE(ledger.assume(kPod, pod_on(a, {part(kGpu0, 100), part(kGpu1, 200)})));
    EXPECT_EQ(ledger.confirm(kPod, pod_on(a, {part(kGpu1, 200), part(kGpu0, 100)}))->outcome,
              Outcome::confirmed);
}

TEST_F(LedgerTest, AssumptionsExpireAtTheirOwnDeadlines) {
    ASSERT_TRUE(ledger.assume(OwnerId::pod(1), pod_on(a, {part(kGpu0, 100)}),
                              {.deadline = Nanoseconds(20)}));
    ASSERT_TRUE(ledger.assume(OwnerId::pod(2), pod_on(a, {part(kGpu0, 100)}),
                              {.deadline = Nanoseconds(10)}));
    ASSERT_TRUE(ledger.assume(OwnerId::pod(3), pod_on(b, {part(kGpu0, 100)}),
                              {.deadline = Nanoseconds(500)}));
    ASSERT_TRUE(ledger.assume(OwnerId::pod(4), pod_on(b, {part(kGpu0, 100)})));
    told.clear();
    EXPECT_THAT(ledger.expire(Nanoseconds(9)), IsEmpty());
    EXPECT_THAT(ledger.expire(Nanoseconds(20)), ElementsAre(OwnerId::pod(1), OwnerId::pod(2)));
    EXPECT_THAT(told, ElementsAre(a));
    EXPECT_EQ(idle(a, kGpu0), 1000);
    EXPECT_THAT(ledger.expire(Nanoseconds(1'000'000)), ElementsAre(OwnerId::pod(3)));
    EXPECT_TRUE(ledger.knows(OwnerId::pod(4)));  // none set: it waits
    EXPECT_TRUE(ledger.assume(OwnerId::pod(1), pod_on(b, {part(kGpu1, 100)})));  // again
}

TEST_F(LedgerTest, DeadlinesCanBeMovedWhileAssumed) {
    ASSERT_TRUE(ledger.assume(kPod, pod_on(a, {}), {.deadline = Nanoseconds(10)}));
    EXPECT_TRUE(ledger.set_deadline(kPod, Nanoseconds(50)));
    EXPECT_THAT(ledger.expire(Nanoseconds(49)), IsEmpty());
    EXPECT_TRUE(ledger.set_deadline(kPod, kNoDeadline));
    EXPECT_THAT(ledger.expire(Nanoseconds(51)), IsEmpty());
    EXPECT_TRUE(ledger.set_deadline(kPod, Nanoseconds(52)));
    ASSERT_TRUE(ledger.confirm(kPod, pod_on(a, {})));
    EXPECT_EQ(ledger.set_deadline(kPod, Nanoseconds(60)).error().kind, ErrorKind::conflict);
    EXPECT_EQ(ledger.set_deadline(kClaim, Nanoseconds(60)).error().kind, ErrorKind::not_found);
}

TEST_F(LedgerTest, TerminatingOwnersHoldUntilReleased) {
    for (const bool confirmed : {false, true}) {
        const Placement place = pod_on(a, {part(kGpu0, 1000)});
        ASSERT_TRUE(ledger.assume(kPod, place, {.deadline = Nanoseconds(10)}));
        if (confirmed) {
            ASSERT_TRUE(ledger.confirm(kPod, place));
        }
        ASSERT_TRUE(ledger.terminate(kPod));
        ASSERT_TRUE(ledger.terminate(kPod));
        EXPECT_EQ(state(kPod), OwnerState::terminating);
        EXPECT_THAT(ledger.expire(Nanoseconds(1000)), IsEmpty());
        EXPECT_EQ(idle(a, kGpu0), 0);
        EXPECT_EQ(ledger.confirm(kPod, place)->outcome, Outcome::unchanged);
        EXPECT_EQ(state(kPod), OwnerState::terminating);
        EXPECT_EQ(ledger.confirm(kPod, pod_on(a, {part(kGpu1, 1000)}))->outcome, Outcome::moved);
        EXPECT_EQ(state(kPod), OwnerState::terminating);
        EXPECT_EQ(idle(a, kGpu1), 0);
        ASSERT_TRUE(ledger.release(kPod));
        EXPECT_EQ(idle(a, kGpu1), 1000);
    }
    EXPECT_EQ(ledger.terminate(kPod).error().kind, ErrorKind::not_found);
}

TEST_F(LedgerTest, ReleaseFromEveryState) {
    const Placement place = pod_on(a, {part(kGpu0, 500, 2000)});
    ASSERT_TRUE(ledger.assume(kPod, place));
    ASSERT_TRUE(ledger.release(kPod));
    ASSERT_TRUE(ledger.confirm(kPod, place));
    ASSERT_TRUE(ledger.release(kPod));
    EXPECT_EQ(idle(a, kGpu0), 1000);
    EXPECT_EQ(ledger.release(kPod).error().kind, ErrorKind::not_found);
    EXPECT_EQ(ledger.release(OwnerId::none()).error().kind, ErrorKind::not_found);
    EXPECT_EQ(ledger.size(), 0U);
}

// What is refused, and leaves everything as it was.

TEST_F(LedgerTest, WeNeverGrantMoreThanThereIs) {
    ASSERT_TRUE(ledger.assume(kPod, pod_on(a, {part(kGpu0, 700, 10'000)})));
    told.clear();
    const auto milli = ledger.assume(OwnerId::pod(1), pod_on(a, {part(kGpu0, 301)}));
    EXPECT_EQ(milli.error().kind, ErrorKind::conflict);
    EXPECT_THAT(milli.error().message, HasSubstr("GPU 0 of node \"a\" has 700 of 1000 milli"));
    EXPECT_FALSE(ledger.assume(OwnerId::pod(1), pod_on(a, {part(kGpu0, 1, 6385)})));
    EXPECT_FALSE(ledger.assume(OwnerId::pod(1), pod_on(a, {part(GpuIndex(2), 1)})));
    Placement big = pod_on(a, {});
    big.cpu = MilliCpu(31'001);
    EXPECT_THAT(ledger.assume(OwnerId::pod(1), big).error().message, HasSubstr("31000"));
    EXPECT_THAT(told, IsEmpty());
    EXPECT_EQ(ledger.size(), 1U);
}

TEST_F(LedgerTest, AnOwnerIsThereOnce) {
    ASSERT_TRUE(ledger.assume(kPod, pod_on(a, {})));
    EXPECT_THAT(ledger.assume(kPod, pod_on(b, {})).error().message,
                HasSubstr("pod 7: already assumed on node \"a\""));
}

TEST_F(LedgerTest, RefusesWhatNoOneCanHold) {
    EXPECT_FALSE(ledger.assume(OwnerId::none(), pod_on(a, {})));
    EXPECT_FALSE(ledger.assume(kPod, pod_on(NodeIndex(3), {})));
    EXPECT_FALSE(ledger.assume(kPod, pod_on(NodeIndex::none(), {})));
    for (const DeviceGrant& grant :
         {part(kGpu0, -1), part(kGpu0, 1001), part(kGpu0, 1, -1), part(kGpu0, 1, kMaxAmount + 1),
          part(GpuIndex(16), 1), part(GpuIndex::none(), 1)}) {
        EXPECT_EQ(ledger.assume(kPod, pod_on(a, {grant})).error().kind, ErrorKind::invalid);
        EXPECT_EQ(ledger.confirm(kForeign, pod_on(a, {grant})).error().kind, ErrorKind::invalid);
    }
    DeviceGrant spare = part(kGpu0, 1);
    spare.spare[2] = -1;
    EXPECT_FALSE(ledger.confirm(kForeign, pod_on(a, {spare})));
    Placement negative = pod_on(a, {});
    negative.memory = MemoryMib(-1);
    EXPECT_FALSE(ledger.confirm(kForeign, negative));
    EXPECT_FALSE(ledger.assume(kForeign, pod_on(a, {})));
    Placement none = pod_on(a, {});
    none.pods = 0;
    EXPECT_FALSE(ledger.assume(kPod, none));
    EXPECT_FALSE(ledger.confirm(kPod, pod_on(a, Grants(kMaxGrantsPerOwner + 1, part(kGpu0, 0)))));
}

TEST_F(LedgerTest, EachDeviceHasOneAllocator) {
    EXPECT_THAT(ledger.assume(kPod, pod_on(c, {part(kGpu0, 100)})).error().message,
                HasSubstr("handed out by claims, not by annotations"));
    EXPECT_FALSE(ledger.assume(kClaim, claim_on(a, {part(kGpu0, 100)})));
    EXPECT_TRUE(ledger.assume(kClaim, claim_on(c, {part(kGpu0, 100)})));
    EXPECT_TRUE(ledger.assume(kPod, pod_on(c, {})));  // its cores are no device
    // The API's word is recorded all the same, and said to be wrong.
    EXPECT_TRUE(ledger.confirm(OwnerId::pod(8), pod_on(c, {part(kGpu1, 1)}))->wrong_allocator);
    EXPECT_FALSE(ledger.confirm(kForeign, pod_on(c, {part(kGpu1, 1)}))->wrong_allocator);
}

TEST_F(LedgerTest, HealthKeepsNewSharesAwayUnlessTolerated) {
    const Placement place = pod_on(a, {part(kGpu0, 100)});
    ASSERT_TRUE(ledger.assume(OwnerId::pod(1), place));
    ASSERT_TRUE(ledger.set_health(a, kGpu0, Health::no_new));
    EXPECT_THAT(ledger.assume(kPod, place).error().message, HasSubstr("health \"no_new\""));
    EXPECT_TRUE(ledger.assume(OwnerId::pod(2), place, {.tolerates = Health::no_new}));
    EXPECT_THAT(ledger.shares_to_evict(a), IsEmpty());
    ASSERT_TRUE(ledger.set_health(a, kGpu0, Health::evict));
    EXPECT_FALSE(ledger.assume(kPod, place, {.tolerates = Health::no_new}));
    EXPECT_TRUE(ledger.assume(OwnerId::pod(3), place, {.tolerates = Health::evict}));
    EXPECT_TRUE(ledger.assume(OwnerId::pod(4), pod_on(a, {part(kGpu1, 100)})));
    std::vector<OwnerId> out;
    for (const ShareView& share : ledger.shares_to_evict(a)) {
        out.push_back(share.owner);
    }
    EXPECT_THAT(out, ElementsAre(OwnerId::pod(2), OwnerId::pod(1)));
    ASSERT_TRUE(ledger.set_health(a, kGpu0, Health::ok));
    EXPECT_THAT(ledger.shares_to_evict(a), IsEmpty());
    EXPECT_FALSE(ledger.set_health(a, GpuIndex(2), Health::ok));
}

// Owners of other kinds.

TEST_F(LedgerTest, AClaimOutlivesItsUsers) {
    ASSERT_TRUE(ledger.assume(kClaim, claim_on(c, {part(kGpu0, 500)})));
    ASSERT_TRUE(ledger.assume(kPod, pod_on(c, {})));
    ASSERT_TRUE(ledger.add_user(kClaim, kPod));
    ASSERT_TRUE(ledger.add_user(kClaim, kPod));
    ASSERT_TRUE(ledger.add_user(kClaim, OwnerId::pod(9)));  // reserved, not yet bound
    EXPECT_THAT(ledger.users(kClaim), ElementsAre(kPod, OwnerId::pod(9)));
    EXPECT_THAT(ledger.claims_of(kPod), ElementsAre(kClaim));
    ASSERT_TRUE(ledger.release(kPod));
    ASSERT_TRUE(ledger.release(OwnerId::pod(9)));
    EXPECT_THAT(ledger.users(kClaim), IsEmpty());
    EXPECT_EQ(idle(c, kGpu0), 500);  // the share ends when the claim is released
    ASSERT_TRUE(ledger.release(kClaim));
    EXPECT_EQ(idle(c, kGpu0), 1000);
}

TEST_F(LedgerTest, AClaimsEndLeavesItsPods) {
    ASSERT_TRUE(ledger.confirm(kClaim, claim_on(c, {part(kGpu0, 500)})));
    ASSERT_TRUE(ledger.confirm(kPod, pod_on(c, {})));
    ASSERT_TRUE(ledger.add_user(kClaim, kPod));
    // A claim that moves keeps its users.
    ASSERT_EQ(ledger.confirm(kClaim, claim_on(c, {part(kGpu1, 5)}))->outcome, Outcome::moved);
    EXPECT_THAT(ledger.users(kClaim), ElementsAre(kPod));
    ASSERT_TRUE(ledger.release(kClaim));
    EXPECT_TRUE(ledger.knows(kPod));
    EXPECT_THAT(ledger.claims_of(kPod), IsEmpty());
    EXPECT_EQ(ledger.add_user(kClaim, kPod).error().kind, ErrorKind::not_found);
    EXPECT_TRUE(ledger.drop_user(kClaim, kPod));
}

TEST_F(LedgerTest, AClaimHasAtMost256Users) {
    ASSERT_TRUE(ledger.confirm(kClaim, claim_on(c, {})));
    for (std::uint32_t pod = 0; pod < 256; ++pod) {
        ASSERT_TRUE(ledger.add_user(kClaim, OwnerId::pod(pod)));
    }
    EXPECT_TRUE(ledger.add_user(kClaim, OwnerId::pod(3)));  // is one already
    EXPECT_EQ(ledger.add_user(kClaim, OwnerId::pod(256)).error().kind, ErrorKind::conflict);
    ASSERT_TRUE(ledger.drop_user(kClaim, OwnerId::pod(3)));
    EXPECT_TRUE(ledger.add_user(kClaim, OwnerId::pod(256)));
    EXPECT_FALSE(ledger.add_user(kPod, kPod));
    EXPECT_FALSE(ledger.add_user(kClaim, kForeign));
    EXPECT_FALSE(ledger.drop_user(kForeign, kPod));
}

TEST_F(LedgerTest, AClaimHoldsDevicesOnly) {
    EXPECT_FALSE(ledger.assume(kClaim, pod_on(c, {})));
    ASSERT_TRUE(ledger.assume(kClaim, claim_on(c, {part(kGpu0, 500)})));
    EXPECT_EQ(ledger.cluster().node(c).free_pods, 110);
}

TEST_F(LedgerTest, ForeignersMayTakeTooMuchAndStopNobody) {
    ASSERT_TRUE(ledger.assume(kPod, pod_on(a, {part(kGpu0, 600)})));
    Placement hog = pod_on(a, {part(kGpu0, 900, 100'000)});
    hog.cpu = MilliCpu(100'000);
    const auto taken = ledger.confirm(kForeign, hog);
    ASSERT_TRUE(taken);
    EXPECT_TRUE(taken->over_committed);
    EXPECT_THAT(ledger.over_committed(),
                ElementsAre(OverCommitment{a, GpuIndex::none()}, OverCommitment{a, kGpu0}));
    EXPECT_EQ(idle(a, kGpu0), 0);
    EXPECT_EQ(ledger.cluster().node(a).free_cpu_milli, 0);
    EXPECT_TRUE(ledger.confirm(kPod, pod_on(a, {part(kGpu0, 600)})));
    EXPECT_TRUE(ledger.assume(OwnerId::pod(8), pod_on(b, {part(kGpu0, 1000)})));
    Placement no_cores = pod_on(a, {part(kGpu1, 1000)});
    no_cores.cpu = MilliCpu(0);
    EXPECT_TRUE(ledger.assume(OwnerId::pod(9), no_cores));
    ASSERT_TRUE(ledger.release(kForeign));
    EXPECT_THAT(ledger.over_committed(), IsEmpty());
    EXPECT_EQ(idle(a, kGpu0), 400);
}

TEST_F(LedgerTest, AdminAccessIsListedAndOccupiesNothing) {
    ASSERT_TRUE(ledger.assume(kPod, pod_on(a, {part(kGpu0, 1000)})));
    Placement admin = pod_on(a, {part(kGpu0, 1000)});
    admin.admin_access = true;
    ASSERT_TRUE(ledger.assume(OwnerId::pod(8), admin));
    const auto users = ledger.shares_on(a, kGpu0);
    ASSERT_EQ(users.size(), 2U);
    EXPECT_TRUE(users[0].admin_access);
    EXPECT_EQ(users[0].owner, OwnerId::pod(8));
    EXPECT_EQ(ledger.cluster().use(a, kGpu0).shares, 1);
    ASSERT_TRUE(ledger.release(kPod));
    EXPECT_EQ(idle(a, kGpu0), 1000);
}

// Shares.

TEST_F(LedgerTest, SharesHaveIdsOfTheirOwn) {
    const RequestIndex side(1);
    // Two requests of one pod on one device, and two grants of one request.
    ASSERT_TRUE(ledger.assume(
        kPod, pod_on(a, {part(kGpu0, 100), part(kGpu0, 200, 0, side), part(kGpu1, 300, 0, side)})));
    const std::vector<ShareView> shares = ledger.shares(kPod);
    ASSERT_EQ(shares.size(), 3U);
    EXPECT_NE(shares[0].id, shares[1].id);
    EXPECT_EQ(ledger.grants(kPod, kMain), Grants{part(kGpu0, 100)});
    EXPECT_EQ(ledger.grants(kPod, side),
              (Grants{part(kGpu0, 200, 0, side), part(kGpu1, 300, 0, side)}));
    EXPECT_EQ(ledger.cluster().use(a, kGpu0).shares, 2);
    EXPECT_EQ(ledger.share(shares[1].id)->grant.milli, MilliGpu(200));
    EXPECT_EQ(ledger.share_count(), 3U);
    ASSERT_TRUE(ledger.release(kPod));
    EXPECT_FALSE(ledger.share(shares[1].id));
    // Slots are reused, ids are not.
    ASSERT_TRUE(ledger.assume(kPod, pod_on(a, {part(kGpu0, 100), part(kGpu0, 100)})));
    for (const ShareView& share : ledger.shares(kPod)) {
        for (const ShareView& old : shares) {
            EXPECT_NE(share.id, old.id);
        }
    }
    EXPECT_FALSE(ledger.share(ShareId::none()));
}

TEST_F(LedgerTest, SpareAmountsAreKept) {
    NodeSpec spec = node_spec("mig", 1);
    spec.gpus[0].spare = {7, 4, 0};
    const NodeIndex mig = *ledger.add_node(spec);
    DeviceGrant slice = part(kGpu0, 142);
    slice.spare = {1, 0, 0};
    ASSERT_TRUE(ledger.assume(kPod, pod_on(mig, {slice, part(kGpu0, 100)})));
    EXPECT_EQ(ledger.placement(kPod)->grants[0].spare, (SpareAmounts{1, 0, 0}));
    EXPECT_EQ(ledger.placement(kPod)->grants[1].spare, SpareAmounts{});
    slice.spare = {7, 0, 0};
    EXPECT_FALSE(ledger.assume(OwnerId::pod(8), pod_on(mig, {slice})));
}

// Nodes.

TEST_F(LedgerTest, NodesChangeUnderTheirOwners) {
    ASSERT_TRUE(ledger.assume(kPod, pod_on(a, {part(kGpu1, 1000)})));
    told.clear();
    ASSERT_TRUE(ledger.update_node(a, node_spec("a", 1)));
    EXPECT_THAT(told, ElementsAre(a));
    EXPECT_THAT(ledger.over_committed(), ElementsAre(OverCommitment{a, kGpu1}));
    ASSERT_TRUE(ledger.remove_node(a));
    EXPECT_THAT(ledger.over_committed(), IsEmpty());
    EXPECT_THAT(ledger.assume(OwnerId::pod(8), pod_on(a, {})).error().message, HasSubstr("gone"));
    ASSERT_TRUE(ledger.release(kPod));
    EXPECT_FALSE(ledger.update_node(NodeIndex(9), node_spec("x")));
    EXPECT_FALSE(ledger.remove_node(NodeIndex(9)));
    EXPECT_FALSE(ledger.add_node(node_spec("x", 17)));
    EXPECT_FALSE(ledger.update_node(b, node_spec("b", 17)));
}

TEST_F(LedgerTest, PodsCostLittle) {
    NodeSpec big = node_spec("big", 8);
    big.pods = 100'000;
    big.cpu = MilliCpu(kMaxAmount);
    big.memory = MemoryMib(kMaxAmount);
    const NodeIndex node = *ledger.add_node(big);
    constexpr std::uint32_t kPods = 10'000;
    for (std::uint32_t pod = 100; pod < 100 + kPods; ++pod) {
        const GpuIndex gpu(static_cast<std::uint8_t>(pod % 8));
        ASSERT_TRUE(ledger.assume(OwnerId::pod(pod), pod_on(node, {part(gpu, 0, 1)})));
    }
    EXPECT_LE(ledger.memory_bytes() / kPods, 256U);
    Ledger eights;
    const NodeIndex wide = *eights.add_node(big);
    Placement all = pod_on(wide, {});
    for (std::uint8_t gpu = 0; gpu < 8; ++gpu) {
        all.grants.push_back(part(GpuIndex(gpu), 0, 1));
    }
    for (std::uint32_t pod = 0; pod < 1024; ++pod) {  // arrays are full: no slack to count
        ASSERT_TRUE(eights.assume(OwnerId::pod(pod), all));
    }
    EXPECT_LE(eights.memory_bytes() / 1024, 512U);
}

}  // namespace
}  // namespace tessera
