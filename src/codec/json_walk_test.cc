#include "codec/json_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera {
namespace {

struct Thing {
    std::string name;
    std::int32_t count = 0;
    std::vector<std::int32_t> numbers;
    StringMap words;
    bool truth = false;
};

class ThingReader : public JsonWalk {
  public:
    bool read(std::string_view text, Thing& out) {
        return document(text, [&](JsonItem item) { return thing(item, out); });
    }

  private:
    bool thing_count(JsonItem item, Thing& out) { return count(item, out.count); }
    bool thing_truth(JsonItem item, Thing& out) { return truth(item, out.truth); }
    bool thing_numbers(JsonItem item, Thing& out) {
        return list(item, [&](JsonItem one) { return number(one, out.numbers.emplace_back()); });
    }
    bool thing(JsonItem item, Thing& out) {
        static constexpr std::array<Rule<ThingReader, Thing>, 6> kRules{
            {{"kind", nullptr},
             {"name", &ThingReader::text_of<&Thing::name>},
             {"count", &ThingReader::thing_count},
             {"truth", &ThingReader::thing_truth},
             {"numbers", &ThingReader::thing_numbers},
             {"words", &ThingReader::strings_of<&Thing::words>}}};
        std::string kind;
        return peek_text(item, "kind", kind) && object<ThingReader, Thing>(item, out, kRules);
    }
};

TEST(JsonWalk, ReadsWhatItKnowsAndSkipsTheRest) {
    Thing thing;
    ThingReader reader;
    ASSERT_TRUE(reader.read(R"({"other":{"deep":[1,{"x":2}]},"name":"a","count":3,"numbers":[1,-2],
        "words":{"k":"v"},"truth":true,"kind":"Thing","absent":null})",
                            thing))
        << reader.take_error().to_string();
    EXPECT_EQ(thing.name, "a");
    EXPECT_EQ(thing.count, 3);
    EXPECT_EQ(thing.numbers, (std::vector<std::int32_t>{1, -2}));
    EXPECT_EQ(thing.words.at("k"), "v");
    EXPECT_TRUE(thing.truth);
}

TEST(JsonWalk, TheFirstFaultIsToldWithItsPath) {
    struct Case {
        const char* text;
        const char* message;
    };
    const std::vector<Case> cases{
        {R"({"name":1})", "name: \"1\" is not accepted: text"},
        {R"({"count":-1})", "count: -1 is not accepted: 0 or more is"},
        {R"({"count":4294967296})", "count: \"4294967296\" is not accepted: a whole number of 32"},
        {R"({"numbers":[1,"x"]})", "numbers[1]: "},
        {R"({"numbers":{}})", "numbers: an object is not accepted: a list is"},
        {R"({"words":{"a.b/c":1}})", "words[\"a.b/c\"]: "},
        {R"({"name":"a","name":"b"})", "name: the key is there twice"},
        {R"({"kind":"a","kind":"b"})", "kind: the key is there twice"},
        {R"({"truth":"yes"})", "true or false"},
        {R"({"kind":5})", "kind: "},
        {R"([])", "a JSON object is accepted"},
        {R"({"name":nul})", "not valid JSON"},
        {R"({} {})", "something follows the JSON document"},
    };
    for (const Case& one : cases) {
        Thing thing;
        ThingReader reader;
        ASSERT_FALSE(reader.read(one.text, thing)) << one.text;
        EXPECT_THAT(reader.take_error().to_string(), testing::HasSubstr(one.message)) << one.text;
    }
}

}  // namespace
}  // namespace tessera
