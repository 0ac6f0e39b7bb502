// Any bytes are a file with KETI's ConfigMap, a topology, or one readable sentence.
#include "role/intake/policy_files.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "base/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto config = read_keti_config(text, "f.yaml");
    TESSERA_ASSERT(config || (config.error().message.starts_with("f.yaml") &&
                              valid_utf8(config.error().message)),
                   "a refusal is readable and names the file");
    const auto tree = read_topology(text, "f.yaml");
    TESSERA_ASSERT(
        tree || (tree.error().message.starts_with("f.yaml") && valid_utf8(tree.error().message)),
        "a refusal is readable and names the file");
    return 0;
}
