// An extender over a mirror that tests fill, with time and the API server in the test's hands.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/kube_json.h"
#include "role/extender/extender.h"

namespace tessera::testing {

// A node that offers these resources besides cores, memory and pods:
// "\"aliyun.com/gpu-mem\":\"32\"".
inline std::string node_json(std::string_view name, std::string_view resources) {
    return fmt::format(R"({{"metadata":{{"name":"{0}"}},"spec":{{}},"status":{{)"
                       R"("addresses":[{{"type":"InternalIP","address":"10.0.0.1"}}],)"
                       R"("allocatable":{{"cpu":"64","memory":"256Gi","pods":"110",{1}}},)"
                       R"("capacity":{{"cpu":"64","memory":"256Gi","pods":"110",{1}}},)"
                       R"("conditions":[{{"type":"Ready","status":"True"}}]}}}})",
                       name, resources);
}
inline std::string gpushare_node(std::string_view name, int units, int gpus) {
    return node_json(
        name, fmt::format(R"("aliyun.com/gpu-mem":"{}","aliyun.com/gpu-count":"{}")", units, gpus));
}
inline std::string elastic_node(std::string_view name, int core, int memory) {
    return node_json(
        name, fmt::format(R"("elasticgpu.io/gpu-core":"{}","elasticgpu.io/gpu-memory":"{}")", core,
                          memory));
}

inline std::string container_json(std::string_view name, std::string_view amounts,
                                  std::string_view more = "") {
    return fmt::format(R"({{"name":"{0}","resources":{{"limits":{{{1}}},"requests":{{{1}}}}}{2}}})",
                       name, amounts, more);
}
// `spec` is the rest of the pod's: "\"containers\":[...]".
inline std::string pod_json(std::string_view name, std::string_view spec,
                            std::string_view metadata = "") {
    return fmt::format(
        R"({{"metadata":{{"name":"{0}","namespace":"default","uid":"uid-{0}"{2}}},"spec":{{{1}}},)"
        R"("status":{{"phase":"Pending"}}}})",
        name, spec, metadata);
}
inline std::string gpushare_pod(std::string_view name, int units) {
    return pod_json(
        name,
        fmt::format(R"("containers":[{}])",
                    container_json("main", fmt::format(R"("aliyun.com/gpu-mem":"{}")", units))));
}

inline std::string names_body(std::string_view pod, const std::vector<std::string>& nodes) {
    std::string names;
    for (const std::string& node : nodes) {
        names += (names.empty() ? "\"" : ",\"") + node + "\"";
    }
    return fmt::format(R"({{"Pod":{},"Nodes":null,"NodeNames":[{}]}})", pod, names);
}
inline std::string bind_body(std::string_view pod, std::string_view node) {
    return fmt::format(
        R"({{"PodName":"{0}","PodNamespace":"default","PodUID":"uid-{0}","Node":"{1}"}})", pod,
        node);
}

class Rig {
  public:
    using Answer = std::shared_ptr<std::optional<HttpResponse>>;

    // Nodes and pods as JSON; pods may be bound already.
    void list(const std::vector<std::string>& nodes, std::vector<Pod> pods = {}) {
        std::vector<Node> read;
        for (const std::string& node : nodes) {
            read.push_back(read_node_json(node).value());
        }
        mirror.replace_nodes(std::move(read));
        mirror.replace_pods(std::move(pods));
        mirror.replace_config_maps({});
    }

    Answer start(std::string method, std::string path, std::string body = "") {
        class Target : public Responder::Target {
          public:
            explicit Target(Answer answer) : answer_(std::move(answer)) {}
            void answer(HttpResponse response) override { *answer_ = std::move(response); }

          private:
            Answer answer_;
        };
        auto answer = std::make_shared<std::optional<HttpResponse>>();
        HttpRequest request{std::move(method), std::move(path), "", std::move(body), ""};
        extender.handle(request, Responder(std::make_unique<Target>(answer)));
        return answer;
    }
    HttpResponse call(std::string method, std::string path, std::string body = "") {
        const Answer answer = start(std::move(method), std::move(path), std::move(body));
        EXPECT_TRUE(answer->has_value()) << "no answer";
        return answer->value_or(HttpResponse{});
    }
    std::string post(std::string path, std::string body) {
        const HttpResponse response = call("POST", std::move(path), std::move(body));
        EXPECT_EQ(response.status, 200) << response.body;
        return response.body;
    }
    std::string get(std::string path) {
        const HttpResponse response = call("GET", std::move(path));
        EXPECT_EQ(response.status, 200) << response.body;
        return response.body;
    }

    Mirror mirror{{}};
    std::mutex mutex;
    Nanoseconds now{1'000'000'000'000};
    std::string why_not;
    bool current = true;
    std::optional<WriteOutcome> at_once = WriteOutcome{WriteEnd::done, ""};
    std::vector<BindPlan> plans;
    std::vector<std::function<void(WriteOutcome)>> pending;
    Extender extender{mirror,
                      mutex,
                      {[this] { return now; },
                       [this](BindPlan plan, std::function<void(WriteOutcome)> done) {
                           plans.push_back(std::move(plan));
                           if (at_once) {
                               done(*at_once);
                           } else {
                               pending.push_back(std::move(done));
                           }
                       },
                       [this] { return why_not; }, [] { return std::string("tessera_up 1\n"); },
                       "1.2.3", [this] { return current; }}};
};

}  // namespace tessera::testing
