// The documented cases of Kubernetes' rules about other pods, one by one.
#include "engine/neighbourhood.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "engine/neighbour_question.h"
#include "engine/test_neighbours.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using testing_cluster::labelled_node;
using testing_cluster::labelled_pod;
using testing_cluster::NeighbourWorld;
using testing_cluster::selecting;
using testing_cluster::term_about;

const StringMap kWeb{{"app", "web"}};
const StringMap kDb{{"app", "db"}};

class NeighbourhoodTest : public ::testing::Test {
  protected:
    // "" where it fits, else the code that counts.
    std::string answer(PodIndex pod, int node) {
        const NodeFilter filter = world.filter(pod);
        const NeighbourQuestion ask(world.there, pod, filter);
        const NodeVerdict verdict = ask.verdict(NodeIndex(static_cast<NodeIndex::rep>(node)));
        return verdict.fits() ? "" : std::string(refusal_info(verdict.first).name);
    }
    std::vector<std::string> answers(PodIndex pod) {
        std::vector<std::string> all;
        for (std::size_t node = 0; node < world.nodes.size(); ++node) {
            all.push_back(answer(pod, static_cast<int>(node)));
        }
        return all;
    }
    std::vector<std::int64_t> preferences(PodIndex pod) {
        const NodeFilter filter = world.filter(pod);
        std::vector<NodeIndex> nodes;
        for (std::size_t node = 0; node < world.nodes.size(); ++node) {
            nodes.emplace_back(static_cast<NodeIndex::rep>(node));
        }
        return NeighbourQuestion(world.there, pod, filter).preferences(nodes);
    }
    Concern concern(PodIndex pod) { return world.there.concern(pod, world.filter(pod)); }
    // Two zones of two nodes, and a node without a zone.
    void five_nodes() {
        for (const char* zone : {"x", "x", "y", "y"}) {
            world.add_node(
                labelled_node("n" + std::to_string(world.nodes.size()), {{"zone", zone}}));
        }
        world.add_node(labelled_node("lone", {}));
    }

    NeighbourWorld world;
};

TEST_F(NeighbourhoodTest, PlainPodsAreNoConcern) {
    five_nodes();
    world.add_pod(labelled_pod(kDb), 0);
    EXPECT_FALSE(concern(world.add_pod(labelled_pod(kWeb))));
}

TEST_F(NeighbourhoodTest, AffinityIsByDomain) {
    five_nodes();
    world.add_pod(labelled_pod(kDb), 2);
    const PodIndex pod = world.add_pod(labelled_pod(kWeb, {.near = {term_about(kDb, "zone")}}));
    EXPECT_TRUE(concern(pod).refuses);
    EXPECT_THAT(answers(pod),
                ElementsAre("PodAffinity", "PodAffinity", "", "", "TopologyKeyMissing"));
}

TEST_F(NeighbourhoodTest, AllTermsOfAffinityMeanTheSamePod) {
    five_nodes();
    world.add_pod(labelled_pod({{"app", "db"}}), 0);
    world.add_pod(labelled_pod({{"tier", "back"}}), 0);
    const PodIndex pod = world.add_pod(labelled_pod(
        kWeb, {.near = {term_about(kDb, "zone"), term_about({{"tier", "back"}}, "zone")}}));
    EXPECT_EQ(answer(pod, 0), "PodAffinity");
    world.add_pod(labelled_pod({{"app", "db"}, {"tier", "back"}}), 2);
    EXPECT_EQ(answer(pod, 0), "PodAffinity");
    EXPECT_EQ(answer(pod, 3), "");
}

