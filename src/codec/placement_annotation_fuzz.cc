// Any bytes are a placement that survives writing and reading, or one sentence.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "base/text.h"
#include "codec/placement_annotation.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto found = read_placement_annotation(text);
    if (found) {
        const auto again = read_placement_annotation(write_placement_annotation(*found));
        TESSERA_ASSERT(again && *again == *found, "what is written reads back equal");
    } else {
        TESSERA_ASSERT(valid_utf8(found.error().message), "a refusal is readable");
    }
    static_cast<void>(read_gpushare_allocation(text));
    return 0;
}
