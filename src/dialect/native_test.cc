#include "dialect/native.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/test_pods.h"

namespace tessera {
namespace {

using testing::container;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::pod;
using ::testing::SizeIs;
using testing::World;

const std::string kGpus = "tessera.dev/gpu";

Pod with(Pod pod, StringMap annotations) {
    pod.annotations = std::move(annotations);
    return pod;
}

TEST(Native, GpusAloneAreWhole) {
    World world;
    const auto requests = world.requests(pod({{kGpus, "4"}}));
    ASSERT_THAT(requests, SizeIs(1));
    EXPECT_EQ(requests[0].gpus, 4);
    EXPECT_TRUE(requests[0].whole());
}

TEST(Native, PartsPerGpu) {
    World world;
    const auto requests =
        world.requests(with(pod({{kGpus, "2"}}), {{"tessera.dev/gpu-milli", "250"},
                                                  {"tessera.dev/gpu-limit-milli", "500"},
                                                  {"tessera.dev/gpu-memory-mib", "4096"}}));
    ASSERT_THAT(requests, SizeIs(1));
    EXPECT_EQ(requests[0].gpus, 2);
    EXPECT_EQ(requests[0].milli, MilliGpu(250));
    EXPECT_EQ(requests[0].limit, MilliGpu(500));
    EXPECT_EQ(requests[0].memory, MemoryMib(4096));
}

TEST(Native, ComputeAloneTakesMemoryInProportionMemoryAloneTakesNoCompute) {
    World world;
    EXPECT_EQ(
        world.requests(with(pod({{kGpus, "1"}}), {{"tessera.dev/gpu-milli", "333"}}))[0].memory_ppm,
        333'000);
    const auto memory =
        world.requests(with(pod({{kGpus, "1"}}), {{"tessera.dev/gpu-memory-mib", "100"}}));
    EXPECT_EQ(memory[0].milli, MilliGpu(0));
    EXPECT_EQ(memory[0].limit, kWholeGpu);
}

TEST(Native, PodWideKeysWithoutResourceShareOneDevice) {
    World world;
    const Pod both =
        with(pod({container("a", {}), container("b", {})}), {{"tessera.dev/gpu-milli", "500"}});
    const auto asked = world.ask(both);
    ASSERT_TRUE(asked);
    ASSERT_THAT(asked->demand.alternatives.front().requests, SizeIs(1));
    EXPECT_THAT(asked->uses, SizeIs(2));
}

TEST(Native, KeysPerContainer) {
    World world;
    const Pod both =
        with(pod({container("a", {}), container("b", {{kGpus, "2"}}), container("c", {})}),
             {{"tessera.dev/gpu-milli.a", "300"}, {"tessera.dev/gpu-memory-mib", "1000"}});
    const auto requests = world.requests(both);
    ASSERT_THAT(requests, SizeIs(2));
    EXPECT_EQ(requests[0].milli, MilliGpu(300));
    EXPECT_EQ(requests[0].memory, MemoryMib(1000));
    EXPECT_EQ(requests[1].gpus, 2);
    EXPECT_EQ(requests[1].milli, MilliGpu(0));
}

TEST(Native, ModifiersApplyToEveryVocabulary) {
    World world;
    for (const char* resource : {"tessera.dev/gpu", "aliyun.com/gpu-mem", "nvidia.com/gpu"}) {
        const auto asked =
            world.ask(with(pod({{resource, "1"}}), {{"tessera.dev/gpu-model", "A100, V100"},
                                                    {"tessera.dev/class", "opportunistic"},
                                                    {"tessera.dev/priority", "-7"},
                                                    {"tessera.dev/group", "g"},
                                                    {"tessera.dev/group-size", "4"},
                                                    {"tessera.dev/group-min", "2"},
                                                    {"tessera.dev/app", "resnet50"},
                                                    {"tessera.dev/isolation", "hook"}}));
        ASSERT_TRUE(asked) << resource;
        const Demand& demand = asked->demand;
        EXPECT_THAT(demand.models,
                    ElementsAre(world.names.models.find("A100"), world.names.models.find("V100")));
        EXPECT_EQ(demand.service, ServiceClass::opportunistic);
        EXPECT_EQ(demand.priority, -7);
        ASSERT_TRUE(demand.gang);
        EXPECT_EQ(world.names.groups.name(demand.gang->group), "default/g");
        EXPECT_EQ(demand.gang->size, 4);
        EXPECT_EQ(demand.gang->minimum, 2);
        EXPECT_EQ(world.names.apps.name(demand.app), "resnet50");
        EXPECT_EQ(demand.isolation, Isolation::hook);
    }
}

TEST(Native, LabelsServeAsWell) {
    World world;
    Pod labelled = pod({{kGpus, "1"}});
    labelled.labels["tessera.dev/gpu-milli"] = "100";
    EXPECT_EQ(world.requests(labelled)[0].milli, MilliGpu(100));
    labelled.annotations["tessera.dev/gpu-milli"] = "200";
    EXPECT_THAT(world.refusal(labelled), HasSubstr("the annotation says \"200\", the label"));
}

TEST(Native, MalformedKeysAreRefusedEachWithOneSentence) {
    World world;
    const std::vector<std::pair<StringMap, const char*>> cases{
        {{{"tessera.dev/gpu-milli", "0"}}, "from 1 to 1000"},
        {{{"tessera.dev/gpu-milli", "1001"}}, "from 1 to 1000"},
        {{{"tessera.dev/gpu-milli", "-5"}}, "from 1 to 1000"},
        {{{"tessera.dev/gpu-milli", "0.5"}}, "\"0.5\" is not accepted"},
        {{{"tessera.dev/gpu-milli", "NaN"}}, "\"NaN\" is not accepted"},
        {{{"tessera.dev/gpu-milli", "99999999999999999999"}}, "is not accepted"},
        {{{"tessera.dev/gpu-milli", std::string(10'000'000, '9')}}, "(10000000 bytes)"},
        {{{"tessera.dev/gpu-milli", "\xff\xfe"}}, "\\xff"},
        {{{"tessera.dev/gpu-mili", "5"}},
         "\"tessera.dev/gpu-mili\" is not a key of ours: did you mean tessera.dev/gpu-milli? "
         "accepted are tessera.dev/gpu-milli, "},
        {{{"tessera.dev/gpu-mili.main", "5"}},
         " did you mean tessera.dev/gpu-milli.NAME? accepted"},
        {{{"tessera.dev/goup", "g"}}, " did you mean tessera.dev/group? accepted"},
        {{{"tessera.dev/owner", "g"}}, "\"tessera.dev/owner\" is not a key of ours: accepted are"},
        {{{"tessera.dev/gpu-milli.nobody", "5"}}, "no container \"nobody\""},
        {{{"tessera.dev/gpu-limit-milli", "5"}}, "not accepted without"},
        {{{"tessera.dev/gpu-milli", "500"}, {"tessera.dev/gpu-limit-milli", "400"}},
         "at least tessera.dev/gpu-milli"},
        {{{"tessera.dev/class", "Guaranteed"}}, "guaranteed, opportunistic, latency are"},
        {{{"tessera.dev/isolation", "full"}}, "none, hook, mps, mig, exclusive are"},
        {{{"tessera.dev/priority", "3000000000"}}, "is not accepted"},
        {{{"tessera.dev/group", "g"}}, "a gang is not complete"},
        {{{"tessera.dev/group-min", "2"}}, "a gang is not complete"},
        {{{"tessera.dev/group", "g"},
          {"tessera.dev/group-size", "2"},
          {"tessera.dev/group-min", "3"}},
         "from 1 to 2"},
        {{{"tessera.dev/gpu-model", "A100,,V100"}}, "best first"},
    };
    for (const auto& [annotations, sentence] : cases) {
        const std::string refusal = world.refusal(with(pod({{kGpus, "1"}}), annotations));
        EXPECT_THAT(refusal, HasSubstr(sentence));
        EXPECT_LT(refusal.size(), 500U);
    }
    EXPECT_THAT(world.refusal(pod({{"tessera.dev/gpus", "1"}})),
                HasSubstr("resource \"tessera.dev/gpus\" is not accepted"));
}

TEST(Native, APodThatAsksForNothingGetsItsHostPartOnly) {
    World world;
    Pod plain = pod({{"cpu", "1500m"}, {"memory", "1Gi"}});
    plain.priority = 9;
    const auto asked = world.ask(plain);
    ASSERT_TRUE(asked);
    EXPECT_FALSE(asked->demand.wants_gpu());
    EXPECT_EQ(asked->demand.cpu, MilliCpu(1500));
    EXPECT_EQ(asked->demand.memory, MemoryMib(1024));
    EXPECT_EQ(asked->demand.priority, 9);
    EXPECT_THAT(world.requests(plain), IsEmpty());
    EXPECT_THAT(world.refusal(pod({{"cpu", "-1"}})), HasSubstr("container main: cpu: -1"));
    EXPECT_THAT(world.refusal(pod({{"cpu", "9E"}})), HasSubstr("resources cpu"));
    EXPECT_THAT(world.refusal(pod({{"memory", "8E"}})), HasSubstr("not accepted"));
}

}  // namespace
}  // namespace tessera
