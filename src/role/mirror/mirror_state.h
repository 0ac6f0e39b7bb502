// What is behind a Mirror: the engine, the names, the nodes and the pods.
//
// mirror_nodes.cc and mirror_pods.cc take in what the API tells, mirror_decide.cc makes decisions,
// mirror_victims.cc says who would have to go, mirror_report.cc tells people, mirror_names.cc lets
// go of names; mirror.cc hands each call to the right one.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/gpushare.h"
#include "engine/neighbour_question.h"
#include "engine/neighbourhood.h"
#include "engine/victim_search.h"
#include "role/intake/intake.h"
#include "role/intake/port_book.h"
#include "role/mirror/first_pods.h"
#include "role/mirror/mirror.h"
#include "role/mirror/pod_book.h"

namespace tessera {

class Mirror::State {
  public:
    explicit State(MirrorOptions options);

    // mirror_nodes.cc
    void replace_nodes(std::vector<Node> nodes);
    void node_changed(const Node& node);
    void node_gone(std::string_view name);
    void replace_config_maps(std::vector<ConfigMap> maps);
    void config_map_changed(const ConfigMap& map);
    void config_map_gone(std::string_view space, std::string_view name);
    NodeIndex find_node(std::string_view name, NodeIndex hint) const;
    std::uint64_t nodes_epoch() const { return nodes_epoch_; }

    // mirror_pods.cc
    void replace_pods(std::vector<Pod> pods);
    void pod_changed(const Pod& pod);
    void pod_gone(const Pod& pod);
    std::size_t expire(Nanoseconds now, Nanoseconds heard);
    std::size_t drop_holds();
    std::uint64_t expired() const { return expired_; }

    // mirror_decide.cc
    void policy_changed(std::string_view name);
    Expected<Fit> filter(const Pod& pod, std::span<const NodeIndex> among, const Asked& asked);
    Expected<Fit> rank(const Pod& pod, std::span<const NodeIndex> among, const Asked& asked);
    NodeVerdict verdict(const Pod& pod, NodeIndex node, const Asked& asked);
    Expected<Refusals> verdicts(const Pod& pod, std::span<const NodeIndex> nodes,
                                const Asked& asked);
    Expected<Decision> explain(const Pod& pod, const Asked& asked);
    Expected<BindPlan> prepare_bind(const PodKey& pod, std::string_view node, Nanoseconds now);
    void bind_ended(const PodKey& pod, const WriteOutcome& outcome, Nanoseconds now);

    // mirror_victims.cc
    Expected<Ask> ask(const Pod& pod, const Asked& asked);
    VictimsFound victims_needed(const Pod& pod, const Ask& ask, const VictimsAsked& on);

    // mirror_place.cc
    void tell(MirrorObserver& observer) { observer_ = &observer; }
    Expected<Ask> ask(PodIndex pod, std::string_view policy);
    bool serves(const Ask& ask);
    Expected<std::optional<BindPlan>> place(PodIndex pod, const Asked& asked);
    Expected<Decision> why_waiting(PodIndex pod, std::string_view policy);
    PodKey key_of(PodIndex pod) const {
        return {pods_[pod].space, pods_[pod].name, pods_[pod].uid};
    }

    // mirror_report.cc
    std::vector<NodeIndex> nodes_by_name() const;
    std::vector<std::string> node_names() const;
    NodeReport report(NodeIndex node) const;
    std::string_view uid_of(OwnerId owner) const { return pods_[PodIndex(owner.index())].uid; }
    std::size_t holding() const;
    std::size_t node_count() const { return present_; }
    std::size_t held() const { return held_; }
    std::size_t in_doubt() const { return in_doubt_; }

    bool synced() const { return engine_ != nullptr; }
    const Vocabulary& names() const { return names_; }
    MemoryUnit memory_unit() const { return options_.dialect.gpushare_unit; }
    const Cluster& cluster() const { return engine_->cluster(); }
    const Ledger& ledger() const { return engine_->ledger(); }
    std::string_view node_name(NodeIndex node) const { return names_.nodes.name(node); }
    std::vector<std::string> take_notes();

    // mirror_names.cc
    void make_room_for_names();

    // mirror_neighbours.cc
    void learn_neighbour(PodIndex index, const Pod& pod);
    void learn_offer(NodeIndex node, const Node& told);

  private:
    class InUse;
    struct NodeFacts {
        std::string address;
        std::vector<Health> health;  // by the node's own word, before unhealthy-gpu-NODE
        bool present = false;
    };

    // What a pod asks, in one policy's classes: one per alternative.
    struct Question {
        PodDemand asked;
        PolicySlot policy;
        std::vector<ClassIndex> classes;
        GroupOf group;  // whose members the policy may keep together
    };

    void start_when_listed();
    void note(std::string text);
    DialectContext context() { return {names_, *filters_, options_.dialect}; }
    Expected<NodeSpec> spec_of(const Node& node);
    void add_node(NodeSpec spec, std::string address);
    void set_unhealthy(const ConfigMap& map);
    void apply_unhealthy(std::string_view node);
    void set_present(NodeFacts& node, bool present);
    void look_again_at_pods_of(NodeIndex node);
    void guess_again_on(NodeIndex node);
    bool gpus_over_committed(NodeIndex node) const;
    void make_room_for_nodes();
    std::size_t names_known() const;
    void keep_classes_in_use();
    void keep_names_in_use();

