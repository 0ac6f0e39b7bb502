// What the API tells of nodes, and of the ConfigMaps that name their unhealthy GPUs.
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "dialect/asking.h"
#include "policy/registry.h"
#include "role/intake/intake.h"
#include "role/mirror/mirror_state.h"

namespace tessera {
namespace {

constexpr std::string_view kGpushareCount = "aliyun.com/gpu-count";
constexpr std::string_view kSystemSpace = "kube-system";
constexpr std::string_view kFirstPolicyName = "tessera";

// Whether every share has the same place and size by either. Health is no matter of shares.
bool same_devices(const NodeSpec& a, const NodeSpec& b) {
    const auto same = [](const GpuSpec& x, const GpuSpec& y) {
        return x.uuid == y.uuid && x.memory == y.memory && x.model == y.model;
    };
    return std::equal(a.gpus.begin(), a.gpus.end(), b.gpus.begin(), b.gpus.end(), same);
}

}  // namespace

Mirror::State::State(MirrorOptions options) : options_(std::move(options)) {
    if (options_.gpushare_unit) {
        options_.dialect.gpushare_unit = *options_.gpushare_unit;
        unit_known_ = true;
    }
}

// One decision needs all three lists: what one of them holds alone would look free.
void Mirror::State::start_when_listed() {
    if (synced() || !first_nodes_ || !first_pods_ || !config_maps_listed_) {
        return;
    }
    const ClusterOptions cluster{.filters = filters_};
    auto policy = make_policy(kFirstPolicyName, {});
    TESSERA_ASSERT(policy.has_value(), "the default policy exists");
    std::vector<NodeSpec> specs;
    const Cluster probe(cluster);
    for (const auto& [name, node] : *first_nodes_) {
        auto spec = spec_of(node);
        auto good = spec ? probe.check(*spec) : tl::unexpected(std::move(spec.error()));
        if (!good) {
            note(std::move(good.error().message));
        } else if (names_.nodes.intern(spec->name).slot() == specs.size()) {
            set_present(nodes_.emplace_back(NodeFacts{node.address, {}, false}), true);
            specs.push_back(std::move(*spec));
        }
    }
    engine_ =
        std::make_unique<Engine>(std::move(specs), std::move(*policy), options_.engine, cluster);
    policies_.emplace(kFirstPolicyName, kFirstPolicy);
    if (options_.neighbours) {
        neighbours_ = std::make_unique<Neighbourhood>(this->cluster());
        for (const auto& [name, node] : *first_nodes_) {
            if (const NodeIndex known = find_node(name, {}); known.valid()) {
                learn_offer(known, node);
            }
        }
    }
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
        for (const GpuSpec& gpu : this->cluster().spec(NodeIndex(n)).gpus) {
            nodes_[n].health.push_back(gpu.health);
        }
    }
    first_nodes_.reset();
    for (const auto& [node, unhealthy] : unhealthy_) {
        apply_unhealthy(node);
    }
    ++pod_lists_;
    const FirstPods first = std::exchange(first_pods_, std::nullopt).value();
    names_in_use_ = names_known();
    models_in_use_ = names_.models.used();
    for (const Pod& pod : first.pods()) {
        take_pod(pod);
    }
}

void Mirror::State::set_present(NodeFacts& node, bool present) {
    present_ += present ? 1 : 0;
    present_ -= node.present ? 1 : 0;
    nodes_epoch_ += node.present != present ? 1 : 0;
    node.present = present;
}

Expected<NodeSpec> Mirror::State::spec_of(const Node& node) {
    if (!unit_known_ && node.offered(kGpushareCount) != nullptr) {
        // The first such node tells the unit of all: pods name no unit.
        options_.dialect.gpushare_unit = gpushare_unit(node);
        unit_known_ = true;
    } else if (!units_differ_ && node.offered(kGpushareCount) != nullptr &&
               gpushare_unit(node) != options_.dialect.gpushare_unit) {
        units_differ_ = true;
        note(fmt::format(
            "node {} seems to count aliyun.com/gpu-mem in another unit than the first "
            "one; all pods are read in {}: --gpushare-unit says which is meant",
            shown(node.name), options_.dialect.gpushare_unit == MemoryUnit::gib ? "GiB" : "MiB"));
    }
    DialectContext known = context();
    return take_node(node, known);
}

