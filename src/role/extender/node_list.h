// The nodes that a request names, and those that the last requests named.
//
// kube-scheduler asks about the same nodes over and over: prioritize names what filter let pass,
// and the next pod's filter often all of them in the order of the last one's. So a list is kept
// with the bytes that it was read from, and a request that ends in the same bytes is read no
// further than its pod.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "codec/extender_json.h"
#include "role/mirror/mirror.h"

namespace tessera {

class NodeList {
  public:
    static Expected<std::shared_ptr<NodeList>> read(ExtenderReader& reader, std::string body);

    const ExtenderArgs& args() const { return args_; }
    std::size_t bytes() const { return body_.size(); }
    // The nodes in the mirror's terms; none() for those that it does not know. As the mirror, only
    // with its mutex held.
    std::span<const NodeIndex> candidates(const Mirror& mirror);

  private:
    std::string body_;
    ExtenderArgs args_;  // views into the body
    std::vector<NodeIndex> candidates_;
    std::optional<std::uint64_t> found_in_;  // by the mirror's nodes_epoch()
};

// A request for filter or prioritize.
struct NodesRequest {
    std::string_view pod;             // its JSON; empty when absent
    std::shared_ptr<NodeList> nodes;  // keeps `pod`, too, if the request's body does not
};

// From any thread.
class NodeLists {
  public:
    // May take the body; `pod` in the answer lives as long as the body, if it is left, and the
    // list.
    Expected<NodesRequest> read(ExtenderReader& reader, std::string& body);

  private:
    // Filter and prioritize of two kinds of pods, say, with whole nodes of a large cluster.
    static constexpr std::size_t kMostLists = 4;
    static constexpr std::size_t kMostBytes = std::size_t{16} << 20;
    using Lists = std::array<std::shared_ptr<NodeList>, kMostLists>;

    void keep(std::shared_ptr<NodeList> list);

    std::mutex mutex_;
    Lists lists_;  // the last one first
};

}  // namespace tessera
