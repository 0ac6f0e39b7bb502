// A scheduler over a small cluster in virtual time, with the API server in the test's hands.
//
//   SchedulerRig rig;
//   rig.add_node("a", {16384, 16384});
//   rig.add_pod({.name = "p", .milli = 500, .memory_mib = 4096});
//   rig.run();
//   rig.node_of("p") == "a";
#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/kube_json.h"
#include "kube/fake_http_client.h"
#include "role/scheduler/scheduler.h"

namespace tessera::testing {

struct PodAsk {
    std::string name;
    std::int64_t milli = 1000;  // a whole GPU; less is a share
    std::int64_t memory_mib = 1024;
    std::int32_t priority = 0;
    std::string scheduler = "tessera";
    std::int64_t gpus = 1;  // 0: only cores and memory
    std::string spec{};     // more of its spec: R"("affinity":{...})"
    std::string labels{};   // R"("app":"web")"
};

// What the API server holds. Binds are carried out by it, as a real one would: a pod once, by uid.
class TinyApi {
  public:
    struct Stored {
        PodAsk ask;
        std::string uid;
        std::string node{};
        StringMap annotations{};
    };

    static Node node(const std::string& name, const std::vector<std::int64_t>& memories) {
        std::string gpus;
        for (std::size_t i = 0; i < memories.size(); ++i) {
            gpus += fmt::format(R"({}{{\"uuid\":\"GPU-{}-{}\",\"memoryMib\":{}}})",
                                i == 0 ? "" : ",", name, i, memories[i]);
        }
        return read_node_json(
                   fmt::format(
                       R"({{"metadata":{{"name":"{0}","labels":{{"kubernetes.io/hostname":"{0}"}},)"
                       R"("annotations":{{"tessera.dev/gpus":)"
                       R"("{{\"version\":1,\"gpus\":[{1}]}}"}}}},"status":{{"allocatable":)"
                       R"({{"cpu":"32","memory":"128Gi","pods":"110"}},"conditions":)"
                       R"([{{"type":"Ready","status":"True"}}]}}}})",
                       name, gpus))
            .value();
    }
    static Pod pod(const Stored& stored) {
        const PodAsk& ask = stored.ask;
        const std::string limits =
            ask.gpus == 0 ? R"("cpu":"1")" : fmt::format(R"("tessera.dev/gpu":"{}")", ask.gpus);
        Pod pod = read_pod_json(
                      fmt::format(R"({{"metadata":{{"name":"{}","namespace":"default","uid":"{}",)"
                                  R"("labels":{{{}}}}},"spec":{{"schedulerName":"{}",)"
                                  R"("priority":{},"containers":[{{"name":"main",)"
                                  R"("resources":{{"limits":{{{}}}}}}}]{}{}}}}})",
                                  ask.name, stored.uid, ask.labels, ask.scheduler, ask.priority,
                                  limits, ask.spec.empty() ? "" : ",", ask.spec))
                      .value();
        if (ask.gpus > 0 && ask.milli < 1000) {
            pod.annotations["tessera.dev/gpu-milli"] = std::to_string(ask.milli);
            pod.annotations["tessera.dev/gpu-memory-mib"] = std::to_string(ask.memory_mib);
        }
        for (const auto& [key, value] : stored.annotations) {
            pod.annotations.insert_or_assign(key, value);
        }
        pod.node_name = stored.node;
        return pod;
    }

    Stored& add(const PodAsk& ask) {
        Stored& stored = pods[ask.name];
        stored = {ask, fmt::format("uid-{}", ++last_uid_)};
        return stored;
    }
    // As POST of a Binding: an error's word, or nothing when it was done.
    std::string bind(const BindPlan& plan) {
        const auto found = pods.find(plan.name);
        if (found == pods.end() || found->second.uid != plan.uid) {
            return "the pod is gone";
        }
        if (!found->second.node.empty()) {
            return "the pod is bound already";
        }
        found->second.node = plan.node;
        found->second.annotations = plan.annotations;
        return {};
    }
    std::vector<Pod> all_pods() const {
        std::vector<Pod> all;
        for (const auto& [name, stored] : pods) {
            all.push_back(pod(stored));
        }
        return all;
    }

