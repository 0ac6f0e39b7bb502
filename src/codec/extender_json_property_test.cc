// A request that ends as an earlier one is read no further than its pod: that must be what reading
// all of it gives, whatever stands before the end.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "codec/extender_json.h"

namespace tessera {
namespace {

// Pieces of requests, which mostly make none.
std::string random_front(Rng& rng) {
    constexpr std::string_view kPieces[] = {"{",
                                            "}",
                                            "[",
                                            "]",
                                            ",",
                                            ",",
                                            "\"",
                                            "\\",
                                            " ",
                                            "1",
                                            "null",
                                            "\"x\":",
                                            "\"x\"",
                                            "{}",
                                            "[1}",
                                            "\"Pod\":",
                                            "\"pod\":",
                                            "{}",
                                            "{\"a\":[1,{}]}",
                                            "{\"a\":\"}\"}",
                                            "\"Pod\":{}",
                                            "\"Pod\":null",
                                            "\"Nodes\":null",
                                            "\"NodeNames\":[\"z\"]",
                                            "\xff",
                                            "\"Nodes\":{\"items\":[{}]}"};
    std::string front = rng.below(8) == 0 ? "" : "{";
    for (std::uint64_t n = rng.below(6); n > 0; --n) {
        front += kPieces[rng.below(std::size(kPieces))];
    }
    return front + (rng.below(3) == 0 ? "\"Pod\":{\"b\":2}" : "");
}

std::vector<std::string> names_of(const ExtenderArgs& args) {
    std::vector<std::string> names;
    for (std::size_t at = 0; at < args.size(); ++at) {
        names.emplace_back(args.name(at));
    }
    return names;
}

TEST(ExtenderJsonProperty, ARequestThatEndsAsAnotherNamesTheSameNodes) {
    const char* const known_bodies[] = {
        R"({"Pod":{},"Nodes":null,"NodeNames":["a","b\u0063",null]})",
        R"({"Pod":{} , "NodeNames":[]} )",
        R"({"Pod":{},"Nodes":{"items":[{"metadata":{"name":"a"}},null]},"NodeNames":null})",
        R"({"Pod":{},"Nodes":{"items":[{"metadata":{"name":"a"}}]}})",
        R"({"Pod":{},"NodeNames":["a"],"NodeNames":["b"],"x":[{"y":"z"}]})",
    };
    Rng rng(1);
    int same = 0;
    for (const char* text : known_bodies) {
        ExtenderReader reader;
        ExtenderReader whole;
        std::string known_body = text;
        ExtenderArgs known;
        ASSERT_TRUE(reader.args(known_body, known));
        ASSERT_FALSE(known.rest.empty());
        for (int i = 0; i < 20'000; ++i) {
            std::string body = random_front(rng) + std::string(known.rest);
            const std::string before = body;
            const std::string pod(reader.pod_before(body, known));
            ASSERT_EQ(body, before);
            ExtenderArgs args;
            const auto read = whole.args(body, args);
            const bool ends_so = read && args.rest == known.rest;
            // Of one that counts its nodes elsewhere, too, all is read.
            ASSERT_TRUE(!pod.empty() || !ends_so) << body;
            if (!pod.empty()) {
                ++same;
                ASSERT_TRUE(read) << body << ": " << read.error().message;
                ASSERT_EQ(pod, args.pod) << body;
                ASSERT_EQ(args.form, known.form) << body;
                ASSERT_EQ(names_of(args), names_of(known)) << body;
                ASSERT_EQ(args.items, known.items) << body;
            }
        }
    }
    EXPECT_GT(same, 1000);
}

}  // namespace
}  // namespace tessera
