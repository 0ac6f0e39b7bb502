// A small API server for tests: objects of one kind, with versions, pages, watches and bookmarks,
// and a history that can be forgotten (410). Faults are for those who use it.
//
//   FakeObjects server;                      // at "/objects"
//   server.put("a", 1);
//   server.page("/objects?limit=2");         // JSON, or an answer with 410
//   server.events_after(7);                  // lines of a watch
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kube/object_sink.h"
#include "net/http_client.h"

namespace tessera {

// "name=value" of a query; empty when absent. Enough for what reflectors send.
inline std::string query_value(const std::string& path, const std::string& name) {
    for (const char before : {'?', '&'}) {
        const std::string key = before + name + "=";
        if (const std::size_t at = path.find(key); at != std::string::npos) {
            const std::size_t begin = at + key.size();
            return path.substr(begin, path.find('&', begin) - begin);
        }
    }
    return {};
}

inline ClientAnswer status_answer(int code, const std::string& reason) {
    return {.status = code,
            .body = R"({"kind":"Status","reason":")" + reason + R"(","message":"told to","code":)" +
                    std::to_string(code) + "}"};
}

class FakeObjects {
  public:
    struct Object {
        int value = 0;
        std::uint64_t version = 0;
    };
    struct Change {
        std::string type;
        std::string name;
        Object object;
    };

    void put(const std::string& name, int value) {
        const bool known = objects_.contains(name);
        objects_[name] = {value, ++version_};
        history_[version_] = {known ? "MODIFIED" : "ADDED", name, objects_[name]};
        states_[version_] = objects_;
    }
    void remove(const std::string& name) {
        const auto entry = objects_.extract(name);
        if (!entry.empty()) {
            history_[++version_] = {"DELETED", name, {entry.mapped().value, version_}};
            states_[version_] = objects_;
        }
    }
    // All but the last `keep` changes are too old to be asked for.
    void forget(std::size_t keep) {
        while (history_.size() > keep) {
            oldest_ = history_.begin()->first;
            history_.erase(history_.begin());
        }
        states_.erase(states_.begin(), states_.lower_bound(oldest_));
    }
    std::uint64_t version() const { return version_; }
    std::map<std::string, int> values() const {
        std::map<std::string, int> all;
        for (const auto& [name, object] : objects_) {
            all[name] = object.value;
        }
        return all;
    }

    static std::string json(const std::string& name, const Object& object) {
        return R"({"metadata":{"name":")" + name + R"(","resourceVersion":")" +
               std::to_string(object.version) + R"("},"value":)" + std::to_string(object.value) +
               "}";
    }
    static std::string line(const Change& change) {
        return R"({"type":")" + change.type + R"(","object":)" + json(change.name, change.object) +
               "}";
    }
    std::string bookmark() const {
        return R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":")" +
               std::to_string(version_) + R"("}}})";
    }

    // The token is "VERSION.NAME": the list's version, and the last name that was told.
    ClientAnswer page(const std::string& path) const {
        const std::string token = query_value(path, "continue");
        const std::size_t limit = std::stoul(query_value(path, "limit"));
        const std::size_t dot = token.find('.');
        const std::uint64_t at = token.empty() ? version_ : std::stoull(token.substr(0, dot));
        if (at < oldest_) {
            return status_answer(410, "Expired");
        }
        const auto& objects = at == version_ ? objects_ : states_.at(at);
        auto next = token.empty() ? objects.begin() : objects.upper_bound(token.substr(dot + 1));
        std::string items;
        std::string last;
        for (std::size_t n = 0; n < limit && next != objects.end(); ++n, ++next) {
            last = next->first;
            items += (items.empty() ? "" : ",") + json(last, next->second);
        }
        const std::string more = next == objects.end()
                                     ? ""
                                     : R"(,"continue":")" + std::to_string(at) + "." + last + "\"";
        return {.status = 200,
                .body = R"({"kind":"List","metadata":{"resourceVersion":")" + std::to_string(at) +
                        "\"" + more + R"(},"items":[)" + items + "]}\n"};
    }
    // Nothing when that is too old.
    std::optional<std::vector<Change>> events_after(std::uint64_t version) const {
        if (version < oldest_) {
            return std::nullopt;
        }
        std::vector<Change> changes;
        for (auto next = history_.upper_bound(version); next != history_.end(); ++next) {
            changes.push_back(next->second);
        }
        return changes;
    }

  private:
    std::uint64_t version_ = 100;
    std::uint64_t oldest_ = 0;  // changes up to this one are forgotten
    std::map<std::string, Object> objects_;
    std::map<std::uint64_t, Change> history_;
    std::map<std::uint64_t, std::map<std::string, Object>> states_;
};

// What a reflector told, and whether it kept the order of the contract.
class RecordingSink final : public ObjectSink {
  public:
    void list_begins() override {
        ++begun;
        listing_ = true;
        coming_.clear();
    }
    void listed(std::string_view json) override {
        fault_unless(listing_, "an object outside of a list");
        coming_[name_of(json)] = value_of(json);
    }
    void list_ends() override {
        fault_unless(listing_, "an end without a beginning");
        listing_ = false;
        ++ended;
        values = coming_;
    }
    void changed(std::string_view json) override {
        fault_unless(!listing_ && ended > 0, "a change within a list");
        values[name_of(json)] = value_of(json);
        ++changes;
    }
    void deleted(std::string_view json) override {
        fault_unless(!listing_ && ended > 0, "a deletion within a list");
        values.erase(name_of(json));
        ++changes;
    }

    std::map<std::string, int> values;
    int begun = 0;
    int ended = 0;
    int changes = 0;
    std::string fault;

  private:
    void fault_unless(bool right, const char* what) {
        if (!right && fault.empty()) {
            fault = what;
        }
    }
    static std::string name_of(std::string_view json) {
        const std::size_t begin = json.find(R"("name":")") + 8;
        return std::string(json.substr(begin, json.find('"', begin) - begin));
    }
    static int value_of(std::string_view json) {
        return std::stoi(std::string(json.substr(json.find(R"("value":)") + 8)));
    }

    bool listing_ = false;
    std::map<std::string, int> coming_;
};

}  // namespace tessera
