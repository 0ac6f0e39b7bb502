// Turns the raw objects that reflectors tell into calls of a Mirror.
//
//   Feed feed({mirror, mutex}, {.on_unreadable = [&](const Unreadable& one) { ... }});
//   Reflector pods(*http, feed.pods(), {.path = std::string(kPodsPath), .seed = seed});
//   ...
//   if (feed.counts().pods.lists > before) { ... }     // a whole list has been applied since
//
// Objects are read outside the lock and applied inside it; a list is collected and applied whole.
// An object that cannot be read never stops the feed: it is counted and told once per name. A
// bound pod of which only the outline can be read still counts, by its own placement record. Pods
// that have ended are not kept, so that a list of old Jobs costs no memory.
//
// Pods are listed without a field selector. With status.phase!=Failed a pod would seem gone when
// its phase changes, and its share would be given away while a container may still be running.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "kube/object_sink.h"
#include "role/mirror/mirror.h"

namespace tessera {

inline constexpr std::string_view kNodesPath = "/api/v1/nodes";
inline constexpr std::string_view kPodsPath = "/api/v1/pods";
// The API knows no selector for the beginning of a name: the others are passed over here.
inline constexpr std::string_view kConfigMapsPath = "/api/v1/namespaces/kube-system/configmaps";

struct FeedTarget {
    Mirror& mirror;
    std::mutex& mutex;  // held for each call of the mirror
};

// An object that could not be read.
struct Unreadable {
    std::string_view kind;  // "node", "pod", "ConfigMap"
    std::string name;       // as far as it could be read; may be empty
    std::string reason;
};

struct FeedOptions {
    std::function<void(const Unreadable&)> on_unreadable{};
    // After a list or a change has been applied, without the lock, on the feeding thread.
    std::function<void()> on_applied{};
};

struct FeedCounts {
    struct OfKind {
        std::uint64_t lists = 0;       // applied
        std::uint64_t objects = 0;     // read, of lists and changes
        std::uint64_t unreadable = 0;  // not, or only their outline
    };
    OfKind nodes;
    OfKind pods;
    OfKind config_maps;
};

class Feed {
  public:
    // What the target names outlives it.
    Feed(FeedTarget target, FeedOptions options);
    ~Feed();
    Feed(const Feed&) = delete;
    Feed& operator=(const Feed&) = delete;

    ObjectSink& nodes();
    ObjectSink& pods();
    ObjectSink& config_maps();

    // From any thread.
    FeedCounts counts() const;
    // The mirror's, without its lock.
    bool synced() const;

  private:
    struct Shared;
    template <class Object>
    class Sink;
    class Nodes;
    class Pods;
    class ConfigMaps;
    std::unique_ptr<Shared> shared_;
    std::unique_ptr<Nodes> nodes_;
    std::unique_ptr<Pods> pods_;
    std::unique_ptr<ConfigMaps> config_maps_;
};

}  // namespace tessera
