// An API server of a small cluster with a will of its own, for tests of the mirror: nodes whose
// devices change, pods in three vocabularies, some placed by others, ConfigMaps of bad health. It
// says what happened by events, which the test delivers when it likes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "codec/kube_json.h"
#include "policy/test_random.h"

namespace tessera::testing {

struct Ask {  // one container, one device
    std::int64_t milli = 0;
    std::int64_t memory_mib = 0;
    bool whole() const { return milli == 1000; }
};

struct Event {
    enum class Kind { node, node_gone, pod, pod_gone, map, map_gone } kind;
    Node node{};
    Pod pod{};
    ConfigMap map{};
};

class TestApi {
  public:
    explicit TestApi(std::uint64_t seed) : rng_(seed) {}

    void change_node(int n) {
        const std::string name = "n" + std::to_string(n);
        std::string gpus;
        const int count = any_of(rng_, {1, 2, 4});
        const bool listed = one_in(rng_, 2);
        std::vector<int> order(static_cast<std::size_t>(count));
        for (int i = 0; i < count; ++i) {
            order[static_cast<std::size_t>(i)] = i;
        }
        std::swap(order.front(), order[rng_.below(order.size())]);
        for (int i : order) {
            gpus += fmt::format(R"({}{{"uuid":"GPU-{}-{}","model":"A100","memoryMib":16384}})",
                                gpus.empty() ? "" : ",", name, i);
        }
        Node node = read_node_json(fmt::format(
                                       R"({{"metadata":{{"name":"{}"}},"status":{{
            "allocatable":{{"cpu":"{}","memory":"128Gi","pods":"{}",
                            "aliyun.com/gpu-mem":"{}","aliyun.com/gpu-count":"{}"}},
            "conditions":[{{"type":"Ready","status":"True"}}]}}}})",
                                       name, any_of(rng_, {4, 32}), any_of(rng_, {6, 110}),
                                       16 * count, count))
                        .value();
        if (listed) {
            node.annotations["tessera.dev/gpus"] =
                fmt::format(R"({{"version":1,"gpus":[{}]}})", gpus);
        }
        nodes_[name] = node;
        events_.push_back({Event::Kind::node, node});
    }

    void remove_node() {
        if (!nodes_.empty()) {
            const auto one = std::next(nodes_.begin(), pick(nodes_.size()));
            events_.push_back({Event::Kind::node_gone, one->second});
            nodes_.erase(one);
        }
    }

    std::ptrdiff_t pick(std::size_t size) { return static_cast<std::ptrdiff_t>(rng_.below(size)); }

    Pod make_pod(std::string name) {
        Pod pod;
        pod.name = std::move(name);
        pod.uid = fmt::format("uid-{}", next_uid_++);
        pod.containers.resize(1);
        pod.containers[0].name = "main";
        pod.containers[0].requests["cpu"] = Quantity::of(any_of(rng_, {0, 1, 2}));
        pod.priority = any_of(rng_, {0, 10, 100});
        Ask ask;
        ResourceList& limits = pod.containers[0].limits;
        switch (rng_.below(3)) {
            case 0: {
                const int units = any_of(rng_, {1, 4, 8, 16});
                limits["aliyun.com/gpu-mem"] = Quantity::of(units);
                ask = {0, units * 1024};
                break;
            }
            case 1: {
                const int core = any_of(rng_, {30, 50});
                const int memory = any_of(rng_, {1024, 8192});
                limits["elasticgpu.io/gpu-core"] = Quantity::of(core);
                limits["elasticgpu.io/gpu-memory"] = Quantity::of(memory);
                ask = {core * 10, memory};
                break;
            }
            default: {
                const int milli = any_of(rng_, {250, 600, 1000});
                limits["tessera.dev/gpu"] = Quantity::of(1);
                if (milli < 1000) {
                    pod.annotations["tessera.dev/gpu-milli"] = std::to_string(milli);
                    pod.annotations["tessera.dev/gpu-memory-mib"] = "2048";
                }
                ask = {milli, milli < 1000 ? 2048 : 0};
            }
        }
        asks_[pod.uid] = ask;
        return pod;
    }

    void create_pod() {
        Pod pod = make_pod(fmt::format("p{}", rng_.below(30)));  // names come again
        if (std::any_of(pods_.begin(), pods_.end(),
                        [&](const auto& one) { return one.second.name == pod.name; })) {
            return;
        }
        if (one_in(rng_, 4) && !nodes_.empty()) {
            place_elsewhere(pod);
        }
        pods_[pod.uid] = pod;
        events_.push_back({Event::Kind::pod, {}, pod});
    }

    // By another scheduler, which does not care what is free.
    void place_elsewhere(Pod& pod) {
        const Node& node = std::next(nodes_.begin(), pick(nodes_.size()))->second;
        pod.node_name = one_in(rng_, 15) ? "nowhere" : node.name;
        const std::int64_t count = node.offered("aliyun.com/gpu-count")->value_down().value();
        const std::string gpu = std::to_string(rng_.below(static_cast<std::uint64_t>(count)));
        const bool told = !one_in(rng_, 6);
        if (told && pod.containers[0].limits.contains("aliyun.com/gpu-mem")) {
            pod.annotations["ALIYUN_COM_GPU_MEM_IDX"] = one_in(rng_, 10) ? "x" : gpu;
            pod.annotations["ALIYUN_COM_GPU_MEM_POD"] =
                std::to_string(asks_[pod.uid].memory_mib / 1024);
        } else if (told && pod.containers[0].limits.contains("elasticgpu.io/gpu-core")) {
            pod.annotations["elasticgpu.io/container-main"] = gpu;
            pod.annotations["elasticgpu.io/assumed"] = "true";
        }
    }

    Pod* any_pod(bool bound) {
        std::vector<Pod*> found;
        for (auto& [uid, pod] : pods_) {
            if (pod.node_name.empty() != bound) {
                found.push_back(&pod);
            }
        }
        return found.empty() ? nullptr : found[rng_.below(found.size())];
    }

    void change_pod_status() {
        if (Pod* pod = any_pod(one_in(rng_, 2))) {
            pod->labels["seen"] = std::to_string(rng_.below(100));
            events_.push_back({Event::Kind::pod, {}, *pod});
        }
    }

    void end_pod() {
        Pod* pod = any_pod(!one_in(rng_, 4));
        if (pod == nullptr) {
            return;
        }
        const std::uint64_t lot = rng_.below(3);
        if (lot == 0 && !pod->node_name.empty()) {
            pod->deleting = true;
            events_.push_back({Event::Kind::pod, {}, *pod});
        } else if (lot == 1 && !pod->node_name.empty()) {
            pod->phase = PodPhase::succeeded;
            events_.push_back({Event::Kind::pod, {}, *pod});
        } else {
            events_.push_back({Event::Kind::pod_gone, {}, *pod});
            const std::string uid = pod->uid;
            pods_.erase(uid);
        }
    }

    void change_health() {
        const std::string name = fmt::format("unhealthy-gpu-n{}", rng_.below(4));
        if (one_in(rng_, 2)) {
            maps_[name] = {
                "kube-system", name, {{"gpus", any_of<const char*>(rng_, {"0", "1, 0", "x,3"})}}};
            events_.push_back({Event::Kind::map, {}, {}, maps_[name]});
        } else if (maps_.erase(name) != 0) {
            events_.push_back({Event::Kind::map_gone, {}, {}, {"kube-system", name, {}}});
        }
    }

  protected:
    Rng rng_;
    std::map<std::string, Node> nodes_;
    std::map<std::string, Pod> pods_;
    std::map<std::string, ConfigMap> maps_;
    std::map<std::string, Ask> asks_;  // by uid, also of pods that have gone
    std::deque<Event> events_;
    std::uint64_t next_uid_ = 0;
};

}  // namespace tessera::testing
