#include "role/extender/node_list.h"

#include <algorithm>
#include <utility>

namespace tessera {

Expected<std::shared_ptr<NodeList>> NodeList::read(ExtenderReader& reader, std::string body) {
    auto list = std::make_shared<NodeList>();
    list->body_ = std::move(body);
    TESSERA_CHECK(reader.args(list->body_, list->args_));
    return list;
}

std::span<const NodeIndex> NodeList::candidates(const Mirror& mirror) {
    if (found_in_ != mirror.nodes_epoch()) {
        candidates_.resize(args_.size());
        NodeIndex before;
        for (std::size_t at = 0; at < args_.size(); ++at) {
            candidates_[at] = mirror.find_node(args_.name(at), before);
            before = candidates_[at].valid() ? candidates_[at] : before;
        }
        found_in_ = mirror.nodes_epoch();
    }
    return candidates_;
}

Expected<NodesRequest> NodeLists::read(ExtenderReader& reader, std::string& body) {
    Lists known;
    {
        const std::lock_guard lock(mutex_);
        known = lists_;
    }
    for (std::shared_ptr<NodeList>& list : known) {
        if (list == nullptr) {
            break;
        }
        if (const std::string_view pod = reader.pod_before(body, list->args()); !pod.empty()) {
            return NodesRequest{pod, std::move(list)};
        }
    }
    TESSERA_TRY(std::shared_ptr<NodeList> list, NodeList::read(reader, std::move(body)));
    const std::string_view pod = list->args().pod;
    if (!list->args().rest.empty() && list->bytes() <= kMostBytes) {
        keep(list);
    }
    return NodesRequest{pod, std::move(list)};
}

// The oldest go until the others have room.
void NodeLists::keep(std::shared_ptr<NodeList> list) {
    Lists gone;  // freed without the mutex, as what `list` is then
    const std::lock_guard lock(mutex_);
    std::rotate(lists_.begin(), lists_.end() - 1, lists_.end());
    std::swap(lists_.front(), list);
    std::size_t bytes = 0;
    for (std::size_t at = 0; at < kMostLists && lists_[at] != nullptr; ++at) {
        bytes += lists_[at]->bytes();
        if (bytes > kMostBytes) {
            gone[at] = std::move(lists_[at]);
        }
    }
}

}  // namespace tessera
