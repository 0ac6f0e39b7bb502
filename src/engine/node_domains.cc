#include "engine/node_domains.h"

#include <algorithm>
#include <map>

namespace tessera {
namespace {

// Domains of equal things, whatever these are; none for what is not valid.
template <class Thing>
NodeDomains domains_of(const std::vector<Thing>& of_node) {
    NodeDomains domains;
    std::map<Thing, DomainIndex> known;
    for (const Thing& thing : of_node) {
        DomainIndex domain;
        if (thing.valid()) {
            const auto [at, added] = known.try_emplace(thing, domains.count);
            domains.count += added ? 1 : 0;
            domain = at->second;
        }
        domains.of_node.push_back(domain);
    }
    return domains;
}

// The cells above the node's own, the innermost first.
std::vector<CellIndex> cells_above(const CellTree& tree, std::string_view node) {
    std::vector<CellIndex> above;
    const auto leaves = tree.leaves_of(node);
    for (CellIndex at = leaves.empty() ? CellIndex() : leaves.front(); at.valid();
         at = tree.cell(at).parent) {
        if (!tree.cell(at).node.valid()) {
            above.push_back(at);
        }
    }
    return above;
}

}  // namespace

NodeDomains domains_by_label(const Cluster& cluster, LabelKey key) {
    std::vector<LabelValue> values;
    for (std::uint32_t n = 0; n < cluster.size(); ++n) {
        values.push_back(cluster.traits(NodeIndex(n)).value_of(key));
    }
    return domains_of(values);
}

std::vector<NodeDomains> domains_by_cells(const Cluster& cluster, const CellTree& tree) {
    std::vector<std::vector<CellIndex>> above;
    std::size_t levels = 0;
    for (std::uint32_t n = 0; n < cluster.size(); ++n) {
        above.push_back(cells_above(tree, cluster.spec(NodeIndex(n)).name));
        levels = std::max(levels, above.back().size());
    }
    std::vector<NodeDomains> result;
    for (std::size_t level = 0; level < levels; ++level) {
        std::vector<CellIndex> cells;
        for (const auto& chain : above) {
            cells.push_back(chain.empty() ? CellIndex() : chain[std::min(level, chain.size() - 1)]);
        }
        result.push_back(domains_of(cells));
    }
    return result;
}

}  // namespace tessera
