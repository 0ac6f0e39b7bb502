// What the verbs share: the mirror behind its mutex, the ports, and the binds under way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/extender_json.h"
#include "model/pod.h"
#include "role/extender/extender.h"
#include "role/extender/node_list.h"

namespace tessera {

class Desk {
  public:
    Desk(Mirror& mirror, std::mutex& mutex, ExtenderPorts ports)
        : mirror_(mirror), mutex_(mutex), ports_(std::move(ports)) {}

    // The mirror, for as long as this lives.
    class Hold {
      public:
        explicit Hold(Desk& desk) : lock_(desk.mutex_), mirror_(desk.mirror_) {}
        Mirror* operator->() const { return &mirror_; }
        Mirror& operator*() const { return mirror_; }

      private:
        std::unique_lock<std::mutex> lock_;
        Mirror& mirror_;
    };
    Hold hold() { return Hold(*this); }

    const ExtenderPorts& ports() const { return ports_; }
    Nanoseconds now() const { return ports_.now(); }
    bool current() const { return !ports_.current || ports_.current(); }
    // Why there is no deciding now; empty when there is.
    std::string why_not_ready();

    // A bind under way, and who waits for its end. Only with the mirror held.
    struct Bind {
        std::string node;
        std::vector<Responder> waiting;
    };
    std::map<std::string, Bind, std::less<>> binds;  // by "namespace/name/uid"

    NodeLists node_lists;

  private:
    Mirror& mirror_;
    std::mutex& mutex_;
    ExtenderPorts ports_;
};

// The mirror for work that goes through many nodes: between two of them others get it, every half
// a millisecond, so that a decision does not wait for a long list.
class LongHold {
  public:
    explicit LongHold(Desk& desk)
        : desk_(desk), hold_(std::in_place, desk), until_(desk.now() + kTurn) {}
    Mirror* operator->() const { return &**hold_; }
    Mirror& operator*() const { return **hold_; }
    // True: they may have had it. What was learnt of the mirror may not be so any more: a node may
    // have gone.
    bool let_others();

  private:
    static constexpr Nanoseconds kTurn{500'000};

    Desk& desk_;
    std::optional<Desk::Hold> hold_;
    Nanoseconds until_;
};

// Calls visit(mirror, node) for every node, by name; for one alone if it is named. How many there
// were.
template <class Visit>
std::size_t each_node(Desk& desk, std::string_view one, Visit visit) {
    std::vector<std::string> names;
    if (one.empty()) {
        names = desk.hold()->node_names();
        std::sort(names.begin(), names.end());
    } else {
        names.emplace_back(one);
    }
    std::size_t found = 0;
    LongHold mirror(desk);
    for (const std::string& name : names) {
        if (const NodeIndex node = mirror->find_node(name); node.valid()) {
            visit(*mirror, node);
            ++found;
        }
        mirror.let_others();
    }
    return found;
}

// An answer that says why there is none, in the shape and with the status of a route.
using Refuse = HttpResponse (*)(int status, std::string_view message);

// One request on its way.
struct Call {
    HttpRequest& request;
    std::string_view node;  // of /inspect/NODE
    Refuse refuse;
};

// Buffers of a thread, kept from call to call.
struct Scratch {
    ExtenderReader reader;
    std::vector<std::uint8_t> marks;  // refusals of a filter, scores of a prioritize

    static Scratch& of_thread();
};

// {"Error":"..."}
HttpResponse error_answer(int status, std::string_view message);

}  // namespace tessera
