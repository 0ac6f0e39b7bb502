#include "engine/rebuild.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Cluster two_nodes() {
    Cluster cluster;
    for (const char* name : {"a", "b"}) {
        NodeSpec spec;
        spec.name = name;
        spec.cpu = MilliCpu(32'000);
        spec.memory = MemoryMib(131'072);
        spec.gpus.resize(2);
        for (GpuSpec& gpu : spec.gpus) {
            gpu.memory = MemoryMib(16'384);
            gpu.mode = name[0] == 'b' ? AllocatorMode::claim : AllocatorMode::annotation;
        }
        cluster.add_node(std::move(spec));
    }
    return cluster;
}

Rebuild::Holding holding(std::uint32_t node, int milli, std::int64_t started, bool pod = true) {
    Rebuild::Holding held;
    held.placement.node = NodeIndex(node);
    held.placement.pods = pod ? 1 : 0;
    held.placement.grants.push_back(
        {RequestIndex(0), GpuIndex(0), MilliGpu(milli), MemoryMib(100)});
    held.started = Nanoseconds(started);
    return held;
}

TEST(Rebuild, TakesBothListsTogether) {
    Rebuild rebuild(two_nodes());
    EXPECT_THAT(rebuild.finish().error().message, HasSubstr("list of pods is not complete"));
    Rebuild::Holding ending = holding(0, 300, 20);
    ending.terminating = true;
    ASSERT_TRUE(rebuild.add_pod(OwnerId::pod(1), ending));
    const std::array users{OwnerId::pod(1), OwnerId::pod(5)};
    ASSERT_TRUE(rebuild.add_claim(OwnerId::claim(0), holding(1, 400, 30, false), users));
    rebuild.pods_complete();
    EXPECT_THAT(rebuild.finish().error().message, HasSubstr("list of claims is not complete"));
    rebuild.claims_complete();
    const Expected<Ledger> ledger = rebuild.finish();
    ASSERT_TRUE(ledger);
    EXPECT_EQ(ledger->find(OwnerId::pod(1))->state, OwnerState::terminating);
    EXPECT_EQ(ledger->find(OwnerId::claim(0))->state, OwnerState::confirmed);
    EXPECT_THAT(ledger->users(OwnerId::claim(0)), ElementsAre(OwnerId::pod(1), OwnerId::pod(5)));
    EXPECT_EQ(ledger->cluster().node(NodeIndex(1)).gpus[0].idle_milli, 600);
    EXPECT_THAT(ledger->verify(), IsEmpty());
}

TEST(Rebuild, ForeignersAndOurOwnMayExceed) {
    Rebuild rebuild(two_nodes());
    ASSERT_TRUE(rebuild.add_pod(OwnerId::pod(1), holding(0, 700, 1)));
    ASSERT_TRUE(rebuild.add_pod(OwnerId::foreign(1), holding(0, 700, 2)));
    ASSERT_TRUE(rebuild.add_claim(OwnerId::foreign(2), holding(1, 1000, 3, false)));
    ASSERT_TRUE(rebuild.add_claim(OwnerId::claim(2), holding(1, 1000, 4, false)));
    rebuild.pods_complete();
    rebuild.claims_complete();
    const Expected<Ledger> ledger = rebuild.finish();
    ASSERT_TRUE(ledger);
    EXPECT_THAT(ledger->over_committed(), ElementsAre(OverCommitment{NodeIndex(0), GpuIndex(0)},
                                                      OverCommitment{NodeIndex(1), GpuIndex(0)}));
    EXPECT_THAT(ledger->verify(), IsEmpty());
}

TEST(Rebuild, DoesNotDependOnTheListsOrder) {
    std::vector<std::uint64_t> starts[2];
    for (const bool backwards : {false, true}) {
        Rebuild rebuild(two_nodes());
        for (std::uint32_t i = 0; i < 8; ++i) {
            const std::uint32_t pod = backwards ? 7 - i : i;
            ASSERT_TRUE(rebuild.add_pod(OwnerId::pod(pod), holding(0, 100, pod / 3)));
        }
        rebuild.claims_complete();
        rebuild.pods_complete();
        const Expected<Ledger> ledger = rebuild.finish();
        ASSERT_TRUE(ledger);
        for (std::uint32_t pod = 0; pod < 8; ++pod) {
            starts[backwards ? 1 : 0].push_back(ledger->find(OwnerId::pod(pod))->start);
        }
    }
    EXPECT_EQ(starts[0], starts[1]);
}

TEST(Rebuild, NamesWhatIsFaulty) {
    Rebuild rebuild(two_nodes());
    EXPECT_FALSE(rebuild.add_pod(OwnerId::claim(1), holding(0, 1, 0)));
    EXPECT_FALSE(rebuild.add_claim(OwnerId::pod(1), holding(0, 1, 0)));
    EXPECT_FALSE(rebuild.add_pod(OwnerId::none(), holding(0, 1, 0)));
    ASSERT_TRUE(rebuild.add_pod(OwnerId::pod(1), holding(0, 1, 0)));
    ASSERT_TRUE(rebuild.add_pod(OwnerId::pod(1), holding(0, 2, 1)));
    ASSERT_TRUE(rebuild.add_pod(OwnerId::pod(3), holding(9, 1, 2)));
    ASSERT_TRUE(rebuild.add_pod(OwnerId::foreign(4), holding(0, -5, 3)));
    ASSERT_TRUE(rebuild.add_pod(OwnerId::pod(5), holding(0, 4, 4)));
    rebuild.pods_complete();
    EXPECT_EQ(rebuild.add_pod(OwnerId::pod(2), holding(0, 1, 0)).error().kind, ErrorKind::conflict);
    rebuild.claims_complete();
    EXPECT_FALSE(rebuild.add_claim(OwnerId::claim(1), holding(1, 1, 0, false)));
    const Expected<Ledger> ledger = rebuild.finish();
    ASSERT_TRUE(ledger);
    ASSERT_EQ(rebuild.faults().size(), 3U);
    EXPECT_THAT(rebuild.faults()[0].message, HasSubstr("pod 1: listed twice"));
    EXPECT_THAT(rebuild.faults()[1].message, HasSubstr("node 9 is not known"));
    EXPECT_THAT(rebuild.faults()[2].message, HasSubstr("-5 milli"));
    EXPECT_EQ(ledger->size(), 2U);
    EXPECT_EQ(ledger->cluster().use(NodeIndex(0), GpuIndex(0)).milli, 5);
}

}  // namespace
}  // namespace tessera
