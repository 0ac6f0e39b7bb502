// Any bytes are one of the watched objects or one sentence.
#include "codec/cluster_json.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "base/text.h"

namespace {

template <class T>
void expect_sentence(const tessera::Expected<T>& read) {
    TESSERA_ASSERT(
        read || (!read.error().message.empty() && tessera::valid_utf8(read.error().message)),
        "a refusal is one readable sentence");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    expect_sentence(read_disruption_budget_json(text));
    expect_sentence(read_volume_claim_json(text));
    expect_sentence(read_volume_json(text));
    expect_sentence(read_storage_class_json(text));
    expect_sentence(read_csi_node_json(text));
    expect_sentence(read_namespace_json(text));
    expect_sentence(read_priority_class_json(text));
    expect_sentence(read_pod_group_json(text));
    return 0;
}
