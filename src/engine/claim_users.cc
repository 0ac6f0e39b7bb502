#include "engine/claim_users.h"

#include <algorithm>

#include "base/assert.h"

namespace tessera {

bool ClaimUsers::add(OwnerId claim, OwnerId pod) {
    TESSERA_ASSERT(users(claim).size() < kMaxUsersPerClaim || has(claim, pod),
                   "a claim's room for users is checked before");
    return insert(users_, claim, pod) && insert(claims_, pod, claim);
}

bool ClaimUsers::drop(OwnerId claim, OwnerId pod) {
    return erase(users_, claim, pod) && erase(claims_, pod, claim);
}

bool ClaimUsers::has(OwnerId claim, OwnerId pod) const {
    const auto pods = users(claim);
    return std::binary_search(pods.begin(), pods.end(), pod);
}

std::span<const OwnerId> ClaimUsers::list(const Lists& lists, OwnerId key) {
    const auto found = lists.find(key.index());
    return found == lists.end() ? std::span<const OwnerId>() : found->second;
}

bool ClaimUsers::insert(Lists& lists, OwnerId key, OwnerId item) {
    std::vector<OwnerId>& items = lists[key.index()];
    const auto at = std::lower_bound(items.begin(), items.end(), item);
    if (at != items.end() && *at == item) {
        return false;
    }
    items.insert(at, item);
    return true;
}

bool ClaimUsers::erase(Lists& lists, OwnerId key, OwnerId item) {
    const auto found = lists.find(key.index());
    if (found == lists.end()) {
        return false;
    }
    std::vector<OwnerId>& items = found.value();
    const auto at = std::lower_bound(items.begin(), items.end(), item);
    if (at == items.end() || *at != item) {
        return false;
    }
    items.erase(at);
    if (items.empty()) {
        lists.erase(found);
    }
    return true;
}

std::size_t ClaimUsers::memory_bytes() const {
    std::size_t bytes = 0;
    for (const Lists* lists : {&users_, &claims_}) {
        bytes += lists->bucket_count() * (sizeof(Lists::value_type) + sizeof(std::uint64_t));
        for (const auto& [key, items] : *lists) {
            bytes += items.capacity() * sizeof(OwnerId);
        }
    }
    return bytes;
}

bool ClaimUsers::consistent() const {
    std::size_t forward = 0;
    std::size_t backward = 0;
    for (const auto& [claim, pods] : users_) {
        forward += pods.size();
        for (OwnerId pod : pods) {
            const auto claims = list(claims_, pod);
            if (!std::binary_search(claims.begin(), claims.end(), OwnerId::claim(claim))) {
                return false;
            }
        }
    }
    for (const auto& [pod, claims] : claims_) {
        backward += claims.size();
    }
    return forward == backward;
}

}  // namespace tessera
