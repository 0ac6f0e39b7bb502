#include "role/feed/feed.h"

#include <gmock/gmock.h>

#include "kube/api_client.h"
#include "kube/fake_http_client.h"
#include "kube/fake_objects.h"
#include "role/extender/test_extender.h"
#include "role/feed/list_once.h"

namespace tessera {
namespace {

using namespace tessera::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string bound_pod(std::string_view name, int units, std::string_view more = "",
                      std::string_view status = "Running") {
    return fmt::format(
        R"({{"metadata":{{"name":"{0}","namespace":"default","uid":"uid-{0}","annotations":)"
        R"({{"ALIYUN_COM_GPU_MEM_IDX":"0","ALIYUN_COM_GPU_MEM_POD":"{1}",)"
        R"("ALIYUN_COM_GPU_MEM_DEV":"16"}}}},"spec":{{"nodeName":"gpu-a","containers":[{2}]{3}}},)"
        R"("status":{{"phase":"{4}"}}}})",
        name, units, container_json("main", fmt::format(R"("aliyun.com/gpu-mem":"{}")", units)),
        more, status);
}

std::string unhealthy_map(std::string_view gpus) {
    return fmt::format(R"({{"metadata":{{"name":"unhealthy-gpu-gpu-a","namespace":"kube-system"}},)"
                       R"("data":{{"gpus":"{}"}}}})",
                       gpus);
}

class FeedTest : public ::testing::Test {
  protected:
    static void list(ObjectSink& sink, const std::vector<std::string>& objects) {
        sink.list_begins();
        for (const std::string& object : objects) {
            sink.listed(object);
        }
        sink.list_ends();
    }
    void start(const std::vector<std::string>& pods = {}) {
        list(feed_.nodes(), {gpushare_node("gpu-a", 32, 2)});
        list(feed_.pods(), pods);
        list(feed_.config_maps(), {});
    }
    std::int64_t used_mib() const {
        return mirror_.cluster().use(mirror_.find_node("gpu-a"), GpuIndex(0)).memory_mib;
    }
    bool takes_new(std::uint8_t gpu) const {
        return mirror_.cluster().spec(mirror_.find_node("gpu-a")).gpus[gpu].health == Health::ok;
    }

