// Any bytes are a key that signs and checks, or one readable sentence that does not show them.
#include "codec/placement_signature.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "base/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto key = read_signing_key(text);
    if (!key) {
        TESSERA_ASSERT(valid_utf8(key.error().message), "a refusal is readable");
        return 0;
    }
    const std::string signature = sign_placement(*key, "record");
    TESSERA_ASSERT(signature_matches(*key, "record", signature), "a signature matches");
    TESSERA_ASSERT(!signature_matches(*key, "recorD", signature), "and only its own record");
    static_cast<void>(signature_matches(*key, "record", text));
    return 0;
}
