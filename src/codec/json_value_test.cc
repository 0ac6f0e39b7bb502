#include "codec/json_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace tessera {
namespace {

using ::testing::HasSubstr;

TEST(JsonValue, KeepsNumbersAsWrittenAndMembersInOrder) {
    const auto root = parse_json(R"({"b":1.50,"a":[true,null,"x\n"],"c":{"d":-1e3}})");
    ASSERT_TRUE(root) << root.error().message;
    ASSERT_EQ(root->members.size(), 3U);
    EXPECT_EQ(root->members[0].key, "b");
    EXPECT_EQ(root->members[0].value.text, "1.50");
    EXPECT_TRUE(root->members[1].value.items[0].truth);
    EXPECT_EQ(root->members[1].value.items[1].kind, JsonValue::Kind::null);
    EXPECT_EQ(root->members[1].value.items[2].text, "x\n");
    EXPECT_EQ(root->members[2].value.members[0].value.text, "-1e3");
}

TEST(JsonValue, RefusesWhatIsNotOneStrictDocument) {
    struct Case {
        std::string text;
        const char* message;
    };
    const std::vector<Case> cases{
        {"", "not valid JSON"},
        {R"({"a":1,"a":2})", "\"a\" is there twice"},
        {R"({"a":1} x)", "not valid JSON"},
        {R"("text")", "a JSON object is"},
        {R"({"a":tru})", "not valid JSON"},
        {R"({"a":01})", "not valid JSON"},
        {std::string("{\"a\":\"\xff\"}"), "not valid JSON"},
        {std::string(100, '[') + std::string(100, ']'), "nested deeper"},
    };
    for (const Case& one : cases) {
        const auto read = parse_json(one.text);
        ASSERT_FALSE(read) << one.text;
        EXPECT_THAT(read.error().message, HasSubstr(one.message)) << one.text;
    }
}

TEST(JsonValue, AnObjectNamesThePlaceOfItsMembers) {
    const auto root = parse_json(R"({"n":7,"s":"x","t":true,"l":[],"w":"two","z":0})");
    ASSERT_TRUE(root);
    auto object = JsonObject::of(*root, "top");
    ASSERT_TRUE(object);
    EXPECT_EQ(*object->number("n", {0, 9, 1}), 7);
    EXPECT_EQ(*object->number("absent", {0, 9, 4}), 4);
    EXPECT_THAT(object->number("n", {0, 6, 0}).error().message,
                HasSubstr("top.n: 7 is not accepted: a whole number from 0 to 6 is"));
    EXPECT_THAT(object->number("gone", {0, 6, 0}, true).error().message,
                HasSubstr("top: gone is missing"));
    EXPECT_EQ(*object->text("s", true), "x");
    EXPECT_THAT(object->text("n", true).error().message, HasSubstr("top.n: 7 is not accepted"));
    EXPECT_TRUE(*object->boolean("t"));
    EXPECT_FALSE(*object->boolean("none"));
    EXPECT_THAT(object->boolean("s").error().message, HasSubstr("true or false is"));
    EXPECT_EQ(*object->word("w", {"one", "two"}), 1U);
    EXPECT_THAT(object->word("s", {"one", "two"}).error().message, HasSubstr("one of one, two is"));
    EXPECT_TRUE((*object->array("l"))->empty());
    EXPECT_THAT(object->array("s").error().message, HasSubstr("top.s: \"x\" is not accepted"));
    EXPECT_THAT(object->done().error().message, HasSubstr("top: key \"z\" is not accepted"));
    auto bare = JsonObject::of(*root, "");
    ASSERT_TRUE(bare);
    EXPECT_THAT(bare->number("n", {0, 6, 0}).error().message, testing::StartsWith("n: 7 is not"));
    EXPECT_EQ(bare->text("gone", true).error().message, "gone is missing");
    EXPECT_FALSE(JsonObject::of(root->members[0].value, "n"));
}

TEST(JsonFault, TellsWhereJsonEnds) {
    struct Case {
        std::string text;
        std::int64_t line;
        std::int64_t column;
    };
    const std::vector<Case> cases{
        {"", 1, 1},           {"{", 1, 2},          {"{\"a\" 1}", 1, 6}, {"{\n\"a\":1,\n}", 3, 1},
        {"[1,\n 2 3]", 2, 4}, {"{\"a\":01}", 1, 7}, {"[tru]", 1, 2},     {"{} x", 1, 4},
        {"[\"\\q\"]", 1, 3},  {"[\"a\nb\"]", 1, 4}, {"[1.]", 1, 4},      {"{\"a\":[}", 1, 7},
    };
    for (const Case& one : cases) {
        const auto place = json_fault(one.text);
        ASSERT_TRUE(place) << one.text;
        EXPECT_EQ(place->line, one.line) << one.text;
        EXPECT_EQ(place->column, one.column) << one.text;
        EXPECT_FALSE(parse_json(one.text)) << one.text;
    }
    for (const char* good : {"{}", "[]", " {\"a\": [1, -2.5e+3, true, null, \"\\u00e9\"]} "}) {
        EXPECT_EQ(json_fault(good).has_value(), false) << good;
        EXPECT_TRUE(parse_json(good)) << good;
    }
    EXPECT_TRUE(json_fault(std::string(100'000, '[')).has_value()) << "and does not fall over";
}

}  // namespace
}  // namespace tessera
