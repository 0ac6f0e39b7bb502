#include "role/extender/node_list.h"

#include <gtest/gtest.h>

#include "role/extender/test_extender.h"

namespace tessera {
namespace {

using namespace tessera::testing;

NodesRequest read(NodeLists& lists, std::string body) {
    ExtenderReader reader;
    auto read = lists.read(reader, body);
    EXPECT_TRUE(read) << read.error().message;
    read->pod = {};  // its body ends here
    return *read;
}

TEST(NodeList, RequestsThatEndInTheSameBytesShareOne) {
    NodeLists lists;
    const NodesRequest first = read(lists, names_body(gpushare_pod("a", 1), {"x", "y"}));
    EXPECT_EQ(read(lists, names_body(gpushare_pod("b", 2), {"x", "y"})).nodes, first.nodes);
    EXPECT_NE(read(lists, names_body(gpushare_pod("a", 1), {"x", "z"})).nodes, first.nodes);
    EXPECT_EQ(read(lists, names_body(gpushare_pod("c", 3), {"x", "y"})).nodes, first.nodes);
    ExtenderReader reader;
    std::string bad = R"({"Pod":{"a":)" + std::string(first.nodes->args().rest);
    EXPECT_FALSE(lists.read(reader, bad));
}

TEST(NodeList, FewAreKeptAndNoHugeOnes) {
    NodeLists lists;
    const std::string pod = gpushare_pod("a", 1);
    const std::weak_ptr<NodeList> first = read(lists, names_body(pod, {"first"})).nodes;
    EXPECT_FALSE(first.expired());
    for (int i = 0; i < 4; ++i) {
        read(lists, names_body(pod, {fmt::format("other-{}", i)}));
    }
    EXPECT_TRUE(first.expired());
    const std::string long_name(std::size_t{9} << 20, 'n');
    const std::weak_ptr<NodeList> large = read(lists, names_body(pod, {long_name})).nodes;
    EXPECT_FALSE(large.expired());
    read(lists, names_body(pod, {long_name + "n"}));
    EXPECT_TRUE(large.expired());
    const std::weak_ptr<NodeList> huge =
        read(lists, names_body(pod, {long_name + long_name})).nodes;
    EXPECT_TRUE(huge.expired());
}

// The bytes are the same, the cluster is not.
TEST(NodeList, NodesThatComeAndGoAreSeenInAListThatIsKnown) {
    Rig rig;
    rig.list({gpushare_node("a", 32, 2)});
    const auto ask = [&] {
        return rig.post("/tessera/filter", names_body(gpushare_pod("p", 1), {"a", "b"}));
    };
    const auto fitting = [&](std::string_view names) {
        return fmt::format(R"({{"Nodes":null,"NodeNames":[{}],)", names);
    };
    EXPECT_TRUE(ask().starts_with(fitting(R"("a")")));
    rig.mirror.node_changed(read_node_json(gpushare_node("b", 32, 2)).value());
    EXPECT_TRUE(ask().starts_with(fitting(R"("a","b")")));
    rig.mirror.node_gone("a");
    EXPECT_TRUE(ask().starts_with(fitting(R"("b")")));
    rig.mirror.node_changed(read_node_json(gpushare_node("a", 32, 2)).value());
    EXPECT_TRUE(ask().starts_with(fitting(R"("a","b")")));
}

}  // namespace
}  // namespace tessera
