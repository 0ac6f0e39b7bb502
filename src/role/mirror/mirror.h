// The cluster as the API server tells it, in the engine's terms, and the decisions made on it.
//
//   Mirror mirror(options);
//   mirror.replace_nodes(nodes); mirror.replace_pods(pods); mirror.replace_config_maps(maps);
//   auto fit = mirror.filter(pod, candidates, {.policy = "gpushare", .now = now});   // holds
//   auto bind = mirror.prepare_bind(key, "gpu-a", now);        // what to POST
//   mirror.bind_ended(key, {WriteEnd::done}, now);             // and how that went
//
// Single-threaded and without I/O: the doors that share it hold a lock for each call, and none of
// them holds it while it waits for the API server. Time is passed in, by a clock that nobody sets.
//
// Truth is the API's. Nothing is decided before nodes, pods and ConfigMaps have been listed once
// (synced()). A pod that is bound holds its share until its containers have ended; one that we only
// decided about holds it until a deadline, unless the bind succeeds.
//
// Memory follows the pods and nodes that are there. Names (of nodes, containers, models, groups,
// labels) and kinds of demand that nobody uses any more are let go when there are more of them
// than of those in use, and some thousands. So what a decision answered by an index of theirs is
// good until the next call; the index of a node is good for as long as the node is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "dialect/dialect.h"
#include "engine/diagnosis.h"
#include "engine/engine.h"
#include "kube/binder_writes.h"
#include "model/decision.h"
#include "model/pod.h"
#include "role/mirror/mirror_observer.h"