TEST_F(NeighbourhoodTest, TheFirstOfAKindThatIsNearItselfMayBegin) {
    five_nodes();
    const PodIndex first = world.add_pod(labelled_pod(kWeb, {.near = {term_about(kWeb, "zone")}}));
    EXPECT_THAT(answers(first), ElementsAre("", "", "", "", "TopologyKeyMissing"));
    world.put(first, 1);
    const PodIndex second = world.add_pod(labelled_pod(kWeb, {.near = {term_about(kWeb, "zone")}}));
    EXPECT_THAT(answers(second),
                ElementsAre("", "", "PodAffinity", "PodAffinity", "TopologyKeyMissing"));
    const PodIndex other = world.add_pod(
        labelled_pod(kDb, {.near = {term_about(kDb, "zone"), term_about(kWeb, "zone")}}));
    EXPECT_EQ(answer(other, 0), "PodAffinity") << "it is not near itself by every term";
}

TEST_F(NeighbourhoodTest, AntiAffinityHoldsBothWays) {
    five_nodes();
    const PodIndex loner = world.add_pod(labelled_pod(kWeb, {.apart = {term_about(kDb, "zone")}}));
    world.put(loner, 0);
    const PodIndex db = world.add_pod(labelled_pod(kDb));
    EXPECT_TRUE(concern(db).refuses) << "somebody else's rule";
    EXPECT_THAT(answers(db),
                ElementsAre("ExistingAntiAffinity", "ExistingAntiAffinity", "", "", ""));
    world.lift(loner);
    EXPECT_FALSE(concern(db));
    world.put(db, 2);
    EXPECT_THAT(answers(loner), ElementsAre("", "", "PodAntiAffinity", "PodAntiAffinity", ""));
}

TEST_F(NeighbourhoodTest, NamespacesAreTheOwnOneUnlessTold) {
    five_nodes();
    world.add_space("lab", {{"team", "red"}});
    Pod db = labelled_pod(kDb);
    db.space = "lab";
    world.add_pod(db, 0);
    PodTerm term = term_about(kDb, "host");
    const auto with = [&] { return world.add_pod(labelled_pod(kWeb, {.apart = {term}})); };
    EXPECT_EQ(answer(with(), 0), "");
    term.spaces = {"lab"};
    EXPECT_EQ(answer(with(), 0), "PodAntiAffinity");
    term.spaces = {"other"};
    EXPECT_EQ(answer(with(), 0), "");
    term.spaces_by = selecting({{"team", "red"}});
    EXPECT_EQ(answer(with(), 0), "PodAntiAffinity");
    term.spaces_by = selecting({{"team", "blue"}});
    const PodIndex blue = with();
    EXPECT_EQ(answer(blue, 0), "");
    world.add_space("lab", {{"team", "blue"}});
    EXPECT_EQ(answer(blue, 0), "PodAntiAffinity");
    term.spaces = {};
    term.spaces_by = LabelSelector();
    EXPECT_EQ(answer(with(), 0), "PodAntiAffinity") << "an empty selector is every namespace";
}

TEST_F(NeighbourhoodTest, AnAbsentSelectorMeansNobodyAnEmptyOneEverybody) {
    five_nodes();
    world.add_pod(labelled_pod({}), 0);
    PodTerm term{.topology_key = "host"};
    EXPECT_EQ(answer(world.add_pod(labelled_pod(kWeb, {.apart = {term}})), 0), "");
    term.pods = LabelSelector();
    EXPECT_EQ(answer(world.add_pod(labelled_pod(kWeb, {.apart = {term}})), 0), "PodAntiAffinity");
}

TEST_F(NeighbourhoodTest, KeysOfThePodsOwnLabelsNarrowTheSelector) {
    five_nodes();
    world.add_pod(labelled_pod({{"app", "web"}, {"rev", "1"}}), 0);
    PodTerm term = term_about(kWeb, "host");
    term.match_keys = {"rev", "absent"};
    const auto with = [&](const char* revision) {
        return world.add_pod(labelled_pod({{"app", "web"}, {"rev", revision}}, {.apart = {term}}));
    };
    EXPECT_EQ(answer(with("1"), 0), "PodAntiAffinity");
    EXPECT_EQ(answer(with("2"), 0), "");
    term.mismatch_keys = std::exchange(term.match_keys, {});
    EXPECT_EQ(answer(with("1"), 0), "");
    EXPECT_EQ(answer(with("2"), 0), "PodAntiAffinity");
    term.mismatch_keys = {};
    term.match_keys = {"rev"};
    term.pods->push_back({.key = "rev", .op = LabelOperator::in, .values = {"1"}});
    EXPECT_EQ(answer(with("2"), 0), "PodAntiAffinity") << "what the API server wrote there stays";
}

