#include "codec/policy_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string error_of(std::string_view text) {
    const auto spec = parse_policy_yaml(text, "p.yaml");
    return spec ? "" : spec.error().message;
}

TEST(PolicyYaml, ReadsScoresWithTheirLines) {
    const auto spec = parse_policy_yaml(
        "name: pack-by-size\n"
        "scores:\n"
        "- {name: binpack, weight: 2}\n"
        "- name: clustering\n"
        "devices: emptiest\n"
        "ties: [least-idle,\n"
        "       oldest]\n"
        "smallest-share: 250\n",
        "p.yaml");
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->name.value, "pack-by-size");
    ASSERT_EQ(spec->scores.size(), 2U);
    EXPECT_EQ(spec->scores[0].weight.value, 2);
    EXPECT_EQ(spec->scores[1].name.value, "clustering");
    EXPECT_EQ(spec->scores[1].name.line, 4);
    EXPECT_EQ(spec->scores[1].weight.value, 1);
    EXPECT_EQ(spec->ties[1].line, 7);
    EXPECT_EQ(spec->smallest_share->value, 250);
    EXPECT_FALSE(spec->base);
}

TEST(PolicyYaml, ReadsABaseWithParameters) {
    const auto spec = parse_policy_yaml(
        "name: calm\nbase: tessera\nparameters:\n  safety: 2\n  host-power: 3.5\n", "p.yaml");
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->base->value, "tessera");
    ASSERT_EQ(spec->parameters.size(), 2U);
    EXPECT_EQ(spec->parameters[1].value, 3.5);
    EXPECT_EQ(spec->parameters[1].name.line, 5);
}

TEST(PolicyYaml, ErrorsNameFileLineAndWhatIsAccepted) {
    EXPECT_THAT(error_of("name: a\nscore: []\n"), StartsWith("p.yaml:2: "));
    EXPECT_THAT(error_of("name: a\nscore: []\n"), HasSubstr("scores"));
    EXPECT_THAT(error_of("name: a\nname: b\n"), StartsWith("p.yaml:2: name is there twice"));
    EXPECT_THAT(error_of("scores: []\n"), HasSubstr("name is missing"));
    EXPECT_THAT(error_of("name: [a]\n"), HasSubstr("p.yaml:1: name: a list is not accepted"));
    EXPECT_THAT(error_of("name: a\nscores: binpack\n"), HasSubstr("a list is"));
    EXPECT_THAT(error_of("name: a\nscores:\n- binpack\n"), StartsWith("p.yaml:3: a score is"));
    EXPECT_THAT(error_of("name: a\nscores:\n- {weight: 1}\n"), HasSubstr("has no name"));
    EXPECT_THAT(error_of("name: a\nscores:\n- {name: b, weight: 1.5}\n"),
                HasSubstr("p.yaml:3: weight: \"1.5\" is not accepted; a whole number is"));
    EXPECT_THAT(error_of("name: a\nstep: 99999999999999999999\n"), StartsWith("p.yaml:2: step"));
    EXPECT_THAT(error_of("name: a\nwhole-devices: yes\n"), HasSubstr("true or false"));
    EXPECT_THAT(error_of("- name: a\n"), StartsWith("p.yaml:1: a policy is a map"));
    EXPECT_THAT(error_of(""), StartsWith("p.yaml:1: a policy is a map"));
    EXPECT_THAT(
        error_of("name: a\n\tbase: b\n"),
        HasSubstr("p.yaml:2: this is not valid YAML: a tab may not indent a line; spaces do"));
    EXPECT_EQ(error_of(std::string("name: a\nbase: f\0b\n", 17)),
              "p.yaml:2: a NUL byte is no text");
    EXPECT_EQ(error_of("name: " + std::string(9'000, '[')),
              "p.yaml:1: this is not valid YAML: it is nested too deeply");
    EXPECT_EQ(error_of("\xef\xbb\xbfname: a\r\nbase: fgd\r\n"), "");
}

TEST(PolicyYaml, AFileHasOnePolicy) {
    EXPECT_THAT(error_of("name: a\n---\nname: b\n"), HasSubstr("a file has one policy"));
    EXPECT_EQ(error_of("---\nname: a\n...\n"), "");
    EXPECT_NE(error_of(","), "");
}

TEST(PolicyYaml, NumbersAreFinite) {
    for (const char* number : {".nan", "nan", "inf", "-.inf", "1e999", "0x10", "", "1 2"}) {
        const std::string text = std::string("name: a\nparameters:\n  safety: ") + number + "\n";
        EXPECT_THAT(error_of(text), StartsWith("p.yaml:3: safety: ")) << number;
    }
}

TEST(PolicyYaml, WhatIsWrittenReadsBackEqual) {
    PolicySpec spec;
    spec.name = {"mine"};
    spec.summary = "quotes \" and \\ and\nlines: [#";
    spec.scores = {{{"binpack"}, {-3}}, {{"true"}, {1}}};
    spec.select = {{"best"}};
    spec.devices = {{"random"}};
    spec.ties = {{"oldest"}, {"1"}};
    spec.step = {{40}};
    spec.whole_devices = true;
    spec.smallest_share = {{125}};
    spec.base = {{"tessera"}};
    spec.parameters = {{{"safety"}, 0.1}, {{"host-least"}, 1e-9}};
    const auto again = parse_policy_yaml(write_policy_yaml(spec), "p.yaml");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, spec);
}

TEST(PolicyYaml, ASecondDocumentIsToldWithItsLine) {
    EXPECT_EQ(error_of("name: a\nscores:\n- {name: binpack}\n---\nname: b\n"),
              "p.yaml:4: something follows the policy; a file has one policy");
}

}  // namespace
}  // namespace tessera
