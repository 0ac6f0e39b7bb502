// Malformed wishes, from the text of a pod to the sentence that refuses it: one line that names
// the field, shows the value and says what is accepted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/kube_json.h"
#include "dialect/test_pods.h"
#include "role/intake/intake.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::World;

std::string json_text(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        result += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    }
    return result + "\"";
}

std::string pod_text(std::string_view metadata, std::string_view limits) {
    return fmt::format(R"({{"metadata":{{"name":"p"{}}},"spec":{{"containers":[{{"name":"main",)"
                       R"("resources":{{"limits":{{{}}}}}}}]}}}})",
                       metadata, limits);
}

std::string refusal(std::string_view text) {
    World world;
    const auto pod = read_pod_json(text);
    if (!pod) {
        return pod.error().message;
    }
    const auto asked = world.ask(*pod);
    return asked ? "accepted" : asked.error().message;
}

// What a user may write where a number belongs.
const std::vector<std::string> kNoNumbers{"",         " ",
                                          "-1",       "-0.5",
                                          "nan",      "NaN",
                                          "inf",      "1e999",
                                          "0x10",     "1,5",
                                          "1 2",      "one",
                                          "١",        "99999999999999999999999999",
                                          "\xc3\xa9", std::string(10'000'000, '9')};

TEST(Malformed, LabelsAndAnnotationsThatAreNoNumbers) {
    struct Key {
        const char* map;
        const char* key;
        const char* others;  // what must be there with it
    };
    const std::vector<Key> keys{
        {"labels", "GPU_MEM_REQ", ""},
        {"labels", "sharedgpu/gpu_limit", ""},
        {"labels", "sharedgpu/gpu_request", R"("sharedgpu/gpu_limit":"1.0",)"},
        {"labels", "sharedgpu/group_headcount",
         R"("sharedgpu/gpu_limit":"1.0","sharedgpu/group_name":"g","sharedgpu/group_threshold":"1",)"},
        {"labels", "sharedgpu/group_threshold",
         R"("sharedgpu/gpu_limit":"1.0","sharedgpu/group_name":"g","sharedgpu/group_headcount":"2",)"},
        {"annotations", "kubeshare/gpu_limit",
         R"("kubeshare/gpu_request":"0.5","kubeshare/gpu_mem":"5",)"},
        {"annotations", "tessera.dev/gpu-milli", ""},
        {"annotations", "tessera.dev/gpu-limit-milli", R"("tessera.dev/gpu-milli":"1",)"},
        {"annotations", "tessera.dev/gpu-memory-mib", ""},
        {"annotations", "tessera.dev/gpu-milli.main", ""},
        {"annotations", "tessera.dev/group-size", R"("tessera.dev/group":"g",)"},
        {"annotations", "tessera.dev/group-min",
         R"("tessera.dev/group":"g","tessera.dev/group-size":"2",)"},
    };
    for (const Key& key : keys) {
        for (const std::string& value : kNoNumbers) {
            const std::string sentence =
                refusal(pod_text(fmt::format(R"(,"{}":{{{}"{}":{}}})", key.map, key.others, key.key,
                                             json_text(value)),
                                 ""));
            EXPECT_THAT(sentence, AllOf(HasSubstr(key.key), Not(HasSubstr("\n"))))
                << key.key << " " << value.substr(0, 20);
            EXPECT_LT(sentence.size(), 400U) << key.key;
        }
    }
}

TEST(Malformed, MemoryAnnotationsOfKeti) {
    for (const char* key : {"GPUlimits", "GPUrequest"}) {
        for (const std::string& value : kNoNumbers) {
            const std::string sentence = refusal(
                pod_text(fmt::format(R"(,"annotations":{{"{}":{}}})", key, json_text(value)),
                         R"("keti.com/mpsgpu":1)"));
            EXPECT_THAT(sentence, AllOf(HasSubstr(key), Not(HasSubstr("\n"))))
                << key << " " << value.substr(0, 20);
            EXPECT_LT(sentence.size(), 400U);
        }
    }
}

TEST(Malformed, AmountsOfEveryResource) {
    for (const char* resource :
         {"aliyun.com/gpu-mem", "elasticgpu.io/gpu-core", "elasticgpu.com/gpu-memory",
          "nano-gpu/gpu-percent", "keti.com/mpsgpu", "nvidia.com/gpu", "nvidia.com/gpumem",
          "nvidia.com/gpumem-percentage", "nvidia.com/gpucores", "tessera.dev/gpu", "cpu",
          "memory"}) {
        std::vector<std::string> amounts{"-1",     R"("-1")", R"("NaN")",     "1e30",
                                         "true",   "[1]",     R"({"a":1})",   R"("")",
                                         R"("x")", R"("8E")", R"("1e999999")"};
        if (std::string_view(resource).find('/') != std::string_view::npos) {
            amounts.insert(amounts.end(), {"0.5", R"("500m")"});
        }
        amounts.push_back(json_text(std::string(10'000'000, '7')));
        for (const std::string& amount : amounts) {
            const std::string sentence =
                refusal(pod_text("", fmt::format(R"("{}":{})", resource, amount)));
            EXPECT_THAT(sentence, AllOf(HasSubstr(resource), Not(HasSubstr("\n"))))
                << resource << " " << amount.substr(0, 20);
            EXPECT_LT(sentence.size(), 400U) << resource;
        }
    }
}

