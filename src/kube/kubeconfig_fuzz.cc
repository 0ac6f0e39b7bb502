// Any text is a kubeconfig or an error that names the file; what was read is text.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "base/text.h"
#include "kube/kubeconfig.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const char* context : {"", "other"}) {
        const auto config = parse_kubeconfig(text, "f", context);
        if (!config) {
            TESSERA_ASSERT(config.error().message.starts_with("f:"), "an error names the file");
            TESSERA_ASSERT(valid_utf8(config.error().message), "an error can be printed");
            continue;
        }
        TESSERA_ASSERT(!config->server.empty() && !config->context.empty(), "a server is known");
        TESSERA_ASSERT(valid_utf8(config->server), "an address is text");
        TESSERA_ASSERT(config->certificate.given() == config->key.given(), "both or none");
    }
    return 0;
}