    Mirror mirror_{{}};
    std::mutex mutex_;
    std::vector<std::string> told_;
    int applied_ = 0;
    Feed feed_{{mirror_, mutex_},
               {.on_unreadable =
                    [this](const Unreadable& one) {
                        told_.push_back(fmt::format("{} {}: {}", one.kind, one.name, one.reason));
                    },
                .on_applied = [this] { ++applied_; }}};
};

TEST_F(FeedTest, IsSyncedWhenAllThreeAreListed) {
    list(feed_.pods(), {});
    list(feed_.config_maps(), {});
    EXPECT_FALSE(feed_.synced());
    list(feed_.nodes(), {gpushare_node("gpu-a", 32, 2)});
    EXPECT_TRUE(feed_.synced());
    EXPECT_EQ(applied_, 3);
    EXPECT_EQ(feed_.counts().nodes.lists, 1U);
    EXPECT_EQ(feed_.counts().nodes.objects, 1U);
}

TEST_F(FeedTest, ChangesAndDeletionsAreFollowed) {
    start({bound_pod("a", 4)});
    EXPECT_EQ(used_mib(), 4 << 10);
    feed_.pods().changed(bound_pod("b", 2));
    EXPECT_EQ(used_mib(), 6 << 10);
    feed_.pods().deleted(bound_pod("a", 4));
    EXPECT_EQ(used_mib(), 2 << 10);
    feed_.pods().changed(bound_pod("b", 2, "", "Succeeded"));
    EXPECT_EQ(used_mib(), 0);
    feed_.nodes().changed(gpushare_node("gpu-b", 32, 2));
    EXPECT_EQ(mirror_.node_count(), 2U);
    feed_.nodes().deleted(R"({"metadata":{"name":"gpu-b"},"spec":7})");
    EXPECT_EQ(mirror_.node_count(), 2U);  // who it was could not be read
    feed_.nodes().deleted(R"({"metadata":{"name":"gpu-b"},"status":7})");
    EXPECT_EQ(mirror_.node_count(), 1U);
}

TEST_F(FeedTest, AListThatBreaksOffChangesNothing) {
    start({bound_pod("a", 4)});
    feed_.pods().list_begins();
    feed_.pods().listed(bound_pod("b", 2));
    EXPECT_EQ(used_mib(), 4 << 10);
    list(feed_.pods(), {bound_pod("c", 1)});
    EXPECT_EQ(used_mib(), 1 << 10);
}

TEST_F(FeedTest, PodsThatHaveEndedAreNotKept) {
    start({bound_pod("a", 4, "", "Failed"), bound_pod("b", 2)});
    EXPECT_EQ(mirror_.pod_count(), 1U);
    EXPECT_EQ(feed_.counts().pods.objects, 2U);
}

// Its priority cannot be read; the record that we wrote at its bind tells what it holds.
TEST_F(FeedTest, ABoundPodThatCannotBeReadStillCounts) {
    const std::string odd =
        R"({"metadata":{"name":"odd","namespace":"default","uid":"uid-odd","annotations":)"
        R"({"tessera.dev/placement":"{\"version\":1,\"owner\":\"default/odd/uid-odd\",)"
        R"(\"node\":\"gpu-a\",\"dialect\":\"gpushare\",\"grants\":[{\"request\":\"*\",)"
        R"(\"gpu\":0,\"milli\":0,\"memoryMib\":4096}]}"}},"spec":{"nodeName":"gpu-a",)"
        R"("priority":"high","containers":[{"name":"main"}]}})";
    start({odd, bound_pod("b", 2)});
    EXPECT_EQ(used_mib(), 6 << 10);
    EXPECT_THAT(told_, ElementsAre(HasSubstr("pod odd: spec.priority")));
    list(feed_.pods(), {odd, bound_pod("b", 2)});
    feed_.pods().changed(odd);
    EXPECT_EQ(used_mib(), 6 << 10);
    EXPECT_EQ(told_.size(), 1U) << "the same is told once";
    EXPECT_EQ(feed_.counts().pods.unreadable, 3U);
    feed_.pods().deleted(odd);
    EXPECT_EQ(used_mib(), 2 << 10);
}

TEST_F(FeedTest, NothingUnreadableStopsTheFeed) {
    start();
    for (const char* bad : {"{}", "[]", "", "{", R"({"metadata":7})", R"({"metadata":{"name":7}})",
                            R"({"metadata":{"name":"x","uid":"u"},"spec":{"nodeName":["y"]}})"}) {
        for (ObjectSink* sink : {&feed_.nodes(), &feed_.pods(), &feed_.config_maps()}) {
            list(*sink, {bad});
            sink->changed(bad);
            sink->deleted(bad);
        }
    }
    EXPECT_GT(feed_.counts().nodes.unreadable, 0U);
    EXPECT_GT(feed_.counts().pods.unreadable, 0U);
    start({bound_pod("a", 4)});
    EXPECT_EQ(used_mib(), 4 << 10);
}

TEST_F(FeedTest, UnhealthyGpusAreMarkedAndOtherMapsPassedOver) {
    start();
    const std::string other =
        R"({"metadata":{"name":"kube-root-ca.crt","namespace":"kube-system"},"data":7})";
    list(feed_.config_maps(), {other, unhealthy_map("1")});
    EXPECT_TRUE(takes_new(0));
    EXPECT_FALSE(takes_new(1));
    feed_.config_maps().changed(unhealthy_map("0"));
    EXPECT_FALSE(takes_new(0));
    EXPECT_TRUE(takes_new(1));
    feed_.config_maps().changed(other);
    feed_.config_maps().deleted(other);
    EXPECT_FALSE(takes_new(0));
    feed_.config_maps().deleted(unhealthy_map("0"));
    EXPECT_TRUE(takes_new(0));
    EXPECT_THAT(told_, IsEmpty());
}

// What a list of pages comes to, and how its errors end.
class ListOnceTest : public ::testing::Test {
  protected:
    Expected<void> list(std::vector<ClientAnswer> answers) {
        std::size_t at = 0;
        FakeHttpClient http(time_, [&](FakeHttpClient& to, const FakeCall& call) {
            paths_.push_back(call.call.path);
            to.answer(call.id, answers.at(std::min(at++, answers.size() - 1)));
        });
        // ApiClient::call would wait on a thread that virtual time has not: send and run instead.
        return list_once(
            [&](ApiCall call) {
                ApiClient api(http, time_.clock(), 1);
                std::optional<ApiResult<std::string>> got;
                api.send(std::move(call),
                         [&](ApiResult<std::string> one) { got = std::move(one); });
                time_.run_until([&] { return got.has_value(); }, seconds(100));
                return std::move(*got);
            },
            "/objects", sink_);
    }
    static ClientAnswer page(std::string names, std::string next) {
        return {.status = 200,
                .body = fmt::format(R"({{"metadata":{{"resourceVersion":"1","continue":"{}"}},)"
                                    R"("items":[{}]}})",
                                    next, names)};
    }

    struct Names final : ObjectSink {
        void list_begins() override { names.clear(); }
        void listed(std::string_view json) override { names.emplace_back(json); }
        void list_ends() override { ++ended; }
        void changed(std::string_view) override {}
        void deleted(std::string_view) override {}
        std::vector<std::string> names;
        int ended = 0;
    };
    VirtualTime time_;
    Names sink_;
    std::vector<std::string> paths_;
};

TEST_F(ListOnceTest, PagesAreJoined) {
    ASSERT_TRUE(list({page(R"({"a":1})", "next"), page(R"({"b":2})", "")}));
    EXPECT_THAT(sink_.names, ElementsAre(R"({"a":1})", R"({"b":2})"));
    EXPECT_EQ(sink_.ended, 1);
    EXPECT_THAT(paths_, ElementsAre("/objects?limit=500", "/objects?limit=500&continue=next"));
}

TEST_F(ListOnceTest, AListThatGrewTooOldIsBegunOnceMore) {
    ASSERT_TRUE(list({page(R"({"a":1})", "next"), status_answer(410, "Expired"),
                      page(R"({"a":1})", ""), page("", "")}));
    EXPECT_THAT(sink_.names, ElementsAre(R"({"a":1})"));
    const auto gone = list({status_answer(410, "Expired")});
    EXPECT_FALSE(gone);
}

TEST_F(ListOnceTest, ErrorsSayWhatAndWhere) {
    const auto refused = list({status_answer(403, "Forbidden")});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::environment);
    EXPECT_THAT(refused.error().message, HasSubstr("grant the role"));
    const auto broken = list({{.status = 200, .body = "<html>"}});
    ASSERT_FALSE(broken);
    EXPECT_THAT(broken.error().message, HasSubstr("/objects: "));
    EXPECT_EQ(sink_.ended, 0);
}

}  // namespace
}  // namespace tessera
