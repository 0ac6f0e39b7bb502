#include "role/intake/policy_files.h"

#include <algorithm>
#include <set>

#include "base/file_error.h"
#include "base/text.h"
#include "base/wording.h"
#include "codec/cell_yaml.h"
#include "codec/kube_yaml.h"
#include "dialect/keti_policy.h"
#include "dialect/kubeshare.h"
#include "policy/keti_policy.h"

namespace tessera {
namespace {

constexpr std::string_view kKetiConfigMap = "gpu-scheduler-policy";

template <class T>
Expected<T> within(Expected<T> result, std::string_view file) {
    if (!result) {
        return tl::unexpected(in_file(file, std::move(result.error())));
    }
    return result;
}

std::string missing_nodes(std::int64_t missing, std::int64_t all) {
    if (missing == all) {
        return fmt::format("{} of the topology {} not there", the_counted(all, "node"),
                           all == 1 ? "is" : "are");
    }
    return fmt::format("{} of the {} nodes of the topology {} not there", missing, all,
                       missing == 1 ? "is" : "are");
}

Expected<CellTree> topology_within(std::string_view text) {
    TESSERA_TRY(const CellConfig config, parse_cell_yaml(text));
    return CellTree::build(config);
}

// What a file has instead of what was looked for.
std::string contents(const KubeObjects& objects) {
    std::vector<std::string> kinds;
    for (const ConfigMap& map : objects.config_maps) {
        kinds.push_back("ConfigMap " + in_quotes(map.name));
    }
    for (const PodSet& set : objects.pods) {
        kinds.push_back(set.kind);
    }
    kinds.insert(kinds.end(), objects.nodes.size(), "Node");
    kinds.insert(kinds.end(), objects.skipped.begin(), objects.skipped.end());
    return kinds.empty()
               ? "which has no object at all"
               : fmt::format("but {}{}", kinds.front(), kinds.size() == 1 ? "" : " and more");
}

// The line of a key that stands once at the beginning of a line; 0 otherwise.
int line_of_key(std::string_view text, std::string_view key) {
    int found = 0;
    for (int line = 1; !text.empty(); ++line) {
        std::string_view rest = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), rest.size() + 1));
        rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(" \t\"'")));
        if (rest.starts_with(key) && rest.substr(key.size()).find_first_of(":") <= 1) {
            if (found != 0) {
                return 0;
            }
            found = line;
        }
    }
    return found;
}

// The map's values have lost their lines; the key that the sentence begins with has not.
Error at_its_line(Error error, std::string_view text, const StringMap& data) {
    for (const auto& [key, value] : data) {
        const int line = error.message.starts_with(key + ": ") ? line_of_key(text, key) : 0;
        if (line > 0) {
            return std::move(error).within(fmt::format("line {}", line));
        }
    }
    return error;
}

Expected<KetiConfig> keti_within(std::string_view text) {
    const auto objects = read_kube_yaml(text);
    if (!objects) {
        return fail(objects.error().kind, "{}; a file with KETI's ConfigMap {} is expected",
                    objects.error().message, kKetiConfigMap);
    }
    const ConfigMap* found = nullptr;
    for (const ConfigMap& map : objects->config_maps) {
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
                    "there is no ConfigMap {} (or, older, gpu-scheduler-configmap) in it, {}; such "
                    "a ConfigMap with keys under data is accepted",
                    kKetiConfigMap, contents(*objects));
    }
    const auto policy = parse_keti_policy(found->data);
    const auto served = policy ? check_keti(*policy) : tl::unexpected<Error>(policy.error());
    if (!served) {
        return tl::unexpected(at_its_line(served.error(), text, found->data));
    }
    return KetiConfig{*policy, keti_notes(*policy)};
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
        add_cells(node, tree, models);
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
            "no node of the topology (the first of {} is {}) and none of its GPU models with a "
            "priority is among {} given",
            tree.node_count(),
            tree.node_count() == 0 ? "missing" : in_quotes(tree.node_name(CellNodeIndex(0))),
            the_counted(std::ssize(nodes), "node"));
    }
    if (here.size() < tree.node_count()) {
        use.notes.push_back(
            missing_nodes(static_cast<std::int64_t>(tree.node_count() - here.size()),
                          static_cast<std::int64_t>(tree.node_count())));
    }
    if (without_leaf > 0) {
        use.notes.push_back(fmt::format(
            "{} no cell of {} model in it",
            without_leaf == 1 ? "1 GPU of a node of the topology has"
                              : fmt::format("{} GPUs of nodes of the topology have", without_leaf),
            without_leaf == 1 ? "its" : "their"));
    }
    return use;
}

Expected<KetiConfig> read_keti_config(std::string_view text, std::string_view file) {
    return within(keti_within(text), file);
}

}  // namespace tessera