    std::map<std::string, Stored> pods;
    std::map<std::string, std::vector<std::int64_t>> nodes;

  private:
    int last_uid_ = 0;
};

class SchedulerRig {
  public:
    explicit SchedulerRig(SchedulerOptions options = {}) {
        if (options.names.empty()) {
            options.names = {{"tessera", ""}};
        }
        options.clock = time.clock();
        options.wall = time.clock();
        scheduler.emplace(
            FeedTarget{mirror, mutex}, reports, options,
            SchedulerPorts{.bind =
                               [this](BindPlan plan, std::function<void(WriteOutcome)> done) {
                                   carry_out(std::move(plan), std::move(done));
                               },
                           .wake = [this](Nanoseconds delay) { wake(delay); },
                           .why_not_ready = [this] { return why_not_ready; }});
        mirror.tell(*scheduler);
    }

    ~SchedulerRig() {
        writer.stop();
        http.close();
    }
    SchedulerRig(const SchedulerRig&) = delete;
    SchedulerRig& operator=(const SchedulerRig&) = delete;

    // Lists what there is; until then nothing is decided.
    void start() {
        std::vector<Node> nodes;
        for (const auto& [name, memories] : api.nodes) {
            nodes.push_back(TinyApi::node(name, memories));
        }
        mirror.replace_nodes(std::move(nodes));
        mirror.replace_pods(api.all_pods());
        mirror.replace_config_maps({});
        wake(Nanoseconds(0));
    }
    void add_node(const std::string& name, const std::vector<std::int64_t>& memories) {
        api.nodes[name] = memories;
        mirror.node_changed(TinyApi::node(name, memories));
    }
    void add_pod(const PodAsk& ask) { mirror.pod_changed(TinyApi::pod(api.add(ask))); }
    void remove_pod(const std::string& name) {
        const auto gone = api.pods.extract(name);
        mirror.pod_gone(TinyApi::pod(gone.mapped()));
    }
    void show(const std::string& name) { mirror.pod_changed(TinyApi::pod(api.pods.at(name))); }
    void run(Nanoseconds span = seconds(60)) { time.run_for(span); }
    std::string node_of(const std::string& name) const { return api.pods.at(name).node; }

    std::vector<std::string> bound_in_order;
    std::vector<ClientCall> told;  // events and conditions, as they were written
    // Instead of carrying a bind out and showing it by the watch.
    std::function<bool(const BindPlan&, const std::function<void(WriteOutcome)>&)> instead;
    std::string why_not_ready;
    VirtualTime time;
    TinyApi api;
    Mirror mirror{{.neighbours = true}};
    std::mutex mutex;
    FakeHttpClient http{time, [this](FakeHttpClient& to, const FakeCall& call) {
                            told.push_back(call.call);
                            to.answer(call.id, {.status = 201, .body = "{}"});
                        }};
    BackgroundWriter writer{http, {.clock = time.clock()}};
    PodReports reports{writer, {.clock = time.clock(), .wall = time.clock()}};
    std::optional<Scheduler> scheduler;

  private:
    void wake(Nanoseconds delay) {
        const Nanoseconds due = time.now() + delay;
        if (due_ && *due_ <= due) {
            return;
        }
        due_ = due;
        time.after(delay, [this, due] {
            if (due_ == due) {
                due_.reset();
                scheduler->run();
            }
        });
    }
    void carry_out(BindPlan plan, std::function<void(WriteOutcome)> done) {
        time.after(milliseconds(5), [this, plan = std::move(plan), done = std::move(done)] {
            if (instead && instead(plan, done)) {
                return;
            }
            const std::string why = api.bind(plan);
            if (!why.empty()) {
                done({WriteEnd::refused, why});
                return;
            }
            bound_in_order.push_back(plan.name);
            done({WriteEnd::done, ""});
            time.after(milliseconds(2), [this, name = plan.name] {
                if (api.pods.contains(name)) {
                    show(name);
                }
            });
        });
    }

    std::optional<Nanoseconds> due_;
};

}  // namespace tessera::testing
