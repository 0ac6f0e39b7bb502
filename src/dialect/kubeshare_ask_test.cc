#include "dialect/kubeshare_ask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::HasSubstr;

Pod labelled(StringMap labels) {
    Pod pod;
    pod.labels = std::move(labels);
    return pod;
}

Pod annotated(StringMap annotations) {
    Pod pod;
    pod.annotations = std::move(annotations);
    return pod;
}

Pod shares(const std::string& request, const std::string& limit) {
    return labelled({{"sharedgpu/gpu_request", request}, {"sharedgpu/gpu_limit", limit}});
}

std::string error_of(const Pod& pod) {
    const auto ask = read_kubeshare(pod);
    return ask ? "" : ask.error().message;
}

TEST(KubeshareAsk, ReadsEverySpellingOfADecimal) {
    struct Case {
        const char* text;
        std::int64_t milli;
    };
    // First those that KubeShare reads, then those that it should.
    for (const auto& [text, milli] : {Case{"0.0", 0},        {"0.5", 500},   {"0.25", 250},
                                      {"00.5", 500},         {"1", 1000},    {"1.0", 1000},
                                      {"1.00", 1000},        {"2", 2000},    {"10.0", 10'000},
                                      {"2.0", 2000},         {"11", 11'000}, {"12", 12'000},
                                      {"010", 10'000},       {"10", 10'000}, {"20", 20'000},
                                      {"100", 100'000},      {"1.5", 1500},  {"1.05", 1050},
                                      {".5", 500},           {"0", 0},       {"0.", 0},
                                      {"1.", 1000},          {"01.0", 1000}, {"0.3333", 334},
                                      {"0.0000000000001", 1}}) {
        const auto value = parse_decimal("key", text);
        ASSERT_TRUE(value.has_value()) << text;
        EXPECT_EQ(value->milli_up(), milli) << text;
    }
    for (const char* text : {"", ".", "1e0", "0x5", "-1", "+1", " 1", "1 ", "nan", "inf", "1.2.3",
                             "0,5", "500m", "99999999999999999999"}) {
        const auto value = parse_decimal("key", text);
        ASSERT_FALSE(value.has_value()) << text;
        EXPECT_THAT(value.error().message, HasSubstr("key: \""));
    }
    EXPECT_LT(parse_decimal("key", std::string(10'000'000, '7')).error().message.size(), 300U);
}

TEST(KubeshareAsk, PartsOfAGpu) {
    const auto ask = read_kubeshare(shares("0.5", "1.0"));
    ASSERT_TRUE(ask.has_value()) << ask.error().message;
    EXPECT_EQ(ask->request.milli_up(), 500);
    EXPECT_EQ(ask->limit.milli_down(), 1000);
    EXPECT_FALSE(ask->several());
    EXPECT_EQ(ask->memory, Bytes(0));
    EXPECT_EQ(ask->service(), ServiceClass::opportunistic);
    EXPECT_FALSE(ask->group.has_value());
    EXPECT_TRUE(read_kubeshare(labelled({{"sharedgpu/gpu_limit", "0.3"}}))->request.zero())
        << "an absent request is 0";
}

TEST(KubeshareAsk, TinyDifferencesCount) {
    EXPECT_TRUE(read_kubeshare(shares("0.5", "0.50000000001")).has_value());
    EXPECT_FALSE(read_kubeshare(shares("0.50000000001", "0.5")).has_value());
}

TEST(KubeshareAsk, SeveralGpusAreWholeOnes) {
    EXPECT_TRUE(read_kubeshare(shares("2.0", "2.0"))->several());
    EXPECT_TRUE(read_kubeshare(shares("10", "10"))->several());
    EXPECT_THAT(error_of(shares("1.5", "1.5")), HasSubstr("gpu_limit: \"1.5\" is not accepted"));
    EXPECT_THAT(error_of(shares("1", "2")), HasSubstr("for several GPUs it equals"));
    EXPECT_THAT(error_of(labelled({{"sharedgpu/gpu_limit", "2.0"}})),
                HasSubstr("gpu_request: absent is not accepted"))
        << "not a shared pod without a share";
    EXPECT_THAT(error_of(shares("17", "17")), HasSubstr("up to 16"));
}

TEST(KubeshareAsk, RefusesWithASentence) {
    EXPECT_EQ(error_of(shares("0.6", "0.5")),
              "sharedgpu/gpu_request: \"0.6\" is not accepted: at most sharedgpu/gpu_limit, which "
              "is \"0.5\", is");
    EXPECT_THAT(error_of(labelled({{"sharedgpu/gpu_request", "0.5"}})),
                HasSubstr("sharedgpu/gpu_limit is missing"));
    EXPECT_THAT(error_of(labelled({{"sharedgpu/gpu_mem", "1073741824"}})),
                HasSubstr("sharedgpu/gpu_limit is missing"));
    for (const char* memory : {"1Gi", "-1", "1.5", "99999999999999999999", "0x10"}) {
        EXPECT_THAT(
            error_of(labelled({{"sharedgpu/gpu_limit", "0.5"}, {"sharedgpu/gpu_mem", memory}})),
            HasSubstr("sharedgpu/gpu_mem: "))
            << memory;
    }
    for (const char* priority : {"101", "-2", "high", "1.0"}) {
        EXPECT_THAT(error_of(labelled({{"sharedgpu/priority", priority}})),
                    HasSubstr("a whole number from -1 to 100"))
            << priority;
    }
}

TEST(KubeshareAsk, PriorityDecidesTheClass) {
    const auto service = [](const char* priority) {
        return read_kubeshare(labelled({{"sharedgpu/priority", priority}}))->service();
    };
    EXPECT_EQ(service("-1"), ServiceClass::opportunistic);
    EXPECT_EQ(service("0"), ServiceClass::opportunistic);
    EXPECT_EQ(service(""), ServiceClass::opportunistic);
    EXPECT_EQ(service("1"), ServiceClass::guaranteed);
    EXPECT_EQ(service("100"), ServiceClass::guaranteed);
}

TEST(KubeshareAsk, NothingAskedIsARegularPod) {
    EXPECT_EQ(kubeshare_asks(labelled({})), "");
    EXPECT_EQ(kubeshare_asks(shares("0", "0.0")), "");
    EXPECT_EQ(kubeshare_asks(labelled({{"sharedgpu/gpu_limit", "0"}})), "");
    EXPECT_EQ(kubeshare_asks(labelled({{"sharedgpu/gpu_model", "V100"}})), "");
    EXPECT_EQ(kubeshare_asks(shares("0.5", "0.5")), "sharedgpu/gpu_limit");
    EXPECT_EQ(kubeshare_asks(shares("x", "y")), "sharedgpu/gpu_limit") << "so that it is refused";
    EXPECT_EQ(kubeshare_asks(annotated({{"kubeshare/gpu_mem", "5"}})), "kubeshare/gpu_mem");
}

StringMap group(const std::string& headcount, const std::string& threshold) {
    return {{"sharedgpu/group_name", "ring"},
            {"sharedgpu/group_headcount", headcount},
            {"sharedgpu/group_threshold", threshold}};
}

TEST(KubeshareAsk, GangMinimumAndWait) {
    struct Case {
        const char* threshold;
        const char* headcount;
        int minimum;
        int seconds;
    };
    for (const auto& [threshold, headcount, minimum, seconds] : {Case{"0.2", "5", 1, 10},
                                                                 {"0.5", "5", 3, 10},
                                                                 {"1.0", "4", 4, 8},
                                                                 {"1.5", "4", 6, 8},
                                                                 {"0.05", "5", 1, 10}}) {
        const auto ask = read_kubeshare(labelled(group(headcount, threshold)));
        ASSERT_TRUE(ask.has_value()) << ask.error().message;
        EXPECT_EQ(ask->group->minimum, minimum) << threshold;
        EXPECT_EQ(ask->group->wait(), Nanoseconds(seconds * 1'000'000'000LL));
    }
}

TEST(KubeshareAsk, BothSpellingsOfTheGroup) {
    StringMap labels = group("4", "1.0");
    labels.erase("sharedgpu/group_name");
    labels["sharedgpu/pod_group_name"] = "ring";
    EXPECT_EQ(read_kubeshare(labelled(labels))->group->name, "ring");
    labels["sharedgpu/group_name"] = "ring";
    EXPECT_TRUE(read_kubeshare(labelled(labels)).has_value());
    labels["sharedgpu/group_name"] = "other";
    EXPECT_THAT(error_of(labelled(labels)), HasSubstr("one group is accepted"));
    const auto old = read_kubeshare(
        labelled({{"sharedgpu/group_name", "ring"}, {"sharedgpu/min_available", "3"}}));
    ASSERT_TRUE(old.has_value()) << old.error().message;
    EXPECT_EQ(old->group->minimum, 3);
}

TEST(KubeshareAsk, AHalfDescribedGroupIsAnErrorNotAnUngroupedPod) {
    for (const char* key :
         {"sharedgpu/group_name", "sharedgpu/group_headcount", "sharedgpu/group_threshold"}) {
        StringMap labels = group("4", "0.5");
        labels.erase(key);
        EXPECT_THAT(error_of(labelled(labels)), HasSubstr("belong together")) << key;
    }
    EXPECT_THAT(error_of(labelled(group("0", "0.5"))), HasSubstr("a number of pods from 1"));
    EXPECT_THAT(error_of(labelled(group("four", "0.5"))), HasSubstr("group_headcount: \"four\""));
    EXPECT_THAT(error_of(labelled(group("4", "0"))), HasSubstr("above 0"));
    EXPECT_THAT(error_of(labelled(group("4", "-1"))), HasSubstr("plain decimal"));
    EXPECT_THAT(error_of(labelled(group("100000", "999999999"))), HasSubstr("at most"));
}

TEST(KubeshareAsk, DefaultMemoryIsTheRequestsPart) {
    const auto half = parse_decimal("key", "0.5");
    EXPECT_EQ(default_memory(*half, Bytes(8'513'978'368)), Bytes(4'256'989'184));
    const auto third = parse_decimal("key", "0.333");
    EXPECT_EQ(default_memory(*third, Bytes(1000)), Bytes(333));
}

TEST(KubeshareAsk, AnnotationsOfTheFirstVersion) {
    const StringMap full = {{"kubeshare/gpu_request", "0.4"},
                            {"kubeshare/gpu_limit", "1.0"},
                            {"kubeshare/gpu_mem", "3145728000"}};
    const auto ask = read_kubeshare(annotated(full));
    ASSERT_TRUE(ask.has_value()) << ask.error().message;
    EXPECT_EQ(ask->request.milli_up(), 400);
    EXPECT_EQ(ask->memory, Bytes(3'145'728'000));
    for (const auto& [key, value] : full) {
        StringMap part = full;
        part.erase(key);
        EXPECT_THAT(error_of(annotated(part)), HasSubstr(key + " is missing")) << key;
    }
    StringMap two = full;
    two["kubeshare/gpu_request"] = two["kubeshare/gpu_limit"] = "2";
    EXPECT_THAT(error_of(annotated(two)), HasSubstr("0 to 1 is"));
    StringMap tagged = full;
    tagged["kubeshare/sched_exclusion"] = "blue";
    EXPECT_THAT(error_of(annotated(tagged)),
                HasSubstr("GPUs keep no tags here; tessera.dev/isolation: exclusive gives"));
    Pod newer = shares("0.5", "1.0");
    newer.annotations["kubeshare/sched_anti-affinity"] = "red";
    EXPECT_THAT(error_of(newer), HasSubstr("kubeshare/sched_anti-affinity: \"red\""))
        << "not ignored with the newer labels either";
    Pod both = annotated(full);
    both.labels["sharedgpu/gpu_limit"] = "0.5";
    EXPECT_THAT(error_of(both), HasSubstr("one of the two is accepted"));
}

}  // namespace
}  // namespace tessera