namespace tessera {

struct MirrorOptions {
    DialectOptions dialect{};
    Engine::Options engine{};
    // A share that was chosen and is not bound by then is free again.
    Nanoseconds hold_for{20'000'000'000};
    // A bind whose end nobody told may still be carried out: the API server works on a request for
    // a minute at most.
    Nanoseconds doubt_for{60'000'000'000};
    // The time of people, for what is written on pods; empty: the time that is passed in.
    std::function<Nanoseconds()> wall{};
    // Policies by dialect, where they differ from the usual ones: {"elastic", "elastic-spread"}.
    StringMap policies{};
    // Makes a policy of that name; empty: one of the shipped ones.
    std::function<Expected<std::unique_ptr<Policy>>(std::string_view)> make_policy{};
    // gpushare's nodes show their unit by their size; this says it for them.
    std::optional<MemoryUnit> gpushare_unit{};
    // How many names and kinds of demand may be known beside twice those in use.
    std::size_t spare_names = 65'536;
    // Whether the ordinary rules between pods are kept account of: for a scheduler.
    bool neighbours = false;
    // Placement records are signed with it, and only signed ones are ours. Empty: neither.
    std::string signing_key{};
};

// How a pod is named in a call of the extender.
struct PodKey {
    std::string space;
    std::string name;
    std::string uid;
};

struct Asked {
    std::string_view policy;  // by name; empty: that of the pod's dialect
    Nanoseconds now;
};

// The answer to a filter, by the place of a candidate in the request.
struct Fit {
    std::vector<Key> keys;        // 0: does not fit
    std::size_t fitting = 0;      // how many do
    std::size_t best = SIZE_MAX;  // the candidate whose share is held; SIZE_MAX: none fits
};

// Why nodes do not serve a pod, node by node, and what it asks for.
struct Refusals {
    DemandClass asked;
    std::vector<NodeVerdict> verdicts;
};

// What binding a pod takes: the share is held for it until bind_ended().
struct BindPlan {
    std::string space;
    std::string name;
    std::string uid;
    std::string node;
    StringMap annotations;
    StringMap labels;
    bool bound_already = false;  // on that node, with that share: there is nothing to write
    bool in_doubt = false;       // an earlier bind of the pod, with that share, may still be made
};

// What makes pods equal for a scheduler: the policy, and a class of it for each alternative.
struct Ask {
    PolicySlot policy;
    std::vector<ClassIndex> classes;
    std::int32_t priority = 0;  // by the pod or its dialect; not a part of the comparison
    bool by_rules = false;      // rules about other pods concern it: it is like no other pod

    friend bool operator<(const Ask& a, const Ask& b) {
        return std::tie(a.policy, a.classes) < std::tie(b.policy, b.classes);
    }
};

// Victims on one node; beyond some steps of the search a set of which nobody can be left out.
struct VictimsAsked {
    NodeIndex node;
    std::span<const std::string> chosen;  // by kube-scheduler: their uids
    std::size_t most_steps = 20'000;      // one or two microseconds each
};
struct VictimsFound {
    bool room = false;  // when these have gone
    std::vector<std::string> uids{};
    std::size_t steps = 0;
};

// For people: what is on a node.
struct ShareOnGpu {
    std::string space;
    std::string name;
    std::string uid;
    DeviceGrant grant;
    std::string_view state;  // "assumed", "confirmed", "terminating", "foreign"
};
struct NodeReport {
    const NodeSpec* spec = nullptr;
    const NodeState* left = nullptr;
    NodeIndex index;
    std::string address;                        // InternalIP, or empty
    std::vector<std::vector<ShareOnGpu>> gpus;  // by device
};

class Mirror {
  public:
    explicit Mirror(MirrorOptions options);
    ~Mirror();
    Mirror(const Mirror&) = delete;
    Mirror& operator=(const Mirror&) = delete;

    // Hears of what changes from now on; outlives the mirror. Before anything is told, or much is
    // missed.
    void tell(MirrorObserver& observer);

    // What the API tells. A whole list replaces what was known of its kind.
    void replace_nodes(std::vector<Node> nodes);
    void replace_pods(std::vector<Pod> pods);
    void replace_config_maps(std::vector<ConfigMap> maps);
    void node_changed(const Node& node);
    void node_gone(std::string_view name);
    void pod_changed(const Pod& pod);
    void pod_gone(const Pod& pod);
    void config_map_changed(const ConfigMap& map);
    void config_map_gone(std::string_view space, std::string_view name);
    bool synced() const;
    // Ends holds whose time is over; to be called now and then. How many ended. `heard`: all that
    // happened to pods before then has been told. Shares in doubt end when that is after their
    // time: sooner, a bind that was made after all might be among what is still to be told.
    std::size_t expire(Nanoseconds now, Nanoseconds heard);

    // Ends all holds that nobody was asked to bind; shares in doubt stay. How many ended.
    std::size_t drop_holds();

    // MirrorOptions::make_policy makes another one of that name now: it decides from now on.
    void policy_changed(std::string_view name);

    // The node's index; NodeIndex::none() when it is not known. Names of one call after the other
    // mostly come in the same order: `hint` is the node that came before.
    NodeIndex find_node(std::string_view name, NodeIndex hint = NodeIndex::none()) const;
    // Changes with every node that comes or goes: until then find_node() answers as before.
    std::uint64_t nodes_epoch() const;
    std::string_view node_name(NodeIndex node) const;

    // Judges every candidate (none(): not known, does not fit) and holds the best one's share for
    // the pod; what it held before is given back. An error says what is wrong with the pod.
    Expected<Fit> filter(const Pod& pod, std::span<const NodeIndex> candidates, const Asked& asked);
    // The same without holding anything: for prioritize, whose pod was filtered a moment ago. The
    // node that is held, if it is among them, is the best.
    Expected<Fit> rank(const Pod& pod, std::span<const NodeIndex> candidates, const Asked& asked);
    // Why a node does not serve the pod; for nodes with key 0.
    NodeVerdict verdict(const Pod& pod, NodeIndex node, const Asked& asked);
    // The same for many, each of them known.
    Expected<Refusals> verdicts(const Pod& pod, std::span<const NodeIndex> nodes,
                                const Asked& asked);
    // Why the pod goes where it goes, or does not fit, over all nodes.
    Expected<Decision> explain(const Pod& pod, const Asked& asked);

    // The plan for binding the pod to the node: with the share that is held there, if it still
    // fits, or one that is chosen now; "conflict" when none fits any more or the pod is another one
    // by now, "not_found" when nobody has told of the pod yet (pod_changed() helps) or of the node.
    Expected<BindPlan> prepare_bind(const PodKey& pod, std::string_view node, Nanoseconds now);
    // How that went: done (the share stays) or refused (it is free again). Unknown: no answer came,
    // or one that does not tell whether the pod is bound (409 is one); the share stays held for a
    // while, in which the watch may tell, and the pod fits nowhere else meanwhile. A pod that was
    // seen bound elsewhere counts there.
    void bind_ended(const PodKey& pod, const WriteOutcome& outcome, Nanoseconds now);

    // For a scheduler, of a pod that waits (MirrorObserver::pod_waits). Whether anything of the ask
    // fits anywhere now; the plan for binding the pod to the best of all nodes, nothing when it
    // fits on none; and why it does not.
    Expected<Ask> ask(PodIndex pod, std::string_view policy);
    bool serves(const Ask& ask);
    Expected<std::optional<BindPlan>> place(PodIndex pod, const Asked& asked);
    Expected<Decision> why_waiting(PodIndex pod, std::string_view policy);
    PodKey key_of(PodIndex pod) const;

    // Who has to go from a node so that the pod fits, where kube-scheduler would make room on many:
    // those that it chose, and where these do not free enough of one GPU as few other bound pods of
    // lower priority as can be; of sets of one size the one whose most important pod is the least
    // important. What the pod asks is good for many nodes, until others use the mirror.
    Expected<Ask> ask(const Pod& pod, const Asked& asked);
    VictimsFound victims_needed(const Pod& pod, const Ask& ask, const VictimsAsked& on);

    std::size_t node_count() const;
    std::size_t pod_count() const;  // that hold something
    std::size_t held_count() const;
    std::uint64_t expired_count() const;           // holds, since the start
    std::size_t in_doubt_count() const;            // of those: binds whose end is unknown
    std::vector<NodeIndex> nodes_by_name() const;  // those that are there
    std::vector<std::string> node_names() const;   // the same, in no order
    NodeReport report(NodeIndex node) const;
    std::string_view uid_of(OwnerId owner) const;  // of one in the ledger
    const Vocabulary& names() const;
    MemoryUnit memory_unit() const;  // in which aliyun.com/gpu-mem counts here
    // Only once it is synced().
    const Cluster& cluster() const;
    const Ledger& ledger() const;
    // Things that somebody should look at, newest last: bad entries, over-commitment. Bounded.
    std::vector<std::string> take_notes();

  private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace tessera
