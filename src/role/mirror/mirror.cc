#include "role/mirror/mirror.h"

#include <utility>

#include "role/mirror/mirror_state.h"

namespace tessera {

Mirror::Mirror(MirrorOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Mirror::~Mirror() = default;

void Mirror::replace_nodes(std::vector<Node> nodes) { state_->replace_nodes(std::move(nodes)); }
void Mirror::replace_pods(std::vector<Pod> pods) { state_->replace_pods(std::move(pods)); }
void Mirror::replace_config_maps(std::vector<ConfigMap> maps) {
    state_->replace_config_maps(std::move(maps));
}
void Mirror::node_changed(const Node& node) { state_->node_changed(node); }
void Mirror::node_gone(std::string_view name) { state_->node_gone(name); }
void Mirror::pod_changed(const Pod& pod) { state_->pod_changed(pod); }
void Mirror::pod_gone(const Pod& pod) { state_->pod_gone(pod); }
void Mirror::config_map_changed(const ConfigMap& map) { state_->config_map_changed(map); }
void Mirror::config_map_gone(std::string_view space, std::string_view name) {
    state_->config_map_gone(space, name);
}
bool Mirror::synced() const { return state_->synced(); }
std::size_t Mirror::expire(Nanoseconds now, Nanoseconds heard) {
    return state_->expire(now, heard);
}
void Mirror::policy_changed(std::string_view name) { state_->policy_changed(name); }
std::size_t Mirror::drop_holds() { return state_->drop_holds(); }
std::uint64_t Mirror::expired_count() const { return state_->expired(); }
std::size_t Mirror::in_doubt_count() const { return state_->in_doubt(); }

NodeIndex Mirror::find_node(std::string_view name, NodeIndex hint) const {
    return state_->find_node(name, hint);
}
std::uint64_t Mirror::nodes_epoch() const { return state_->nodes_epoch(); }
std::string_view Mirror::node_name(NodeIndex node) const { return state_->node_name(node); }

Expected<Fit> Mirror::filter(const Pod& pod, std::span<const NodeIndex> candidates,
                             const Asked& asked) {
    state_->make_room_for_names();
    return state_->filter(pod, candidates, asked);
}
Expected<Fit> Mirror::rank(const Pod& pod, std::span<const NodeIndex> candidates,
                           const Asked& asked) {
    state_->make_room_for_names();
    return state_->rank(pod, candidates, asked);
}
NodeVerdict Mirror::verdict(const Pod& pod, NodeIndex node, const Asked& asked) {
    state_->make_room_for_names();
    return state_->verdict(pod, node, asked);
}
Expected<Refusals> Mirror::verdicts(const Pod& pod, std::span<const NodeIndex> nodes,
                                    const Asked& asked) {
    state_->make_room_for_names();
    return state_->verdicts(pod, nodes, asked);
}
Expected<Decision> Mirror::explain(const Pod& pod, const Asked& asked) {
    state_->make_room_for_names();
    return state_->explain(pod, asked);
}
Expected<BindPlan> Mirror::prepare_bind(const PodKey& pod, std::string_view node, Nanoseconds now) {
    state_->make_room_for_names();
    return state_->prepare_bind(pod, node, now);
}
void Mirror::bind_ended(const PodKey& pod, const WriteOutcome& outcome, Nanoseconds now) {
    state_->make_room_for_names();
    state_->bind_ended(pod, outcome, now);
}
void Mirror::tell(MirrorObserver& observer) { state_->tell(observer); }
Expected<Ask> Mirror::ask(PodIndex pod, std::string_view policy) {
    return state_->ask(pod, policy);
}
bool Mirror::serves(const Ask& ask) { return state_->serves(ask); }
Expected<std::optional<BindPlan>> Mirror::place(PodIndex pod, const Asked& asked) {
    state_->make_room_for_names();
    return state_->place(pod, asked);
}
Expected<Decision> Mirror::why_waiting(PodIndex pod, std::string_view policy) {
    return state_->why_waiting(pod, policy);
}
PodKey Mirror::key_of(PodIndex pod) const { return state_->key_of(pod); }
Expected<Ask> Mirror::ask(const Pod& pod, const Asked& asked) {
    state_->make_room_for_names();
    return state_->ask(pod, asked);
}
VictimsFound Mirror::victims_needed(const Pod& pod, const Ask& ask, const VictimsAsked& on) {
    return state_->victims_needed(pod, ask, on);
}

std::size_t Mirror::node_count() const { return state_->node_count(); }
std::size_t Mirror::pod_count() const { return state_->holding(); }
std::size_t Mirror::held_count() const { return state_->held(); }
std::vector<NodeIndex> Mirror::nodes_by_name() const { return state_->nodes_by_name(); }
std::vector<std::string> Mirror::node_names() const { return state_->node_names(); }
NodeReport Mirror::report(NodeIndex node) const { return state_->report(node); }
std::string_view Mirror::uid_of(OwnerId owner) const { return state_->uid_of(owner); }
const Vocabulary& Mirror::names() const { return state_->names(); }
MemoryUnit Mirror::memory_unit() const { return state_->memory_unit(); }
const Cluster& Mirror::cluster() const { return state_->cluster(); }
const Ledger& Mirror::ledger() const { return state_->ledger(); }
std::vector<std::string> Mirror::take_notes() { return state_->take_notes(); }

}  // namespace tessera
