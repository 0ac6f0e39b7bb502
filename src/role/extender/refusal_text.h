// Why nodes refuse a pod, in words for the event that kube-scheduler writes.
//
// kube-scheduler groups equal texts and counts their nodes, so all nodes that refuse for the same
// reason get the same text, with the best that any of them has: "GPU memory: 8192 MiB asked, at
// most 4096 free on one GPU".
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "codec/extender_json.h"
#include "model/ids.h"
#include "role/mirror/mirror.h"

namespace tessera {

// Which texts the refused nodes of a filter get.
class RefusalTexts {
  public:
    // The mark of a node (FilterResult::refused) that is refused for `text`.
    std::uint8_t add(std::string_view text, bool never);
    // Marks for nodes, in their order, by verdicts of the same; the first text of a reason is
    // made when all nodes are known.
    std::vector<std::uint8_t> add(const Refusals& refusals, std::span<const NodeIndex> nodes,
                                  const Cluster& cluster);
    std::span<const RefusalText> texts() const { return texts_; }

  private:
    std::vector<RefusalText> texts_;
};

}  // namespace tessera