SpreadRule spread(std::int32_t skew, std::string topology) {
    return {.topology_key = std::move(topology), .pods = selecting(kWeb), .max_skew = skew};
}

TEST_F(NeighbourhoodTest, SpreadingKeepsTheSkew) {
    five_nodes();
    world.add_pod(labelled_pod(kWeb), 0);
    world.add_pod(labelled_pod(kWeb), 1);
    world.add_pod(labelled_pod(kWeb), 2);
    const PodIndex pod = world.add_pod(labelled_pod(kWeb, {.spread = {spread(1, "zone")}}));
    EXPECT_THAT(answers(pod),
                ElementsAre("TopologySpread", "TopologySpread", "", "", "TopologyKeyMissing"));
    const PodIndex loose = world.add_pod(labelled_pod(kWeb, {.spread = {spread(2, "zone")}}));
    EXPECT_EQ(answer(loose, 0), "");
    const PodIndex stranger = world.add_pod(labelled_pod(kDb, {.spread = {spread(1, "zone")}}));
    EXPECT_EQ(answer(stranger, 0), "") << "it does not count itself";
}

TEST_F(NeighbourhoodTest, TerminatingPodsDoNotCountInSpreading) {
    five_nodes();
    const PodIndex there = world.add_pod(labelled_pod(kWeb), 0);
    const PodIndex pod = world.add_pod(labelled_pod(kWeb, {.spread = {spread(1, "zone")}}));
    EXPECT_EQ(answer(pod, 0), "TopologySpread");
    world.pods[there.slot()].pod.deleting = true;
    world.learn(there);
    EXPECT_EQ(answer(pod, 0), "");
    const PodIndex apart = world.add_pod(labelled_pod(kDb, {.apart = {term_about(kWeb, "host")}}));
    EXPECT_EQ(answer(apart, 0), "PodAntiAffinity") << "but they are still there";
}

TEST_F(NeighbourhoodTest, TooFewDomainsCountAsAnEmptyOne) {
    five_nodes();
    world.add_pod(labelled_pod(kWeb), 0);
    world.add_pod(labelled_pod(kWeb), 2);
    SpreadRule rule = spread(1, "zone");
    rule.min_domains = 2;
    EXPECT_EQ(answer(world.add_pod(labelled_pod(kWeb, {.spread = {rule}})), 0), "");
    rule.min_domains = 3;
    EXPECT_EQ(answer(world.add_pod(labelled_pod(kWeb, {.spread = {rule}})), 0), "TopologySpread");
}

TEST_F(NeighbourhoodTest, WhichNodesCountInSpreading) {
    five_nodes();
    world.add_pod(labelled_pod(kWeb), 0);
    Pod pod = labelled_pod(kWeb, {.spread = {spread(1, "zone")}});
    pod.node_selector["zone"] = "x";
    EXPECT_EQ(answer(world.add_pod(pod), 0), "") << "zone y is not for this pod";
    SpreadRule rule = spread(1, "zone");
    rule.only_admitting = false;
    pod.rules = std::make_shared<const PodRules>(PodRules{.spread = {rule}});
    EXPECT_EQ(answer(world.add_pod(pod), 0), "TopologySpread");
}