    void take_pod(const Pod& pod);
    std::optional<Pod> with_granted_record(const PodRecord& record, const Pod& told);
    void take_bound(PodIndex index, const Pod& told);
    Held read_share(const Pod& pod, NodeIndex node);
    Held asked_share(const Pod& pod, NodeIndex node);
    void guess_devices(PodIndex index, const Pod& pod, Held& held);
    Grants fullest_share(NodeIndex node, const Question& asked);
    void confirm_held(PodIndex index, const Pod& pod, const Held& held);
    Confirmation confirm_asked(PodIndex index, const Pod& pod, NodeIndex node);
    void release(PodIndex index);  // what it holds; the record stays
    void forget_share(PodRecord& record);
    void let_go(PodIndex index);  // the same, and the record goes where only a request named it
    void settle(PodIndex index);  // waits no more
    void remove(PodIndex index);  // the pod is gone
    void stop_awaiting(PodIndex index);
    std::size_t end_missed(Nanoseconds now);
    void end_doubts(Nanoseconds now, Nanoseconds heard);
    void set_doubt(PodRecord& record, bool in_doubt);
    void set_stage(PodRecord& record, PodStage stage);
    void learn(PodIndex index, const Question& asked);

    Expected<std::unique_ptr<Policy>> policy_named(std::string_view name) const;
    Expected<PolicySlot> policy_for(const Pod& pod, std::string_view name);
    Expected<Question> question(const Pod& pod, std::string_view policy);
    Expected<Question> question(const Pod& pod, PolicySlot policy);
    void stand_on(PodIndex index, NodeIndex node);
    void stand_nowhere(PodIndex index);
    void forget_neighbour(PodIndex index);
    const NodeFilter& filter_of(const Question& asked) const;
    Concern concern(PodIndex index, const Question& asked);
    std::optional<Choice> choose_by_rules(PodIndex index, const Question& asked, Concern concern,
                                          std::span<const NodeIndex> but);
    std::size_t most_wished(const NeighbourQuestion& rules, std::span<const NodeIndex> nodes,
                            const Fit& fit) const;
    void add_refusals(PodIndex index, const Question& asked, Decision& decision);
    void close(PodIndex index);
    std::optional<Choice> choose(PodIndex index, const Question& asked,
                                 std::span<const NodeIndex> in_vain);
    Expected<Question> question_to_place(const Pod& pod, std::string_view wanted);
    Expected<void> check_synced() const;
    Expected<void> check_unbound(PodIndex index) const;
    Expected<PodIndex> pod_of(const PodKey& key) const;
    Expected<BindPlan> plan_bind(PodIndex index, NodeIndex node, Nanoseconds now);
    Fit only_where_held(const PodRecord& record, std::span<const NodeIndex> among) const;
    struct Found {
        Fit fit;
        std::size_t alternative = 0;  // that the best node serves
        std::uint64_t draw = 0;       // with which devices are found there
    };
    Found fit_among(const Question& asked, std::span<const NodeIndex> among);
    Choice choice_of(const Question& asked, NodeIndex node, const Found& found);
    Expected<void> hold(PodIndex index, Question asked, Choice choice, Nanoseconds deadline);
    bool still_fits(const PodRecord& record) const;
    Expected<Choice> choose_on(NodeIndex node, const Question& asked);
    Expected<void> move_hold(PodIndex index, NodeIndex node, Nanoseconds now);
    std::vector<PodIndex> holders_on(NodeIndex node, std::span<const std::string> uids) const;
    std::vector<VictimUnit> lesser_pods(NodeIndex node, std::int32_t priority,
                                        std::span<const PodIndex> but) const;

    void neighbours_changed() {
        if (observer_ != nullptr) {
            observer_->neighbours_changed();
        }
    }
    void asks_changed() {
        if (observer_ != nullptr) {
            observer_->asks_changed();
        }
    }
    void room_appeared() {
        if (observer_ != nullptr) {
            observer_->room_appeared();
        }
    }

    MirrorOptions options_;
    MirrorObserver* observer_ = nullptr;
    Vocabulary names_;
    std::shared_ptr<FilterTable> filters_ = std::make_shared<FilterTable>();
    PortBook ports_;
    PodBook pods_;
    std::unique_ptr<Engine> engine_;             // once everything has been listed
    std::unique_ptr<Neighbourhood> neighbours_;  // then, too, if they are kept account of
    std::map<std::string, PolicySlot, std::less<>> policies_;
    std::vector<NodeFacts> nodes_;  // by NodeIndex
    // Whose name came after this one's, last time; the name beside, to compare it at once.
    struct Successor {
        NodeIndex node;
        std::string_view name;
    };
    mutable std::vector<Successor> successor_;
    std::map<std::string, UnhealthyGpus, std::less<>> unhealthy_;  // by node
    std::size_t present_ = 0;                                      // nodes that are there
    std::size_t look_for_places_at_ = 0;                           // so many indices of nodes
    std::uint64_t nodes_epoch_ = 0;
    std::size_t names_in_use_ = 0;  // when we looked last
    std::size_t models_in_use_ = 0;
    std::size_t held_ = 0;      // pods that are held or binding
    std::size_t in_doubt_ = 0;  // of those, in doubt
    std::uint64_t expired_ = 0;
    std::map<std::string, std::vector<PodIndex>, std::less<>> awaiting_;  // by node not known
    std::uint32_t pod_lists_ = 0;
    std::map<std::string, std::optional<Nanoseconds>> missed_;  // uid, and until when it counts
    // Lists that came before all of them were there, with the changes since.
    std::optional<std::map<std::string, Node, std::less<>>> first_nodes_;
    std::optional<FirstPods> first_pods_;
    bool config_maps_listed_ = false;
    bool unit_known_ = false;
    bool units_differ_ = false;  // and that has been told
    bool guessing_ = false;      // guess_again_on() is at work
    std::deque<std::string> notes_;
};

}  // namespace tessera
