// Any text is a policy or an error with its line; a policy reads back equal.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "codec/policy_yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto spec = parse_policy_yaml(text, "f");
    if (!spec) {
        TESSERA_ASSERT(spec.error().message.starts_with("f:"), "an error names the file");
        return 0;
    }
    const auto again = parse_policy_yaml(write_policy_yaml(*spec), "f");
    TESSERA_ASSERT(again && *again == *spec, "what is written is read back equal");
    return 0;
}
