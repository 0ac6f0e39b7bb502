#include "engine/group_members.h"

#include <algorithm>

#include "model/cell_distance.h"

namespace tessera {

void GroupMembers::join(GroupIndex group, OwnerId owner) {
    std::vector<OwnerId>& members = members_[group];
    if (std::find(members.begin(), members.end(), owner) == members.end()) {
        members.push_back(owner);
    }
}

void GroupMembers::leave(GroupIndex group, OwnerId owner) {
    const auto found = members_.find(group);
    if (found == members_.end()) {
        return;
    }
    std::erase(found.value(), owner);
    if (found->second.empty()) {
        members_.erase(found);
    }
}

std::vector<std::string> GroupMembers::cells(const GroupOf& asked) const {
    std::vector<std::string> cells;
    const auto found = members_.find(asked.group);
    if (found == members_.end()) {
        return cells;
    }
    for (const OwnerId owner : found->second) {
        const auto known = ledger_.find(owner);
        if (!known || known->start == asked.but_started) {
            continue;
        }
        for (const ShareView& share : ledger_.shares(owner)) {
            if (!share.admin_access) {
                cells.push_back(cell_of(ledger_.cluster().spec(known->node), share.grant.gpu));
            }
        }
    }
    return cells;
}

std::size_t GroupMembers::memory_bytes() const {
    std::size_t bytes = 0;
    for (const auto& [group, members] : members_) {
        bytes += sizeof(group) + sizeof(members) + members.capacity() * sizeof(OwnerId);
    }
    return bytes;
}

}  // namespace tessera
