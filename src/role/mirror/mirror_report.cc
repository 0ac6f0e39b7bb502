// What people are told of the cluster.
#include <algorithm>

#include "role/mirror/mirror_state.h"

namespace tessera {
namespace {

constexpr std::size_t kMostNotes = 200;

}  // namespace

void Mirror::State::note(std::string text) {
    if (notes_.size() == kMostNotes) {
        notes_.pop_front();
    }
    notes_.push_back(std::move(text));
}

std::vector<std::string> Mirror::State::take_notes() {
    std::vector<std::string> result(notes_.begin(), notes_.end());
    notes_.clear();
    return result;
}

std::vector<NodeIndex> Mirror::State::nodes_by_name() const {
    std::vector<NodeIndex> result;
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
        if (nodes_[n].present) {
            result.emplace_back(n);
        }
    }
    std::sort(result.begin(), result.end(),
              [&](NodeIndex a, NodeIndex b) { return node_name(a) < node_name(b); });
    return result;
}

std::vector<std::string> Mirror::State::node_names() const {
    std::vector<std::string> result;
    result.reserve(nodes_.size());
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
        if (nodes_[n].present) {
            result.emplace_back(node_name(NodeIndex(n)));
        }
    }
    return result;
}

NodeReport Mirror::State::report(NodeIndex node) const {
    NodeReport result;
    result.spec = &cluster().spec(node);
    result.left = &cluster().node(node);
    result.index = node;
    result.address = nodes_[node.slot()].address;
    result.gpus.resize(result.spec->gpus.size());
    for (const ShareView& share : ledger().shares_on(node)) {
        const PodIndex index(share.owner.index());
        if (share.owner.kind() == OwnerKind::claim ||
            share.grant.gpu.slot() >= result.gpus.size()) {
            continue;
        }
        const PodRecord& record = pods_[index];
        const auto view = ledger().find(share.owner);
        result.gpus[share.grant.gpu.slot()].push_back(
            {record.space, record.name, record.uid, share.grant,
             share.owner.kind() == OwnerKind::foreign ? "foreign" : to_string(view->state)});
    }
    for (auto& shares : result.gpus) {
        std::sort(shares.begin(), shares.end(), [](const ShareOnGpu& a, const ShareOnGpu& b) {
            return std::tie(a.space, a.name) < std::tie(b.space, b.name);
        });
    }
    return result;
}

std::size_t Mirror::State::holding() const { return synced() ? ledger().size() : 0; }

}  // namespace tessera
