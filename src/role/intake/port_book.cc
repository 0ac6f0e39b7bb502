#include "role/intake/port_book.h"

#include <algorithm>

#include "dialect/asking.h"
#include "dialect/kubeshare.h"

namespace tessera {

PortPool& PortBook::pool(NodeIndex node) {
    pools_.resize(std::max(pools_.size(), node.slot() + 1));
    return pools_[node.slot()];
}

bool PortBook::hold(const Pod& pod, NodeIndex node) {
    const auto port = kubeshare_port(pod);
    if (!port) {
        return true;
    }
    const Held wanted{node, *port};
    const auto known = held_.find(pod.owner());
    if (known != held_.end() && known->second == wanted) {
        return true;
    }
    release(pod.owner());
    held_.emplace(pod.owner(), wanted);
    return ++owners_[wanted] == 1 && pool(node).reserve(*port);
}

Expected<std::optional<std::uint16_t>> PortBook::take(const PlacedPod& placed) {
    const std::string owner = placed.pod.owner();
    const NodeIndex node = placed.placement.node;
    const bool needed = kubeshare_needs_port(placed);
    if (const auto known = held_.find(owner); known != held_.end()) {
        if (needed && known->second.node == node) {
            return known->second.port;
        }
        release(owner);
    }
    if (!needed) {
        return std::nullopt;
    }
    const auto port = pool(node).take();
    if (!port) {
        return fail(ErrorKind::conflict,
                    "node {}: all {} pod-manager ports from {} on are in use, and a pod that "
                    "shares a GPU by KubeShare's hook needs one",
                    shown(placed.node.name), PortPool::kCount, PortPool::kFirst);
    }
    held_.emplace(owner, Held{node, *port});
    owners_[{node, *port}] = 1;
    return port;
}

void PortBook::release(const std::string& owner) {
    const auto found = held_.find(owner);
    if (found == held_.end()) {
        return;
    }
    const Held given = found->second;
    held_.erase(found);
    if (--owners_[given] == 0) {
        owners_.erase(given);
        pool(given.node).release(given.port);
    }
}

std::size_t PortBook::free(NodeIndex node) const {
    return node.slot() < pools_.size() ? pools_[node.slot()].free() : PortPool().free();
}

}  // namespace tessera
