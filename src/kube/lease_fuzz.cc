// Any bytes are a Lease or an error with a sentence; what was read can be written and read again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "kube/lease_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto lease = read_lease_json({reinterpret_cast<const char*>(data), size});
    if (!lease) {
        TESSERA_ASSERT(!lease.error().message.empty(), "an error has a sentence");
        return 0;
    }
    TESSERA_ASSERT(!lease->version.empty() && lease->duration_seconds >= 0,
                   "what a Lease must have is there");
    const auto again = read_lease_json(lease_patch_json(*lease));
    TESSERA_ASSERT(again && again->version == lease->version && again->holder == lease->holder &&
                       again->transitions == lease->transitions,
                   "a patch holds what it was made from");
    return 0;
}
