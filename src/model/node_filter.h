// Which nodes a pod may use by what they are: a pinned node, labels, taints.
//
// Equal filters share an index, so that the engine asks "may this filter use this node" once per
// pair and keeps the answer as a bit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/pod.h"

namespace tessera {

struct NodeFilter {
    std::string node;  // the only one allowed; empty: any
    StringMap selector;
    std::vector<Toleration> tolerations;  // sorted

    bool trivial() const { return node.empty() && selector.empty() && tolerations.empty(); }
    friend auto operator<=>(const NodeFilter&, const NodeFilter&) = default;
};

// Taints with NoSchedule or NoExecute keep away whoever does not tolerate them. A cordoned node is
// not judged here: that is the node's state, not the pod's wish.
bool admits(const NodeFilter& filter, const Node& node);

class FilterTable {
  public:
    FilterIndex intern(NodeFilter filter);
    const NodeFilter& operator[](FilterIndex index) const { return *filters_[index.slot()]; }
    std::size_t size() const { return filters_.size(); }

  private:
    std::map<NodeFilter, FilterIndex> indices_;
    std::vector<const NodeFilter*> filters_;  // into the map, whose nodes stay where they are
};

}  // namespace tessera