TEST_F(NeighbourhoodTest, TaintedNodesCountUnlessTheRuleHonoursTaints) {
    world.add_node(labelled_node("a", {{"zone", "x"}}));
    Node tainted = labelled_node("b", {{"zone", "y"}});
    tainted.taints.push_back({"gone", "", TaintEffect::no_execute});
    world.add_node(tainted);
    world.add_pod(labelled_pod(kWeb), 0);
    SpreadRule rule = spread(1, "zone");
    EXPECT_EQ(answer(world.add_pod(labelled_pod(kWeb, {.spread = {rule}})), 0), "TopologySpread");
    rule.only_tolerated = true;
    EXPECT_EQ(answer(world.add_pod(labelled_pod(kWeb, {.spread = {rule}})), 0), "");
}

Pod with_port(HostPort port) {
    Pod pod = labelled_pod(kWeb);
    pod.containers.push_back({.name = "c",
                              .requests = {},
                              .limits = {},
                              .host_ports = {std::move(port)},
                              .restartable = false,
                              .state = ContainerState::waiting});
    return pod;
}

TEST_F(NeighbourhoodTest, HostPortsCollideByAddressProtocolAndNumber) {
    five_nodes();
    const PodIndex there = world.add_pod(with_port({"10.0.0.1", Protocol::tcp, 80}), 0);
    EXPECT_EQ(answer(world.add_pod(with_port({"10.0.0.1", Protocol::tcp, 80})), 0),
              "HostPortInUse");
    EXPECT_EQ(answer(world.add_pod(with_port({"10.0.0.2", Protocol::tcp, 80})), 0), "");
    EXPECT_EQ(answer(world.add_pod(with_port({"10.0.0.1", Protocol::udp, 80})), 0), "");
    EXPECT_EQ(answer(world.add_pod(with_port({"10.0.0.1", Protocol::tcp, 81})), 0), "");
    const PodIndex every = world.add_pod(with_port({"", Protocol::tcp, 80}));
    EXPECT_EQ(answer(every, 0), "HostPortInUse") << "every address is this one, too";
    EXPECT_EQ(answer(every, 1), "");
    world.lift(there);
    EXPECT_EQ(answer(every, 0), "");
}

Pod asking(std::string resource, std::int64_t amount) {
    Pod pod = labelled_pod(kWeb);
    pod.containers.emplace_back().requests[std::move(resource)] = Quantity::of(amount);
    return pod;
}

TEST_F(NeighbourhoodTest, OtherResourcesAreCountedByNode) {
    Node node = labelled_node("n", {});
    node.allocatable["ephemeral-storage"] = Quantity::of(1000);
    node.allocatable["example.com/fpga"] = Quantity::of(2);
    world.add_node(node);
    world.add_pod(asking("ephemeral-storage", 600), 0);
    const PodIndex fpga = world.add_pod(asking("example.com/fpga", 1), 0);
    EXPECT_EQ(answer(world.add_pod(asking("ephemeral-storage", 400)), 0), "");
    EXPECT_EQ(answer(world.add_pod(asking("ephemeral-storage", 401)), 0),
              "EphemeralStorageInsufficient");
    EXPECT_EQ(answer(world.add_pod(asking("ephemeral-storage", 1001)), 0),
              "EphemeralStorageTooSmall");
    EXPECT_EQ(answer(world.add_pod(asking("example.com/other", 1)), 0), "ExtendedResourceTooSmall");
    EXPECT_FALSE(concern(world.add_pod(asking("nvidia.com/gpu", 9)))) << "counted elsewhere";
    const PodIndex two = world.add_pod(asking("example.com/fpga", 2));
    const NodeFilter filter = world.filter(two);
    NeighbourQuestion ask(world.there, two, filter);
    EXPECT_EQ(ask.verdict(NodeIndex(0)).first, RefusalCode::resource_insufficient);
    ask.lift(fpga);
    EXPECT_TRUE(ask.verdict(NodeIndex(0)).fits());
    ask.put_back(fpga);
    EXPECT_FALSE(ask.verdict(NodeIndex(0)).fits());
}

