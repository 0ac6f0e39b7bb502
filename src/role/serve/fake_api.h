// A small Kubernetes API server on loopback, for tests of programs that follow and bind.
//
//   FakeApi api;
//   api.put_node("gpu-a", testing::gpushare_node("gpu-a", 32, 2));
//   api.put_pod("p", 8);
//   Service::start({.api = {.base_url = api.url()}}, log);
//   api.hold_binds(true);                   // they arrive and wait
//
// Lists, watches, one pod, bindings (with their annotations) and one Lease. A watch is answered
// when there is something to tell, and ends with that, as a real one may at any time. Faults are
// switched on by the test; all functions are for any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kube/fake_objects.h"
#include "kube/lease_fake_server.h"
#include "net/http_server.h"
#include "role/extender/test_extender.h"
#include "role/feed/feed.h"

namespace tessera {

class FakeApi {
  public:
    FakeApi() {
        auto started = HttpServer::start({}, [this](HttpRequest& request, Responder respond) {
            serve(request, std::move(respond));
        });
        TESSERA_ASSERT(started.has_value(), "a port of our own");
        server_ = std::move(*started);
    }
    ~FakeApi() { server_->stop(Nanoseconds(0)); }
    FakeApi(const FakeApi&) = delete;
    FakeApi& operator=(const FakeApi&) = delete;

    std::string url() const { return fmt::format("http://127.0.0.1:{}", server_->port()); }

    void put_node(const std::string& name, const std::string& json) {
        put(std::string(kNodesPath), name, json);
    }
    void put_pod(const std::string& name, int units) {
        const std::lock_guard lock(mutex_);
        pods_[name] = {units, "", "{}"};
        store(std::string(kPodsPath), name, pod_json(name));
    }
    void put(const std::string& path, const std::string& name, const std::string& json) {
        const std::lock_guard lock(mutex_);
        store(path, name, json);
    }

    // Everything is answered with this status; 0: as usual.
    void fail_with(int status) { set(fail_with_, status); }
    void hold_binds(bool held) { set(hold_binds_, held); }
    void hold_pod_lists(bool held) { set(hold_pod_lists_, held); }
    // Watches stay open and tell nothing.
    void freeze_watches(bool frozen) { set(freeze_watches_, frozen); }
    // Watches that wait are told that there is nothing more to tell.
    void bookmark() {
        const std::lock_guard lock(mutex_);
        if (freeze_watches_) {
            return;
        }
        for (WaitingWatch& one : std::exchange(waiting_watches_, {})) {
            reply(std::move(one.respond),
                  {.status = 200,
                   .body = fmt::format("{{\"type\":\"BOOKMARK\",\"object\":{{\"metadata\":"
                                       "{{\"resourceVersion\":\"{}\"}}}}}}\n",
                                       version_)});
        }
    }
    // Somebody else has the Lease now.
    std::string lease_holder() const {
        const std::lock_guard lock(mutex_);
        return lease_.lease.holder;
    }
    void take_lease(const std::string& who) {
        const std::lock_guard lock(mutex_);
        lease_.lease.holder = who;
        lease_.lease.version += "0";
        stolen_ = true;
    }

    int pod_lists() const { return get(pod_lists_); }
    std::size_t binds_waiting() const {
        const std::lock_guard lock(mutex_);
        return waiting_binds_.size();
    }
    std::string node_of(const std::string& pod) const {
        const std::lock_guard lock(mutex_);
        return pods_.at(pod).node;
    }
    std::string annotations_of(const std::string& pod) const {
        const std::lock_guard lock(mutex_);
        return pods_.at(pod).annotations;
    }

  private:
    struct FakePod {
        int units = 0;
        std::string node;
        std::string annotations;
    };
    struct Event {
        int version = 0;
        std::string path;
        std::string line;
    };

    template <class T>
    void set(T& target, T value) {
        const std::lock_guard lock(mutex_);
        target = value;
        answer_waiting();
    }
    template <class T>
    T get(const T& value) const {
        const std::lock_guard lock(mutex_);
        return value;
    }

    std::string pod_json(const std::string& name) const {
        const FakePod& pod = pods_.at(name);
        const std::string spec = fmt::format(
            R"({}"containers":[{}])", pod.node.empty() ? "" : R"("nodeName":")" + pod.node + "\",",
            testing::container_json("main",
                                    fmt::format(R"("aliyun.com/gpu-mem":"{}")", pod.units)));
        return testing::pod_json(name, spec, R"(,"annotations":)" + pod.annotations);
    }
    void store(const std::string& path, const std::string& name, std::string json) {
        ++version_;
        const std::string begin = R"({"metadata":{)";
        if (json.starts_with(begin)) {
            json.insert(begin.size(), fmt::format(R"("resourceVersion":"{}",)", version_));
        }
        const bool known = objects_[path].contains(name);
        objects_[path][name] = json;
        events_.push_back(
            {version_, path,
             fmt::format(R"({{"type":"{}","object":{}}})", known ? "MODIFIED" : "ADDED", json)});
        answer_waiting();
    }

    static void reply(Responder respond, const ClientAnswer& answer) {
        respond({.status = answer.status, .body = answer.body});
    }

