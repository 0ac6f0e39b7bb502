// Nodes in domains: who is in one rack, one block, one zone.
//
//   NodeDomains racks = domains_by_label(cluster, key);
//   std::vector<NodeDomains> cells = domains_by_cells(cluster, tree);   // the tightest first
#pragma once

#include <cstdint>
#include <vector>

#include "engine/cluster.h"
#include "model/cell_tree.h"
#include "model/ids.h"

namespace tessera {

using DomainIndex = StrongId<struct DomainTag>;

// One level of a topology. Domains are numbered in the order of their first nodes.
struct NodeDomains {
    std::vector<DomainIndex> of_node;  // none: in no domain
    std::uint32_t count = 0;
};

// Nodes with the same value of the label; those without it are in no domain.
NodeDomains domains_by_label(const Cluster& cluster, LabelKey key);

// By KubeShare's description of the cluster, a level for each level of cells above the nodes. A
// tree that ends below a level is one domain there; nodes that the file does not name are in none.
std::vector<NodeDomains> domains_by_cells(const Cluster& cluster, const CellTree& tree);

}  // namespace tessera
