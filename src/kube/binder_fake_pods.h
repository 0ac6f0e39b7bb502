// The API server as binds see it, for tests: pods, their Binding and the rules of the real one.
//
//   FakePods pods;
//   pods.put("a", {.uid = "1"});
//   pods.answer(call);              // GET of a pod, POST of a Binding: what the server does and
//   says
#pragma once

#include <map>
#include <string>

#include "base/assert.h"
#include "base/json_writer.h"
#include "codec/json_value.h"
#include "kube/fake_objects.h"
#include "model/pod.h"
#include "net/http_client.h"

namespace tessera {

struct FakePod {
    std::string uid{};
    std::string node{};
    StringMap annotations{};
    bool deleting = false;
};

class FakePods {
  public:
    void put(const std::string& name, FakePod pod) { pods_[name] = std::move(pod); }
    void remove(const std::string& name) { pods_.erase(name); }
    FakePod* find(const std::string& name) {
        const auto found = pods_.find(name);
        return found == pods_.end() ? nullptr : &found->second;
    }

    // "/api/v1/namespaces/default/pods/NAME" or ".../NAME/binding".
    ClientAnswer answer(const ClientCall& call) {
        std::string name = call.path.substr(call.path.find("/pods/") + 6);
        const bool binding = name.ends_with("/binding");
        name = name.substr(0, name.find('/'));
        TESSERA_ASSERT(call.method == (binding ? "POST" : "GET"), "one of the two calls");
        FakePod* pod = find(name);
        if (pod == nullptr) {
            return status_answer(404, "NotFound");
        }
        return binding ? bind(*pod, call.body) : ClientAnswer{.status = 200, .body = json(name)};
    }

    std::string json(const std::string& name) const {
        const FakePod& pod = pods_.at(name);
        JsonWriter json;
        json.begin_object();
        json.key("metadata");
        json.begin_object();
        json.member("name", name);
        json.member("uid", pod.uid);
        if (pod.deleting) {
            json.member("deletionTimestamp", "2026-01-01T00:00:00Z");
        }
        json.key("annotations");
        json.begin_object();
        for (const auto& [key, value] : pod.annotations) {
            json.member(key, value);
        }
        json.end_object();
        json.end_object();
        json.key("spec");
        json.begin_object();
        if (!pod.node.empty()) {
            json.member("nodeName", pod.node);
        }
        json.key("containers");
        json.begin_array();
        json.begin_object();
        json.member("name", "main");
        json.end_object();
        json.end_array();
        json.end_object();
        json.end_object();
        return json.take();
    }

  private:
    static const JsonValue& at(const JsonValue& object, std::string_view key) {
        static const JsonValue none;
        for (const auto& member : object.members) {
            if (member.key == key) {
                return member.value;
            }
        }
        return none;
    }
    static ClientAnswer bind(FakePod& pod, const std::string& body) {
        const auto binding = parse_json(body);
        TESSERA_ASSERT(binding && at(*binding, "kind").text == "Binding", "a Binding");
        const JsonValue& metadata = at(*binding, "metadata");
        if (at(metadata, "uid").text != pod.uid || !pod.node.empty() || pod.deleting) {
            return status_answer(409, "Conflict");
        }
        pod.node = at(at(*binding, "target"), "name").text;
        for (const auto& [key, value] : at(metadata, "annotations").members) {
            pod.annotations[key] = value.text;
        }
        return status_answer(201, "");
    }

    std::map<std::string, FakePod> pods_;
};

}  // namespace tessera
