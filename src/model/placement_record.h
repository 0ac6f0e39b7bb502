// A placement as it is written on a pod: by names, so that anyone may read it.
//
// Grants are keyed by (owner, request); containers refer to requests. Several containers may use
// one grant and one container several, as with Kubernetes' device claims.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/gpu.h"

namespace tessera {

struct GrantRecord {
    std::string request;
    std::int32_t gpu = 0;  // index on the node
    std::string uuid;      // where known; it outlives a change of order
    std::int32_t milli = 0;
    std::int32_t limit_milli = 1000;
    std::int64_t memory_mib = 0;
    SpareAmounts spare{};

    friend bool operator==(const GrantRecord&, const GrantRecord&) = default;
};

struct PlacementRecord {
    std::string owner;  // "namespace/name/uid"
    std::string node;
    std::string dialect;
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    std::int32_t alternative = 0;
    bool admin_access = false;
    std::vector<GrantRecord> grants;
    std::map<std::string, std::vector<std::string>> containers;  // name -> requests

    friend bool operator==(const PlacementRecord&, const PlacementRecord&) = default;
};

}  // namespace tessera