TEST_F(NeighbourhoodTest, PodsOnNodesThatAreGoneCountNowhere) {
    five_nodes();
    world.add_pod(labelled_pod(kDb), 0);
    const PodIndex pod = world.add_pod(labelled_pod(kWeb, {.near = {term_about(kDb, "zone")}}));
    EXPECT_EQ(answer(pod, 1), "");
    world.cluster.remove_node(NodeIndex(0));
    EXPECT_EQ(answer(pod, 1), "PodAffinity");
}

TEST_F(NeighbourhoodTest, PreferencesAreWeighedAndScaled) {
    five_nodes();
    world.add_pod(labelled_pod(kDb), 0);
    PodRules rules;
    rules.preferred.push_back({10, term_about(kDb, "zone")});
    rules.preferred.push_back({-4, term_about(kDb, "host")});
    const PodIndex pod = world.add_pod(labelled_pod(kWeb, std::move(rules)));
    EXPECT_FALSE(concern(pod).refuses);
    EXPECT_TRUE(concern(pod).prefers);
    // Of 6, 10, 0, 0, 0: twice 60, 100, 0; and thrice 100 for having no taint.
    EXPECT_THAT(preferences(pod), ElementsAre(420, 500, 300, 300, 300));
}

TEST_F(NeighbourhoodTest, RequiredAffinityOfOthersDrawsTheirKind) {
    five_nodes();
    world.add_pod(labelled_pod(kDb, {.near = {term_about(kDb, "zone")}}), 2);
    const PodIndex pod = world.add_pod(labelled_pod(kDb));
    EXPECT_FALSE(concern(pod).refuses);
    EXPECT_TRUE(concern(pod).prefers);
    EXPECT_THAT(preferences(pod), ElementsAre(300, 300, 500, 500, 300));
}

TEST_F(NeighbourhoodTest, PreferredNodesAndTaints) {
    world.add_node(labelled_node("a", {{"zone", "x"}}));
    Node shunned = labelled_node("b", {{"zone", "x"}});
    shunned.taints.push_back({"old", "", TaintEffect::prefer_no_schedule});
    world.add_node(shunned);
    world.add_node(labelled_node("c", {{"zone", "y"}}));
    PodRules rules;
    rules.preferred_nodes.push_back({5, {.labels = selecting({{"zone", "x"}})}});
    rules.preferred_nodes.push_back({95, {}});  // an empty preference counts for nothing
    const PodIndex pod = world.add_pod(labelled_pod(kWeb, std::move(rules)));
    EXPECT_THAT(preferences(pod), ElementsAre(500, 200, 300));
    const PodIndex plain = world.add_pod(labelled_pod(kWeb));
    EXPECT_TRUE(concern(plain).prefers) << "there is a taint to stay away from";
    EXPECT_THAT(preferences(plain), ElementsAre(300, 0, 300));
    Pod tolerant = labelled_pod(kWeb);
    tolerant.tolerations.push_back({.key = "old", .value = {}, .effect = {}, .exists = true});
    EXPECT_FALSE(concern(world.add_pod(tolerant)));
}

TEST_F(NeighbourhoodTest, SoftSpreadingPrefersTheEmptierDomain) {
    five_nodes();
    world.add_pod(labelled_pod(kWeb), 0);
    world.add_pod(labelled_pod(kWeb), 0);
    world.add_pod(labelled_pod(kWeb), 2);
    SpreadRule rule = spread(1, "zone");
    rule.required = false;
    const PodIndex pod = world.add_pod(labelled_pod(kWeb, {.spread = {rule}}));
    EXPECT_FALSE(concern(pod).refuses);
    // Two domains weigh ln 4: 2 and 1 pods are 2.77 and 1.39, rounded 3 and 1; of these 100 * 1 / 3
    // and 100 * 3 / 3. A node without the label has nothing.
    EXPECT_THAT(preferences(pod), ElementsAre(366, 366, 500, 500, 300));
}

}  // namespace
}  // namespace tessera
