#include "engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/explain.h"
#include "engine/statement.h"
#include "policy/registry.h"
#include "policy/test_world.h"

namespace tessera {
namespace {

using testing::demand_of;
using testing::gpu_request;
using testing::node_spec;

std::unique_ptr<Policy> policy(std::string_view name, std::span<const ClassCount> mix = {}) {
    auto made = make_policy(name, {.mix = mix});
    EXPECT_TRUE(made.has_value());
    return std::move(*made);
}

TEST(Engine, PlacesAndTakesBack) {
    Engine engine({node_spec(2, 8'000), node_spec(8, 96'000)}, policy("binpack"));
    const ClassIndex two = engine.intern(demand_of(4'000, {gpu_request(2, 1000)}));
    EXPECT_EQ(engine.fitting_nodes(two), 2);
    ASSERT_TRUE(engine.arrive(PodIndex(0), two));
    EXPECT_EQ(engine.placement(PodIndex(0))->node, NodeIndex(0));
    EXPECT_EQ(engine.fitting_nodes(two), 1);
    ASSERT_TRUE(engine.arrive(PodIndex(1), two));
    EXPECT_EQ(engine.placement(PodIndex(1))->node, NodeIndex(1));
    engine.depart(PodIndex(0));
    EXPECT_FALSE(engine.placement(PodIndex(0)).has_value());
    EXPECT_EQ(engine.fitting_nodes(two), 2);
    EXPECT_TRUE(engine.placer().consistent());
}

// Remembers what it was told: how many of each class came and have not left.
class Listener final : public Policy {
  public:
    explicit Listener(std::vector<int>& told) : told_(told), scores_(policy("binpack")) {}
    std::string_view name() const override { return "listener"; }
    std::shared_ptr<const Scorer> scorer(const Catalog& catalog) override {
        return scores_->scorer(catalog);
    }
    void arrived(ClassIndex demand_class) override {
        told_.resize(std::max(told_.size(), demand_class.slot() + 1));
        ++told_[demand_class.slot()];
    }
    void departed(ClassIndex demand_class) override { --told_.at(demand_class.slot()); }

  private:
    std::vector<int>& told_;
    std::unique_ptr<Policy> scores_;
};

TEST(Engine, APolicyMayChangeWhilePodsRun) {
    Engine engine({node_spec(4, 64'000), node_spec(4, 64'000)}, policy("binpack"));
    const ClassIndex half = engine.intern(demand_of(1'000, {gpu_request(1, 500)}));
    ASSERT_TRUE(engine.arrive(PodIndex(0), half) && engine.arrive(PodIndex(1), half));
    EXPECT_EQ(engine.placement(PodIndex(1))->node, NodeIndex(0));
    engine.set_policy(policy("spread"));
    ASSERT_TRUE(engine.arrive(PodIndex(2), half));
    EXPECT_EQ(engine.placement(PodIndex(2))->node, NodeIndex(1));
    EXPECT_TRUE(engine.placer().consistent());
}

TEST(Engine, ANewPolicyKnowsTheMixSoFar) {
    Engine engine({node_spec(4, 64'000)}, policy("binpack"));
    const ClassIndex common = engine.intern(demand_of(1'000, {gpu_request(1, 500)}));
    const ClassIndex rare = engine.intern(demand_of(2'000, {gpu_request(1, 500)}));
    for (int i = 0; i < 30'000; ++i) {
        engine.observe(i % 100 == 0 ? rare : common);
    }
    std::vector<int> told;
    engine.set_policy(std::make_unique<Listener>(told));
    ASSERT_EQ(told.size(), 2U);
    EXPECT_NEAR(told[common.slot()], 99 * told[rare.slot()], told[common.slot()] / 50);
    EXPECT_LE(told[common.slot()] + told[rare.slot()], 6'400 + 2);
}

GpuRequest named(std::uint32_t name, GpuRequest request) {
    request.name = RequestIndex(static_cast<RequestIndex::rep>(name));
    return request;
}

TEST(Engine, ClassesThatNobodyHasAreLetGo) {
    Engine engine({node_spec(8, 96'000), node_spec(8, 96'000)}, policy("binpack"));
    for (int milli = 1; milli <= 600; ++milli) {
        engine.arrive(PodIndex(0), engine.intern(demand_of(0, {gpu_request(1, milli)})));
        engine.depart(PodIndex(0));
    }
    const ClassIndex kept = engine.intern(demand_of(0, {gpu_request(1, 400)}));
    ASSERT_TRUE(engine.arrive(PodIndex(1), kept));
    std::vector<int> told;
    const auto now = engine.keep_only(kFirstPolicy, {}, std::make_unique<Listener>(told));
    EXPECT_EQ(engine.placer().classes().size(), 1U);
    ASSERT_TRUE(now.at(kept.slot()).valid());
    EXPECT_EQ(engine.placer().classes()[now[kept.slot()]].milli, MilliGpu(400));
    EXPECT_FALSE(now.at(kept.slot() + 1).valid());
    EXPECT_EQ(told, std::vector<int>{2});  // also the one that has left
    EXPECT_TRUE(engine.placer().consistent());
    engine.depart(PodIndex(1));
    EXPECT_EQ(told, std::vector<int>{1});
}

TEST(Engine, ContainersFindTheirDevicesInTheLedger) {
    for (const PolicyInfo& info : known_policies()) {
        SCOPED_TRACE(info.name);
        const Demand demand =
            demand_of(4'000, {named(7, gpu_request(2, 1000)), named(3, gpu_request(0, 1000)),
                              named(5, gpu_request(1, 500)), named(9, gpu_request(1, 1000))});
        const std::vector<ClassCount> mix{{demand_class(demand), 1}};
        Engine engine({node_spec(8, 96'000)}, policy(info.name, mix));
        const auto placement = engine.place(PodIndex(4), demand);
        ASSERT_TRUE(placement.has_value());
        EXPECT_EQ(engine.placement(PodIndex(4)), placement);
        const auto held = [&](std::uint32_t name) {
            return engine.ledger().grants(OwnerId::pod(4), named(name, {}).name);
        };
        ASSERT_EQ(placement->grants.size(), 4U);
        EXPECT_EQ(held(7), Grants({placement->grants[0], placement->grants[1]}));
        EXPECT_EQ(held(5), Grants({placement->grants[2]}));
        EXPECT_EQ(held(9), Grants({placement->grants[3]}));
        EXPECT_TRUE(held(3).empty());
        EXPECT_EQ(held(9)[0].milli, kWholeGpu);
        engine.depart(PodIndex(4));
        EXPECT_TRUE(held(7).empty());
    }
}

// The first that fits anywhere, not the one that fits best.
TEST(Engine, AlternativesAreTriedInOrder) {
    Demand demand = demand_of(1'000, {named(1, gpu_request(4, 1000))});
    demand.alternatives.push_back({{named(2, gpu_request(2, 1000))}});
    demand.alternatives.push_back({{named(3, gpu_request(1, 500))}});
    std::vector<int> told;
    Engine engine({node_spec(2, 64'000), node_spec(4, 64'000)}, std::make_unique<Listener>(told));
    std::vector<std::pair<int, std::uint32_t>> served;  // alternative, node
    for (std::uint32_t pod = 0; pod < 3; ++pod) {
        const auto placement = engine.place(PodIndex(pod), demand);
        if (placement) {
            served.emplace_back(placement->alternative, placement->node.value());
            EXPECT_EQ(engine.placement(PodIndex(pod))->alternative, placement->alternative);
            EXPECT_EQ(placement->grants[0].request,
                      demand.alternatives[placement->alternative].requests[0].name);
        }
    }
    EXPECT_EQ(served, (std::vector<std::pair<int, std::uint32_t>>{{0, 1}, {1, 0}}));
    engine.depart(PodIndex(1));
    ASSERT_TRUE(engine.arrive(PodIndex(5), engine.intern(demand_of(0, {gpu_request(2, 600)}))));
    EXPECT_FALSE(engine.place_again(PodIndex(2), demand).has_value());
    engine.depart(PodIndex(5));
    ASSERT_TRUE(engine.arrive(PodIndex(5), engine.intern(demand_of(0, {gpu_request(2, 500)}))));
    EXPECT_EQ(engine.place_again(PodIndex(2), demand)->alternative, 2);
    // The policy heard of three such pods, of which one has left, and of no other alternative.
    EXPECT_EQ(told[engine.intern(demand).slot()], 2);
    told.resize(engine.placer().classes().size());
    for (std::size_t i = 1; i < 3; ++i) {
        EXPECT_EQ(told[engine.intern(demand_class(demand, i)).slot()], 0);
    }
    EXPECT_TRUE(engine.placer().consistent());
}

TEST(Engine, ADeparturesClassIsThatOfTheArrival) {
    std::vector<int> told;
    Demand demand = demand_of(1'000, {gpu_request(4, 1000)});
    demand.alternatives.push_back({{gpu_request(1, 500)}});
    Engine engine({node_spec(2, 64'000)}, std::make_unique<Listener>(told));
    ASSERT_EQ(engine.place(PodIndex(0), demand)->alternative, 1);
    engine.depart(PodIndex(0));
    EXPECT_EQ(told[engine.intern(demand).slot()], 0);
}

TEST(Engine, ADemandWithoutGpusIsPlacedToo) {
    Engine engine({node_spec(1, 8'000)}, policy("tessera"));
    const auto placement = engine.place(PodIndex(0), demand_of(8'000));
    ASSERT_TRUE(placement.has_value());
    EXPECT_TRUE(placement->grants.empty());
    EXPECT_FALSE(engine.place(PodIndex(1), demand_of(1)).has_value());
}

TEST(Engine, ANodeThatComesLaterIsUsed) {
    for (const PolicyInfo& info : known_policies()) {
        SCOPED_TRACE(info.name);
        const std::vector<ClassCount> mix{
            {demand_class(demand_of(4'000, {gpu_request(4, 1000)})), 1}};
        Engine engine({node_spec(2, 8'000)}, policy(info.name, mix));
        const ClassIndex four = engine.intern(demand_of(4'000, {gpu_request(4, 1000)}));
        EXPECT_FALSE(engine.arrive(PodIndex(0), four));
        NodeSpec late = node_spec(4, 32'000);
        late.gpus[0] = late.gpus[1] = late.gpus[2] = late.gpus[3] =
            testing::gpu_spec(ModelIndex(5), 81'920);
        ASSERT_TRUE(engine.add_node(late).has_value());
        EXPECT_TRUE(engine.try_place(PodIndex(0), four));
        EXPECT_TRUE(engine.placer().consistent());
    }
}

// Room for new nodes grows with the cluster: a thousand that come one by one are few rebuilds.
TEST(Engine, LikeNodesJoinWithoutANewIndex) {
    Engine engine({node_spec(2, 8'000)}, policy("binpack"));
    const ClassIndex two = engine.intern(demand_of(4'000, {gpu_request(2, 1000)}));
    for (std::uint32_t n = 1; n <= 1'000; ++n) {
        ASSERT_TRUE(engine.arrive(PodIndex(n), two)) << n;
        EXPECT_EQ(engine.placement(PodIndex(n))->node, NodeIndex(n - 1));
        EXPECT_FALSE(engine.try_place(PodIndex(n + 1), two));
        ASSERT_TRUE(engine.add_node(node_spec(2, 8'000)).has_value());
    }
    EXPECT_LE(engine.placer().counters().rebuilds, 12U);
    EXPECT_TRUE(engine.placer().consistent());
}

TEST(Engine, HealthKeepsPodsAwayAndLetsThemBack) {
    Engine engine({node_spec(1, 8'000)}, policy("tessera"));
    const ClassIndex one = engine.intern(demand_of(1'000, {gpu_request(1, 300)}));
    ASSERT_TRUE(engine.arrive(PodIndex(0), one));
    ASSERT_TRUE(engine.set_health(NodeIndex(0), GpuIndex(0), Health::no_new).has_value());
    EXPECT_FALSE(engine.arrive(PodIndex(1), one));
    EXPECT_TRUE(engine.placement(PodIndex(0)).has_value());  // what it has, it keeps
    Demand tolerant = demand_of(1'000, {gpu_request(1, 300)});
    tolerant.tolerates = Health::no_new;
    EXPECT_TRUE(engine.arrive(PodIndex(2), engine.intern(tolerant)));
    ASSERT_TRUE(engine.set_health(NodeIndex(0), GpuIndex(0), Health::evict).has_value());
    EXPECT_FALSE(engine.arrive(PodIndex(3), engine.intern(tolerant)));
    tolerant.tolerates = Health::evict;
    EXPECT_TRUE(engine.arrive(PodIndex(3), engine.intern(tolerant)));
    const auto leaving = engine.ledger().shares_to_evict(NodeIndex(0));
    EXPECT_EQ(leaving.size(), 2U) << "the one that tolerates it stays";
    EXPECT_TRUE(std::none_of(leaving.begin(), leaving.end(), [](const ShareView& share) {
        return share.owner == OwnerId::pod(3);
    }));
    engine.depart(PodIndex(3));
    ASSERT_TRUE(engine.set_health(NodeIndex(0), GpuIndex(0), Health::ok).has_value());
    EXPECT_TRUE(engine.arrive(PodIndex(1), one));
    EXPECT_FALSE(engine.set_health(NodeIndex(0), GpuIndex(1), Health::ok).has_value());
    EXPECT_FALSE(engine.set_health(NodeIndex(1), GpuIndex(0), Health::ok).has_value());
}

TEST(Engine, ATolerationOutlivesTheConfirmation) {
    Engine engine({node_spec(1, 8'000)}, policy("binpack"));
    Demand tolerant = demand_of(1'000, {gpu_request(1, 300)});
    tolerant.tolerates = Health::evict;
    const ClassIndex wanted = engine.intern(tolerant);
    const auto placement = engine.place(PodIndex(0), tolerant);
    ASSERT_TRUE(placement.has_value());
    const auto tolerated = [&] { return engine.ledger().find(OwnerId::pod(0))->tolerates; };
    EXPECT_EQ(tolerated(), Health::evict);
    ASSERT_TRUE(engine.confirm(PodIndex(0), {kFirstPolicy, wanted, *placement}));
    EXPECT_EQ(tolerated(), Health::evict);
    // Nothing says what the pod's class is now.
    ASSERT_TRUE(engine.confirm(PodIndex(0), {kFirstPolicy, ClassIndex::none(), *placement}));
    EXPECT_EQ(tolerated(), Health::evict);
    ASSERT_TRUE(engine.set_health(NodeIndex(0), GpuIndex(0), Health::evict).has_value());
    EXPECT_TRUE(engine.ledger().shares_to_evict(NodeIndex(0)).empty());
}

// A claim has an index of its own: pod 3 and claim 3 are strangers.
TEST(Engine, AnExpiredClaimIsNoPod) {
    NodeSpec spec = node_spec(2, 8'000);
    spec.gpus[1].mode = AllocatorMode::claim;
    std::vector<int> told;
    Engine engine({spec}, std::make_unique<Listener>(told));
    const Demand demand = demand_of(1'000, {gpu_request(1, 300)});
    ASSERT_TRUE(engine.place(PodIndex(3), demand));
    Placement held;
    held.node = NodeIndex(0);
    held.pods = 0;
    held.grants.push_back({.request = RequestIndex::none(),
                           .gpu = GpuIndex(1),
                           .milli = MilliGpu(500),
                           .memory = MemoryMib(0)});
    Statement statement(engine.ledger_for_statement());
    ASSERT_TRUE(statement.assume(OwnerId::claim(3), held, {.deadline = Nanoseconds(10)}));
    statement.commit();
    EXPECT_TRUE(engine.expire(Nanoseconds(10)).empty());
    EXPECT_FALSE(engine.ledger().knows(OwnerId::claim(3)));
    engine.depart(PodIndex(3));
    EXPECT_EQ(told, std::vector<int>{0}) << "the policy hears of the pod's end";
}

// KubeShare keeps the guaranteed pods of a group together: by what stands idle alone, the second
// would go to the first node.
class KeptTogether : public ::testing::Test {
  protected:
    static std::vector<NodeSpec> nodes() {
        std::vector<NodeSpec> nodes(3, node_spec(4, 64'000));
        nodes[0].name = "a";
        nodes[1].name = "b";
        nodes[2].name = "c";
        return nodes;
    }
    static Demand member(ServiceClass service, std::uint32_t group = 0) {
        Demand demand = demand_of(1'000, {gpu_request(1, 200)});
        demand.service = service;
        demand.gang = Gang{GroupIndex(group), 3, 3};
        return demand;
    }
    // A member on the third GPU of node b.
    static void put_first(Engine& engine) {
        const Demand first = member(ServiceClass::guaranteed);
        Placement placement;
        placement.node = NodeIndex(1);
        placement.cpu = first.cpu;
        placement.grants.push_back({.request = RequestIndex::none(),
                                    .gpu = GpuIndex(2),
                                    .milli = MilliGpu(200),
                                    .memory = MemoryMib(0)});
        ASSERT_TRUE(engine.adopt(PodIndex(0), engine.intern(first), placement, first.gang->group));
    }
};

TEST_F(KeptTogether, ByPlaceByClassAndAsExplained) {
    Engine engine(nodes(), policy("kubeshare"));
    put_first(engine);
    const Demand next = member(ServiceClass::guaranteed);
    const Decision why = explain(engine.placer_to_explain(), next);
    ASSERT_TRUE(why.placed());
    // Leaves of node b: 0 to 3 with the third in use by a fifth; distances 2, 1, 0 and 1.
    EXPECT_EQ(why.candidates[0].node, NodeIndex(1));
    EXPECT_EQ(why.candidates[0].score, (-20 - 100 * (2 + 1 + 0 + 1)) * 1000 / 4);
    EXPECT_EQ(why.candidates[0].terms.size(), 2U);
    const auto placed = engine.place(PodIndex(1), next);
    EXPECT_EQ(placed, why.placement);
    EXPECT_EQ(placed->node, NodeIndex(1));
    EXPECT_EQ(placed->grants.front().gpu, GpuIndex(2)) << "-20 against -100 of its neighbours";
    ASSERT_TRUE(engine.try_place(PodIndex(2), engine.intern(next), next.gang->group));
    EXPECT_EQ(engine.placement(PodIndex(2))->node, NodeIndex(1));
    // Who runs is not near itself.
    const RunningReport report =
        explain_running(engine.placer_to_explain(), next, *engine.placement(PodIndex(2)),
                        engine.ledger().find(OwnerId::pod(2))->start);
    EXPECT_EQ(report.here.score, (-40 - 100 * (2 + 1 + 0 + 1)) * 1000 / 4);
}

TEST_F(KeptTogether, OnlyWhoBelongsTogether) {
    Engine engine(nodes(), policy("kubeshare"));
    put_first(engine);
    const auto node_of = [&](const Demand& demand) {
        return explain(engine.placer_to_explain(), demand).placement->node;
    };
    EXPECT_EQ(node_of(member(ServiceClass::guaranteed)), NodeIndex(1));
    EXPECT_EQ(node_of(member(ServiceClass::guaranteed, 1)), NodeIndex(0)) << "another group";
    Demand alone = member(ServiceClass::guaranteed);
    alone.gang.reset();
    EXPECT_EQ(node_of(alone), NodeIndex(0));
    const std::uint64_t scans = engine.placer().counters().scans;
    ASSERT_TRUE(engine.place(PodIndex(1), member(ServiceClass::opportunistic)));
    EXPECT_EQ(engine.placer().counters().scans, scans) << "distance is no part of its score";
    engine.depart(PodIndex(0));
    EXPECT_EQ(node_of(member(ServiceClass::guaranteed)), NodeIndex(1)) << "pod 1 is there";
    engine.depart(PodIndex(1));
    EXPECT_EQ(node_of(member(ServiceClass::guaranteed)), NodeIndex(0)) << "nobody is left";
}

TEST_F(KeptTogether, NearByTheCellsOfTheTopology) {
    std::vector<NodeSpec> near = nodes();
    for (std::size_t gpu = 0; gpu < 4; ++gpu) {
        near[1].gpus[gpu].cell = "1/b/" + std::to_string(gpu + 1);
        near[2].gpus[gpu].cell = "1/c/" + std::to_string(gpu + 1);
        near[0].gpus[gpu].cell = "9/a/" + std::to_string(gpu + 1);
    }
    near[1].pods = 1;  // no room beside the first
    Engine engine(near, policy("kubeshare"));
    put_first(engine);
    const auto placed = engine.place(PodIndex(1), member(ServiceClass::guaranteed));
    ASSERT_TRUE(placed.has_value());
    EXPECT_EQ(placed->node, NodeIndex(2)) << "a is eight cells further away";
    EXPECT_EQ(placed->grants.front().gpu, GpuIndex(2));
}

TEST(Engine, NumaTellsWhichGpusAreNearWithoutLinks) {
    NodeSpec spec = node_spec(4, 64'000);
    spec.gpus[1].numa = spec.gpus[3].numa = 1;
    for (const char* name : {"tessera", "binpack", "kubeshare"}) {
        Engine engine({spec}, policy(name));
        const auto taken = [&](std::uint32_t pod) {
            const auto placed = engine.place(PodIndex(pod), demand_of(0, {gpu_request(2, 1000)}));
            EXPECT_TRUE(placed.has_value()) << name;
            return std::pair(placed->grants[0].gpu, placed->grants[1].gpu);
        };
        EXPECT_EQ(taken(0), std::pair(GpuIndex(0), GpuIndex(2))) << name;
        EXPECT_EQ(taken(1), std::pair(GpuIndex(1), GpuIndex(3))) << name;
        EXPECT_TRUE(engine.cluster().spec(NodeIndex(0)).links.empty()) << "what was told stays";
    }
    // A link that is known counts for more than what the NUMA nodes suggest.
    spec.links = LinkMatrix(4);
    spec.links.set(0, 3, {LinkLevel::nvlink, 2});
    Engine engine({spec}, policy("tessera"));
    const auto placed = engine.place(PodIndex(0), demand_of(0, {gpu_request(2, 1000)}));
    EXPECT_EQ(placed->grants[1].gpu, GpuIndex(3));
    EXPECT_EQ(engine.cluster().links(NodeIndex(0)).at(0, 2).level, LinkLevel::numa);
    EXPECT_EQ(engine.cluster().links(NodeIndex(0)).at(0, 1).level, LinkLevel::system);
}

TEST(Engine, ARemovedNodeTakesNobodyAndItsPodsMayLeave) {
    Engine engine({node_spec(1, 8'000), node_spec(1, 8'000)}, policy("binpack"));
    const ClassIndex one = engine.intern(demand_of(1'000, {gpu_request(1, 300)}));
    ASSERT_TRUE(engine.arrive(PodIndex(0), one));
    ASSERT_TRUE(engine.remove_node(NodeIndex(0)).has_value());
    ASSERT_TRUE(engine.arrive(PodIndex(1), one));
    EXPECT_EQ(engine.placement(PodIndex(1))->node, NodeIndex(1));
    engine.depart(PodIndex(0));
    ASSERT_TRUE(engine.update_node(NodeIndex(0), node_spec(8, 16'000)).has_value());
    EXPECT_EQ(engine.fitting_nodes(one), 2);
    EXPECT_TRUE(engine.placer().consistent());
    EXPECT_FALSE(engine.remove_node(NodeIndex(7)).has_value());
    EXPECT_FALSE(engine.update_node(NodeIndex(0), node_spec(17, 1'000)).has_value());
}

// A slot is a share, however little it asks for.
TEST(Engine, SlotsBoundWhatAsksForNothing) {
    NodeSpec spec = node_spec(1, 8'000);
    spec.gpus[0].slots = 2;
    Engine engine({spec}, policy("tessera"));
    GpuRequest crumb = gpu_request(1, 0);
    crumb.memory_ppm = 1;
    const ClassIndex tiny = engine.intern(demand_of(0, {crumb}));
    EXPECT_TRUE(engine.arrive(PodIndex(0), tiny));
    EXPECT_TRUE(engine.arrive(PodIndex(1), tiny));
    EXPECT_FALSE(engine.arrive(PodIndex(2), tiny));
    engine.depart(PodIndex(0));
    const ClassIndex pair = engine.intern(demand_of(0, {crumb, crumb}));
    EXPECT_FALSE(engine.arrive(PodIndex(3), pair));
    EXPECT_TRUE(engine.arrive(PodIndex(2), tiny));
}

// What was decided counts at once. KETI's own scheduler waits for the next metrics, and until then
// every pod of a burst goes to the same GPU.
TEST(Engine, ABurstSpreadsWithoutWaitingForMetrics) {
    Engine engine({node_spec(4, 64'000)}, policy("keti", {}));
    const ClassIndex share = engine.intern(demand_of(1'000, {gpu_request(1, 100)}));
    std::vector<GpuIndex> taken;
    for (std::uint32_t pod = 0; pod < 4; ++pod) {
        ASSERT_TRUE(engine.arrive(PodIndex(pod), share));
        taken.push_back(engine.placement(PodIndex(pod))->grants.front().gpu);
    }
    std::sort(taken.begin(), taken.end());
    EXPECT_EQ(std::unique(taken.begin(), taken.end()), taken.end());
}

// A device that is one owner's alone takes nobody, not even who asks for nothing.
TEST(Engine, WholeMeansAlone) {
    Engine engine({node_spec(1, 8'000)}, policy("fgd"));
    const ClassIndex whole = engine.intern(demand_of(0, {gpu_request(1, 1000)}));
    const ClassIndex nothing = engine.intern(demand_of(0, {gpu_request(1, 0)}));
    ASSERT_TRUE(engine.arrive(PodIndex(0), whole));
    EXPECT_FALSE(engine.arrive(PodIndex(1), nothing));
    engine.depart(PodIndex(0));
    EXPECT_TRUE(engine.arrive(PodIndex(1), nothing));
    EXPECT_FALSE(engine.arrive(PodIndex(0), whole));
}

// Amounts at the edge of what is accepted: nothing may overflow, in any policy.
TEST(Engine, AmountsFromNoMachine) {
    constexpr std::int64_t kHuge = std::int64_t{1} << 40;
    NodeSpec large = node_spec(16, kHuge, kHuge);
    for (GpuSpec& gpu : large.gpus) {
        gpu.memory = MemoryMib(kMaxGpuMemoryMib);
    }
    std::vector<Demand> demands{
        demand_of(1'000'000'000'000),
        demand_of(kHuge),
        demand_of(0),
        demand_of(1'000'000'000, {gpu_request(16, 1000)}),
        demand_of(0, {gpu_request(1, 1, kMaxGpuMemoryMib / 2)}),
        demand_of(0, {gpu_request(1, 999, 1)}),
        demand_of(kHuge / 2, {gpu_request(1, 500)}),
        demand_of(0, {gpu_request(3, 500, kMaxGpuMemoryMib)}),
        demand_of(0, {gpu_request(2, 100), gpu_request(1, 1000), gpu_request(3, 50)}),
        demand_of(kHuge, {gpu_request(60'000, 1000)}),
    };
    for (Demand& demand : demands) {
        demand.memory = MemoryMib(kHuge / 100);
    }
    std::vector<ClassCount> mix;
    for (const Demand& demand : demands) {
        mix.push_back({demand_class(demand), 1'000'000'000});
    }
    for (const PolicyInfo& info : known_policies()) {
        SCOPED_TRACE(info.name);
        Engine engine({large, node_spec(0, 0, 0), node_spec(16, 1, 1), large},
                      policy(info.name, mix));
        std::uint32_t pod = 0;
        std::uint32_t placed = 0;
        for (int round = 0; round < 12; ++round) {
            for (const Demand& demand : demands) {
                placed += engine.arrive(PodIndex(pod), engine.intern(demand)) ? 1U : 0U;
                ++pod;
            }
        }
        EXPECT_GT(placed, 8U);
        EXPECT_TRUE(engine.placer().consistent());
        EXPECT_TRUE(engine.ledger().verify().empty());
    }
}

}  // namespace
}  // namespace tessera
