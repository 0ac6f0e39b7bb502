// A mirror of 5,000 nodes and 50,000 bound pods: taking in the lists, one event, bytes per pod
//
// Nodes of 8 GPUs; pods of gpushare as its own extender placed them, pods of ours with a signed
// record, and as many that ask for no GPU. Times are of CPU time.
#include <fmt/format.h>
#include <malloc.h>
#include <time.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/json_writer.h"
#include "role/mirror/mirror.h"

namespace tessera {
namespace {

constexpr int kNodes = 5'000;
constexpr int kPods = 50'000;
constexpr int kEvents = 20'000;
constexpr std::string_view kKey = "a key of the benchmark";

double cpu_seconds() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

Node make_node(int n) {
    Node node;
    node.name = fmt::format("gpu-node-{:05}", n);
    node.labels = {{"kubernetes.io/hostname", node.name}, {"topology.kubernetes.io/zone", "a"}};
    node.capacity = {{"cpu", Quantity::of(96)},
                     {"memory", Quantity::of(std::int64_t{768} << 30)},
                     {"pods", Quantity::of(110)},
                     {"aliyun.com/gpu-mem", Quantity::of(8 * 40)},
                     {"aliyun.com/gpu-count", Quantity::of(8)}};
    return node;
}

// Ten pods a node: five of them with four GiB of one device each.
Pod make_pod(int p) {
    Pod pod;
    pod.space = fmt::format("team-{}", p % 20);
    pod.name = fmt::format("workload-{:05}-7d4b9c6f5-x{}", p / 10, p % 10);
    pod.uid = fmt::format("{:08x}-1111-4222-8333-{:012x}", p * 2654435761U, p);
    pod.labels = {{"app", "workload"}, {"pod-template-hash", "7d4b9c6f5"}};
    pod.containers.resize(1);
    pod.containers[0].name = "main";
    pod.containers[0].requests = {{"cpu", Quantity::of(1)},
                                  {"memory", Quantity::of(std::int64_t{2} << 30)}};
    pod.node_name = fmt::format("gpu-node-{:05}", p % kNodes);
    pod.phase = PodPhase::running;
    if (p / kNodes < 5) {
        pod.containers[0].limits["aliyun.com/gpu-mem"] = Quantity::of(4);
        pod.annotations = {{"ALIYUN_COM_GPU_MEM_IDX", std::to_string(p / kNodes)},
                           {"ALIYUN_COM_GPU_MEM_POD", "4"},
                           {"ALIYUN_COM_GPU_MEM_DEV", "40"},
                           {"ALIYUN_COM_GPU_MEM_ASSIGNED", "true"},
                           {"ALIYUN_COM_GPU_MEM_ASSUME_TIME", "1700000000000000000"}};
    }
    return pod;
}

// The second half of the pods with GPUs, as we place them.
void place_by_us(std::vector<Pod>& pods) {
    MirrorOptions options;
    options.signing_key = kKey;
    Mirror mirror(std::move(options));
    std::vector<Node> nodes;
    for (int n = 0; n < kNodes; ++n) {
        nodes.push_back(make_node(n));
    }
    mirror.replace_nodes(std::move(nodes));
    mirror.replace_pods({});
    mirror.replace_config_maps({});
    for (Pod& pod : pods) {
        if (pod.annotations.empty() || pod.annotations.at("ALIYUN_COM_GPU_MEM_IDX") < "2") {
            continue;
        }
        const NodeIndex node = mirror.find_node(pod.node_name);
        pod.annotations.clear();
        const Nanoseconds now(1);
        const bool fits = mirror.filter(pod, std::span(&node, 1), {"", now})->fitting == 1;
        TESSERA_ASSERT(fits, "every pod of the benchmark fits");
        const PodKey key{pod.space, pod.name, pod.uid};
        pod.annotations = mirror.prepare_bind(key, pod.node_name, now)->annotations;
        mirror.bind_ended(key, {WriteEnd::done}, now);
    }
}

struct Result {
    double lists_s = 0;
    double again_s = 0;
    double event_us = 0;
    double node_event_us = 0;
    double bytes_per_pod = 0;
};

Result measure() {
    std::vector<Node> nodes;
    std::vector<Pod> pods;
    for (int n = 0; n < kNodes; ++n) {
        nodes.push_back(make_node(n));
    }
    for (int p = 0; p < kPods; ++p) {
        pods.push_back(make_pod(p));
    }
    place_by_us(pods);
    malloc_trim(0);
    MirrorOptions options;
    options.signing_key = kKey;
    Mirror mirror(std::move(options));
    Result result;
    const double without = static_cast<double>(mallinfo2().uordblks);
    std::vector<Node> node_list = nodes;
    std::vector<Pod> pod_list = pods;
    double begin = cpu_seconds();
    mirror.replace_config_maps({});
    mirror.replace_nodes(std::move(node_list));
    mirror.replace_pods(std::move(pod_list));
    result.lists_s = cpu_seconds() - begin;
    TESSERA_ASSERT(mirror.pod_count() == kPods, "every pod is counted");
    result.bytes_per_pod = (static_cast<double>(mallinfo2().uordblks) - without) / kPods;
    pod_list = pods;
    begin = cpu_seconds();
    mirror.replace_pods(std::move(pod_list));
    result.again_s = cpu_seconds() - begin;
    begin = cpu_seconds();
    for (int i = 0; i < kEvents; ++i) {
        mirror.pod_changed(pods[static_cast<std::size_t>(i * 7919LL % kPods)]);
    }
    result.event_us = (cpu_seconds() - begin) / kEvents * 1e6;
    begin = cpu_seconds();
    for (int i = 0; i < kNodes; ++i) {
        Node& node = nodes[static_cast<std::size_t>(i)];
        node.capacity["aliyun.com/gpu-mem"] = Quantity::of(8 * 41);
        mirror.node_changed(node);
    }
    result.node_event_us = (cpu_seconds() - begin) / kNodes * 1e6;
    return result;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
    const bool json = argc == 2 && std::string_view(argv[1]) == "--json";
    if (argc > 1 && !json) {
        fmt::print(stderr, "bench_mirror: the only option is --json\n");
        return 2;
    }
    const tessera::Result result = tessera::measure();
    if (!json) {
        fmt::print(
            "lists taken in     {:8.3f} s\n"
            "the same pods again{:8.3f} s\n"
            "one pod's event    {:8.2f} us\n"
            "one node's event   {:8.2f} us, new devices under ten pods\n"
            "memory             {:8.0f} bytes per pod, nodes included\n",
            result.lists_s, result.again_s, result.event_us, result.node_event_us,
            result.bytes_per_pod);
        return 0;
    }
    tessera::JsonWriter out;
    out.begin_object();
    out.member("lists_s", result.lists_s);
    out.member("again_s", result.again_s);
    out.member("pod_event_us", result.event_us);
    out.member("node_event_us", result.node_event_us);
    out.member("bytes_per_pod", result.bytes_per_pod);
    out.end_object();
    fmt::print("{}\n", out.take());
    return 0;
}
