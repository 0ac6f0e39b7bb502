// Any bytes are a trace, an order, or an error; a lenient reader keeps only what would be accepted.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "codec/trace_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    Interner<ModelIndex> models;
    const TraceReadOptions strict{"f", false};
    const TraceReadOptions lenient{"f", true};
    const auto pods = read_pod_trace(text, lenient, models);
    if (pods) {
        const auto again = read_pod_trace(write_pod_trace(pods->pods, models), strict, models);
        TESSERA_ASSERT(again.has_value(), "what the writer wrote reads back");
        TESSERA_ASSERT(again->pods.size() == pods->pods.size(), "with every pod");
    }
    const auto nodes = read_node_trace(text, lenient, models);
    if (nodes) {
        const auto again = read_node_trace(write_node_trace(nodes->nodes, models), strict, models);
        TESSERA_ASSERT(again.has_value(), "what the writer wrote reads back");
        TESSERA_ASSERT(again->nodes.size() == nodes->nodes.size(), "with every node");
    }
    const auto order = read_order(text, {"f", "pod_row", 100});
    if (order) {
        for (const std::uint32_t row : *order) {
            TESSERA_ASSERT(row < 100, "orders stay within their rows");
        }
    }
    return 0;
}
