#include "codec/settings_yaml.h"

#include <gmock/gmock.h>

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(SettingsYaml, WordsListsAndMaps) {
    const auto settings = read_settings_yaml(
        "# of a deployment\n"
        "listen: 0.0.0.0:12345\n"
        "leader-elect: true\n"
        "names: [a, b]\n"
        "policy:\n"
        "  elastic: elastic-spread\n"
        "  gpushare: mine.yaml\n");
    ASSERT_TRUE(settings) << settings.error().message;
    ASSERT_EQ(settings->size(), 4U);
    EXPECT_EQ((*settings)[0].key, "listen");
    EXPECT_EQ((*settings)[0].line, 2);
    EXPECT_THAT((*settings)[0].values, ElementsAre("0.0.0.0:12345"));
    EXPECT_THAT((*settings)[1].values, ElementsAre("true"));
    EXPECT_THAT((*settings)[2].values, ElementsAre("a", "b"));
    EXPECT_THAT((*settings)[3].values, ElementsAre("elastic=elastic-spread", "gpushare=mine.yaml"));
}

TEST(SettingsYaml, NothingIsNoSettings) {
    for (const char* text : {"", "# only a comment\n", "---\n"}) {
        const auto settings = read_settings_yaml(text);
        ASSERT_TRUE(settings) << text;
        EXPECT_TRUE(settings->empty()) << text;
    }
}

TEST(SettingsYaml, ErrorsNameTheLine) {
    struct Case {
        std::string text;
        std::string said;
    };
    const Case cases[] = {
        {"- a\n", "line 1: settings are a map"},
        {"listen: x\nlisten: y\n", "line 2: \"listen\" is there twice"},
        {"a:\n  b:\n    c: d\n", "line 3: \"a\": a word or a number is accepted here"},
        {"a: [[b]]\n", "line 1: \"a\": a word or a number"},
        {"a:\n", "\"a\": a word or a number"},
        {"[a]: b\n", "a key is a word"},
        {"a: [b\n", "not valid YAML"},
        {std::string("a: b\0", 5), "line 1"},
        {std::string((1 << 20) + 1, ' '), "at most 1048576 are read"},
    };
    for (const Case& one : cases) {
        const auto settings = read_settings_yaml(one.text);
        ASSERT_FALSE(settings) << one.text;
        EXPECT_THAT(settings.error().message, HasSubstr(one.said));
        EXPECT_EQ(settings.error().kind, ErrorKind::invalid);
    }
}

}  // namespace
}  // namespace tessera