void Mirror::State::replace_nodes(std::vector<Node> nodes) {
    if (!synced()) {
        first_nodes_.emplace();
        for (Node& node : nodes) {
            std::string name = node.name;
            first_nodes_->insert_or_assign(std::move(name), std::move(node));
        }
        start_when_listed();
        return;
    }
    std::vector<bool> listed(nodes_.size());
    for (const Node& node : nodes) {
        if (const NodeIndex known = names_.nodes.find(node.name); known.valid()) {
            listed[known.slot()] = true;
        }
    }
    for (std::uint32_t n = 0; n < listed.size(); ++n) {
        if (!listed[n] && nodes_[n].present) {
            node_gone(node_name(NodeIndex(n)));
        }
    }
    for (const Node& node : nodes) {
        node_changed(node);
    }
}

void Mirror::State::node_changed(const Node& node) {
    if (!synced()) {
        if (first_nodes_) {
            first_nodes_->insert_or_assign(node.name, node);
        }
        return;
    }
    make_room_for_names();
    auto spec = spec_of(node);
    if (!spec) {
        note(fmt::format("{}; what was known of the node stays", spec.error().message));
        return;
    }
    add_node(std::move(*spec), node.address);
    if (const NodeIndex known = find_node(node.name, {}); known.valid()) {
        learn_offer(known, node);
    }
}

// A new node, one that is back, or another description of one that is there.
void Mirror::State::add_node(NodeSpec spec, std::string address) {
    const std::string name = spec.name;
    const NodeIndex known = names_.nodes.find(name);
    std::vector<Health> health;
    for (const GpuSpec& gpu : spec.gpus) {
        health.push_back(gpu.health);
    }
    if (const auto found = unhealthy_.find(name); found != unhealthy_.end()) {
        mark_unhealthy(spec, found->second);
    }
    if (known.valid() && nodes_[known.slot()].present && cluster().spec(known) == spec) {
        nodes_[known.slot()].health = std::move(health);
        nodes_[known.slot()].address = std::move(address);
        return;
    }
    const bool same =
        known.valid() && nodes_[known.slot()].present && same_devices(cluster().spec(known), spec);
    if (!known.valid()) {
        make_room_for_nodes();
    }
    const NodeIndex place = known.valid() ? known : names_.nodes.next();
    auto done = place.slot() < nodes_.size()
                    ? engine_->update_node(place, std::move(spec))
                    : engine_->add_node(std::move(spec)).map([](NodeIndex) {});
    if (!done) {
        note(fmt::format("node {}: {}", shown(name), done.error().message));
        return;
    }
    const NodeIndex node = names_.nodes.intern(name);
    TESSERA_ASSERT(node == place, "a new node has the index that was said to be next");
    if (node.slot() == nodes_.size()) {
        nodes_.emplace_back();
    }
    NodeFacts& facts = nodes_[node.slot()];
    facts.address = std::move(address);
    facts.health = std::move(health);
    set_present(facts, true);
    if (!same) {
        look_again_at_pods_of(node);
    }
    room_appeared();
}

void Mirror::State::node_gone(std::string_view name) {
    if (!synced()) {
        if (first_nodes_) {
            if (const auto found = first_nodes_->find(name); found != first_nodes_->end()) {
                first_nodes_->erase(found);
            }
        }
        return;
    }
    const NodeIndex node = names_.nodes.find(name);
    if (node.valid() && nodes_[node.slot()].present) {
        const bool removed = engine_->remove_node(node).has_value();
        TESSERA_ASSERT(removed, "a node that is there can go");
        set_present(nodes_[node.slot()], false);
    }
}

