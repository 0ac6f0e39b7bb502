#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <limits>

namespace tessera {
namespace {

TEST(JsonWriter, WritesNestedValues) {
    JsonWriter json;
    json.begin_object();
    json.member("name", "gpu-a");
    json.member("count", 3);
    json.member("big", std::numeric_limits<std::uint64_t>::max());
    json.member("small", std::numeric_limits<std::int64_t>::min());
    json.member("ready", true);
    json.key("list");
    json.begin_array();
    json.value(1.5);
    json.null();
    json.begin_object();
    json.end_object();
    json.end_array();
    json.key("raw");
    json.raw("[1,2]");
    json.end_object();
    EXPECT_EQ(json.take(),
              R"({"name":"gpu-a","count":3,"big":18446744073709551615,)"
              R"("small":-9223372036854775808,"ready":true,"list":[1.5,null,{}],"raw":[1,2]})");
}

TEST(JsonWriter, EscapesStringsAndReplacesInvalidBytes) {
    JsonWriter json;
    json.value(std::string_view("a\"b\\c\n\t\r\x01\0é€😀\xff\xc0\xaf", 22));
    EXPECT_EQ(json.take(),
              "\"a\\\"b\\\\c\\n\\t\\r\\u0001\\u0000é€😀\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST(JsonWriter, DoublesReadBackEqualAndNaNIsNull) {
    for (double number : {0.1, 1e300, -2.5e-8, 1.0 / 3.0, 5.0}) {
        JsonWriter json;
        json.value(number);
        EXPECT_EQ(std::stod(json.take()), number);
    }
    JsonWriter json;
    json.begin_array();
    json.value(std::numeric_limits<double>::quiet_NaN());
    json.value(std::numeric_limits<double>::infinity());
    json.end_array();
    EXPECT_EQ(json.take(), "[null,null]");
}

TEST(JsonWriter, IsReusableAfterTake) {
    JsonWriter json;
    json.value(1);
    EXPECT_EQ(json.take(), "1");
    json.value(2);
    EXPECT_EQ(json.take(), "2");
}

TEST(JsonWriterDeathTest, WrongNestingStops) {
    EXPECT_DEATH(
        {
            JsonWriter json;
            json.begin_object();
            json.value(1);
        },
        "follows a key");
    EXPECT_DEATH(
        {
            JsonWriter json;
            json.begin_array();
            json.take();
        },
        "complete");
    EXPECT_DEATH(
        {
            JsonWriter json;
            json.begin_array();
            json.end_object();
        },
        "innermost");
}

}  // namespace
}  // namespace tessera
