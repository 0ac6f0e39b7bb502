#include "codec/extender_json.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "codec/json_value.h"

namespace tessera {
namespace {

struct Read {
    explicit Read(std::string text) : body(std::move(text)), done(reader.args(body, args)) {}

    std::vector<std::string> names() const {
        std::vector<std::string> result;
        for (std::size_t at = 0; at < args.size(); ++at) {
            result.emplace_back(args.name(at));
        }
        return result;
    }

    std::string body;
    ExtenderReader reader;
    ExtenderArgs args;
    Expected<void> done;
};

using Names = std::vector<std::string>;

struct GoodArgs {
    const char* body;
    NodesForm form;
    Names names;
    const char* pod;
};

TEST(ExtenderJson, ReadsArgsAsGoDoes) {
    const GoodArgs cases[] = {
        {R"({"Pod":{"a":1},"Nodes":null,"NodeNames":["x","y"]})",
         NodesForm::names,
         {"x", "y"},
         R"({"a":1})"},
        {R"({"pod":{},"nodenames":["x"]})", NodesForm::names, {"x"}, "{}"},
        {R"({"POD":null,"NODENAMES":[]})", NodesForm::names, {}, ""},
        {"{\"NodeNames\" : [ \"x\" ,\n\t\"y\"\r] , \"Pod\" : { } }",
         NodesForm::names,
         {"x", "y"},
         "{ }"},
        {"{}", NodesForm::none, {}, ""},
        {R"({"NodeNames":null,"Nodes":null})", NodesForm::none, {}, ""},
        // Of two the last counts, whatever their case; null takes a list back.
        {R"({"NodeNames":["x"],"nodeNames":["y"]})", NodesForm::names, {"y"}, ""},
        {R"({"NodeNames":["x"],"nodeNames":null})", NodesForm::none, {}, ""},
        {R"({"Pod":{"a":1},"pod":{"b":2}})", NodesForm::none, {}, R"({"b":2})"},
        // Escapes in keys and names, and Go's empty name for null.
        {R"({"Node\u004eames":["\u0078","a\/b",null,"y"]})",
         NodesForm::names,
         {"x", "a/b", "", "y"},
         ""},
        {R"({"unknown":[[[{"deep":"}"}]]],"NodeNames":["x"]})", NodesForm::names, {"x"}, ""},
        // Whole nodes; names count where both are there.
        {R"({"Nodes":{"metadata":{},"items":[{"metadata":{"name":"x"}},{"spec":{}},null]}})",
         NodesForm::objects,
         {"x", "", ""},
         ""},
        {R"({"Nodes":{}})", NodesForm::objects, {}, ""},
        {R"({"Nodes":{"Items":[{"Metadata":{"Name":"\u0078"},"metadata":{"name":"z"}}]}})",
         NodesForm::objects,
         {"z"},
         ""},
        {R"({"Nodes":{"items":[{"metadata":{"name":"x"}}]},"NodeNames":["y"]})",
         NodesForm::names,
         {"y"},
         ""},
        {R"({"NodeNames":["y"],"Nodes":{"items":[{"metadata":{"name":"x"}}]}})",
         NodesForm::names,
         {"y"},
         ""},
    };
    for (const GoodArgs& good : cases) {
        const Read read(good.body);
        ASSERT_TRUE(read.done) << good.body << ": " << read.done.error().message;
        EXPECT_EQ(read.args.form, good.form) << good.body;
        EXPECT_EQ(read.names(), good.names) << good.body;
        EXPECT_EQ(read.args.pod, good.pod) << good.body;
    }
}

TEST(ExtenderJson, RefusesWhatIsNoRequestWithASentence) {
    const std::string deep(100'000, '[');
    const std::pair<std::string, const char*> cases[] = {
        {"", "the request has no body: a JSON object is expected"},
        {" \n", "the request has no body: a JSON object is expected"},
        {"[]", "the request is no JSON object"},
        {"null", "the request is no JSON object"},
        {R"({"NodeNames":["x")", nullptr},
        {R"({"NodeNames":["x"])", nullptr},
        {R"({"NodeNames":["x","y)", nullptr},
        {R"({"NodeNames":["x" "y"]})", nullptr},
        {R"({"NodeNames":["x",]})", nullptr},
        {R"({"NodeNames":[1]})", "NodeNames[0]: \"1\" is not accepted: a text in quotes is"},
        {R"({"NodeNames":["x",{"a":"b"}]})",
         "NodeNames[1]: an object is not accepted: a text in quotes is"},
        {R"({"NodeNames":"x"})", "NodeNames: \"\\\"x\\\"\" is not accepted: a list is"},
        {R"({"NodeNames":{"x":"y"}})", "NodeNames: an object is not accepted: a list is"},
        {R"({"Nodes":["x"]})", "Nodes: a list is not accepted: an object is"},
        {R"({"Nodes":{"items":["x"]}})",
         "Nodes.items[0]: \"\\\"x\\\"\" is not accepted: an object is"},
        {R"({"Nodes":{"items":[{"metadata":{"name":7}}]}})",
         "Nodes.items[0].metadata.name: \"7\" is not accepted: a text in quotes is"},
        {R"({"Nodes":{"items":[{"metadata":{"name":"x"},"spec":{"a"::[1]}}]}})", nullptr},
        {R"({"Pod":"p"})", "Pod: \"\\\"p\\\"\" is not accepted: an object is"},
        {R"({"Pod":nul})", nullptr},
        {R"({"NodeNames":["x"]} {})", "something follows the JSON object of the request"},
        {"{\"NodeNames\":[\"\xff\"]}", nullptr},
        {"{\"NodeNames\":[\"a\nb\"]}", nullptr},
        {R"({"NodeNames":["\q"]})", nullptr},
        {"{\"Pod\":" + deep, nullptr},
        {"{\"NodeNames\":" + deep + "}", nullptr},
        {"\xef\xbb\xbf{}", nullptr},
    };
    for (const auto& [body, message] : cases) {
        const Read read(body);
        ASSERT_FALSE(read.done) << body.substr(0, 80);
        EXPECT_TRUE(valid_utf8(read.done.error().message));
        EXPECT_LT(read.done.error().message.size(), 300U);
        if (message != nullptr) {
            EXPECT_EQ(read.done.error().message, message);
        }
    }
}

// So many of it, and a comma between.
std::string list_of(std::size_t count, const std::string& one) {
    std::string list;
    for (std::size_t i = 0; i < count; ++i) {
        list += (i == 0 ? "" : ",") + one;
    }
    return list;
}

TEST(ExtenderJson, RefusesMoreThanAnyClusterHas) {
    const auto message = [](std::string body) {
        const Read read(std::move(body));
        return read.done ? "" : read.done.error().message;
    };
    const auto names = [&](std::size_t count, const std::string& first) {
        return message(R"({"NodeNames":[)" + first + list_of(count - 1, R"("a")") + "]}");
    };
    const std::string too_many = "NodeNames: more than 65536 nodes are not accepted";
    for (const char* first : {R"("a",)", R"("\u0061",)", "null,"}) {
        EXPECT_EQ(names(kMostNodesAsked, first), "");
        EXPECT_EQ(names(kMostNodesAsked + 1, first), too_many);
    }
    for (const char* one : {"{}", "null"}) {
        EXPECT_EQ(message(R"({"Nodes":{"items":[)" + list_of(kMostNodesAsked + 1, one) + "]}}"),
                  "Nodes.items: more than 65536 nodes are not accepted");
    }
    const auto object = [](std::size_t bytes) {
        return R"({"a":")" + std::string(bytes - 8, 'x') + R"("})";
    };
    EXPECT_EQ(message(R"({"Pod":)" + object(kMostObjectBytes) + "}"), "");
    EXPECT_EQ(message(R"({"Pod":)" + object(kMostObjectBytes + 1) + "}"),
              "Pod: an object of 4194305 bytes is not accepted, at most 4194304 are");
    EXPECT_EQ(message(R"({"Nodes":{"items":[{},)" + object(kMostObjectBytes + 1) + "]}}"),
              "Nodes.items[1]: an object of 4194305 bytes is not accepted, at most 4194304 are");
}

TEST(ExtenderJson, RefusesVictimsThatNoClusterHas) {
    ExtenderReader reader;
    const auto message = [&](const std::string& victims) {
        std::string body = R"({"NodeNameToMetaVictims":{)" + victims + "}}";
        const auto read = reader.preemption(body);
        return read ? "" : read.error().message;
    };
    for (const char* of_node : {R"("a":{})", R"("a":null)"}) {
        EXPECT_EQ(message(list_of(kMostNodesAsked, of_node)), "");
        EXPECT_EQ(message(list_of(kMostNodesAsked + 1, of_node)),
                  "NodeNameToMetaVictims: more than 65536 nodes are not accepted");
    }
    const auto pods = [](std::size_t count) {
        return R"({"Pods":[)" + list_of(count, R"({"UID":"u"})") + "]}";
    };
    const std::string half = pods(kMostVictimsAsked / 2);
    EXPECT_EQ(message(R"("a":)" + half + R"(,"b":)" + half), "");
    EXPECT_EQ(message(R"("a":)" + half + R"(,"b":)" + half + R"(,"c":)" + pods(1)),
              "NodeNameToMetaVictims: more than 1048576 victims are not accepted");
    EXPECT_EQ(message(R"("a":)" + pods(kMostVictimsAsked + 1)),
              "NodeNameToMetaVictims.Pods: more than 1048576 victims are not accepted");
}

TEST(ExtenderJson, DeepNestingOfWhatIsPassedOverCostsNothing) {
    const std::string deep(1'000'000, '[');
    const Read read("{\"x\":" + deep + std::string(1'000'000, ']') + ",\"NodeNames\":[\"a\"]}");
    ASSERT_TRUE(read.done) << read.done.error().message;
    EXPECT_EQ(read.names(), Names{"a"});
}

TEST(ExtenderJson, AReaderServesManyBodiesOfAnySize) {
    ExtenderReader reader;
    ExtenderArgs args;
    std::string large = R"({"NodeNames":["x")";
    for (int i = 0; i < 60'000; ++i) {
        large += R"(,"a-node-of-a-long-name")";
    }
    large += "]}";
    for (std::string body : {std::string(R"({"NodeNames":["a"]})"), large,
                             std::string(R"({"NodeNames":["b","c"]})")}) {
        ASSERT_TRUE(reader.args(body, args));
    }
    EXPECT_EQ(args.size(), 2U);
}

TEST(ExtenderJson, WritesTheNodesThatFitFromTheRequestsOwnBytes) {
    const Read read(R"({"Pod":{},"NodeNames":["a", "b","\u0063","d","e",null]})");
    ASSERT_TRUE(read.done);
    const std::vector<RefusalText> texts{{"busy \"now\"", false}, {"never", true}};
    const std::vector<std::uint8_t> refused{0, 0, 1, 2, 0, 1};
    EXPECT_EQ(write_filter_result({read.args, refused, texts}),
              R"({"Nodes":null,"NodeNames":["a", "b","e"],)"
              R"("FailedNodes":{"\u0063":"busy \"now\"","":"busy \"now\""},)"
              R"("FailedAndUnresolvableNodes":{"d":"never"},"Error":""})");
    const std::vector<std::uint8_t> all(6, 0);
    EXPECT_EQ(write_filter_result({read.args, all, {}}),
              R"({"Nodes":null,"NodeNames":["a", "b","\u0063","d","e",null],)"
              R"("FailedNodes":{},"FailedAndUnresolvableNodes":null,"Error":""})");
    EXPECT_EQ(write_filter_result({read.args, {}, {}, "no"}),
              R"({"Nodes":null,"NodeNames":null,"FailedNodes":null,)"
              R"("FailedAndUnresolvableNodes":null,"Error":"no"})");
}

TEST(ExtenderJson, WritesWholeNodesBackAsTheyCame) {
    const Read read(
        R"({"Nodes":{"items":[{"metadata":{"name":"a"},"x":1},{"metadata":{"name":"b"}}]}})");
    ASSERT_TRUE(read.done);
    const std::vector<RefusalText> texts{{"busy", false}};
    const std::vector<std::uint8_t> refused{0, 1};
    EXPECT_EQ(write_filter_result({read.args, refused, texts}),
              R"({"Nodes":{"metadata":{},"items":[{"metadata":{"name":"a"},"x":1}]},)"
              R"("NodeNames":null,"FailedNodes":{"b":"busy"},)"
              R"("FailedAndUnresolvableNodes":null,"Error":""})");
    const std::vector<std::uint8_t> scores{10, 3};
    EXPECT_EQ(write_host_priorities(read.args, scores),
              R"([{"Host":"a","Score":10},{"Host":"b","Score":3}])");
}

TEST(ExtenderJson, ReadsBindings) {
    ExtenderReader reader;
    std::string body =
        R"({"PodName":"gpu-1","podnamespace":"default","PodUID":"u","NODE":"gpu-c","x":[1]})";
    const auto read = reader.binding(body);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->pod_name, "gpu-1");
    EXPECT_EQ(read->pod_space, "default");
    EXPECT_EQ(read->pod_uid, "u");
    EXPECT_EQ(read->node, "gpu-c");
    body = R"({"PodName":null,"Node":"a","Node":"b"})";
    EXPECT_EQ(reader.binding(body)->node, "b");
    body = R"({"Node":5})";
    EXPECT_EQ(reader.binding(body).error().message,
              "Node: \"5\" is not accepted: a text in quotes is");
    EXPECT_EQ(write_binding_result(""), R"({"Error":""})");
}