    void serve(HttpRequest& request, Responder respond) {
        const std::string target = request.path + "?" + request.query;
        const std::lock_guard lock(mutex_);
        if (fail_with_ != 0) {
            reply(std::move(respond), status_answer(fail_with_, "Told"));
        } else if (request.path.ends_with("/binding")) {
            waiting_binds_.push_back({request.path, request.body, std::move(respond)});
        } else if (request.path.find("/leases") != std::string::npos) {
            reply(std::move(respond), lease_answer(request));
        } else if (query_value(target, "watch") == "1") {
            const int seen = std::stoi(query_value(target, "resourceVersion"));
            waiting_watches_.push_back({request.path, seen, std::move(respond)});
        } else if (request.path == kPodsPath) {
            ++pod_lists_;
            waiting_lists_.push_back(std::move(respond));
        } else if (request.path == kNodesPath || request.path == kConfigMapsPath) {
            reply(std::move(respond), list(request.path));
        } else {
            const auto pod = pods_.find(request.path.substr(request.path.rfind('/') + 1));
            reply(std::move(respond),
                  pod == pods_.end() ? status_answer(404, "NotFound")
                                     : ClientAnswer{.status = 200, .body = pod_json(pod->first)});
        }
        answer_waiting();
    }

    // Everything that need not wait any more.
    void answer_waiting() {
        while (!hold_pod_lists_ && !waiting_lists_.empty()) {
            reply(std::move(waiting_lists_.back()), list(std::string(kPodsPath)));
            waiting_lists_.pop_back();
        }
        while (!hold_binds_ && !waiting_binds_.empty()) {
            WaitingBind one = std::move(waiting_binds_.back());
            waiting_binds_.pop_back();
            reply(std::move(one.respond), bind(one.path, one.body));
        }
        std::erase_if(waiting_watches_, [this](WaitingWatch& one) {
            const std::string lines = freeze_watches_ ? "" : lines_after(one.path, one.seen);
            if (!lines.empty()) {
                reply(std::move(one.respond), {.status = 200, .body = lines});
            }
            return !lines.empty();
        });
    }
    std::string lines_after(const std::string& path, int seen) const {
        std::string lines;
        for (const Event& event : events_) {
            lines += event.version > seen && event.path == path ? event.line + "\n" : "";
        }
        return lines;
    }

    ClientAnswer lease_answer(const HttpRequest& request) {
        if (!stolen_) {
            return lease_.answer(
                {.method = request.method, .path = request.path, .body = request.body});
        }
        return request.method == "GET"
                   ? ClientAnswer{.status = 200,
                                  .body = fmt::format(
                                      R"({{"metadata":{{"name":"l","resourceVersion":"9{}"}},)"
                                      R"("spec":{{"holderIdentity":"{}",)"
                                      R"("leaseDurationSeconds":60}}}})",
                                      ++version_, lease_.lease.holder)}
                   : status_answer(409, "Conflict");
    }

    ClientAnswer list(const std::string& path) {
        std::string items;
        for (const auto& [name, json] : objects_[path]) {
            items += (items.empty() ? "" : ",") + json;
        }
        return {.status = 200,
                .body = fmt::format(
                    R"({{"kind":"List","metadata":{{"resourceVersion":"{}"}},"items":[{}]}})",
                    version_, items)};
    }

    ClientAnswer bind(const std::string& path, const std::string& body) {
        const std::size_t end = path.rfind('/');
        const std::size_t begin = path.rfind('/', end - 1) + 1;
        const std::string name = path.substr(begin, end - begin);
        const auto pod = pods_.find(name);
        if (pod == pods_.end()) {
            return status_answer(404, "NotFound");
        }
        if (!pod->second.node.empty()) {
            return status_answer(409, "Conflict");
        }
        const std::size_t named = body.find(R"("name":")", body.find(R"("target":)")) + 8;
        pod->second.node = body.substr(named, body.find('"', named) - named);
        pod->second.annotations = annotations_in(body);
        store(std::string(kPodsPath), name, pod_json(name));
        return {.status = 201, .body = R"({"kind":"Status","status":"Success","code":201})"};
    }
    // The text of the object metadata.annotations.
    static std::string annotations_in(const std::string& body) {
        const std::string key = R"("annotations":)";
        const std::size_t begin = body.find(key) + key.size();
        std::size_t at = begin;
        bool quoted = false;
        int depth = 0;
        do {
            const char c = body[at];
            if (quoted && c == '\\') {
                ++at;
            } else if (c == '"') {
                quoted = !quoted;
            } else if (!quoted) {
                depth += c == '{' ? 1 : c == '}' ? -1 : 0;
            }
            ++at;
        } while (depth > 0);
        return body.substr(begin, at - begin);
    }

    struct WaitingBind {
        std::string path;
        std::string body;
        Responder respond;
    };
    struct WaitingWatch {
        std::string path;
        int seen = 0;
        Responder respond;
    };

    mutable std::mutex mutex_;
    int version_ = 100;
    int fail_with_ = 0;
    bool hold_binds_ = false;
    bool hold_pod_lists_ = false;
    bool freeze_watches_ = false;
    bool stolen_ = false;
    int pod_lists_ = 0;
    std::map<std::string, FakePod> pods_;
    std::map<std::string, std::map<std::string, std::string>> objects_;
    std::vector<Event> events_;
    FakeLease lease_;
    std::vector<WaitingBind> waiting_binds_;
    std::vector<WaitingWatch> waiting_watches_;
    std::vector<Responder> waiting_lists_;
    std::unique_ptr<HttpServer> server_;
};

}  // namespace tessera
