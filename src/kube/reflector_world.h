// A reflector against a server that is well unless a test says otherwise.
//
//   ReflectorWorld world;
//   world.server.put("a", 1);
//   world.start();
//   world.time.run_for(seconds(1));          // listed, and a watch is open
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kube/fake_http_client.h"
#include "kube/fake_objects.h"
#include "kube/reflector.h"

namespace tessera {

class ReflectorWorld {
  public:
    using Fault = std::function<bool(FakeHttpClient&, const FakeCall&)>;

    void start() { reflector.start(); }
    // The watch that is open; the test tells it lines.
    HttpClient::CallId watch{};
    std::vector<std::string> paths;
    Fault fault = [](FakeHttpClient&, const FakeCall&) { return false; };
    FakeObjects server;
    VirtualTime time;
    RecordingSink sink;
    FakeHttpClient http{time,
                        [this](FakeHttpClient& to, const FakeCall& call) { serve(to, call); }};
    Reflector reflector{http,
                        sink,
                        {.path = "/objects",
                         .label_selector = "a=b",
                         .field_selector = "spec.x!=y",
                         .page_size = 2,
                         .clock = time.clock()}};

    // A change that the open watch is told of.
    void put(const std::string& name, int value) {
        server.put(name, value);
        http.line(watch, FakeObjects::line(server.events_after(server.version() - 1)->front()));
    }
    std::size_t requests(const std::string& part) const {
        std::size_t n = 0;
        for (const std::string& path : paths) {
            n += path.find(part) == std::string::npos ? 0 : 1;
        }
        return n;
    }

  private:
    void serve(FakeHttpClient& to, const FakeCall& call) {
        paths.push_back(call.call.path);
        if (call.streams) {
            watch = call.id;
        }
        if (fault(to, call)) {
            return;
        }
        if (!call.streams) {
            to.answer(call.id, server.page(call.call.path));
            return;
        }
        const auto events =
            server.events_after(std::stoull(query_value(call.call.path, "resourceVersion")));
        if (!events) {
            to.answer(call.id, status_answer(410, "Expired"));
            return;
        }
        for (const auto& event : *events) {
            to.line(call.id, FakeObjects::line(event));
        }
        to.answer(call.id, {.status = 200, .body = ""},
                  seconds(std::stoll(query_value(call.call.path, "timeoutSeconds"))));
        bookmarks(call.id);
    }
    void bookmarks(HttpClient::CallId id) {
        time.after(seconds(60), [this, id] {
            if (http.is_open(id)) {
                http.line(id, server.bookmark());
                bookmarks(id);
            }
        });
    }
};

}  // namespace tessera