TEST(ExtenderJson, ReadsVictimsOfBothForms) {
    ExtenderReader reader;
    const char* const bodies[] = {
        R"({"Pod":{"p":1},"NodeNameToVictims":null,"NodeNameToMetaVictims":{
            "gpu-c":{"Pods":[{"UID":"04"},null],"NumPDBViolations":2},
            "gpu-a":{"Pods":[{"UID":"x"}]},"gpu-b":null,
            "gpu-a":{"pods":[{"uid":"34"}],"numpdbviolations":0}}})",
        R"({"Pod":{"p":1},"NodeNameToMetaVictims":null,"NodeNameToVictims":{
            "gpu-a":{"Pods":[{"spec":{},"metadata":{"name":"fill","uid":"34"}}]},
            "gpu-b":{},
            "gpu-c":{"Pods":[{"metadata":{"uid":"04"}}],"NumPDBViolations":2}}})",
    };
    for (const char* text : bodies) {
        std::string body = text;
        const auto read = reader.preemption(body);
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(read->pod, R"({"p":1})");
        EXPECT_EQ(write_preemption_result(read->nodes),
                  R"({"NodeNameToMetaVictims":{)"
                  R"("gpu-a":{"Pods":[{"UID":"34"}],"NumPDBViolations":0},)"
                  R"("gpu-b":{"Pods":[],"NumPDBViolations":0},)"
                  R"("gpu-c":{"Pods":[{"UID":"04"}],"NumPDBViolations":2}}})");
    }
    std::string body = R"({"NodeNameToMetaVictims":{"a":{"Pods":[{}]}}})";
    EXPECT_EQ(reader.preemption(body).error().message,
              "NodeNameToMetaVictims.Pods: a victim has no uid");
    body = R"({"NodeNameToMetaVictims":{"a":{"NumPDBViolations":1.5}}})";
    EXPECT_FALSE(reader.preemption(body));
}

}  // namespace
}  // namespace tessera
