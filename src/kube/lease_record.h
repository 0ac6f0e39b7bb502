// A Lease of coordination.k8s.io/v1 as JSON: the little of it that an election needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/units.h"

namespace tessera {

struct LeaseRecord {
    std::string version{};              // metadata.resourceVersion: the precondition of a write
    std::string holder{};               // empty: nobody's
    std::int32_t duration_seconds = 0;  // 0: not said
    std::int32_t transitions = 0;
    std::string acquired{};  // as written by the holder's clock: shown, never compared
    std::string renewed{};
};

// Absent and null fields are empty; a field of another type is an error, and so is no version.
Expected<LeaseRecord> read_lease_json(std::string_view text);

// A new Lease.
std::string new_lease_json(std::string_view space, std::string_view name,
                           const LeaseRecord& record);
// A merge patch that is refused (409) unless the Lease still has record.version. What others wrote
// into the object stays. An empty holder releases.
std::string lease_patch_json(const LeaseRecord& record);

}  // namespace tessera
