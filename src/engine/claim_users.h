// Which pods use which device claims, both ways.
//
// A claim holds its share for all of its users, and also without any; a pod's end drops its uses
// and nothing else. Most pods use no claim and cost nothing here.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <span>
#include <vector>

#include "engine/owner.h"

namespace tessera {

inline constexpr std::size_t kMaxUsersPerClaim = 256;  // Kubernetes' own limit on reservedFor

class ClaimUsers {
  public:
    // False when it was so already. The claim must have room.
    bool add(OwnerId claim, OwnerId pod);
    bool drop(OwnerId claim, OwnerId pod);
    bool has(OwnerId claim, OwnerId pod) const;

    // Ascending. Valid until the next change.
    std::span<const OwnerId> users(OwnerId claim) const { return list(users_, claim); }
    std::span<const OwnerId> claims(OwnerId pod) const { return list(claims_, pod); }

    bool empty() const { return users_.empty(); }
    std::size_t memory_bytes() const;
    // Whether both directions tell the same.
    bool consistent() const;

  private:
    using Lists = tsl::robin_map<std::uint32_t, std::vector<OwnerId>>;
    static std::span<const OwnerId> list(const Lists& lists, OwnerId key);
    static bool insert(Lists& lists, OwnerId key, OwnerId item);
    static bool erase(Lists& lists, OwnerId key, OwnerId item);

    Lists users_;   // by claim
    Lists claims_;  // by pod
};

}  // namespace tessera
