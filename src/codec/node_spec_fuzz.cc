// Any text is a node list or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "codec/node_spec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    // Large counts are accepted by design; here they would only fill memory.
    if (text.find("0000") != std::string_view::npos || size > 200) {
        return 0;
    }
    Interner<ModelIndex> models;
    const auto nodes = parse_node_spec(text, models);
    if (nodes && nodes->size() < 1000) {
        const auto again = parse_node_spec(format_node_spec(*nodes, models), models);
        TESSERA_ASSERT(again.has_value() && again->size() == nodes->size(), "reads back");
    }
    return 0;
}