NodeIndex Mirror::State::find_node(std::string_view name, NodeIndex hint) const {
    const auto there = [&](NodeIndex node) { return nodes_[node.slot()].present; };
    if (hint.valid() && hint.slot() < successor_.size()) {
        const Successor& guess = successor_[hint.slot()];
        if (guess.node.valid() && guess.name == name) {
            return there(guess.node) ? guess.node : NodeIndex();
        }
    }
    const NodeIndex found = names_.nodes.find(name);
    if (hint.valid() && found.valid()) {
        if (successor_.size() <= hint.slot()) {
            successor_.resize(nodes_.size());
        }
        successor_[hint.slot()] = {found, names_.nodes.name(found)};
    }
    return found.valid() && there(found) ? found : NodeIndex();
}

void Mirror::State::replace_config_maps(std::vector<ConfigMap> maps) {
    const auto before = std::exchange(unhealthy_, {});
    for (const ConfigMap& map : maps) {
        set_unhealthy(map);
    }
    if (!config_maps_listed_) {
        config_maps_listed_ = true;
        start_when_listed();
        return;
    }
    for (const auto& [node, unhealthy] : before) {
        apply_unhealthy(node);
    }
    for (const auto& [node, unhealthy] : unhealthy_) {
        apply_unhealthy(node);
    }
}

void Mirror::State::set_unhealthy(const ConfigMap& map) {
    if (map.space != kSystemSpace || !map.name.starts_with(kUnhealthyGpuPrefix)) {
        return;
    }
    const std::string* gpus = find(map.data, "gpus");
    if (gpus == nullptr) {
        note(fmt::format("ConfigMap {}/{} has no key gpus, and names no GPU", map.space,
                         shown(map.name)));
    }
    UnhealthyGpus unhealthy = read_unhealthy_gpus(gpus == nullptr ? "" : *gpus);
    for (const std::string& ignored : unhealthy.ignored) {
        note(fmt::format("ConfigMap {}/{}: {}", map.space, shown(map.name), ignored));
    }
    unhealthy_[map.name.substr(kUnhealthyGpuPrefix.size())] = std::move(unhealthy);
}

void Mirror::State::config_map_changed(const ConfigMap& map) {
    set_unhealthy(map);
    if (map.name.starts_with(kUnhealthyGpuPrefix)) {
        apply_unhealthy(map.name.substr(kUnhealthyGpuPrefix.size()));
    }
}

void Mirror::State::config_map_gone(std::string_view space, std::string_view name) {
    if (space == kSystemSpace && name.starts_with(kUnhealthyGpuPrefix)) {
        const std::string node(name.substr(kUnhealthyGpuPrefix.size()));
        unhealthy_.erase(node);
        apply_unhealthy(node);
    }
}

void Mirror::State::apply_unhealthy(std::string_view name) {
    const NodeIndex node = synced() ? find_node(name, {}) : NodeIndex();
    if (!node.valid()) {
        return;
    }
    NodeSpec wanted = cluster().spec(node);
    for (std::size_t gpu = 0; gpu < wanted.gpus.size(); ++gpu) {
        wanted.gpus[gpu].health = nodes_[node.slot()].health[gpu];
    }
    if (const auto found = unhealthy_.find(name); found != unhealthy_.end()) {
        for (std::string& unknown : mark_unhealthy(wanted, found->second)) {
            note(fmt::format("ConfigMap {}/{}{}: {}", kSystemSpace, kUnhealthyGpuPrefix,
                             shown(name), unknown));
        }
    }
    for (std::size_t gpu = 0; gpu < wanted.gpus.size(); ++gpu) {
        const Health health = wanted.gpus[gpu].health;
        if (cluster().spec(node).gpus[gpu].health != health) {
            const bool set =
                engine_->set_health(node, GpuIndex(static_cast<GpuIndex::rep>(gpu)), health)
                    .has_value();
            TESSERA_ASSERT(set, "the node has this GPU");
            room_appeared();
        }
    }
}

}  // namespace tessera
