// KubeShare's pod-manager ports of all nodes: which pod holds which.
//
//   PortBook ports;
//   ports.hold(pod, node);                 // every bound pod, at start and as the watch shows it
//   ... placement_writes(placed, context, ports) takes one where a pod needs it ...
//   ports.release(pod.owner());            // it has gone, or was not bound after all
//
// Ports are no part of a decision: a node has 511 of them, and a pod that finds none is refused by
// placement_writes() with a sentence.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "dialect/dialect.h"
#include "model/ids.h"
#include "model/pod.h"
#include "model/port_pool.h"

namespace tessera {

class PortBook {
  public:
    // The port that the bound pod's annotation names. False when another pod has the same one on
    // that node: then it is free when both have gone.
    bool hold(const Pod& pod, NodeIndex node);

    // The port of a pod that is being placed, the same when asked again; nothing for one that needs
    // none. What it held on another node is given back.
    Expected<std::optional<std::uint16_t>> take(const PlacedPod& placed);

    // Nothing happens for one that holds none.
    void release(const std::string& owner);

    std::size_t free(NodeIndex node) const;

  private:
    struct Held {
        NodeIndex node;
        std::uint16_t port = 0;

        friend auto operator<=>(const Held&, const Held&) = default;
    };

    PortPool& pool(NodeIndex node);

    std::vector<PortPool> pools_;       // by node
    std::map<std::string, Held> held_;  // by owner
    std::map<Held, int> owners_;        // of each port that is held: one, unless others erred
};

}  // namespace tessera
