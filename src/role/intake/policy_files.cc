#include "role/intake/policy_files.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "codec/cell_yaml.h"
#include "codec/kube_yaml.h"
#include "dialect/keti_policy.h"
#include "dialect/kubeshare.h"
#include "policy/keti_policy.h"

namespace tessera {
namespace {

template <class T>
Expected<T> within(Expected<T> result, std::string_view file) {
    if (!result) {
        return tl::unexpected(std::move(result.error()).within(file));
    }
    return result;
}

Expected<CellTree> topology_within(std::string_view text) {
    TESSERA_TRY(const CellConfig config, parse_cell_yaml(text));
    return CellTree::build(config);
}

Expected<KetiConfig> keti_within(std::string_view text) {
    TESSERA_TRY(const KubeObjects objects, read_kube_yaml(text));
    const ConfigMap* found = nullptr;
    for (const ConfigMap& map : objects.config_maps) {
        if (!is_keti_policy(map.name)) {
            continue;
        }
        if (found != nullptr) {
            return fail(ErrorKind::invalid, "ConfigMaps {} and {}: one is accepted",
                        in_quotes(found->name), in_quotes(map.name));
        }
        found = &map;
    }
    if (found == nullptr) {
        return fail(ErrorKind::invalid,
                    "there is no ConfigMap gpu-scheduler-policy (or, older, "
                    "gpu-scheduler-configmap) in it");
    }
    TESSERA_TRY(const KetiPolicy policy, parse_keti_policy(found->data));
    TESSERA_CHECK(check_keti(policy));
    return KetiConfig{policy, keti_notes(policy)};
}

}  // namespace

Expected<CellTree> read_topology(std::string_view text, std::string_view file) {
    return within(topology_within(text), file);
}

Expected<TopologyUse> use_topology(const CellTree& tree, std::vector<NodeSpec>& nodes,
                                   const Interner<ModelIndex>& models) {
    TopologyUse use;
    use.notes.assign(tree.warnings().begin(), tree.warnings().end());
    std::set<std::string_view> here;
    std::size_t without_leaf = 0;
    for (NodeSpec& node : nodes) {
        const std::size_t leaves = tree.leaves_of(node.name).size();
        if (leaves == 0) {
            continue;
        }
        here.insert(node.name);
        const std::vector<CellIndex> filled = leaves_of(node, tree, models);
        without_leaf += static_cast<std::size_t>(std::ranges::count(filled, CellIndex::none()));
        add_cell_links(node, tree, models);
    }
    bool known_model = false;
    for (std::size_t i = 0; i < models.size(); ++i) {
        const auto name = models.name(ModelIndex(static_cast<ModelIndex::rep>(i)));
        use.model_priority.push_back(tree.priority(name));
        known_model = known_model || tree.priority(name) > 0;
    }
    if (here.empty() && !known_model) {
        return fail(
            ErrorKind::invalid,
            "none of the {} nodes of the topology (the first is {}) and none of its GPU "
            "models with a priority is among the {} nodes given",
            tree.node_count(),
            tree.node_count() == 0 ? "missing" : in_quotes(tree.node_name(CellNodeIndex(0))),
            nodes.size());
    }
    if (here.size() < tree.node_count()) {
        use.notes.push_back(fmt::format("{} of the {} nodes of the topology are not there",
                                        tree.node_count() - here.size(), tree.node_count()));
    }
    if (without_leaf > 0) {
        use.notes.push_back(fmt::format(
            "{} GPUs of nodes of the topology have no cell of their model in it", without_leaf));
    }
    return use;
}

Expected<KetiConfig> read_keti_config(std::string_view text, std::string_view file) {
    return within(keti_within(text), file);
}

}  // namespace tessera
