// A small Kubernetes API server on loopback, for tests of programs that follow and bind.
//
//   FakeApi api;
//   api.put_node("gpu-a", testing::gpushare_node("gpu-a", 32, 2));
//   api.put_pod("p", 8);
//   Service::start({.api = {.base_url = api.url()}}, log);
//   api.hold_binds(true);                   // they arrive and wait
//
// Lists, watches, one pod, bindings (with their annotations) and one Lease. Faults are switched on
// by the test; all functions are for any thread.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "codec/json_value.h"
#include "kube/fake_objects.h"
#include "kube/lease_fake_server.h"
#include "net/client_test_server.h"
#include "role/extender/test_extender.h"
#include "role/feed/feed.h"

namespace tessera {

class FakeApi {
  public:
    FakeApi() : server_([this](auto& peer, const auto& request) { return serve(peer, request); }) {}
    ~FakeApi() {
        const std::lock_guard lock(mutex_);
        closing_ = true;
        changed_.notify_all();
    }

    std::string url() const { return server_.url(); }

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
    // Somebody else has the Lease now.
    void take_lease(const std::string& who) {
        const std::lock_guard lock(mutex_);
        lease_.lease.holder = who;
        lease_.lease.version += "0";
        stolen_ = true;
    }

    int pod_lists() const { return get(pod_lists_); }
    int binds_waiting() const { return get(binds_waiting_); }
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
        changed_.notify_all();
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
        changed_.notify_all();
    }

    static bool reply(ServedConnection& peer, int status, const std::string& body) {
        return peer.write(fmt::format(
            "HTTP/1.1 {} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
            status, body.size(), body));
    }
    static bool reply(ServedConnection& peer, const ClientAnswer& answer) {
        return reply(peer, answer.status, answer.body);
    }

    bool serve(ServedConnection& peer, const std::string& request) {
        const std::string method = request.substr(0, request.find(' '));
        const std::size_t begin = method.size() + 1;
        const std::string target = request.substr(begin, request.find(' ', begin) - begin);
        const std::string path = target.substr(0, target.find('?'));
        const std::string body = request.substr(request.find("\r\n\r\n") + 4);
        if (const int status = get(fail_with_); status != 0) {
            return reply(peer, status_answer(status, "Told"));
        }
        if (path.ends_with("/binding")) {
            return bind(peer, path, body);
        }
        if (path.find("/leases") != std::string::npos) {
            return reply(peer, lease_answer(method, path, body));
        }
        if (path == kNodesPath || path == kPodsPath || path == kConfigMapsPath) {
            return query_value(target, "watch") == "1"
                       ? watch(peer, path, query_value(target, "resourceVersion"))
                       : list(peer, path);
        }
        const std::lock_guard lock(mutex_);
        const auto pod = pods_.find(path.substr(path.rfind('/') + 1));
        return pod == pods_.end() ? reply(peer, status_answer(404, "NotFound"))
                                  : reply(peer, 200, pod_json(pod->first));
    }

    ClientAnswer lease_answer(const std::string& method, const std::string& path,
                              const std::string& body) {
        const std::lock_guard lock(mutex_);
        if (stolen_) {
            return method == "GET"
                       ? ClientAnswer{.status = 200,
                                      .body = R"({"metadata":{"name":"l","resourceVersion":"9)" +
                                              std::to_string(++version_) +
                                              R"("},"spec":{"holderIdentity":")" +
                                              lease_.lease.holder +
                                              R"(","leaseDurationSeconds":60}})"}
                       : status_answer(409, "Conflict");
        }
        return lease_.answer({.method = method, .path = path, .body = body});
    }

    bool list(ServedConnection& peer, const std::string& path) {
        std::unique_lock lock(mutex_);
        if (path == kPodsPath) {
            ++pod_lists_;
            changed_.wait(lock, [&] { return !hold_pod_lists_ || closing_; });
        }
        std::string items;
        for (const auto& [name, json] : objects_[path]) {
            items += (items.empty() ? "" : ",") + json;
        }
        const std::string body =
            fmt::format(R"({{"kind":"List","metadata":{{"resourceVersion":"{}"}},"items":[{}]}})",
                        version_, items);
        lock.unlock();
        return reply(peer, 200, body);
    }

    bool watch(ServedConnection& peer, const std::string& path, const std::string& from) {
        if (!peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")) {
            return false;
        }
        int seen = std::stoi(from);
        std::unique_lock lock(mutex_);
        while (!closing_) {
            std::string lines;
            for (const Event& event : events_) {
                if (event.version > seen && event.path == path && !freeze_watches_) {
                    lines += event.line + "\n";
                    seen = event.version;
                }
            }
            if (!lines.empty()) {
                lock.unlock();
                if (!peer.write_chunk(lines)) {
                    return false;
                }
                lock.lock();
                continue;
            }
            changed_.wait(lock);
        }
        return false;
    }

    bool bind(ServedConnection& peer, const std::string& path, const std::string& body) {
        const std::size_t end = path.rfind('/');
        const std::size_t begin = path.rfind('/', end - 1) + 1;
        const std::string name = path.substr(begin, end - begin);
        std::unique_lock lock(mutex_);
        ++binds_waiting_;
        changed_.notify_all();
        changed_.wait(lock, [&] { return !hold_binds_ || closing_; });
        --binds_waiting_;
        const auto pod = pods_.find(name);
        if (closing_ || pod == pods_.end()) {
            return reply(peer, status_answer(404, "NotFound"));
        }
        if (!pod->second.node.empty()) {
            return reply(peer, status_answer(409, "Conflict"));
        }
        const std::size_t named = body.find(R"("name":")", body.find(R"("target":)")) + 8;
        pod->second.node = body.substr(named, body.find('"', named) - named);
        pod->second.annotations = annotations_in(body);
        store(std::string(kPodsPath), name, pod_json(name));
        lock.unlock();
        return reply(peer, 201, R"({"kind":"Status","status":"Success","code":201})");
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

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool closing_ = false;
    int version_ = 100;
    int fail_with_ = 0;
    bool hold_binds_ = false;
    bool hold_pod_lists_ = false;
    bool freeze_watches_ = false;
    bool stolen_ = false;
    int pod_lists_ = 0;
    int binds_waiting_ = 0;
    std::map<std::string, FakePod> pods_;
    std::map<std::string, std::map<std::string, std::string>> objects_;
    std::vector<Event> events_;
    FakeLease lease_;
    ScriptedServer server_;
};

}  // namespace tessera
