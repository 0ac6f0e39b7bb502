#include "role/feed/feed.h"

#include <atomic>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "codec/kube_json.h"
#include "dialect/gpushare.h"

namespace tessera {
namespace {

// Names of unreadable objects that are remembered, so that each is told once.
constexpr std::size_t kMostTold = 1000;

struct AtomicCounts {
    std::atomic<std::uint64_t> lists = 0;
    std::atomic<std::uint64_t> objects = 0;
    std::atomic<std::uint64_t> unreadable = 0;

    FeedCounts::OfKind load() const { return {lists, objects, unreadable}; }
};

}  // namespace

// What the three sinks have in common. Each sink is called by one thread at a time.
struct Feed::Shared {
    FeedTarget target;
    FeedOptions options;
    std::atomic<bool> synced = false;
    std::mutex told_mutex;
    std::set<std::string, std::less<>> told;

    template <class Apply>
    void apply(const Apply& change) {
        {
            const std::lock_guard lock(target.mutex);
            change(target.mirror);
            if (!synced) {
                synced = target.mirror.synced();
            }
        }
        if (options.on_applied) {
            options.on_applied();
        }
    }
    void tell(const Unreadable& one) {
        {
            const std::lock_guard lock(told_mutex);
            if (told.size() >= kMostTold || !told.insert(one.name + ' ' + one.reason).second) {
                return;
            }
        }
        if (options.on_unreadable) {
            options.on_unreadable(one);
        }
    }
};

// The part that all kinds have in common: a list is collected, then applied whole.
template <class Object>
class Feed::Sink : public ObjectSink {
  public:
    using Replace = void (Mirror::*)(std::vector<Object>);
    using Change = void (Mirror::*)(const Object&);

    Sink(Shared& shared, std::string_view kind, Replace replace, Change change)
        : shared_(shared), kind_(kind), replace_(replace), change_(change) {}

    void list_begins() final { listed_.clear(); }
    void listed(std::string_view json) final {
        auto object = read(json);
        if (object && worth_listing(*object)) {
            listed_.push_back(std::move(*object));
        }
    }
    void list_ends() final {
        shared_.apply([&](Mirror& mirror) {
            (mirror.*replace_)(std::exchange(listed_, {}));
            ++counts.lists;
        });
    }
    void changed(std::string_view json) final {
        if (const auto object = read(json)) {
            shared_.apply([&](Mirror& mirror) { (mirror.*change_)(*object); });
        }
    }
    void deleted(std::string_view json) final {
        // Who it was is enough, and more may not be readable.
        auto who = read_pod_outline_json(json);
        if (!who) {
            unreadable({}, who.error());
            return;
        }
        shared_.apply([&](Mirror& mirror) { gone(mirror, *who); });
    }

    AtomicCounts counts;

  protected:
    virtual std::optional<Object> read(std::string_view json) = 0;
    virtual bool worth_listing(const Object&) const { return true; }
    virtual void gone(Mirror& mirror, const Pod& outline) = 0;

    // The object, or nothing when it cannot be read and that has been told.
    std::optional<Object> taken(Expected<Object> object, std::string_view json) {
        ++(object ? counts.objects : counts.unreadable);
        if (object) {
            return std::move(*object);
        }
        const auto outline = read_pod_outline_json(json);
        shared_.tell({kind_, outline ? outline->name : std::string(), object.error().message});
        return std::nullopt;
    }
    void unreadable(std::string name, const Error& error) {
        ++counts.unreadable;
        shared_.tell({kind_, std::move(name), error.message});
    }

  private:
    Shared& shared_;
    const std::string_view kind_;
    const Replace replace_;
    const Change change_;
    std::vector<Object> listed_;
};

class Feed::Nodes final : public Sink<Node> {
  public:
    explicit Nodes(Shared& shared)
        : Sink(shared, "node", &Mirror::replace_nodes, &Mirror::node_changed) {}

  private:
    std::optional<Node> read(std::string_view json) override {
        return taken(read_node_json(json), json);
    }
    void gone(Mirror& mirror, const Pod& outline) override { mirror.node_gone(outline.name); }
};

class Feed::Pods final : public Sink<Pod> {
  public:
    explicit Pods(Shared& shared)
        : Sink(shared, "pod", &Mirror::replace_pods, &Mirror::pod_changed) {}

  private:
    std::optional<Pod> read(std::string_view json) override {
        auto pod = read_pod_json(json);
        const bool whole = pod.has_value();
        auto result = taken(std::move(pod), json);
        if (whole) {
            return result;
        }
        // One that waits holds nothing; one that runs does, by its record.
        auto outline = read_pod_outline_json(json);
        if (outline && !outline->uid.empty() && !outline->node_name.empty()) {
            return std::move(*outline);
        }
        return std::nullopt;
    }
    bool worth_listing(const Pod& pod) const override { return !pod.ended(); }
    void gone(Mirror& mirror, const Pod& outline) override { mirror.pod_gone(outline); }
};

class Feed::ConfigMaps final : public Sink<ConfigMap> {
  public:
    explicit ConfigMaps(Shared& shared)
        : Sink(shared, "ConfigMap", &Mirror::replace_config_maps, &Mirror::config_map_changed) {}

  private:
    std::optional<ConfigMap> read(std::string_view json) override {
        // Others in the namespace are passed over before their data are read.
        const auto outline = read_pod_outline_json(json);
        if (outline && !outline->name.starts_with(kUnhealthyGpuPrefix)) {
            return std::nullopt;
        }
        return taken(read_config_map_json(json), json);
    }
    void gone(Mirror& mirror, const Pod& outline) override {
        mirror.config_map_gone(outline.space, outline.name);
    }
};

Feed::Feed(FeedTarget target, FeedOptions options)
    : shared_(new Shared{target, std::move(options), false, {}, {}}),
      nodes_(std::make_unique<Nodes>(*shared_)),
      pods_(std::make_unique<Pods>(*shared_)),
      config_maps_(std::make_unique<ConfigMaps>(*shared_)) {}
Feed::~Feed() = default;

ObjectSink& Feed::nodes() { return *nodes_; }
ObjectSink& Feed::pods() { return *pods_; }
ObjectSink& Feed::config_maps() { return *config_maps_; }

FeedCounts Feed::counts() const {
    return {nodes_->counts.load(), pods_->counts.load(), config_maps_->counts.load()};
}
bool Feed::synced() const { return shared_->synced; }

}  // namespace tessera