TEST(Malformed, NamesOfAnySizeMakeOneShortLine) {
    const std::string huge(10'000'000, 'x');
    const std::string breaking = "a\\nb\\u0007";
    for (const std::string& name : {huge, breaking}) {
        const std::string sentence = refusal(
            fmt::format(R"({{"metadata":{{"name":"{}","namespace":"{}"}},"spec":{{"containers":[)"
                        R"({{"name":"c","resources":{{"limits":{{"cpu":-1}}}}}}]}}}})",
                        name, name));
        EXPECT_THAT(sentence, AllOf(HasSubstr("container c: cpu: -1"), Not(HasSubstr("\n"))));
        EXPECT_LT(sentence.size(), 500U);
        const std::string container = refusal(fmt::format(
            R"({{"metadata":{{"name":"p"}},"spec":{{"containers":[{{"name":"{}"}}]}}}})", name));
        EXPECT_THAT(container, HasSubstr("is not accepted: up to 63 of a-z, 0-9 and -"));
        EXPECT_LT(container.size(), 400U);
        const std::string key =
            refusal(pod_text(fmt::format(R"(,"labels":{{"tessera.dev/{}":"1"}})", name), ""));
        EXPECT_THAT(key, AllOf(HasSubstr("is not a key of ours"), Not(HasSubstr("\n"))));
        EXPECT_LT(key.size(), 700U);
        const std::string resource =
            refusal(pod_text("", fmt::format(R"("nvidia.com/{}":1)", name)));
        EXPECT_THAT(resource, AllOf(HasSubstr("is not accepted"), Not(HasSubstr("\n"))));
        EXPECT_LT(resource.size(), 500U);
    }
}

TEST(Malformed, ContainersMustBeToldApart) {
    EXPECT_THAT(refusal(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a"}],)"
                        R"("initContainers":[{"name":"a"}]}})"),
                HasSubstr("a container and an init container are called \"a\""));
    for (const char* name : {"*", "A", "a.b", "-a", "a-", "a/b", "a b"}) {
        EXPECT_THAT(
            refusal(fmt::format(
                R"({{"metadata":{{"name":"p"}},"spec":{{"containers":[{{"name":"{}"}}]}}}})",
                name)),
            HasSubstr("spec.containers[0]: name: "))
            << name;
    }
}

TEST(Malformed, NodesNameTheField) {
    World world;
    for (const auto& [resource, amount] : {std::pair{"cpu", "-1"},
                                           {"memory", "-1Gi"},
                                           {"pods", "-5"},
                                           {"aliyun.com/gpu-count", "-1"},
                                           {"elasticgpu.io/gpu-core", "0.5"},
                                           {"nvidia.com/gpu", "17"},
                                           {"tessera.dev/gpu", "-1"},
                                           {"keti.com/mpsgpu", "7"}}) {
        Node node = testing::node({{resource, amount}, {"aliyun.com/gpu-mem", "8"}});
        const auto spec = take_node(node, world.context);
        ASSERT_FALSE(spec) << resource;
        EXPECT_THAT(spec.error().message,
                    AllOf(HasSubstr("node gpu-a: "), HasSubstr(resource), HasSubstr("accepted")));
    }
    Node node = testing::node({{"cpu", "1"}});
    for (const char* text :
         {"", "x", "[]", "5", R"({"version":2,"gpus":[]})", R"({"version":1})",
          R"({"version":1,"gpus":[{}]})", R"({"version":1,"gpus":[{"memoryMib":-1}]})",
          R"({"version":1,"gpus":[{"memoryMib":1.5}]})",
          R"({"version":1,"gpus":[{"memoryMib":1e9}]})",
          R"({"version":1,"gpus":[{"memoryMib":1,"memory":2}]})",
          R"({"version":1,"gpus":[{"memoryMib":1,"health":"sick"}]})"}) {
        node.annotations["tessera.dev/gpus"] = text;
        const auto spec = take_node(node, world.context);
        ASSERT_FALSE(spec) << text;
        EXPECT_THAT(spec.error().message, HasSubstr("node gpu-a: tessera.dev/gpus: ")) << text;
    }
}

}  // namespace
}  // namespace tessera
