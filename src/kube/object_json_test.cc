#include "kube/object_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera {
namespace {

TEST(ObjectJson, EventsInAnyOrderOfKeys) {
    ObjectReader reader;
    auto event = reader.event(
        R"({"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"a","resourceVersion":"12"},"spec":{}}})");
    ASSERT_TRUE(event) << event.error().message;
    EXPECT_EQ(event->kind, WatchKind::added);
    EXPECT_EQ(event->object,
              R"({"kind":"Pod","metadata":{"name":"a","resourceVersion":"12"},"spec":{}})");
    EXPECT_EQ(event->resource_version, "12");
    event = reader.event(
        R"( { "object" : {"spec":{"metadata":{"resourceVersion":"no"}},"metadata":{"resourceVersion":"7"} } , "type" : "DELETED" } )");
    ASSERT_TRUE(event) << event.error().message;
    EXPECT_EQ(event->kind, WatchKind::deleted);
    EXPECT_EQ(event->resource_version, "7");
    EXPECT_EQ(
        event->object,
        R"({"spec":{"metadata":{"resourceVersion":"no"}},"metadata":{"resourceVersion":"7"} })");
    event =
        reader.event(R"({"type":"MODIFIED","object":{"metadata":{"resourceVersion":"\u0037"}}})");
    ASSERT_TRUE(event) << event.error().message;
    EXPECT_EQ(event->kind, WatchKind::modified);
    EXPECT_EQ(event->resource_version, "7");
    event = reader.event(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}})");
    ASSERT_TRUE(event) << event.error().message;
    EXPECT_EQ(event->kind, WatchKind::bookmark);
    event = reader.event(R"({"type":"ERROR","object":{"code":410}})");
    ASSERT_TRUE(event) << event.error().message;
    EXPECT_EQ(event->kind, WatchKind::error);
}

TEST(ObjectJson, WhatIsNoEventIsAnError) {
    ObjectReader reader;
    for (
        const std::string line :
        {"", "x", "null", "[]", "{}", R"({"type":"ADDED"})", R"({"type":"ADDED","object":null})",
         R"({"type":"ADDED","object":[]})", R"({"type":"ADDED","object":{}})",
         R"({"type":"ADDED","object":{"metadata":{}}})",
         R"({"type":"ADDED","object":{"metadata":{"resourceVersion":7}}})",
         R"({"type":"OTHER","object":{"metadata":{"resourceVersion":"7"}}})",
         R"({"type":7,"object":{"metadata":{"resourceVersion":"7"}}})",
         R"({"object":{"metadata":{"resourceVersion":"7"}}})",
         R"({"type":"ADDED","object":{"metadata":{"resourceVersion":"7"}})",
         R"({"type":"ADDED","object":{"metadata":{"resourceVersion":"7"}}} {})",
         R"({"type":"ADDED","object":{"metadata":{"resourceVersion":"7)",
         R"({"type":"ADDED","object":{"metadata":{"resourceVersion":"7"}},"object":{"metadata":{"resourceVersion":"8"}}})",
         "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"\xff\"}}}"}) {
        EXPECT_FALSE(reader.event(line)) << line;
    }
    EXPECT_TRUE(reader.event(R"({"type":"ADDED","object":{"metadata":{"resourceVersion":"7"}}})"))
        << "and the next line is read all the same";
}

struct Read {
    Expected<ListPage> page;
    std::vector<std::string> items;
};
Read read(std::string body) {
    ObjectReader reader;
    std::vector<std::string> items;
    auto page = reader.page(body, [&](std::string_view item) { items.emplace_back(item); });
    return {std::move(page), std::move(items)};
}

TEST(ObjectJson, Pages) {
    auto got = read(
        R"({"kind":"PodList","metadata":{"resourceVersion":"99","continue":"abc=","remainingItemCount":3},"items":[{"a":1} , {"b":{"c":[]}}]})"
        "\n");
    ASSERT_TRUE(got.page) << got.page.error().message;
    EXPECT_EQ(got.page->resource_version, "99");
    EXPECT_EQ(got.page->next, "abc=");
    EXPECT_EQ(got.page->items, 2);
    EXPECT_THAT(got.items, testing::ElementsAre(R"({"a":1})", R"({"b":{"c":[]}})"));
    got = read(R"({"items":[{}],"metadata":{"resourceVersion":"1","continue":""}})");
    ASSERT_TRUE(got.page) << got.page.error().message;
    EXPECT_EQ(got.page->next, "");
    for (const char* none : {R"({"metadata":{"resourceVersion":"1"},"items":[]})",
                             R"({"metadata":{"resourceVersion":"1"},"items":null})"}) {
        got = read(none);
        ASSERT_TRUE(got.page) << got.page.error().message;
        EXPECT_EQ(got.page->items, 0);
    }
}

TEST(ObjectJson, WhatIsNoPageIsAnError) {
    for (const std::string body :
         {"", "[]", "{}", R"({"metadata":{"resourceVersion":"1"}})", R"({"items":[]})",
          R"({"metadata":{},"items":[]})", R"({"metadata":{"resourceVersion":"1"},"items":{}})",
          R"({"metadata":{"resourceVersion":"1"},"items":[1]})",
          R"({"metadata":{"resourceVersion":"1"},"items":[{}],"items":[{}]})",
          R"({"metadata":{"resourceVersion":"1"},"items":[{"a":1},{"b")",
          R"({"metadata":{"resourceVersion":"1"},"items":[{"a":{"b":1},"c":{}]})",
          R"({"metadata":{"resourceVersion":"1"},"items":[{}]}{})"}) {
        EXPECT_FALSE(read(body).page) << body;
    }
}

TEST(ObjectJson, Statuses) {
    const auto status = read_status(
        R"({"kind":"Status","message":"wait","reason":"TooManyRequests","details":{"kind":"x","retryAfterSeconds":3},"code":429})");
    ASSERT_TRUE(status);
    EXPECT_EQ(status->code, 429);
    EXPECT_EQ(status->reason, "TooManyRequests");
    EXPECT_EQ(status->message, "wait");
    EXPECT_EQ(status->retry_after_seconds, 3);
    for (const char* other :
         {"", "no", "{}", R"({"kind":"Pod"})", R"({"kind":"Status","code":"x"})"}) {
        EXPECT_FALSE(read_status(other)) << other;
    }
}

}  // namespace
}  // namespace tessera
