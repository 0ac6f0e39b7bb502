#include "dialect/dialect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "dialect/test_pods.h"

namespace tessera {
namespace {

using testing::container;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node;
using testing::node_with;
using testing::pod;
using ::testing::SizeIs;
using testing::World;

std::string spoken(const Pod& pod) {
    const auto dialect = dialect_of(pod);
    return dialect ? std::string((*dialect)->name) : dialect.error().message;
}

TEST(Dialects, EachIsRecognisedByWhatItAsksWith) {
    EXPECT_EQ(spoken(pod({{"aliyun.com/gpu-mem", "1"}})), "gpushare");
    EXPECT_EQ(spoken(pod({{"elasticgpu.com/gpu-memory", "1"}})), "elastic");
    EXPECT_EQ(spoken(pod({{"keti.com/mpsgpu", "1"}})), "keti");
    EXPECT_EQ(spoken(pod({{"nvidia.com/gpumem", "1"}})), "nvidia");
    EXPECT_EQ(spoken(pod({{"tessera.dev/gpu", "1"}})), "native");
    EXPECT_EQ(spoken(pod({{"cpu", "1"}})), "native");
    Pod shared = pod({{"cpu", "1"}});
    shared.labels["sharedgpu/gpu_limit"] = "0.5";
    EXPECT_EQ(spoken(shared), "kubeshare");
    Pod knots = pod({{"cpu", "1"}});
    knots.labels["GPU_MEM_REQ"] = "872";
    EXPECT_EQ(spoken(knots), "kube-knots");
}

TEST(Dialects, TheSchedulersNameDecidesForPodsWithoutGpu) {
    Pod plain = pod({{"cpu", "1"}});
    plain.scheduler_name = "gpu-scheduler";
    EXPECT_EQ(spoken(plain), "keti");
    plain.scheduler_name = "improved-custom-scheduler";
    EXPECT_EQ(spoken(plain), "kube-knots");
    plain.containers = {container("main", {{"nvidia.com/gpu", "1"}})};
    EXPECT_EQ(spoken(plain), "nvidia");
}

TEST(Dialects, TwoVocabulariesInOnePodAreRefused) {
    EXPECT_THAT(spoken(pod({{"aliyun.com/gpu-mem", "1"}, {"nvidia.com/gpu", "1"}})),
                HasSubstr("aliyun.com/gpu-mem (gpushare) and nvidia.com/gpu (nvidia) both ask"));
    EXPECT_EQ(spoken(pod({{"aliyun.com/gpu-mem", "1"}, {"nvidia.com/gpu", "0"}})), "gpushare");
    Pod mixed = pod({{"aliyun.com/gpu-mem", "1"}});
    mixed.annotations["tessera.dev/gpu-milli"] = "100";
    EXPECT_THAT(spoken(mixed), HasSubstr("tessera.dev/gpu-milli (native)"));
}

TEST(Dialects, NamesAreUniqueAndFound) {
    std::set<std::string_view> names;
    for (const Dialect& dialect : dialects()) {
        EXPECT_TRUE(names.insert(dialect.name).second);
        EXPECT_EQ(find_dialect(dialect.name), &dialect);
    }
    EXPECT_EQ(find_dialect("klingon"), nullptr);
}

TEST(KubeKnots, LabelInMibOnOneDevice) {
    World world;
    Pod knots = pod({{"cpu", "1"}});
    knots.scheduler_name = "custom-scheduler";
    knots.labels["GPU_MEM_REQ"] = "6994";
    const auto requests = world.requests(knots);
    ASSERT_THAT(requests, SizeIs(1));
    EXPECT_EQ(requests[0].memory, MemoryMib(6994));
    EXPECT_EQ(requests[0].milli, MilliGpu(0));
    // The original reads 0 from what it cannot parse, and admits the pod for free.
    for (const char* bad : {"7GB", "", "-1", "1e3", "99999999999999999999"}) {
        knots.labels["GPU_MEM_REQ"] = bad;
        EXPECT_THAT(world.refusal(knots), HasSubstr("GPU_MEM_REQ: ")) << bad;
    }
    knots.labels["GPU_MEM_REQ"] = "0";
    EXPECT_THAT(world.requests(knots), IsEmpty());
}

TEST(Nodes, CapacityIsWhatTheKubeletOffers) {
    World world;
    Node one = node({{"cpu", "8"}, {"memory", "1025Ki"}, {"pods", "30"}});
    one.allocatable["cpu"] = Quantity::parse("7500m").value();
    one.unschedulable = true;
    const auto spec = node_spec(one, world.context);
    ASSERT_TRUE(spec);
    EXPECT_EQ(spec->cpu, MilliCpu(7500));
    EXPECT_EQ(spec->memory, MemoryMib(1));
    EXPECT_EQ(spec->pods, 30);
    EXPECT_TRUE(spec->traits.repels());  // a cordon is a taint
    one.capacity["memory"] = Quantity::of(-1);
    EXPECT_THAT(node_spec(one, world.context).error().message,
                HasSubstr("node gpu-a: memory: -1 is not accepted"));
}

TEST(Nodes, TheFirstDialectThatKnowsMemoryDescribesTheDevices) {
    World world;
    const auto spec = node_spec(node({{"nvidia.com/gpu", "2"},
                                      {"elasticgpu.io/gpu-core", "200"},
                                      {"elasticgpu.io/gpu-memory", "2000"}}),
                                world.context);
    ASSERT_TRUE(spec);
    ASSERT_THAT(spec->gpus, SizeIs(2));
    EXPECT_EQ(spec->gpus[0].memory, MemoryMib(1000));
}

TEST(Nodes, SelectorsAndTolerationsMakeTheFilter) {
    World world;
    Pod choosy = pod({{"cpu", "1"}});
    choosy.node_selector["zone"] = "x";
    choosy.node_terms = {
        {.labels = {{.key = "gpu", .op = LabelOperator::exists, .values = {}}}, .fields = {}}};
    const auto asked = world.ask(choosy);
    const auto admitted = [&](const Node& on) {
        return admits(world.filters[asked->demand.filter], node_spec(on, world.context)->traits);
    };
    Node here = node({});
    EXPECT_FALSE(admitted(here));
    here.labels["zone"] = "x";
    EXPECT_FALSE(admitted(here));
    here.labels["gpu"] = "";
    EXPECT_TRUE(admitted(here));
    here.unschedulable = true;
    EXPECT_FALSE(admitted(here));
    EXPECT_TRUE(node_spec(here, world.context)->schedulable);
}

TEST(Nodes, APodWithoutConstraintsHasNoFilter) {
    World world;
    EXPECT_FALSE(world.ask(pod({{"cpu", "1"}}))->demand.filter.valid());
}

TEST(Dialects, ModelsFromManifestsCannotExhaustTheTable) {
    World world;
    Pod asking = pod({{"tessera.dev/gpu", "1"}});
    std::string& models = asking.annotations["tessera.dev/gpu-model"];
    for (int i = 0; i < 60'000; ++i) {
        world.names.models.intern(std::to_string(i));
    }
    models = "59999";
    EXPECT_EQ(world.refusal(asking), "accepted");
    models = "one-more";
    EXPECT_THAT(world.refusal(asking),
                HasSubstr("GPU model \"one-more\" is one too many; 60000 are possible"));
    models = "m" + std::string(1'000'000, ',');
    EXPECT_THAT(world.refusal(asking), HasSubstr("1000001 models are not accepted"));
}

}  // namespace
}  // namespace tessera
