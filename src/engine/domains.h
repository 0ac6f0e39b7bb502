// Topology domains: for a label that rules group nodes by, a dense number for each of its values.
//
// Tables are made when they are first asked for and anew when traits of nodes have changed, which
// is rare; a pod's domain is then one look-up.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "engine/cluster.h"
#include "model/ids.h"

namespace tessera {

struct Domains {
    static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

    std::vector<std::uint32_t> of_node;  // kNone: the node has no such label, or is gone
    std::size_t count = 0;

    std::uint32_t of(NodeIndex node) const { return of_node[node.slot()]; }
};

class DomainTables {
  public:
    explicit DomainTables(const Cluster& cluster) : cluster_(cluster) {}

    // Shared, so that a table outlives a change of the cluster as long as somebody reads it.
    std::shared_ptr<const Domains> by(LabelKey key);

  private:
    const Cluster& cluster_;
    std::uint64_t seen_ = 0;  // changes of traits that the tables show
    std::map<LabelKey, std::shared_ptr<const Domains>> tables_;
};

}  // namespace tessera
