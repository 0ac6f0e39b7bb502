// Any bytes are Kubernetes objects or one sentence.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "base/text.h"
#include "codec/kube_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto all = read_kube_json(text);
    TESSERA_ASSERT(all || (!all.error().message.empty() && valid_utf8(all.error().message)),
                   "a refusal is one readable sentence");
    static_cast<void>(read_pod_json(text));
    static_cast<void>(read_node_json(text));
    static_cast<void>(read_config_map_json(text));
    static_cast<void>(read_pod_outline_json(text));
    return 0;
}
